"""The Stop button of a long turn, as a component interaction (behaviour 6.4)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.client import WorkflowExecutionStatus as Status
from temporalio.service import RPCError, RPCStatusCode

from bot.client import EverturnClient
from bot.commands import stop_button
from bot.commands.answers import FAILED
from bot.commands.authorize import MAY_NOT_SPEAK
from bot.commands.stop_button import add_stop_button
from bot.typing_sessions import TypingSessions
from tests.bot.interactions import (
    COMPONENT,
    SEND,
    SEND_IN_THREADS,
    answered,
    interaction,
    press,
)
from tests.bot.loopback import CHANNEL_ID, DM_ID, THREAD_ID, TRIGGER_ID, LoopbackDiscord, guild
from tests.bot.test_kill import Told
from tests.bot.waiting import until
from workflows.contracts.base import turn_workflow_id
from workflows.contracts.delivery import stop_button_id


class Turn:
    """Temporal, as far as a turn is cancelled in it."""

    def __init__(self, fault: Exception | None = None, status: Status = Status.RUNNING) -> None:
        self.fault = fault
        self.status = status
        self.gate = asyncio.Event()
        self.gate.set()
        self.cancelled: list[str] = []
        self.id = ""

    def get_workflow_handle(self, workflow_id: str) -> Turn:
        self.id = workflow_id
        return self

    async def describe(self, *, rpc_timeout: timedelta) -> Turn:
        if isinstance(self.fault, RPCError) and self.fault.status is RPCStatusCode.NOT_FOUND:
            raise self.fault
        return self

    async def cancel(self, *, rpc_timeout: timedelta) -> None:
        self.cancelled.append(self.id)
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault


class Bot:
    def __init__(self, client: EverturnClient, turn: Turn) -> None:
        self.client = client
        self.typing = TypingSessions(lambda channel_id: client.http.send_typing(int(channel_id)))
        add_stop_button(client, cast(Client, turn), self.typing)
        client._connection._add_guild_from_data(guild())  # type: ignore[arg-type]

    def press(self, custom_id: str | None = None, **options: Any) -> None:
        channel_id = options.get("channel_id", CHANNEL_ID)
        custom_id = custom_id or stop_button_id(channel_id, TRIGGER_ID, 3)
        data, shown = press(custom_id)
        body = interaction(COMPONENT, data, **options) | {"message": shown}
        self.client._connection.parse_interaction_create(body)  # type: ignore[arg-type]


TURN_ID = f"turn/{CHANNEL_ID}/{TRIGGER_ID}/3"


def fault(status: RPCStatusCode) -> RPCError:
    return RPCError("no", status, b"")


async def test_it_stops_exactly_its_turn(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """D44: acknowledged first, ephemerally; D52: typing ends at once. The client has never sent
    the button: it works after a restart."""
    turn = Turn()
    bot = Bot(client, turn)
    bot.typing.begin("t1", CHANNEL_ID)
    bot.press()
    assert (await answered(discord_api))["content"] == stop_button.STOPPING
    assert turn.cancelled == [TURN_ID]
    assert bot.typing.active(CHANNEL_ID) is None
    deferred = next(r.body for r in discord_api.requests if "callback" in r.path)
    assert (deferred["type"], deferred["data"]["flags"]) == (5, 64)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (fault(RPCStatusCode.NOT_FOUND), stop_button.ENDED),
        (fault(RPCStatusCode.ALREADY_EXISTS), stop_button.STOPPING),
        (fault(RPCStatusCode.UNAVAILABLE), stop_button.UNREACHABLE),
        (OSError("network is unreachable"), stop_button.UNREACHABLE),
        (TimeoutError(), stop_button.UNREACHABLE),
        (ValueError("a bug"), FAILED),
    ],
    ids=lambda value: getattr(value, "status", value) if isinstance(value, Exception) else "",
)
async def test_whatever_comes_of_it_the_presser_is_told(
    client: EverturnClient, discord_api: LoopbackDiscord, error: Exception, text: str
) -> None:
    Bot(client, Turn(error)).press()
    assert (await answered(discord_api))["content"] == text


async def test_pressed_twice_is_harmless(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    turn = Turn()
    bot = Bot(client, turn)
    bot.press()
    await answered(discord_api)
    discord_api.requests.clear()
    bot.press()
    assert (await answered(discord_api))["content"] == stop_button.STOPPING
    assert turn.cancelled == [TURN_ID, TURN_ID]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.RUNNING])
async def test_a_turn_that_has_ended_is_not_said_to_stop(
    client: EverturnClient, discord_api: LoopbackDiscord, status: Status
) -> None:
    """A Temporal server takes a cancel of an ended workflow without a word."""
    turn = Turn(status=status)
    Bot(client, turn).press()
    assert (await answered(discord_api))["content"] == stop_button.ENDED
    assert turn.cancelled == []


async def test_the_acknowledgement_does_not_wait_for_temporal(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """D44."""
    turn = Turn()
    turn.gate.clear()
    Bot(client, turn).press()
    await until(lambda: discord_api.requests)
    assert turn.cancelled
    turn.gate.set()
    assert (await answered(discord_api))["content"] == stop_button.STOPPING


async def test_a_temporal_that_hangs_is_not_waited_for_long(
    client: EverturnClient, discord_api: LoopbackDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop_button, "CANCEL_WITHIN", timedelta(milliseconds=20))
    turn = Turn()
    turn.gate.clear()
    Bot(client, turn).press()
    assert (await answered(discord_api))["content"] == stop_button.UNREACHABLE


async def test_a_button_of_another_channel_stops_nothing(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    turn = Turn()
    Bot(client, turn).press(stop_button_id(THREAD_ID, TRIGGER_ID, 3))
    assert (await answered(discord_api))["content"] == stop_button.ELSEWHERE
    assert turn.cancelled == []


@pytest.mark.parametrize(
    "custom_id",
    [
        f"everturn:stop:{CHANNEL_ID}:{TRIGGER_ID}:3:0",
        f"everturn:stop:{CHANNEL_ID}:{TRIGGER_ID}:3:",
        f"everturn:stop:{CHANNEL_ID}:{TRIGGER_ID}:3:4:5",
        f"everturn:stop:{CHANNEL_ID}:{TRIGGER_ID}:3:100",
        f"everturn:stop:{CHANNEL_ID}:{TRIGGER_ID}:",
        f"everturn:stop:{CHANNEL_ID}/../x:{TRIGGER_ID}:3",
        f"everturn:stop:{'9' * 21}:{TRIGGER_ID}:3",
    ],
)
async def test_an_id_of_another_form_is_nobodys(
    client: EverturnClient, discord_api: LoopbackDiscord, custom_id: str
) -> None:
    turn = Turn()
    bot = Bot(client, turn)
    bot.press(custom_id)
    bot.press()
    await answered(discord_api)
    assert turn.cancelled == [TURN_ID]


@pytest.mark.parametrize(
    ("channel_id", "permissions", "allowed"),
    [
        (CHANNEL_ID, SEND, True),
        (CHANNEL_ID, SEND_IN_THREADS, False),
        (THREAD_ID, SEND_IN_THREADS, True),
        (THREAD_ID, SEND, False),
        (DM_ID, 0, True),
    ],
)
async def test_who_may_speak_may_press(
    client: EverturnClient,
    discord_api: LoopbackDiscord,
    channel_id: str,
    permissions: int,
    allowed: bool,
) -> None:
    """D75: as `/kill`."""
    turn = Turn()
    Bot(client, turn).press(channel_id=channel_id, permissions=permissions)
    text = stop_button.STOPPING if allowed else MAY_NOT_SPEAK
    assert (await answered(discord_api))["content"] == text
    assert bool(turn.cancelled) is allowed


@pytest.mark.parametrize("generation", [1, 2, 35])
async def test_a_retried_turn_is_stopped_as_well(
    client: EverturnClient, discord_api: LoopbackDiscord, generation: int
) -> None:
    """C068: an empty answer is asked for again by a turn of its own."""
    turn = Turn()
    Bot(client, turn).press(stop_button_id(CHANNEL_ID, TRIGGER_ID, 3, generation))
    assert (await answered(discord_api))["content"] == stop_button.STOPPING
    assert turn.cancelled == [turn_workflow_id(CHANNEL_ID, TRIGGER_ID, 3, generation)]


def test_the_id_fits_into_a_component() -> None:
    """Discord: at most 100 characters; and the first turn's is what it has always been."""
    assert len(stop_button_id("9" * 20, "9" * 20, 9_999_999, 35)) <= 100
    assert stop_button_id("1", "2", 3, 0) == "everturn:stop:1:2:3"


async def test_what_the_persona_was_just_saying_calls_no_other_one(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """Behaviour 2.1, row 2; a button that stopped nothing silences nobody."""
    told = Told()
    client.take_messages(told)
    turn = Turn()
    bot = Bot(client, turn)
    bot.press()
    assert (await answered(discord_api))["content"] == stop_button.STOPPING
    assert told.stopped_in == [CHANNEL_ID]
    discord_api.requests.clear()
    bot.press(stop_button_id(THREAD_ID, TRIGGER_ID, 3))
    assert (await answered(discord_api))["content"] == stop_button.ELSEWHERE
    assert told.stopped_in == [CHANNEL_ID]
