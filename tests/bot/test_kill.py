"""`/kill` as an interaction, through the command tree (behaviour 4)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import discord
import pytest
from temporalio.client import (
    Client,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from bot.client import EverturnClient
from bot.commands import answers, kill
from bot.commands.authorize import MAY_NOT_SPEAK
from bot.commands.kill import add_kill
from bot.typing_sessions import TypingSessions
from tests.bot.loopback import (
    APPLICATION_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    MEMBER_ID,
    THREAD_ID,
    Json,
    LoopbackDiscord,
    guild,
    user,
)
from tests.bot.waiting import until
from workflows.contracts.invocation import KILL_SIGNAL, KILL_UPDATE, KillOutcome, KillRequest

SEND, SEND_IN_THREADS = 0x800, 1 << 38


class Channel:
    """A channel workflow's handle: answers the update with `answer`, once `gate` is open, and a
    signal with `later`."""

    def __init__(
        self, answer: KillOutcome | Exception | None, later: Exception | None = None
    ) -> None:
        self.answer = answer
        self.later = later
        self.gate = asyncio.Event()
        if answer is not None:
            self.gate.set()
        self.asked: list[tuple[str, str, KillRequest]] = []
        self.left: list[tuple[str, str, KillRequest]] = []
        self.id = ""

    def get_workflow_handle(self, workflow_id: str) -> Channel:
        self.id = workflow_id
        return self

    async def execute_update(
        self, update: str, request: KillRequest, *, result_type: type, rpc_timeout: Any
    ) -> KillOutcome:
        self.asked.append((self.id, update, request))
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        assert self.answer is not None
        return self.answer

    async def signal(self, signal: str, request: KillRequest, *, rpc_timeout: Any) -> None:
        self.left.append((self.id, signal, request))
        if self.later is not None:
            raise self.later


NOT_FOUND = RPCError("not found", RPCStatusCode.NOT_FOUND, b"")
UNAVAILABLE = RPCError("connection refused", RPCStatusCode.UNAVAILABLE, b"")


COMMAND_ID = "1100000000000000001"
ASKED = KillRequest(user_id=MEMBER_ID, user_name="Mina", command_id=COMMAND_ID)


def command(channel_id: str = CHANNEL_ID, permissions: int = SEND) -> Json:
    """INTERACTION_CREATE of a member's `/kill`."""
    in_guild = channel_id != DM_ID
    kind = {CHANNEL_ID: 0, THREAD_ID: 11, DM_ID: 1}[channel_id]
    body: Json = {
        "id": COMMAND_ID,
        "application_id": APPLICATION_ID,
        "type": 2,
        "token": "interaction-token",
        "version": 1,
        "channel_id": channel_id,
        "channel": {"id": channel_id, "type": kind, "name": "general"},
        "data": {"id": "800000000000000001", "name": "kill", "type": 1},
        "locale": "en-US",
        "entitlements": [],
        "authorizing_integration_owners": {},
        "attachment_size_limit": 1,
    }
    if not in_guild:
        body["channel"] = {"id": channel_id, "type": kind, "recipients": [user()]}
        return {**body, "user": user()}
    member = {
        "user": user(),
        "roles": [],
        "joined_at": "2026-01-01T00:00:00+00:00",
        "permissions": str(permissions),
        "flags": 0,
    }
    return {**body, "guild_id": GUILD_ID, "guild": {"id": GUILD_ID}, "member": member}


class Bot:
    def __init__(self, client: EverturnClient, api: LoopbackDiscord, channel: Channel) -> None:
        self.client, self.api, self.channel = client, api, channel
        self.typing = TypingSessions(lambda channel_id: client.http.send_typing(int(channel_id)))
        add_kill(client, cast(Client, channel), self.typing)
        client._connection._add_guild_from_data(guild())  # type: ignore[arg-type]

    def interact(self, **options: Any) -> None:
        self.client._connection.parse_interaction_create(command(**options))  # type: ignore[arg-type]

    async def answered(self) -> str:
        """The text the caller ends up with."""
        await until(lambda: self._answer() is not None)
        return self._answer() or ""

    def _answer(self) -> str | None:
        for request in self.api.requests:
            if request.method == "PATCH":
                return request.body["content"]
            if request.body.get("type") == 4:
                return request.body["data"]["content"]
        return None


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (KillOutcome(stopped=True), "Stopped."),
        (KillOutcome(stopped=True, cleared=2), "Stopped, and dropped 2 waiting messages."),
        (KillOutcome(cleared=1), "Dropped 1 waiting message."),
        (KillOutcome(), "Nothing to stop here."),
        (NOT_FOUND, "Nothing to stop here."),
    ],
)
async def test_the_caller_and_nobody_else_is_told(
    client: EverturnClient,
    discord_api: LoopbackDiscord,
    outcome: KillOutcome | Exception,
    text: str,
) -> None:
    """C032: the stop reaches the channel's workflow; D44: deferred first, ephemerally."""
    channel = Channel(outcome)
    bot = Bot(client, discord_api, channel)
    bot.interact()
    assert await bot.answered() == text
    assert channel.asked == [(f"channel/{CHANNEL_ID}", KILL_UPDATE, ASKED)]
    deferred = discord_api.requests[0].body
    assert (deferred["type"], deferred["data"]["flags"]) == (5, 64)


