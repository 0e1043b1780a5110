"""`/config notices …` and `/config cross-channel …` (behaviour 10, 12): what is about channels."""

from __future__ import annotations

from typing import Literal

import discord
from discord import app_commands

from bot.commands.config.changes import Refused, changed, with_blocked, without_blocked
from bot.commands.config.desk import Calling, Desk
from bot.commands.config.places import AnyChannel
from storage.config import ServerConfig


class NoticeCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="notices", description="What is told of a persona's tools")
        self._desk = desk

    @app_commands.command(description="How much the channel shows")
    @app_commands.describe(style="Nothing, titles, or everything")
    async def style(self, calling: Calling, style: Literal["hidden", "minimal", "verbose"]) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("notices", "tool_notices"), style),
            f"Notices of tools are {style}.",
        )

    @app_commands.command(name="log-channel", description="Where the full cards go")
    @app_commands.describe(channel="Personas do not speak there; no log without it")
    async def log_channel(self, calling: Calling, channel: AnyChannel | None = None) -> None:
        def change(config: ServerConfig) -> ServerConfig:
            if channel is not None:
                check_log_channel(channel)
            channel_id = None if channel is None else str(channel.id)
            return changed(config, ("notices", "thought_log_channel_id"), channel_id)

        told = "The log is off."
        if channel is not None:
            told = f"The log is in <#{channel.id}>, and personas do not speak there any more."
        await self._desk.change(calling, change, told, only_in_a_server=True)


def check_log_channel(channel: AnyChannel) -> None:
    """Raises Refused where the bot could not post the log."""
    place = channel.resolve()
    if place is None:
        raise Refused(f"I do not see <#{channel.id}>: give me View Channel there first.")
    if not isinstance(place, discord.TextChannel | discord.Thread):
        raise Refused(f"<#{channel.id}> is not a text channel or thread.")
    have = place.permissions_for(place.guild.me)
    in_thread = isinstance(place, discord.Thread)
    speaking = have.send_messages_in_threads if in_thread else have.send_messages
    needed = {"View Channel": have.view_channel, "Send Messages": speaking}
    needed["Embed Links"] = have.embed_links
    if missing := [name for name, given in needed.items() if not given]:
        raise Refused(f"I cannot post in <#{channel.id}>: give me {' and '.join(missing)} there.")


class CrossChannelCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="cross-channel", description="Where personas are not sent")
        self._desk = desk

    @app_commands.command(description="Send no persona there")
    @app_commands.describe(channel="A channel, or a category with all of its channels")
    async def block(self, calling: Calling, channel: AnyChannel) -> None:
        await self._desk.change(
            calling,
            lambda config: with_blocked(config, str(channel.id)),
            f"Personas are not sent to <#{channel.id}>.",
            only_in_a_server=True,
        )

    @app_commands.command(description="Allow a channel again")
    @app_commands.describe(channel="A blocked one: its name, mention or id")
    async def unblock(self, calling: Calling, channel: str) -> None:
        await self._desk.change(
            calling,
            lambda config: without_blocked(config, channel, lambda id_: _name_of(calling, id_)),
            "The channel is allowed again.",
            only_in_a_server=True,
        )

    @unblock.autocomplete("channel")
    async def _blocked(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        def named(channel_id: str) -> str:
            name = _name_of(calling, channel_id)
            return channel_id if name is None else f"#{name}"

        return await self._desk.suggest(
            calling,
            typed,
            lambda config: [(named(c), c) for c in config.cross_channel.blocked_channel_ids],
        )


def _name_of(calling: Calling, channel_id: str) -> str | None:
    """None for a channel that is gone, or that the bot does not see."""
    channel = calling.guild.get_channel_or_thread(int(channel_id)) if calling.guild else None
    return None if channel is None else channel.name
