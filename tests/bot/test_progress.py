"""How far each channel is disposed of."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.client import Client

from bot.dispatch import Dispatcher
from bot.progress import Progress
from tests.bot.test_dispatch import RecordingTemporal, incoming
from tests.bot.waiting import until


class Store:
    """Marks that only move forward, as the database keeps them."""

    def __init__(self, **marks: str) -> None:
        self.marks = dict(marks)
        self.writes = 0
        self.away = False

    async def seen(self) -> dict[str, str]:
        if self.away:
            raise ConnectionError("no database")
        return dict(self.marks)

    async def note(self, newest: Mapping[str, str]) -> None:
        if self.away:
            raise ConnectionError("no database")
        self.writes += 1
        for channel_id, mark in newest.items():
            known = int(self.marks.get(channel_id, 0))
            self.marks[channel_id] = str(max(known, int(mark)))


async def test_a_mark_waits_for_the_acknowledgement() -> None:
    """D26: what Temporal has not taken is after the mark, whatever was passed by since; also when
    the process stops before it is taken. It moves on with the acknowledgement."""
    temporal = RecordingTemporal()
    temporal.silent = {"1"}
    dispatcher = Dispatcher(cast(Client, temporal))
    store = Store()
    progress = Progress(store, dispatcher.oldest_waiting)
    for message_id in (10, 11, 12):
        if message_id == 11:
            dispatcher.submit(incoming("11"))
        progress.taken("1", message_id)
    dispatcher.submit(incoming("20", channel_id="2"))
    progress.taken("2", 20)
    await until(lambda: temporal.signalled["2"])
    await progress.write()
    assert store.marks == {"1": "10", "2": "20"}
    assert await dispatcher.drain(timedelta(milliseconds=20)) == 1
    await progress.write()
    assert store.marks["1"] == "10"

    temporal.silent = set()
    dispatcher.submit(incoming("13"))
    progress.taken("1", 13)
    await until(lambda: temporal.signalled["1"] == ["11", "13"])
    await until(lambda: dispatcher.oldest_waiting("1") is None)
    await progress.write()
    assert store.marks["1"] == "13"


async def test_a_message_that_was_given_up_is_disposed_of() -> None:
    """It was logged as lost; it does not come back into another conversation."""
    temporal = RecordingTemporal()
    temporal.failures["1"] = 1
    dispatcher = Dispatcher(cast(Client, temporal), give_up_after=timedelta(0))
    store = Store()
    progress = Progress(store, dispatcher.oldest_waiting)
    dispatcher.submit(incoming("10"))
    progress.taken("1", 10)
    assert await dispatcher.drain(timedelta(seconds=2)) == 0
    await progress.write()
    assert store.marks == {"1": "10"}


async def test_what_no_message_brought_about_holds_nothing_up() -> None:
    temporal = RecordingTemporal()
    temporal.silent = {"1"}
    dispatcher = Dispatcher(cast(Client, temporal))
    dispatcher.submit(incoming("report/1/2/3"))
    assert dispatcher.oldest_waiting("1") is None
    await dispatcher.drain(timedelta(0))


async def test_a_database_that_is_away_is_written_to_when_it_is_back() -> None:
    store = Store()
    progress = Progress(store, lambda channel_id: None)
    progress.taken("1", 10)
    store.away = True
    await progress.write()
    progress.taken("1", 9)  # late, and of no consequence
    store.away = False
    await progress.write()
    assert store.marks == {"1": "10"}
    await progress.write()
    assert store.writes == 1, "what is written is not written again"


async def test_it_is_written_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without a message: what waited for Temporal may have been taken meanwhile."""
    monkeypatch.setattr("bot.progress.WRITE_EVERY", 0.05)
    waiting: list[int] = [10]
    store = Store()
    progress = Progress(store, lambda channel_id: waiting[0] if waiting else None)
    progress.taken("1", 10)
    writing = asyncio.create_task(progress.keep_writing())
    await until(lambda: store.marks == {"1": "9"})
    waiting.clear()
    await until(lambda: store.marks == {"1": "10"})
    writing.cancel()


async def test_a_channel_that_is_new_is_known_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """D31: nobody describes a direct message, so a SIGKILL soon after must find it written."""
    monkeypatch.setattr("bot.progress.WRITE_EVERY", 60)
    store = Store()
    progress = Progress(store, lambda channel_id: None)
    writing = asyncio.create_task(progress.keep_writing())
    progress.taken("1", 10)
    await until(lambda: store.marks == {"1": "10"})
    progress.taken("2", 20)
    await until(lambda: store.marks == {"1": "10", "2": "20"})
    writing.cancel()


Step = st.sampled_from(["passed by", "admitted", "acknowledged", "written"])


@given(st.lists(Step, max_size=30))
def test_a_mark_is_never_past_what_waits(steps: list[str]) -> None:
    """Whatever happens in whichever order; and once nothing waits, it is the newest message."""
    waiting: deque[int] = deque()
    store = Store()

    async def run() -> None:
        progress = Progress(store, lambda _: waiting[0] if waiting else None)
        for number, step in enumerate(steps, start=10):
            match step:
                case "acknowledged":
                    if waiting:
                        waiting.popleft()
                case "written":
                    await progress.write()
                case _:
                    if step == "admitted":
                        waiting.append(number)
                    progress.taken("1", number)
            mark = int(store.marks.get("1", 0))
            assert all(mark < message_id for message_id in waiting)
        newest = progress.newest("1")
        waiting.clear()
        await progress.write()
        assert int(store.marks.get("1", 0)) == newest

    asyncio.run(run())
