"""What options and completions of channels and roles have in common."""

from __future__ import annotations

import discord
from discord import app_commands

from bot.commands.config.changes import Refused
from bot.commands.config.desk import Calling
from bot.commands.config.picking import NameOf

AnyChannel = app_commands.AppCommandChannel | app_commands.AppCommandThread


def speaking_place(channel: AnyChannel) -> str:
    """Its id. Raises Refused for what nobody speaks in."""
    if channel.type is discord.ChannelType.category:
        raise Refused("That is a category: choose its channels one by one.")
    return str(channel.id)


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
