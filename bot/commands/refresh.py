"""`/refresh`: begin the conversation of this channel anew (behaviour 17, C133).

In: the command. Out: a notice in the channel that says who did it. Changes: the channel's history
begins after this moment, and its short-term memory is empty; what was said stays in Discord, and
long-term memory stays. What always holds: Discord's own clock draws the line (the command's id is
younger than every message before it); done twice, it only moves forward. Who may speak here may use
it, as with `/kill`: behaviour 17 asks for no more. It takes something from all who speak here, so
all see who did it.
"""

from __future__ import annotations

from typing import Any, Protocol

import discord
from discord import app_commands

from bot.client import EverturnClient
from bot.commands.answers import answer_openly
from bot.commands.authorize import Needs
from workflows.contracts.base import server_key

REFRESHED = (
    "<@{user_id}> begins the conversation anew here: what was said before is not read any more, "
    "and short-term memory of this channel is cleared."
)


class Marks(Protocol):
    """`storage.Storage.marks`."""

    async def refresh(self, channel_id: str, message_id: str) -> None: ...


class ShortTermMemory(Protocol):
    """`storage.Storage.short_term`."""

    async def clear_channel(self, server_key: str, channel_id: str) -> None: ...


def add_refresh(client: EverturnClient, marks: Marks, short_term: ShortTermMemory) -> None:
    async def refresh(interaction: discord.Interaction[EverturnClient]) -> None:
        await answer_openly(
            interaction,
            Needs.SPEAK,
            "/refresh",
            lambda: refresh_channel(interaction, marks, short_term),
        )

    client.tree.add_command(
        app_commands.Command(
            name="refresh",
            description="Begin the conversation in this channel anew",
            callback=refresh,
        )
    )


async def refresh_channel(
    interaction: discord.Interaction[Any], marks: Marks, short_term: ShortTermMemory
) -> str:
    channel_id = str(interaction.channel_id)
    guild_id = None if interaction.guild_id is None else str(interaction.guild_id)
    newest = getattr(interaction.channel, "last_message_id", None) or 0
    await marks.refresh(channel_id, str(max(interaction.id, newest)))
    await short_term.clear_channel(server_key(guild_id, str(interaction.user.id)), channel_id)
    return REFRESHED.format(user_id=interaction.user.id)
