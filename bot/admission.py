"""Admit: does a message start a turn? Behaviour 2.1, 2.5, 2.6 and 5.1, as far as the bot can know.

For: most messages in a busy server are not for the bot; they must cost nothing beyond this.
In: `MessageFacts`, and what the bot knows of the server, its author and its channel. Out: an
`Admission` with its reason code. Changes nothing, does no I/O. What depends on the channel's lock
is decided by `workflows.disposition`, what depends on the database by the planning of the turn.

A member's voice message is passed by for want of a transcription; nobody proxies members here, so
the behaviour's row on that never applies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from bot.directory import UNSET, Server
from bot.triggers import Named
from storage.config.models import AutochatChannel, Privacy, UserConfig
from workflows.contracts.invocation import DIRECT, Addressed

PLACEHOLDER = "\u2800"
"""What a seed message of the bot's own holds, and nothing else."""
WHOAMI = "$whoami"


class Disposition(StrEnum):
    RUN = "run"
    IGNORE = "ignore"
    BLOCKED = "blocked"


class Reason(StrEnum):
    """Reason codes; those of behaviour 2.1 and 2.5 keep their names, and of what runs it is by what
    it was addressed."""

    SERVER_NOT_DESCRIBED = "server_not_described"
    """Discord has not told yet what the server is: it is read again when it has."""
    SYSTEM_MESSAGE = "system_message"
    """Joins, pins, boosts: nobody said it."""
    SEED_PLACEHOLDER = "seed_placeholder"
    SELF_REPLY_SUPPRESSED = "self_reply_suppressed"
    SELF_REPLY_REFERENCE = "self_reply_reference"
    BOT_DM_MESSAGE = "bot_dm_message"
    BOT_INTERACTION_RESPONSE = "bot_interaction_response"
    UNMANAGED_WEBHOOK = "unmanaged_webhook"
    OTHER_BOT_MESSAGE = "other_bot_message"
    OWN_NOTICE = "own_notice"
    """The system's words, not a persona's: they trigger nobody (D57)."""
    WHOAMI_EASTER_EGG = "whoami_easter_egg"
    FULL_PRIVACY_USER = "full_privacy_user"
    UNSUPPORTED_CHANNEL = "unsupported_channel"
    SERVER_BLACKLISTED_USER = "server_blacklisted_user"
    MISSING_CHANNEL_PERMISSIONS = "missing_channel_permissions"
    CANNOT_SEND_IN_CHANNEL = "cannot_send_in_channel"
    BOT_TIMED_OUT_IN_GUILD = "bot_timed_out_in_guild"
    RECENT_SEND_REFUSED = "recent_send_refused"
    REPLY_TO_OTHER_BOT = "reply_to_other_bot"
    VOICE_TRANSCRIPTION_FAILED = "voice_transcription_failed"
    THOUGHT_LOG_CHANNEL = "thought_log_channel"
    REJECTED_BY_WHITELIST = "rejected_by_whitelist_pre_lock"
    NON_TRIGGER_PRE_LOCK = "non_trigger_pre_lock"
    PERSONA_CALLED_ALREADY = "persona_called_already"
    """By another message of the same answer."""
    COMMAND = "command"
    DIRECT_MESSAGE = "direct_message"
    MENTION = "mention"
    REPLY = "reply"
    TRIGGER_WORD = "trigger_word"
    SPOTLIGHT = "spotlight"
    ALWAYS_REPLY = "always_reply"
    AUTOCHAT = "autochat"
    BEING_ANSWERED = "being_answered"
    """It addresses nobody, but may be a follow-up of its author's, or a stop in words."""


class ChannelKind(StrEnum):
    TEXT = "text"
    THREAD = "thread"
    VOICE = "voice"
    DM = "dm"
    UNSUPPORTED = "unsupported"


class Speaker(StrEnum):
    PERSON = "person"
    PERSONA = "persona"
    """One of ours, through a webhook of ours or the bot's account."""
    OUR_NOTICE = "our_notice"
    BOT = "bot"
    WEBHOOK = "webhook"
    """Not one of ours."""
    SYSTEM = "system"
    """Discord itself."""


class ReplyTarget(StrEnum):
    """Whose message this one replies to, as far as the event itself tells."""

    NOBODY = "nobody"
    US = "us"
    """The bot's account, speaking for the main persona."""
    PERSONA = "persona"
    """Another persona, through a webhook of ours or under its name."""
    OTHER_BOT = "other_bot"
    SOMEBODY = "somebody"
    """A person, or a message that is gone."""


class Courtesy(StrEnum):
    """What is said to the author in the channel, beside the disposition."""

    WHOAMI = "whoami"
    UNSUPPORTED_CHANNEL = "unsupported_channel"
    THOUGHT_LOG = "thought_log"


