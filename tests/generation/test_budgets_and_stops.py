"""Silence, kills and shutdowns: what ends a call early, and what it leaves behind."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from pydantic_ai.messages import ModelResponseStreamEvent

from activities.generation.settings import stream_budgets
from tests.generation.conftest import SHUTDOWN, STOPPED, Desk, until
from tests.generation.fakes import ScriptedModel, ScriptedStream
from tests.support.model_server import Pause, Stall, Step, Text, Thinking, ToolCall
from workflows.contracts.generation import ErrorType, StreamStatus


async def test_no_sign_of_life_within_the_first_token_budget(desk: Desk) -> None:
    desk.patience(first_token=0.2, idle=0.1)
    desk.server.script(Stall())
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.TIMEOUT
    assert result.error is not None
    assert result.error.type is ErrorType.TIMEOUT
    assert result.error.retryable
    assert result.first_chunk_ms is None
    assert result.duration_ms >= 200
    await desk.server.requests[0].wait_closed_early()


async def test_the_first_token_may_take_longer_than_a_gap(desk: Desk) -> None:
    """C067, first half, with 10 s for 300 s and 0.2 s for 120 s."""
    desk.patience(first_token=10, idle=0.2)
    desk.server.script(Pause(0.35), Text("Sorry for the wait."))
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.COMPLETED


async def test_a_gap_after_the_first_chunk_is_a_timeout_that_keeps_the_text(desk: Desk) -> None:
    """C067, second half; D35: the partial text stays."""
    desk.patience(first_token=2, idle=0.2)
    desk.server.script(Text("The first paragraph.\n\nThe sec"), Stall())
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.TIMEOUT
    assert desk.whole_text(result).split() == ["The", "first", "paragraph.", "The", "sec"]
    await desk.server.requests[0].wait_closed_early()
    assert desk.storage.usage.rows["turn/1/2/3", 0, 1].status == "timeout"


@pytest.mark.parametrize(
    "sign_of_life",
    [
        [Thinking("hm", pause=0.12) for _ in range(4)],
        [Text("word ", pause=0.12) for _ in range(4)],
        [
            step
            for n in range(4)
            for step in (Pause(0.12), ToolCall("roll_dice", '{"sides": 6}', f"c{n}", index=n))
        ],
    ],
    ids=["thinking", "text", "tool call"],
)
async def test_any_progress_renews_the_idle_budget(desk: Desk, sign_of_life: list[Step]) -> None:
    """0.48 s in all with a budget of 0.25 s: thoughts and arguments count as progress."""
    desk.patience(first_token=0.25, idle=0.25)
    desk.server.script(*sign_of_life)
    result = await desk.call("Ada: hi")
    assert result.error is None


def test_an_operators_idle_budget_has_a_floor_and_never_exceeds_the_first_token_budget() -> None:
    """Behaviour 6.4: at least 10 s; first token max(300 s, idle)."""
    seconds = timedelta(seconds=1)
    assert stream_budgets() == (300 * seconds, 120 * seconds)
    assert stream_budgets(3 * seconds) == (300 * seconds, 10 * seconds)
    assert stream_budgets(400 * seconds) == (400 * seconds, 400 * seconds)


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ([Stall()], ""),
        ([Thinking("hm"), Stall()], ""),
        ([Text("First.\n\nSec"), Stall()], "First. Sec"),
        ([ToolCall("roll_dice", '{"si'), Stall()], ""),
    ],
    ids=["first-token wait", "thinking", "mid-stream", "in a call"],
)
async def test_a_kill_closes_the_connection_keeps_the_text_and_books(
    desk: Desk, script: list[Step], kept: str
) -> None:
    """T04, T15: closed in well under 2 s, what was said is told (a killed turn drops it), usage
    booked."""
    desk.server.script(*script)
    env = desk.environment()
    task = desk.start(await desk.request("Ada: hi"), env)
    (request,) = await desk.server.wait_for_requests(1)
    await until(lambda: request.steps_done == len(script) - 1)
    if kept:
        await until(lambda: desk.turn.segments)
    killed_at = time.monotonic()
    env.cancel(STOPPED)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await request.wait_closed_early() - killed_at < 0.5
    assert desk.turn.text.split() == kept.split()
    (row,) = desk.storage.usage.rows.values()
    assert row.status == "stopped_by_user"


async def test_a_worker_that_shuts_down_sends_nothing_more(desk: Desk) -> None:
    """The next attempt starts over, so a rest of this one would only have to be taken back."""
    desk.server.script(Text("First.\n\nSec"), Stall())
    env = desk.environment()
    task = desk.start(await desk.request("Ada: hi"), env)
    await until(lambda: desk.turn.segments)
    sent = desk.turn.text
    env.cancel(SHUTDOWN)
    with pytest.raises(asyncio.CancelledError):
        await task
    await desk.server.requests[0].wait_closed_early()
    assert desk.turn.text == sent
    assert "Sec" not in sent
    (row,) = desk.storage.usage.rows.values()
    assert row.status == "interrupted"


async def test_a_kill_while_a_signal_hangs_still_ends_soon(desk: Desk) -> None:
    desk.turn.gate.clear()
    desk.server.script(Text("First.\n\nSec"), Stall())
    env = desk.environment()
    task = desk.start(await desk.request("Ada: hi"), env)
    await until(lambda: desk.turn.tries)
    killed_at = time.monotonic()
    env.cancel(STOPPED)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - killed_at < 2
    assert desk.storage.usage.rows


async def test_a_library_that_swallows_the_cancel_does_not_complete_the_call(desk: Desk) -> None:
    """T07: the stream eats one CancelledError and ends as if it were finished."""
    waiting = asyncio.Event()

    async def events(stream: ScriptedStream) -> AsyncIterator[ModelResponseStreamEvent]:
        for event in stream.text("Half of it"):
            yield event
        try:
            waiting.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        stream.finish_reason = "stop"

    desk.use(ScriptedModel(events))
    env = desk.environment()
    task = desk.start(await desk.request("Ada: hi"), env)
    await waiting.wait()
    env.cancel(STOPPED)
    with pytest.raises(asyncio.CancelledError):
        await task
    (row,) = desk.storage.usage.rows.values()
    assert row.status == "stopped_by_user"
    assert desk.turn.text == "Half of it"


async def test_a_library_that_swallows_the_cancel_and_talks_on_is_stopped(desk: Desk) -> None:
    """T07, the other way: it eats the cancellation and keeps streaming."""
    swallowed = 0
    talking = asyncio.Event()

    async def events(stream: ScriptedStream) -> AsyncIterator[ModelResponseStreamEvent]:
        nonlocal swallowed
        for number in range(1000):
            if number == 5:
                talking.set()
            try:
                await asyncio.sleep(0.005)
            except asyncio.CancelledError:
                swallowed += 1
            for event in stream.text(f"word {number} "):
                yield event
        stream.finish_reason = "stop"

    desk.use(ScriptedModel(events))
    env = desk.environment()
    task = desk.start(await desk.request("Ada: hi"), env)
    await talking.wait()
    env.cancel(STOPPED)
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(1):
            await task
    assert swallowed == 1


async def test_a_library_that_swallows_the_timeout_has_timed_out(desk: Desk) -> None:
    async def events(stream: ScriptedStream) -> AsyncIterator[ModelResponseStreamEvent]:
        for event in stream.text("Half of it"):
            yield event
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        stream.finish_reason = "stop"

    desk.use(ScriptedModel(events), idle_budget=timedelta(seconds=0.1))
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.TIMEOUT
    assert desk.whole_text(result).strip() == "Half of it"


@pytest.mark.parametrize("seed", range(12))
async def test_a_kill_at_any_moment_never_completes_the_call(desk: Desk, seed: int) -> None:
    """T05, T15 at this boundary: whenever it lands, the call is either whole or cancelled, and
    its usage is booked before it ends."""
    desk.server.script(*[Text(f"Word {n}.\n\n", pause=0.001) for n in range(8)])
    env = desk.environment()
    task = desk.start(await desk.request("Ada: hi"), env)
    await until(lambda: desk.heartbeats)
    await asyncio.sleep(seed * 0.003)
    was_running = not task.done()
    env.cancel(STOPPED)
    if was_running:
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(desk.storage.usage.rows) == 1


async def test_it_beats_while_the_provider_is_silent(desk: Desk) -> None:
    """Heartbeats come from a timer: a silent model is alive, and can be cancelled."""
    desk.patience(first_token=0.9, idle=0.9)
    desk.server.script(Stall())
    await desk.call("Ada: hi")
    assert desk.heartbeats >= 4
