"""`/respond` as an interaction, through the command tree (behaviour 17)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from temporalio.service import RPCError, RPCStatusCode

from bot.admission import Reason
from bot.client import EverturnClient
from bot.commands import respond
from bot.commands.authorize import MAY_NOT_SPEAK
from bot.commands.respond import (
    ASKED,
    ASKED_BEHIND,
    CLOSED,
    LOG_CHANNEL,
    NOT_CONFIRMED,
    NOT_HERE,
    NOT_YOUR_ROLE,
    PERSONA_ELSEWHERE,
    Responder,
    add_respond,
)
from bot.discord_faults import MISSING_PERMISSIONS
from bot.refusals import RefusalMemory
from storage.config import ServerConfig
from tests.bot.interactions import (
    ADMINISTRATOR,
    AUTOCOMPLETE,
    COMMAND,
    SEND,
    SEND_IN_THREADS,
    answered,
    command,
    interaction,
)
from tests.bot.loopback import (
    APPLICATION_ID,
    BOT_ID,
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
from tests.bot.servers import Persona, Source, directory_of
from tests.bot.waiting import until
from workflows.contracts.invocation import Addressed, ChatIncoming, QuotaSource

VIEW = 0x400
UNAVAILABLE = RPCError("connection refused", RPCStatusCode.UNAVAILABLE, b"")


class Temporal:
    """`bot.dispatch.Dispatcher`: takes signals once `gate` is open, after `faults`."""

    def __init__(self) -> None:
        self.taken: list[ChatIncoming] = []
        self.faults: list[Exception] = []
        self.attempts = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def signal(self, incoming: ChatIncoming) -> None:
        self.attempts += 1
        await self.gate.wait()
        if self.faults:
            raise self.faults.pop(0)
        self.taken.append(incoming)


class Bot:
    def __init__(self, client: EverturnClient, api: LoopbackDiscord) -> None:
        self.client, self.api = client, api
        self.temporal, self.refusals = Temporal(), RefusalMemory()
        self.busy: set[str] = set()
        self.source = Source()
        self.source.rows = {None: [Persona(1, "Nova"), Persona(2, "Bob", False)]}
        self.directory = directory_of(self.source)
        responder = Responder(
            self.directory, self.refusals, self.temporal, lambda channel: channel in self.busy
        )
        add_respond(client, responder, self.directory)
        client._connection._add_guild_from_data(guild())  # type: ignore[arg-type]

    async def settings(self, **settings: Any) -> None:
        self.source.configs[GUILD_ID] = ServerConfig.model_validate(settings)
        await self.directory.refresh([GUILD_ID])

    def ask(self, kind: int = COMMAND, focused: str | None = None, **given: Any) -> None:
        options = {name: given.pop(name) for name in ("persona", "message") if name in given}
        self.api.requests.clear()
        body = interaction(kind, command("respond", focused, **options), **given)
        self.client._connection.parse_interaction_create(body)  # type: ignore[arg-type]

    async def says(self, **given: Any) -> str:
        self.ask(**given)
        return (await answered(self.api))["content"]

    async def asked(self, **given: Any) -> ChatIncoming:
        assert await self.says(**given) == ASKED
        return self.temporal.taken[-1]


@pytest.fixture
async def bot(client: EverturnClient, discord_api: LoopbackDiscord) -> Bot:
    bot = Bot(client, discord_api)
    await bot.directory.refresh([GUILD_ID])
    return bot


async def test_it_is_a_manual_turn_of_the_member(bot: Bot) -> None:
    """Behaviour 2.1 and 17: who answers is decided when it is planned, where nobody is chosen."""
    incoming = await bot.asked(author=user("42", name="Ann"))
    assert incoming.application_id == APPLICATION_ID
    assert incoming.bot_user_id == BOT_ID
    assert (incoming.guild_id, incoming.channel_id) == (GUILD_ID, CHANNEL_ID)
    assert (incoming.author_id, incoming.author_name) == ("42", "Ann")
    assert incoming.message_id == "1100000000000000001"
    assert incoming.addressed is Addressed.COMMAND
    assert incoming.is_manual
    assert incoming.selected_persona_id is None
    assert incoming.persona_ids == []
    assert incoming.text_quota_source is QuotaSource.USER
    assert incoming.surface_errors
    assert not incoming.is_manager
    assert incoming.locale == "en-US"


async def test_a_persona_is_chosen_by_its_name(bot: Bot) -> None:
    incoming = await bot.asked(persona=" BOB ", message=" what do you think? ")
    assert incoming.selected_persona_id == 2
    assert incoming.content == "what do you think?"
    assert "no persona named" in await bot.says(persona="Eve")
    assert len(bot.temporal.taken) == 1


async def test_of_a_thread_its_channel_is_told(bot: Bot) -> None:
    incoming = await bot.asked(channel_id=THREAD_ID, permissions=SEND_IN_THREADS)
    assert incoming.is_thread
    assert incoming.channel_id == THREAD_ID


async def test_a_direct_message_has_it_too(bot: Bot) -> None:
    incoming = await bot.asked(channel_id=DM_ID)
    assert incoming.is_dm
    assert incoming.guild_id is None


async def test_a_manager_is_told_apart(bot: Bot) -> None:
    """Behaviour 5.4: managers are exempt from cooldowns of three types."""
    assert (await bot.asked(author=user(MEMBER_ID))).is_manager  # the server is theirs


async def test_privacy_does_not_stand_in_its_way(bot: Bot) -> None:
    """C007: a member with full privacy is answered when they ask for it."""
    bot.source.set_user(MEMBER_ID, privacy="full")
    await bot.directory.refresh([GUILD_ID])
    assert await bot.says() == ASKED
    assert len(bot.temporal.taken) == 1


async def test_the_answer_follows_the_signal(bot: Bot) -> None:
    """D30, D44: acknowledged at once, and told as asked only when Temporal has it."""
    bot.temporal.gate.clear()
    bot.ask()
    await until(lambda: bool(bot.api.requests) and bot.temporal.attempts == 1)
    assert bot.api.requests[0].body["type"] == 5
    assert bot.api.requests[0].body["data"]["flags"] == 64
    assert not [request for request in bot.api.requests if request.method == "PATCH"]
    bot.temporal.gate.set()
    assert (await answered(bot.api))["content"] == ASKED


async def test_who_comes_after_another_is_told_so(bot: Bot) -> None:
    bot.busy.add(CHANNEL_ID)
    assert await bot.says() == ASKED_BEHIND


async def test_temporal_is_tried_again_with_the_same_message(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(respond, "FIRST_PAUSE", timedelta(milliseconds=1))
    bot.temporal.faults = [UNAVAILABLE, OSError("reset")]
    assert await bot.says() == ASKED
    assert bot.temporal.attempts == 3
    assert len(bot.temporal.taken) == 1


async def test_what_is_not_confirmed_is_not_called_asked(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D30."""
    monkeypatch.setattr(respond, "ASK_WITHIN", timedelta(milliseconds=20))
    bot.temporal.gate.clear()
    assert await bot.says() == NOT_CONFIRMED


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (0, CLOSED[Reason.MISSING_CHANNEL_PERMISSIONS]),
        (VIEW, CLOSED[Reason.CANNOT_SEND_IN_CHANNEL]),
        (VIEW | SEND_IN_THREADS, CLOSED[Reason.CANNOT_SEND_IN_CHANNEL]),
        (VIEW | SEND, ASKED),
        (ADMINISTRATOR, ASKED),
    ],
)
async def test_where_the_bot_cannot_speak_it_says_so(bot: Bot, own: int, told: str) -> None:
    """Behaviour 2.1, row 13, by what Discord has just computed."""
    assert await bot.says(own_permissions=own) == told
    assert bool(bot.temporal.taken) is (told == ASKED)


