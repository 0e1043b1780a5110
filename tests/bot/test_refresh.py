"""`/refresh` (C133)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.client import EverturnClient
from bot.commands.answers import FAILED
from bot.commands.authorize import MAY_NOT_SPEAK
from bot.commands.refresh import REFRESHED, add_refresh
from bot.delivery.notices import is_notice
from bot.history import since
from storage import StmEntry, open_storage
from tests.bot.interactions import COMMAND, SEND, answered, command, interaction
from tests.bot.loopback import (
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    MEMBER_ID,
    THREAD_ID,
    Json,
    LoopbackDiscord,
    guild,
)
from tests.bot.waiting import until

DONE = REFRESHED.format(user_id=MEMBER_ID)
BEFORE, COMMAND_ID, AFTER = "1100000000000000000", "1100000000000000001", "1100000000000000002"


EPHEMERAL = 1 << 6


@dataclass
class Store:
    """`storage.Storage.marks` and `.short_term`."""

    marks: list[tuple[str, str]] = field(default_factory=list)
    cleared: list[tuple[str, str]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    fault: Exception | None = None

    def __post_init__(self) -> None:
        self.gate.set()

    async def refresh(self, channel_id: str, message_id: str) -> None:
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        self.marks.append((channel_id, message_id))

    async def clear_channel(self, server_key: str, channel_id: str) -> None:
        self.cleared.append((server_key, channel_id))


class Bot:
    def __init__(self, client: EverturnClient, api: LoopbackDiscord, *stores: Any) -> None:
        self.client, self.api = client, api
        add_refresh(client, *stores)
        client._connection._add_guild_from_data(guild())  # type: ignore[arg-type]

    def ask(self, **where: Any) -> None:
        self.api.requests.clear()
        body = interaction(COMMAND, command("refresh"), interaction_id=COMMAND_ID, **where)
        self.client._connection.parse_interaction_create(body)  # type: ignore[arg-type]

    async def says(self, **where: Any) -> str:
        self.ask(**where)
        return told(await answered(self.api))


def told(answer: Json) -> str:
    return answer.get("content") or answer["embeds"][0]["description"]


async def test_the_history_is_cut_and_short_term_memory_forgotten(
    client: EverturnClient, discord_api: LoopbackDiscord, tmp_path: Path
) -> None:
    """C133: with the real store: what is read afterwards, and what is remembered."""
    storage = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    try:
        bot = Bot(client, discord_api, storage.marks, storage.short_term)
        said = StmEntry(author="Mina", text="before", is_persona=False, at=datetime.now(UTC))
        await storage.short_term.capture(
            turn_id="turn/1",
            server_key=GUILD_ID,
            user_id=MEMBER_ID,
            persona_id=1,
            channel_id=CHANNEL_ID,
            channel_name="general",
            is_private=False,
            entries=[said],
        )
        assert await bot.says() == DONE
        mark = await storage.marks.refreshed(CHANNEL_ID)
        messages = [_Message(int(message_id)) for message_id in (BEFORE, COMMAND_ID, AFTER)]
        read = since(messages, mark, trigger_id=AFTER)  # type: ignore[arg-type]
        assert [message.id for message in read] == [int(AFTER)]
        here, elsewhere = await storage.short_term.load(
            server_key=GUILD_ID,
            user_id=MEMBER_ID,
            persona_id=1,
            channel_id=CHANNEL_ID,
            other_servers=False,
        )
        assert here is None
        assert elsewhere == []
        assert await storage.marks.refreshed(THREAD_ID) is None
    finally:
        await storage.close()


@dataclass
class _Message:
    id: int


@pytest.mark.parametrize(
    ("channel_id", "key"),
    [(CHANNEL_ID, GUILD_ID), (THREAD_ID, GUILD_ID), (DM_ID, f"dm{MEMBER_ID}")],
)
async def test_each_place_has_its_own(
    client: EverturnClient, discord_api: LoopbackDiscord, channel_id: str, key: str
) -> None:
    store = Store()
    bot = Bot(client, discord_api, store, store)
    assert await bot.says(channel_id=channel_id, permissions=SEND | 1 << 38) == DONE
    assert store.marks == [(channel_id, COMMAND_ID)]
    assert store.cleared == [(key, channel_id)]


async def test_everybody_sees_who_did_it(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """As a notice: no model may take it for a persona's words. What fails is told as one too."""
    store = Store()
    bot = Bot(client, discord_api, store, store)
    for fault in (None, OSError("no database")):
        store.fault = fault
        bot.ask()
        answer = await answered(discord_api)
        deferred = next(each.body for each in discord_api.requests if "callback" in each.path)
        assert not deferred.get("data", {}).get("flags", 0) & EPHEMERAL
        assert is_notice(answer.get("content") or "", bool(answer["embeds"]))
        assert (f"<@{MEMBER_ID}>" in told(answer)) is (fault is None)


async def test_who_may_not_speak_refreshes_nothing(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """D75."""
    store = Store()
    assert await Bot(client, discord_api, store, store).says(permissions=0) == MAY_NOT_SPEAK
    assert store.marks == []
    assert store.cleared == []


async def test_it_is_acknowledged_while_the_database_still_thinks(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """D44."""
    store = Store()
    store.gate.clear()
    bot = Bot(client, discord_api, store, store)
    bot.ask()
    await until(lambda: bool(discord_api.requests))
    assert discord_api.requests[0].body["type"] == 5
    store.gate.set()
    assert told(await answered(discord_api)) == DONE


async def test_a_database_that_is_away_is_told(
    client: EverturnClient, discord_api: LoopbackDiscord
) -> None:
    """And nothing is called done that is half done."""
    store = Store(fault=OSError("no database"))
    assert await Bot(client, discord_api, store, store).says() == FAILED
    assert store.cleared == []