@dataclass(frozen=True)
class Standing:
    """What the bot may do in a channel, from its cache."""

    can_view: bool = True
    can_send: bool = True
    """By the permission bits; `SendMessagesInThreads` in a thread."""
    timed_out: bool = False
    """Our own member."""


OPEN = Standing()


class MessageFacts(NamedTuple):
    """What a message is, without any of discord.py. The defaults are an ordinary member's message
    in a text channel. A tuple, since one is made of every message."""

    content: str = ""
    """Of a persona: its words alone."""
    channel: ChannelKind = ChannelKind.TEXT
    channel_id: str = ""
    parent_id: str | None = None
    """Of a thread its channel: lists of channels hold for the thread too."""
    author_id: str = ""
    has_allowed_role: bool = True
    """Of those that the server asks of whom personas answer, if it asks any."""
    speaker: Speaker = Speaker.PERSON
    persona_id: int | None = None
    """Of a persona's message, where it is known whose it is."""
    is_interaction_response: bool = False
    is_bare: bool = True
    """Without embeds and files."""
    is_voice: bool = False
    """Sound, and no text."""
    mentions_us: bool = False
    """The bot user, or the role that Discord made for it, which members pick just as readily."""
    reply_target: ReplyTarget = ReplyTarget.NOBODY
    reply_persona_id: int | None = None
    recently_refused: bool = False
    """A send in this channel."""
    is_described: bool = True
    """What the cache says of its server can be relied on."""
    suppressed: bool = False
    """What personas say here starts nothing just now."""
    is_manual: bool = False
    """A command, or something like one: the rows for messages do not apply."""

    @property
    def is_person(self) -> bool:
        return self.speaker is Speaker.PERSON

    def is_in(self, channel_ids: frozenset[str]) -> bool:
        return self.channel_id in channel_ids or self.parent_id in channel_ids


@dataclass(frozen=True)
class Admission:
    disposition: Disposition
    reason: Reason
    addressed: Addressed = Addressed.NOT
    persona_ids: tuple[int, ...] = ()
    """Personas addressed, in the order they should answer; empty: the main one."""
    persona_named: bool = False
    """By a word of its own, never by a base word alone."""
    is_manual: bool = False
    is_persona_job: bool = False
    courtesy: Courtesy | None = None

    @property
    def is_direct(self) -> bool:
        """Whether the message clearly addressed a persona."""
        return self.addressed in DIRECT

    @property
    def surface_errors(self) -> bool:
        """Behaviour 2.6: only a person's direct signal lets its errors be shown. Between personas
        an error would be fuel for more (D57)."""
        return self.is_direct and not self.is_persona_job


@dataclass(frozen=True, slots=True)
class _Address:
    """Whom a message addresses, and by what."""

    by: Addressed = Addressed.NOT
    persona_ids: tuple[int, ...] = ()
    persona_named: bool = False


class _Case(NamedTuple):
    """A message, and what the bot knows of where it stands."""

    facts: MessageFacts
    server: Server
    member: UserConfig
    is_answered: bool
    standing: Callable[[], Standing]
    address: _Address


_NOBODY = _Address()
_UNDESCRIBED = Admission(Disposition.IGNORE, Reason.SERVER_NOT_DESCRIBED)
_NON_TRIGGER = Admission(Disposition.IGNORE, Reason.NON_TRIGGER_PRE_LOCK)


def admit(
    facts: MessageFacts,
    server: Server,
    member: UserConfig = UNSET,
    *,
    is_answered: bool = False,
    standing: Callable[[], Standing] = lambda: OPEN,
) -> Admission:
    """`member`: the author's own settings. `is_answered`: a turn in this channel answers them.
    `standing` is asked for the bot's own at most once, and only where it matters."""
    if not facts.is_described:
        return _UNDESCRIBED
    early = _of_author(facts)
    if early is not None:
        return early
    address = _address(facts, server, member)
    case = _Case(facts, server, member, is_answered, standing, address)
    for check in _CHECKS:
        found = check(case)
        if found is not None:
            return found
    return _NON_TRIGGER


# Rows 1 to 9: who says it.


def _of_author(facts: MessageFacts) -> Admission | None:
    if not facts.is_manual:
        reason = _unwanted_author(facts)
        if reason is not None:
            return Admission(Disposition.IGNORE, reason)
    if facts.content == WHOAMI and facts.is_person:
        return Admission(Disposition.IGNORE, Reason.WHOAMI_EASTER_EGG, courtesy=Courtesy.WHOAMI)
    return None


