"""From an admitted message to a signal (D27, D30)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import timedelta
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from bot.dispatch import Dispatcher, channel_summary
from tests.bot.waiting import until
from workflows.contracts import attributes
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.turn import ChannelInput


def incoming(message_id: str, channel_id: str = "1", **changes: Any) -> ChatIncoming:
    return ChatIncoming(
        application_id="9",
        channel_id=channel_id,
        message_id=message_id,
        author_id="7",
        author_name="Mina",
        guild_id="5",
        guild_name="My Server",
        channel_name="general",
    ).model_copy(update=changes)


class RecordingTemporal:
    """Takes signal-with-starts as `Client.start_workflow` does; fails by channel on demand."""

    def __init__(self) -> None:
        self.signalled: dict[str, list[str]] = defaultdict(list)
        self.starts: list[dict[str, Any]] = []
        self.failures: dict[str, int] = {}
        self.silent: set[str] = set()
        """Channels whose signal is never answered."""
        self.error: Exception = RPCError("connection refused", RPCStatusCode.UNAVAILABLE, b"")

    async def start_workflow(self, workflow: str, arg: ChannelInput, **options: Any) -> None:
        await asyncio.sleep(0)
        channel_id = arg.channel_id
        if channel_id in self.silent:
            await asyncio.Event().wait()
        if self.failures.get(channel_id, 0):
            self.failures[channel_id] -= 1
            raise self.error
        (message,) = options["start_signal_args"]
        self.signalled[channel_id].append(message.message_id)
        self.starts.append({"workflow": workflow, **options})


@pytest.fixture
def temporal() -> RecordingTemporal:
    return RecordingTemporal()


def dispatcher(temporal: RecordingTemporal, **options: Any) -> Dispatcher:
    return Dispatcher(cast(Client, temporal), **options)


async def test_one_signal_with_start(temporal: RecordingTemporal) -> None:
    sender = dispatcher(temporal)
    sender.submit(incoming("10"))
    assert await sender.drain(timedelta(seconds=2)) == 0
    (start,) = temporal.starts
    assert start["workflow"] == "ChannelWorkflow"
    assert (start["id"], start["task_queue"]) == ("channel/1", "everturn-turns")
    assert (start["start_signal"], start["start_signal_args"]) == ("enqueue", [incoming("10")])
    assert start["static_summary"] == "#general in My Server"
    assert start["search_attributes"][attributes.GUILD] == "5"
    assert start["search_attributes"][attributes.CHANNEL] == "1"


async def test_whoever_listens_hears_of_a_message_before_temporal(
    temporal: RecordingTemporal,
) -> None:
    """Also of one that is signalled by its own."""
    told: list[str] = []
    sender = dispatcher(temporal, told=lambda message: told.append(message.message_id))
    sender.submit(incoming("10"))
    assert (told, temporal.signalled["1"]) == (["10"], [])
    await sender.drain(timedelta(seconds=2))
    await sender.signal(incoming("11"))
    assert told[-1] == "11"


async def test_a_message_waits_for_temporal_in_its_place(temporal: RecordingTemporal) -> None:
    """D27: nothing is lost to an RPC failure; the order in a channel stays; others go on."""
    temporal.failures["1"] = 1
    sender = dispatcher(temporal)
    for message_id in ("10", "11", "12"):
        sender.submit(incoming(message_id))
    sender.submit(incoming("20", channel_id="2"))
    await until(lambda: temporal.signalled["2"])
    assert temporal.signalled["1"] == []
    await until(lambda: len(temporal.signalled["1"]) == 3)
    assert temporal.signalled["1"] == ["10", "11", "12"]


async def test_a_signal_without_an_answer_holds_up_no_other_channel(
    temporal: RecordingTemporal,
) -> None:
    temporal.silent = {"1"}
    sender = dispatcher(temporal)
    sender.submit(incoming("10"))
    sender.submit(incoming("20", channel_id="2"))
    await until(lambda: temporal.signalled["2"] == ["20"])
    assert await sender.drain(timedelta(milliseconds=20)) == 1


async def test_a_message_that_cannot_be_sent_at_all_does_not_hold_up_the_next(
    temporal: RecordingTemporal,
) -> None:
    temporal.failures["1"] = 1
    temporal.error = TypeError("not JSON serialisable")
    sender = dispatcher(temporal)
    sender.submit(incoming("10"))
    sender.submit(incoming("11"))
    await until(lambda: temporal.signalled["1"])
    assert temporal.signalled["1"] == ["11"]


async def test_it_gives_up_in_the_end(temporal: RecordingTemporal) -> None:
    """D27: bounded; the messages behind it have their own time."""
    temporal.failures["1"] = 1
    sender = dispatcher(temporal, give_up_after=timedelta(milliseconds=50))
    sender.submit(incoming("10"))
    sender.submit(incoming("11"))
    assert await sender.drain(timedelta(seconds=2)) == 0
    assert temporal.signalled["1"] == ["11"]


async def test_what_is_left_at_the_stop_is_counted(temporal: RecordingTemporal) -> None:
    temporal.failures["1"] = 1000
    sender = dispatcher(temporal)
    sender.submit(incoming("10"))
    sender.submit(incoming("11"))
    assert await sender.drain(timedelta(milliseconds=20)) == 2


@pytest.mark.parametrize(
    ("changes", "summary"),
    [
        ({}, "#general in My Server"),
        ({"is_dm": True, "guild_name": "", "channel_name": ""}, "Direct messages with Mina"),
        ({"channel_name": ""}, "Channel 1 in My Server"),
    ],
)
def test_what_an_operator_reads(changes: dict[str, Any], summary: str) -> None:
    assert channel_summary(incoming("10", **changes)) == summary
