"""Admit: does a message start a turn? Behaviour 2.1, 2.5, 2.6 and 5.1, as far as the bot can know.

For: most messages in a busy server are not for the bot; they must cost nothing beyond this.
In: `MessageFacts`, and the personas known to the bot. Out: an `Admission` with its reason code.
Changes nothing, does no I/O. What depends on the channel's lock is decided by `ChannelWorkflow`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.triggers import PersonaTriggers, named_personas


class Disposition(StrEnum):
    RUN = "run"
    IGNORE = "ignore"
    BLOCKED = "blocked"


class Reason(StrEnum):
    """Reason codes; those of behaviour 2.1 and 2.5 keep their names."""

    SYSTEM_MESSAGE = "system_message"
    """Joins, pins, boosts: nobody said it."""
    OWN_MESSAGE = "own_message"
    """Our own account: a persona does not answer itself (D58)."""
    BOT_DM_MESSAGE = "bot_dm_message"
    BOT_INTERACTION_RESPONSE = "bot_interaction_response"
    UNMANAGED_WEBHOOK = "unmanaged_webhook"
    OTHER_BOT_MESSAGE = "other_bot_message"
    UNSUPPORTED_CHANNEL = "unsupported_channel"
    MISSING_CHANNEL_PERMISSIONS = "missing_channel_permissions"
    CANNOT_SEND_IN_CHANNEL = "cannot_send_in_channel"
    BOT_TIMED_OUT_IN_GUILD = "bot_timed_out_in_guild"
    RECENT_SEND_REFUSED = "recent_send_refused"
    REPLY_TO_OTHER_BOT = "reply_to_other_bot"
    NON_TRIGGER_PRE_LOCK = "non_trigger_pre_lock"
    DIRECT_MESSAGE = "direct_message"
    MENTION = "mention"
    REPLY = "reply"
    TRIGGER_WORD = "trigger_word"


class ChannelKind(StrEnum):
    TEXT = "text"
    THREAD = "thread"
    VOICE = "voice"
    DM = "dm"
    UNSUPPORTED = "unsupported"


class ReplyTarget(StrEnum):
    """Whose message this one replies to, as far as the event itself tells."""

    NOBODY = "nobody"
    US = "us"
    OTHER_BOT = "other_bot"
    SOMEBODY = "somebody"
    """A person, or a message that is gone."""


@dataclass(frozen=True)
class MessageFacts:
    """What a message is, without any of discord.py. The defaults are an ordinary member's message
    in a text channel."""

    content: str = ""
    channel: ChannelKind = ChannelKind.TEXT
    is_system: bool = False
    author_is_us: bool = False
    author_is_bot: bool = False
    is_webhook: bool = False
    is_interaction_response: bool = False
    mentions_us: bool = False
    """The bot user, or the role that Discord made for it, which members pick just as readily."""
    reply_target: ReplyTarget = ReplyTarget.NOBODY
    can_view: bool = True
    can_send: bool = True
    """By the cached permission bits; `SendMessagesInThreads` in a thread."""
    timed_out: bool = False
    """Our own member, from the cache."""
    recently_refused: bool = False


@dataclass(frozen=True)
class Admission:
    disposition: Disposition
    reason: Reason
    persona_ids: tuple[int, ...] = ()
    """Personas addressed, in the order they should answer; empty: the main one."""
    surface_errors: bool = False
    """Behaviour 2.6: only a direct signal to the bot lets its errors be shown."""


def admit(facts: MessageFacts, personas: Sequence[PersonaTriggers]) -> Admission:
    """`personas`: main first, then oldest."""
    return _unwanted_author(facts) or _closed_channel(facts) or _reply_gate(facts, personas)


def _unwanted_author(facts: MessageFacts) -> Admission | None:
    if facts.is_system:
        return _ignore(Reason.SYSTEM_MESSAGE)
    if facts.is_webhook and not facts.is_interaction_response:
        return _ignore(Reason.UNMANAGED_WEBHOOK)
    if facts.author_is_us:
        return _ignore(Reason.OWN_MESSAGE)
    if facts.author_is_bot:
        if facts.channel is ChannelKind.DM:
            return _ignore(Reason.BOT_DM_MESSAGE)
        if facts.is_interaction_response:
            return _ignore(Reason.BOT_INTERACTION_RESPONSE)
        return _ignore(Reason.OTHER_BOT_MESSAGE)
    return None


def _closed_channel(facts: MessageFacts) -> Admission | None:
    if facts.channel is ChannelKind.UNSUPPORTED:
        return _blocked(Reason.UNSUPPORTED_CHANNEL)
    if not facts.can_view:
        return _blocked(Reason.MISSING_CHANNEL_PERMISSIONS)
    if not facts.can_send:
        return _blocked(Reason.CANNOT_SEND_IN_CHANNEL)
    if facts.timed_out:
        return _blocked(Reason.BOT_TIMED_OUT_IN_GUILD)
    if facts.recently_refused:
        return _blocked(Reason.RECENT_SEND_REFUSED)
    return None


def _reply_gate(facts: MessageFacts, personas: Sequence[PersonaTriggers]) -> Admission:
    if facts.content.startswith("!"):  # another bot's command, even where it mentions us
        return _ignore(Reason.NON_TRIGGER_PRE_LOCK)
    if facts.channel is ChannelKind.DM:
        return _run(Reason.DIRECT_MESSAGE)
    named = [persona.persona_id for persona in named_personas(facts.content, personas)]
    replies_to_us = facts.reply_target is ReplyTarget.US
    if facts.mentions_us or replies_to_us:
        main = [persona.persona_id for persona in personas if persona.is_main]
        reason = Reason.MENTION if facts.mentions_us else Reason.REPLY
        return _run(reason, main + [persona_id for persona_id in named if persona_id not in main])
    if named:
        return _run(Reason.TRIGGER_WORD, named)
    if facts.reply_target is ReplyTarget.OTHER_BOT:
        return _ignore(Reason.REPLY_TO_OTHER_BOT)
    return _ignore(Reason.NON_TRIGGER_PRE_LOCK)


def _run(reason: Reason, persona_ids: Sequence[int] = ()) -> Admission:
    # Each of the four ways in is a direct signal in the sense of behaviour 2.6.
    return Admission(Disposition.RUN, reason, tuple(persona_ids), surface_errors=True)


def _ignore(reason: Reason) -> Admission:
    return Admission(Disposition.IGNORE, reason)


def _blocked(reason: Reason) -> Admission:
    return Admission(Disposition.BLOCKED, reason)