def _unwanted_author(facts: MessageFacts) -> Reason | None:
    speaker = facts.speaker
    if speaker is Speaker.PERSON:
        return None
    if speaker is Speaker.SYSTEM:
        return Reason.SYSTEM_MESSAGE
    if speaker is Speaker.PERSONA:
        if facts.content == PLACEHOLDER and facts.is_bare:
            return Reason.SEED_PLACEHOLDER
        if facts.suppressed:
            return Reason.SELF_REPLY_SUPPRESSED
        if facts.reply_target in _BOTS:
            return Reason.SELF_REPLY_REFERENCE
    if facts.channel is ChannelKind.DM:
        return Reason.BOT_DM_MESSAGE
    if facts.is_interaction_response:
        return Reason.BOT_INTERACTION_RESPONSE
    return _OTHERS.get(speaker)


_BOTS = (ReplyTarget.US, ReplyTarget.PERSONA, ReplyTarget.OTHER_BOT)
_OTHERS = {
    Speaker.OUR_NOTICE: Reason.OWN_NOTICE,
    Speaker.WEBHOOK: Reason.UNMANAGED_WEBHOOK,
    Speaker.BOT: Reason.OTHER_BOT_MESSAGE,
}


# Rows 10 to 18: whether we may answer, and could.


def _privacy(case: _Case) -> Admission | None:
    facts = case.facts
    if case.member.privacy is not Privacy.FULL or not facts.is_person:
        return None
    if facts.is_manual or facts.channel is ChannelKind.DM:
        return None  # a direct message is manual
    return _pass_by(case, Disposition.BLOCKED, Reason.FULL_PRIVACY_USER)


def _unsupported(case: _Case) -> Admission | None:
    if case.facts.channel is not ChannelKind.UNSUPPORTED:
        return None
    clearly = case.address.by in DIRECT and case.facts.is_person
    courtesy = Courtesy.UNSUPPORTED_CHANNEL if clearly else None
    return _pass_by(case, Disposition.BLOCKED, Reason.UNSUPPORTED_CHANNEL, courtesy)


def _blacklist(case: _Case) -> Admission | None:
    facts = case.facts
    if facts.author_id not in case.server.blocked_users:
        return None
    if not facts.is_person or not _in_guild(facts):
        return None
    return _pass_by(case, Disposition.BLOCKED, Reason.SERVER_BLACKLISTED_USER)


def _closed(case: _Case) -> Admission | None:
    if case.address.by is Addressed.NOT and not case.is_answered:
        return None  # it is passed by in any case, and permissions cost more than all the rest
    own = case.standing()
    if not own.can_view:
        reason = Reason.MISSING_CHANNEL_PERMISSIONS
    elif not own.can_send:
        reason = Reason.CANNOT_SEND_IN_CHANNEL
    elif own.timed_out:
        reason = Reason.BOT_TIMED_OUT_IN_GUILD
    elif case.facts.recently_refused:
        reason = Reason.RECENT_SEND_REFUSED
    else:
        return None
    return _pass_by(case, Disposition.BLOCKED, reason)


def _to_other_bot(case: _Case) -> Admission | None:
    facts = case.facts
    if facts.reply_target is not ReplyTarget.OTHER_BOT or facts.is_manual:
        return None
    if case.address.by in DIRECT:
        return None
    return _pass_by(case, Disposition.IGNORE, Reason.REPLY_TO_OTHER_BOT)


def _voice(case: _Case) -> Admission | None:
    if not case.facts.is_voice:
        return None
    return _pass_by(case, Disposition.IGNORE, Reason.VOICE_TRANSCRIPTION_FAILED)


# Row 19: whether it asks for an answer (behaviour 2.5).


def _thought_log(case: _Case) -> Admission | None:
    facts = case.facts
    log_channel = case.server.config.notices.thought_log_channel_id
    if log_channel is None or facts.is_manual or facts.channel_id != log_channel:
        return None
    mentioned = case.address.by is Addressed.MENTION and facts.is_person
    courtesy = Courtesy.THOUGHT_LOG if mentioned else None
    return _pass_by(case, Disposition.IGNORE, Reason.THOUGHT_LOG_CHANNEL, courtesy)


def _whitelist(case: _Case) -> Admission | None:
    facts, server = case.facts, case.server
    if facts.is_manual or not facts.is_person or not _in_guild(facts):
        return None
    here = not server.allowed_channels or facts.is_in(server.allowed_channels)
    if here and facts.has_allowed_role:
        return None
    return _pass_by(case, Disposition.IGNORE, Reason.REJECTED_BY_WHITELIST)


def _addressed(case: _Case) -> Admission | None:
    facts, address = case.facts, case.address
    by = address.by
    if by is Addressed.NOT:
        if not case.is_answered or not facts.is_person or facts.content.startswith("!"):
            return None
        if not facts.content.strip():
            return None  # a sticker or a file alone says neither "stop" nor anything else (C012)
        return Admission(Disposition.RUN, Reason.BEING_ANSWERED)
    return Admission(
        Disposition.RUN,
        Reason(by.value),
        by,
        address.persona_ids,
        address.persona_named,
        is_manual=facts.is_manual or by is Addressed.DIRECT_MESSAGE,
        is_persona_job=facts.speaker is Speaker.PERSONA,
    )


