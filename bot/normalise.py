"""Normalise: what reached the bot becomes plain facts, and what is admitted a `ChatIncoming`.

For: admission, dispatch and workflows know nothing of discord.py. In: a gateway message as its
event and the cache show it, or a slash command. Out: `MessageFacts`, `ChatIncoming`. No I/O,
nothing is invented: what the cache does not hold counts as allowed, and Discord itself decides when
we send; but a server that is not described at all is one whose rules are not known. What is not
given has the default of the contract (behaviour 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import discord

from bot.admission import (
    OPEN,
    Admission,
    ChannelKind,
    MessageFacts,
    ReplyTarget,
    Speaker,
    Standing,
)
from bot.delivery.notices import is_notice
from bot.speakers import Speaker as Said
from bot.speakers import Speakers
from workflows.contracts.invocation import Addressed, ChatIncoming

SPOKEN = (discord.MessageType.default, discord.MessageType.reply)
"""Message types that a person or bot has written; every other is Discord's own notice."""

MOST_ROLES = 100
"""Of a member, as `ChatIncoming` carries them."""


class PersonaWebhooks(Protocol):
    """`bot.webhooks.ManagedWebhooks`: who speaks through the bot, from memory."""

    def recognise(self, message: discord.Message) -> bool: ...
    def speakers(self, guild_id: str | None) -> Speakers: ...


@dataclass(frozen=True)
class Begun:
    """Of a persona's message: who began the chain it belongs to, as far as the bot knows."""

    author_id: str
    author_name: str
    newest_human_id: str | None = None
    """The newest message of a person that the bot saw in the channel."""


def facts_of(
    message: discord.Message,
    me: discord.abc.User,
    webhooks: PersonaWebhooks,
    *,
    recently_refused: bool = False,
    suppressed: bool = False,
    speaking: int | None = None,
    allowed_roles: Sequence[int] = (),
) -> MessageFacts:
    """`suppressed`: what personas say in the channel starts nothing just now. `speaking`: the
    persona for which the bot's account says it, if that is known.
    `allowed_roles`: of whom personas answer in the server; empty: of everybody."""
    channel = message.channel
    kind = channel_kind(message)
    described = is_described(message)
    speaker, said = _speaker(message, me, webhooks)
    reply_target, reply_persona_id = _reply_target(message, me, webhooks)
    parent_id = channel.parent_id if isinstance(channel, discord.Thread) else None
    persona_id = said.persona_id if said is not None else None
    if speaker is Speaker.PERSONA and speaking is not None and message.webhook_id is None:
        persona_id = speaking
    return MessageFacts(
        content=message.content if said is None else said.words,
        channel=kind,
        channel_id=str(channel.id),
        parent_id=None if parent_id is None else str(parent_id),
        author_id=str(message.author.id),
        has_allowed_role=not allowed_roles
        or (described and _has_one(message.author, allowed_roles)),
        speaker=speaker,
        persona_id=persona_id,
        is_interaction_response=message.interaction_metadata is not None,
        is_bare=not message.embeds and not message.attachments,
        is_voice=_is_voice(message),
        mentions_us=_mentions(message, me, reply_target),
        reply_target=reply_target,
        reply_persona_id=reply_persona_id,
        recently_refused=recently_refused,
        is_described=described,
        suppressed=suppressed,
    )


def incoming_of(
    message: discord.Message,
    facts: MessageFacts,
    admission: Admission,
    *,
    application_id: int,
    me: discord.abc.User,
    begun: Begun | None = None,
) -> ChatIncoming:
    """`facts` and `admission` are of this message. `begun`: of a persona's message."""
    is_persona_job = admission.is_persona_job
    by_person = begun is None
    author = message.author
    return ChatIncoming(
        **_place(message.channel, message.guild),
        application_id=str(application_id),
        message_id=str(message.id),
        author_id=str(author.id) if begun is None else begun.author_id,
        author_name=author.display_name if begun is None else begun.author_name,
        content=facts.content,
        bot_user_id=str(me.id),
        persona_ids=list(admission.persona_ids),
        addressed=admission.addressed,
        persona_named=admission.persona_named,
        mentions_us=by_person and (facts.mentions_us or facts.reply_target is ReplyTarget.US),
        author_persona_id=facts.persona_id,
        reply_persona_id=facts.reply_persona_id,
        role_ids=list(role_ids(author)) if by_person else [],
        is_manager=by_person and _is_manager(author),
        newest_human_id=None if begun is None else begun.newest_human_id,
        is_manual=admission.is_manual,
        is_persona_job=is_persona_job,
        surface_errors=admission.surface_errors,
    )


def incoming_of_command(
    interaction: discord.Interaction[Any],
    *,
    content: str = "",
    selected_persona_id: int | None = None,
) -> ChatIncoming:
    """A turn that a member asks for by a slash command: the interaction is its message."""
    user = interaction.user
    me = interaction.client.user
    return ChatIncoming(
        **_place(interaction.channel, interaction.guild),
        application_id=str(interaction.application_id),
        message_id=str(interaction.id),
        author_id=str(user.id),
        author_name=user.display_name,
        content=content,
        bot_user_id=str(me.id) if me is not None else "",
        addressed=Addressed.COMMAND,
        role_ids=list(role_ids(user)),
        is_manager=_is_manager(user),
        is_manual=True,
        selected_persona_id=selected_persona_id,
        locale=str(interaction.locale),
    )


