"""The slash commands, as Discord has them: what members really see when they type `/`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import discord

from bot.port.refusing import refusing
from workflows.contracts.discord_port import CommandFacts

_GROUPS = (1, 2)
"""Option types SUB_COMMAND and SUB_COMMAND_GROUP (interactions/application-commands)."""


async def commands(client: discord.Client) -> list[CommandFacts]:
    if client.application_id is None:
        return []
    with refusing():
        known: Any = await client.http.get_global_commands(client.application_id)
    return [
        facts
        for command in sorted(known, key=lambda command: command["name"])
        if command.get("type", 1) == 1
        for facts in _leaves(command, command["name"])
    ]


def _leaves(command: Any, name: str) -> Iterator[CommandFacts]:
    inner = [option for option in command.get("options") or [] if option["type"] in _GROUPS]
    if not inner:
        yield CommandFacts(name=name, description=command.get("description", ""))
    for option in inner:
        yield from _leaves(option, f"{name} {option['name']}")