_CHECKS: tuple[Callable[[_Case], Admission | None], ...] = (
    _privacy,
    _unsupported,
    _blacklist,
    _closed,
    _to_other_bot,
    _voice,
    _thought_log,
    _whitelist,
    _addressed,
)
"""In the order of behaviour 2.1."""


def _pass_by(
    case: _Case, disposition: Disposition, reason: Reason, courtesy: Courtesy | None = None
) -> Admission:
    # By what it was addressed is told all the same: who looks for it in the log wants to know.
    return Admission(disposition, reason, case.address.by, courtesy=courtesy)


def _in_guild(facts: MessageFacts) -> bool:
    return facts.channel is not ChannelKind.DM


# By what a message reaches a persona (behaviour 5.1).


def _address(facts: MessageFacts, server: Server, member: UserConfig) -> _Address:
    if facts.is_manual:
        return _Address(Addressed.COMMAND)
    if facts.content.startswith("!"):  # another bot's command, even where it mentions us
        return _NOBODY
    if facts.channel is ChannelKind.DM:
        return _Address(Addressed.DIRECT_MESSAGE)
    counting = _autochat(facts, server)
    named = _named(facts, server, member, counting)
    if facts.speaker is Speaker.PERSONA:
        return _by_persona(facts, named)
    own_word = any(each.by_own_word for each in named)
    matches = [each.persona_id for each in named]
    if facts.mentions_us:
        return _Address(Addressed.MENTION, _ordered(_forced(facts, server), matches), own_word)
    if facts.reply_target in (ReplyTarget.US, ReplyTarget.PERSONA):
        return _Address(Addressed.REPLY, _ordered(_forced(facts, server), matches), own_word)
    if named:
        return _Address(Addressed.TRIGGER_WORD, tuple(matches), own_word)
    return _passively(facts, server, member, counting)


def _named(
    facts: MessageFacts, server: Server, member: UserConfig, counting: AutochatChannel | None
) -> list[Named]:
    """In deliberate trigger mode plain words do not count, but for the persona whose channel this
    is."""
    if not member.deliberate_triggers.over(server.config.triggers.deliberate):
        return server.triggers.named(facts.content)
    at_home = None
    if counting is not None:
        main = server.main
        at_home = counting.persona_id or (main.persona_id if main is not None else None)
    return server.triggers.named(facts.content, lambda persona_id: persona_id == at_home)


def _by_persona(facts: MessageFacts, named: list[Named]) -> _Address:
    """A persona calls others by their names, and never itself (D58)."""
    if facts.persona_id is None:
        return _NOBODY
    others = tuple(each.persona_id for each in named if each.persona_id != facts.persona_id)
    if not others:
        return _NOBODY
    own_word = any(each.by_own_word for each in named if each.persona_id in others)
    return _Address(Addressed.TRIGGER_WORD, others, own_word)


def _forced(facts: MessageFacts, server: Server) -> list[int]:
    """Whom a mention or a reply addresses: who was replied to, then the main one."""
    forced: list[int] = []
    if facts.reply_target is ReplyTarget.PERSONA and facts.reply_persona_id is not None:
        forced.append(facts.reply_persona_id)
    if server.main is not None and (facts.mentions_us or facts.reply_target is ReplyTarget.US):
        forced.append(server.main.persona_id)
    return forced


def _ordered(forced: list[int], matches: list[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys([*forced, *matches]))


def _passively(
    facts: MessageFacts, server: Server, member: UserConfig, counting: AutochatChannel | None
) -> _Address:
    spotlight = member.spotlights.get(facts.channel_id)
    if spotlight is None and facts.parent_id is not None:
        spotlight = member.spotlights.get(facts.parent_id)
    if spotlight is not None and any(each.persona_id == spotlight for each in server.personas):
        return _Address(Addressed.SPOTLIGHT, (spotlight,))
    triggers = server.config.triggers
    if triggers.always_reply or facts.is_in(server.always_reply_channels):
        return _Address(Addressed.ALWAYS_REPLY)
    if counting is not None:
        # Whether the count is reached is decided, and counted, when the message is planned (C023).
        owner = (counting.persona_id,) if counting.persona_id is not None else ()
        return _Address(Addressed.AUTOCHAT, owner)
    return _NOBODY


def _autochat(facts: MessageFacts, server: Server) -> AutochatChannel | None:
    if not server.autochat:
        return None
    found = server.autochat.get(facts.channel_id)
    if found is None and facts.parent_id is not None:
        found = server.autochat.get(facts.parent_id)
    return found
