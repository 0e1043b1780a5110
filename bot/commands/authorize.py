"""Who may do what: the one rule for messages, commands, buttons and completions (D75).

In: the `Caller`, made of whatever reached the bot, and what the thing asked for `Needs`. Out: None,
or the sentence to tell the caller. Pure. A new way to reach the bot makes a `Caller` and asks here;
it has no rule of its own.

| Needs | in a server | in a direct message |
|---|---|---|
| SPEAK | may send messages in this channel or thread | always |
| MANAGE | has Manage Server | always: the settings of one's own conversation |
| OWN | always: what belongs to the caller alone | always |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import discord

NOT_A_MEMBER = "Bots and webhooks cannot use this."
MAY_NOT_SPEAK = "You cannot send messages in this channel, so you cannot use this here."
MAY_NOT_MANAGE = "Only members with the Manage Server permission may see and change the settings."


class Needs(StrEnum):
    SPEAK = "speak"
    MANAGE = "manage"
    OWN = "own"


@dataclass(frozen=True)
class Caller:
    user_id: str
    guild_id: str | None
    is_person: bool
    may_speak: bool
    may_manage: bool

    @classmethod
    def of_interaction(cls, interaction: discord.Interaction[Any]) -> Caller:
        """By the permissions that come with the interaction: Discord has just computed them."""
        permissions = interaction.permissions
        in_thread = isinstance(interaction.channel, discord.Thread)
        speaking = permissions.send_messages_in_threads if in_thread else permissions.send_messages
        direct = interaction.guild_id is None
        return cls(
            user_id=str(interaction.user.id),
            guild_id=None if direct else str(interaction.guild_id),
            is_person=not interaction.user.bot,
            may_speak=direct or permissions.administrator or speaking,
            may_manage=direct or permissions.administrator or permissions.manage_guild,
        )

    @classmethod
    def of_message(cls, message: discord.Message) -> Caller:
        """Whoever has spoken here may speak here. Nobody manages by a message."""
        direct = message.guild is None
        return cls(
            user_id=str(message.author.id),
            guild_id=None if message.guild is None else str(message.guild.id),
            is_person=not message.author.bot and message.webhook_id is None,
            may_speak=True,
            may_manage=direct,
        )


def authorize(caller: Caller, needs: Needs) -> str | None:
    """None: it may be done. Else why not."""
    if not caller.is_person:
        return NOT_A_MEMBER
    match needs:
        case Needs.SPEAK:
            return None if caller.may_speak else MAY_NOT_SPEAK
        case Needs.MANAGE:
            return None if caller.may_manage else MAY_NOT_MANAGE
        case Needs.OWN:
            return None
