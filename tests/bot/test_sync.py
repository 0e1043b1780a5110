"""Command sync (D74)."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from temporalio.client import Client

from bot.client import EverturnClient
from bot.commands.config import ConfigStore, add_config
from bot.commands.kill import add_kill
from bot.commands.persona import PersonaStore, add_persona
from bot.commands.refresh import Marks, ShortTermMemory, add_refresh
from bot.commands.respond import Responder, add_respond
from bot.commands.sync import (
    MAX_CHARACTERS,
    MAX_COMMANDS,
    MAX_OPTIONS,
    payload,
    sync_commands,
)
from bot.typing_sessions import TypingSessions
from tests.bot.loopback import LoopbackDiscord
from tests.bot.servers import Source, directory_of

NAMES = [
    "kill",
    "config",
    "triggers",
    "access",
    "limits",
    "personal",
    "persona",
    "respond",
    "refresh",
]


@pytest.fixture
def commanded(client: EverturnClient) -> EverturnClient:
    typing = TypingSessions(lambda channel_id: client.http.send_typing(int(channel_id)))
    add_kill(client, cast(Client, None), typing)
    directory = directory_of(Source())
    add_config(client, cast(ConfigStore, None), directory)
    add_persona(client, cast(PersonaStore, None), directory)
    add_respond(client, cast(Responder, None), directory)
    add_refresh(client, cast(Marks, None), cast(ShortTermMemory, None))
    return client


async def test_it_writes_once_and_then_only_what_has_changed(
    discord_api: LoopbackDiscord, commanded: EverturnClient
) -> None:
    """D74."""
    assert await sync_commands(commanded)
    assert [command["name"] for command in discord_api.commands] == NAMES
    discord_api.requests.clear()
    assert not await sync_commands(commanded)
    assert discord_api.calls() == ["GET commands"]
    discord_api.commands[0]["description"] = "an older text"
    assert await sync_commands(commanded)
    assert discord_api.commands[0]["description"] != "an older text"


async def test_a_failure_leaves_the_bot_running(
    discord_api: LoopbackDiscord, commanded: EverturnClient
) -> None:
    discord_api.fail("PUT", "commands", 403, code=30034)
    assert not await sync_commands(commanded)


def test_the_commands_fit_in_discords_limits(commanded: EverturnClient) -> None:
    """D74: at most 100 commands, 25 options or choices, 8,000 characters a command."""
    commands = payload(commanded)
    assert 0 < len(commands) <= MAX_COMMANDS
    for command in commands:
        assert len(json.dumps(command, ensure_ascii=False)) <= MAX_CHARACTERS
        assert_lists_fit(command)


def assert_lists_fit(node: dict[str, Any]) -> None:
    for key in ("options", "choices"):
        inner = node.get(key) or []
        assert len(inner) <= MAX_OPTIONS
        for item in inner:
            assert_lists_fit(item)