async def test_a_bot_that_is_timed_out_says_so(bot: Bot) -> None:
    """C004, for a command."""
    known = guild(timed_out_until="2999-01-01T00:00:00+00:00")
    bot.client._connection._add_guild_from_data(known)  # type: ignore[arg-type]
    assert await bot.says() == CLOSED[Reason.BOT_TIMED_OUT_IN_GUILD]
    assert bot.temporal.taken == []


async def test_where_discord_has_just_refused_it_says_so(bot: Bot) -> None:
    """Behaviour 2.1, row 15."""
    bot.refusals.note(CHANNEL_ID, MISSING_PERMISSIONS)
    assert await bot.says() == CLOSED[Reason.RECENT_SEND_REFUSED]
    assert bot.temporal.taken == []


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"access": {"blocked_user_ids": [MEMBER_ID]}}, CLOSED[Reason.SERVER_BLACKLISTED_USER]),
        ({"access": {"channels": [{"channel_id": "7"}]}}, NOT_HERE),
        ({"access": {"channels": [{"channel_id": CHANNEL_ID}]}}, ASKED),
        ({"access": {"role_ids": ["7"]}}, NOT_YOUR_ROLE),
        ({"access": {"persona_channels": {"2": ["7"]}}}, PERSONA_ELSEWHERE),
        ({"access": {"persona_channels": {"1": ["7"]}}}, ASKED),
        ({"notices": {"thought_log_channel_id": CHANNEL_ID}}, LOG_CHANNEL),
    ],
)
async def test_the_servers_lists_are_told_and_not_silently_held_to(
    bot: Bot, settings: Json, told: str
) -> None:
    await bot.settings(**settings)
    assert await bot.says(persona="Bob") == told
    assert bool(bot.temporal.taken) is (told == ASKED)


async def test_who_may_not_speak_may_not_ask(bot: Bot) -> None:
    """D75: neither by the command, nor for the names of its completion."""
    assert await bot.says(permissions=0) == MAY_NOT_SPEAK
    assert bot.temporal.taken == []
    bot.ask(AUTOCOMPLETE, "persona", persona="", permissions=0)
    assert (await answered(bot.api))["choices"] == []


async def test_names_are_completed_from_memory(bot: Bot) -> None:
    """D44."""
    bot.source.broken = True
    bot.ask(AUTOCOMPLETE, "persona", persona="bo")
    choices = (await answered(bot.api))["choices"]
    assert [choice["value"] for choice in choices] == ["Bob"]
