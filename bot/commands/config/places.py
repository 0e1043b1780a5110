"""What options, answers and completions about channels and roles have in common."""

from __future__ import annotations

import discord
from discord import app_commands

from bot.commands.config.changes import Refused
from bot.commands.config.desk import Calling
from bot.commands.config.picking import NameOf
from storage.config import ServerConfig

AnyChannel = app_commands.AppCommandChannel | app_commands.AppCommandThread


def speaking_place(channel: AnyChannel) -> str:
    """Its id. Raises Refused for what nobody speaks in."""
    if channel.type is discord.ChannelType.category:
        raise Refused("That is a category: choose its channels one by one.")
    return str(channel.id)


def place_of(calling: Calling) -> tuple[str, str | None]:
    """Where somebody calls from: a channel, and of a thread its parent as well."""
    place = calling.channel
    parent_id = place.parent_id if isinstance(place, discord.Thread) else None
    return str(calling.channel_id), None if parent_id is None else str(parent_id)


def lacking(channel: AnyChannel) -> list[str]:
    """The permissions that the bot lacks to speak there, by Discord's names for them."""
    is_thread = isinstance(channel, app_commands.AppCommandThread)
    place = channel.resolve() or (channel.parent if is_thread else None)
    if place is None:
        return ["View Channel"]
    have = place.permissions_for(place.guild.me)
    in_threads = is_thread or isinstance(place, discord.ForumChannel)
    speaking = have.send_messages_in_threads if in_threads else have.send_messages
    name = "Send Messages in Threads" if in_threads else "Send Messages"
    needed = {"View Channel": have.view_channel, name: speaking}
    return [name for name, given in needed.items() if not given]


def silence(
    config: ServerConfig, channel_id: str, parent_id: str | None, persona_id: int | None = None
) -> str | None:
    """By which setting no persona, or not this one, speaks in a channel; None: by none."""
    where = {channel_id, parent_id}
    if channel_id == config.notices.thought_log_channel_id:
        return "it is the log of the personas' tools, and personas do not speak there"
    allowed = config.access.channels
    if allowed and where.isdisjoint(each.channel_id for each in allowed):
        return "personas answer only in the channels of `/access show`, and it is none of them"
    own = config.access.persona_channels.get(persona_id) if persona_id is not None else None
    if own and where.isdisjoint(own):
        return "that persona answers only in its channels of `/access show`, and it is none of them"
    return None


def caveat(config: ServerConfig, channel: AnyChannel, persona_id: int | None = None) -> str:
    """What an answer about a channel adds where, as things are, nobody would speak there."""
    is_thread = isinstance(channel, app_commands.AppCommandThread)
    parent_id = str(channel.parent_id) if is_thread else None
    reason = silence(config, str(channel.id), parent_id, persona_id)
    missing = lacking(channel)
    if reason is None and missing:
        reason = f"I cannot speak there: give me {' and '.join(missing)}"
    return "" if reason is None else f" But {reason}."


def channel_names(calling: Calling) -> NameOf:
    def name_of(channel_id: str) -> str | None:
        guild = calling.guild
        found = guild.get_channel_or_thread(int(channel_id)) if guild is not None else None
        return None if found is None else found.name

    return name_of


def role_names(calling: Calling) -> NameOf:
    def name_of(role_id: str) -> str | None:
        role = calling.guild.get_role(int(role_id)) if calling.guild is not None else None
        return None if role is None else role.name

    return name_of