@pytest.mark.parametrize(
    "answer",
    [
        WorkflowUpdateRPCTimeoutOrCancelledError(),
        RPCError("busy", RPCStatusCode.RESOURCE_EXHAUSTED, b""),
        WorkflowUpdateFailedError(RuntimeError("the handler failed")),
        UNAVAILABLE,
        OSError("network is unreachable"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize(
    ("later", "text"),
    [
        (None, kill.STOPS_LATER),
        (NOT_FOUND, kill.NOTHING_TO_STOP),
        (UNAVAILABLE, kill.UNREACHABLE),
        (TimeoutError(), kill.UNREACHABLE),
    ],
)
async def test_a_stop_that_nobody_answers_is_left_with_the_server(
    client: EverturnClient,
    discord_api: LoopbackDiscord,
    answer: Exception,
    later: Exception | None,
    text: str,
) -> None:
    """An update that no worker has accepted is not kept; a signal is."""
    channel = Channel(answer, later)
    bot = Bot(client, discord_api, channel)
    bot.interact()
    assert await bot.answered() == text
    assert channel.left == [(f"channel/{CHANNEL_ID}", KILL_SIGNAL, ASKED)]


async def test_a_worker_that_is_away_is_not_waited_for_long(
    client: EverturnClient, discord_api: LoopbackDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill, "ANSWER_WITHIN", timedelta(milliseconds=20))
    bot = Bot(client, discord_api, Channel(None))
    bot.interact()
    assert await bot.answered() == kill.STOPS_LATER


async def test_what_nobody_foresaw_is_answered_too(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """No "thinking…" for ever."""
    bot = Bot(client, discord_api, Channel(ValueError("a bug")))
    bot.interact()
    assert await bot.answered() == answers.FAILED


async def test_a_command_that_fails_before_it_is_acknowledged_is_answered(
    client: EverturnClient, discord_api: LoopbackDiscord, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str | None:
        raise ValueError("a bug")

    monkeypatch.setattr(answers, "authorize", broken)
    bot = Bot(client, discord_api, Channel(KillOutcome()))
    bot.interact()
    assert await bot.answered() == answers.FAILED


async def test_an_acknowledgement_whose_answer_was_lost_is_followed_up(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """Discord shows "thinking…" though the bot was told that it failed (40060 for the repeat)."""
    bot = Bot(client, discord_api, Channel(KillOutcome(stopped=True)))
    discord_api.fail("POST", "interactions", 400, code=40060)
    bot.interact()
    assert await bot.answered() == kill.STOPPED


async def test_the_acknowledgement_does_not_wait_for_temporal(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """D44: within three seconds, whatever Temporal does."""
    channel = Channel(KillOutcome(stopped=True))
    channel.gate.clear()
    bot = Bot(client, discord_api, channel)
    bot.interact()
    await until(lambda: discord_api.requests)
    assert channel.asked
    channel.gate.set()
    assert await bot.answered() == "Stopped."


async def test_the_stop_does_not_wait_for_discord(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """An interaction that Discord has forgotten (10062) still stops the turn."""
    channel = Channel(KillOutcome(stopped=True))
    bot = Bot(client, discord_api, channel)
    bot.typing.begin("t1", CHANNEL_ID)
    discord_api.fail("POST", "interactions", 404, code=10062)
    bot.interact()
    await until(lambda: channel.asked and bot.typing.active(CHANNEL_ID) is None)


async def test_typing_ends_at_once(client: EverturnClient, discord_api: LoopbackDiscord) -> None:
    """D52."""
    bot = Bot(client, discord_api, Channel(KillOutcome(stopped=True)))
    bot.typing.begin("t1", CHANNEL_ID)
    bot.interact()
    await bot.answered()
    assert bot.typing.active(CHANNEL_ID) is None


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
async def test_who_may_speak_may_stop(
    client: EverturnClient,
    discord_api: LoopbackDiscord,
    channel_id: str,
    permissions: int,
    allowed: bool,
) -> None:
    """Behaviour 4: anyone who may speak in the channel."""
    channel = Channel(KillOutcome(stopped=True))
    bot = Bot(client, discord_api, channel)
    bot.interact(channel_id=channel_id, permissions=permissions)
    assert await bot.answered() == (kill.STOPPED if allowed else MAY_NOT_SPEAK)
    assert bool(channel.asked) is allowed


async def test_what_a_persona_was_just_saying_calls_no_other_one(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """Behaviour 2.1, row 2: a stop opens the window in which self-replies are suppressed."""
    told = Told()
    client.take_messages(told)
    bot = Bot(client, discord_api, Channel(KillOutcome(stopped=True)))
    bot.interact()
    assert await bot.answered() == kill.STOPPED
    assert told.stopped_in == [CHANNEL_ID]


class Told:
    """Where the client's messages go, and who hears of stops."""

    def __init__(self) -> None:
        self.stopped_in: list[str] = []

    def take(self, client: discord.Client, message: discord.Message, /) -> None:
        raise AssertionError("nobody speaks here")

    def stopped(self, channel_id: str, /) -> None:
        self.stopped_in.append(channel_id)
