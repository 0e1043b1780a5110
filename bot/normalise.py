"""Normalise: a discord.py message becomes plain facts, and an admitted one a `ChatIncoming`.

For: admission, dispatch and workflows know nothing of discord.py. In: a gateway message, as its
event and the cache show it. Out: `MessageFacts`, `ChatIncoming`. No I/O, nothing is invented: what
the cache does not hold counts as allowed, and Discord itself decides when we send.
"""

from __future__ import annotations

import discord

from bot.admission import Admission, ChannelKind, MessageFacts, ReplyTarget
from workflows.contracts.invocation import ChatIncoming

SPOKEN = (discord.MessageType.default, discord.MessageType.reply)
"""Message types that a person or bot has written; every other is Discord's own notice."""


def facts_of(
    message: discord.Message, me: discord.abc.User, *, recently_refused: bool
) -> MessageFacts:
    kind = channel_kind(message)
    can_view, can_send, timed_out = _own_standing(message)
    return MessageFacts(
        content=message.content,
        channel=kind,
        is_system=message.type not in SPOKEN and message.interaction_metadata is None,
        author_is_us=message.author.id == me.id,
        author_is_bot=message.author.bot,
        is_webhook=message.webhook_id is not None,
        is_interaction_response=message.interaction_metadata is not None,
        mentions_us=_mentions(message, me),
        reply_target=_reply_target(message, me),
        can_view=can_view,
        can_send=can_send,
        timed_out=timed_out,
        recently_refused=recently_refused,
    )


def incoming_of(
    message: discord.Message,
    admission: Admission,
    *,
    application_id: int,
    me: discord.abc.User,
) -> ChatIncoming:
    kind = channel_kind(message)
    is_dm = kind is ChannelKind.DM
    return ChatIncoming(
        application_id=str(application_id),
        channel_id=str(message.channel.id),
        message_id=str(message.id),
        author_id=str(message.author.id),
        author_name=message.author.display_name,
        content=message.content,
        guild_id=str(message.guild.id) if message.guild else None,
        guild_name=message.guild.name if message.guild else "",
        channel_name="" if is_dm else getattr(message.channel, "name", None) or "",
        is_dm=is_dm,
        is_thread=kind is ChannelKind.THREAD,
        bot_user_id=str(me.id),
        persona_ids=list(admission.persona_ids),
        surface_errors=admission.surface_errors,
    )


def channel_kind(message: discord.Message) -> ChannelKind:
    channel = message.channel
    if isinstance(channel, discord.Thread):
        return ChannelKind.THREAD
    if isinstance(channel, discord.TextChannel):
        return ChannelKind.TEXT
    if isinstance(channel, discord.VoiceChannel):
        return ChannelKind.VOICE
    if isinstance(channel, discord.DMChannel):
        return ChannelKind.DM
    if isinstance(channel, discord.PartialMessageable):
        # A thread that was archived when the session began is in no cache.
        return ChannelKind.TEXT
    return ChannelKind.UNSUPPORTED


def is_private(channel: object) -> bool:
    """Whether some members of the server cannot read it. What the cache does not hold counts as
    private: what is said there is then shown nowhere else."""
    if isinstance(channel, discord.DMChannel):
        return False  # private in another way, and known as a direct message
    if isinstance(channel, discord.Thread):
        return channel.is_private() or is_private(channel.parent)
    if not isinstance(channel, discord.abc.GuildChannel):
        return True
    # Typed as a Role, but None until the guild's own event has filled the cache.
    everyone: discord.Role | None = channel.guild.default_role
    return everyone is None or not channel.permissions_for(everyone).view_channel


def _mentions(message: discord.Message, me: discord.abc.User) -> bool:
    if any(user.id == me.id for user in message.mentions):
        return True
    role = message.guild.self_role if message.guild and message.role_mentions else None
    return role is not None and role in message.role_mentions


def _reply_target(message: discord.Message, me: discord.abc.User) -> ReplyTarget:
    if message.type is not discord.MessageType.reply or message.reference is None:
        return ReplyTarget.NOBODY
    target = message.reference.resolved
    if not isinstance(target, discord.Message):  # deleted, or not sent along: it has no author
        return ReplyTarget.SOMEBODY
    if target.author.id == me.id:
        return ReplyTarget.US
    return ReplyTarget.OTHER_BOT if target.author.bot else ReplyTarget.SOMEBODY


def _own_standing(message: discord.Message) -> tuple[bool, bool, bool]:
    """(can view, can send, timed out) of our own member here, from the cache only."""
    guild = message.guild
    channel = message.channel
    # Typed as a Member, but None until the guild's own event has filled the cache.
    member: discord.Member | None = guild.me if guild else None
    if member is None:
        return True, True, False
    if member.is_timed_out():
        # discord.py masks the permission bits of a member who is timed out; the reason is the
        # timeout then, not the bits (C004).
        return True, True, True
    if isinstance(channel, discord.Thread):
        if channel.parent is None:
            return True, True, False
        permissions = channel.permissions_for(member)
        locked_out = channel.locked and not permissions.manage_threads
        can_send = permissions.send_messages_in_threads and not locked_out
        return permissions.view_channel, can_send, False
    if isinstance(channel, discord.TextChannel | discord.VoiceChannel):
        permissions = channel.permissions_for(member)
        return permissions.view_channel, permissions.send_messages, False
    return True, True, False