def standing_in(message: discord.Message) -> Standing:
    """Of our own member where the message stands, from the cache only."""
    guild = message.guild
    channel = message.channel
    # Typed as a Member, but None until the guild's own event has filled the cache.
    member: discord.Member | None = guild.me if guild else None
    if member is None:
        return OPEN
    if member.is_timed_out():
        # discord.py masks the permission bits of a member who is timed out; the reason is the
        # timeout then, not the bits (C004).
        return Standing(timed_out=True)
    if isinstance(channel, discord.Thread):
        if channel.parent is None:
            return OPEN
        permissions = channel.permissions_for(member)
        locked_out = channel.locked and not permissions.manage_threads
        can_send = permissions.send_messages_in_threads and not locked_out
        return Standing(permissions.view_channel, can_send)
    if isinstance(channel, discord.TextChannel | discord.VoiceChannel):
        permissions = channel.permissions_for(member)
        return Standing(permissions.view_channel, permissions.send_messages)
    return OPEN


def is_described(message: discord.Message) -> bool:
    """False before Discord has told what the message's server is, as at the beginning of a session
    and while the server is down: then its roles, and what a channel is, are not known. It is told
    in any case, and then what was said is read (`bot.missed`)."""
    if message.guild is not None:
        return not message.guild.unavailable
    # One of a server is typed so as well, though the cache does not know the server.
    return not isinstance(message.channel, discord.PartialMessageable)


def channel_kind(message: discord.Message) -> ChannelKind:
    channel = message.channel
    if isinstance(channel, discord.TextChannel):
        return ChannelKind.TEXT
    if isinstance(channel, discord.Thread):
        return ChannelKind.THREAD
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


def role_ids(author: discord.abc.User) -> tuple[str, ...]:
    """Without `@everyone`, the oldest first."""
    if not isinstance(author, discord.Member):
        return ()
    everyone = author.guild.id
    return tuple(str(role.id) for role in author.roles if role.id != everyone)[:MOST_ROLES]


def _has_one(author: discord.abc.User, roles: Sequence[int]) -> bool:
    return isinstance(author, discord.Member) and any(map(author.get_role, roles))


def _place(channel: object, guild: discord.Guild | None) -> dict[str, Any]:
    """The fields of a `ChatIncoming` that say where."""
    is_dm = isinstance(channel, discord.DMChannel)
    is_thread = isinstance(channel, discord.Thread)
    return {
        "channel_id": str(getattr(channel, "id", "")),
        "guild_id": str(guild.id) if guild else None,
        "guild_name": guild.name if guild else "",
        "channel_name": "" if is_dm else getattr(channel, "name", None) or "",
        "is_dm": is_dm,
        "is_thread": is_thread,
        "parent_channel_id": str(channel.parent_id) if is_thread else None,
    }


def _is_manager(author: discord.abc.User) -> bool:
    return isinstance(author, discord.Member) and author.guild_permissions.manage_guild


def _speaker(
    message: discord.Message, me: discord.abc.User, webhooks: PersonaWebhooks
) -> tuple[Speaker, Said | None]:
    """Who says it; of a persona also which one, and its own words."""
    author = message.author
    is_answer = message.interaction_metadata is not None
    if message.type not in SPOKEN and not is_answer:
        return Speaker.SYSTEM, None
    if not author.bot and message.webhook_id is None and author.id != me.id:
        return Speaker.PERSON, None
    if author.id == me.id and (is_answer or is_notice(message.content, bool(message.embeds))):
        return Speaker.OUR_NOTICE, None
    if (author.id == me.id and message.webhook_id is None) or webhooks.recognise(message):
        return Speaker.PERSONA, _said(message, webhooks)
    if message.webhook_id is not None and not is_answer:
        return Speaker.WEBHOOK, None
    return Speaker.BOT, None


def _said(message: discord.Message, webhooks: PersonaWebhooks) -> Said:
    guild_id = str(message.guild.id) if message.guild else None
    return webhooks.speakers(guild_id).of(message)


def _is_voice(message: discord.Message) -> bool:
    if message.content or not message.attachments:
        return False
    return any((file.content_type or "").startswith("audio/") for file in message.attachments)


def _mentions(message: discord.Message, me: discord.abc.User, reply_target: ReplyTarget) -> bool:
    if any(user.id == me.id for user in message.mentions):
        # The ping of a reply is among them, and says nothing beyond the reply.
        replies = reply_target in (ReplyTarget.US, ReplyTarget.PERSONA)
        if not replies or f"<@{me.id}>" in message.content or f"<@!{me.id}>" in message.content:
            return True
    role = message.guild.self_role if message.guild and message.role_mentions else None
    return role is not None and role in message.role_mentions


def _reply_target(
    message: discord.Message, me: discord.abc.User, webhooks: PersonaWebhooks
) -> tuple[ReplyTarget, int | None]:
    """Whose message it replies to; of a persona other than the main one, which."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return ReplyTarget.NOBODY, None
    target = message.reference.resolved
    if not isinstance(target, discord.Message):  # deleted, or not sent along: it has no author
        return ReplyTarget.SOMEBODY, None
    if webhooks.recognise(target):
        return ReplyTarget.PERSONA, _said(target, webhooks).persona_id
    if target.author.id == me.id:
        said = _said(target, webhooks)
        if said.is_alter:
            return ReplyTarget.PERSONA, said.persona_id
        return ReplyTarget.US, None
    return (ReplyTarget.OTHER_BOT if target.author.bot else ReplyTarget.SOMEBODY), None
