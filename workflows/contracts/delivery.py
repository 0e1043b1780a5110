"""turn, channel ──► bot: put text into the channel, take it away again, stop typing."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from workflows.contracts.base import ActivityStub, Contract
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import Boomerang, InvocationEnd
from workflows.contracts.tools import NoticeColour, ToolNotice


class OutgoingKind(StrEnum):
    TEXT = "text"
    """The persona's words."""
    NOTICE = "notice"
    """The system's words (an error, a limit): shown as an embed, never as the persona's text."""
    WORKING = "working"
    """A notice that the turn is still at work, with a button that stops it; deleted when the turn
    is over."""
    STICKER = "sticker"
    """The sticker `sticker_id`; `text` is its name. One that cannot be sent is logged, no more."""


class Outgoing(Contract):
    """A segment on its way to the channel, possibly as several messages."""

    ordinal: int
    """0, 1, 2, … within the turn, never used twice; the base of the nonce."""
    text: str
    kind: OutgoingKind = OutgoingKind.TEXT
    title: str = ""
    """Of a notice, at most 256 code points."""
    colour: NoticeColour = NoticeColour.INFO
    mention_user_id: str | None = None
    """Of a notice: the one member it pings, in the message's content beside the embed."""
    sticker_id: str | None = None


class SendRequest(Contract):
    turn_id: str
    channel_id: str
    trigger_message_id: str
    persona_id: int
    generation: int = 0
    outgoing: list[Outgoing]
    voice: Voice = Voice()
    """Who says it. The system's own words (notices) are the bot account's all the same."""
    direct_to: str | None = None
    """Notices for this member alone: they go to the member's direct messages instead. One who
    takes none is not told; that is no failure."""
    reply_to: str | None = None
    """Message that the first message of this batch replies to."""
    last: bool = False
    """Nothing follows in this turn: typing ends before the last message is sent."""
    reconcile: bool = False
    """Discord's nonce window has passed: read the channel first, and send only what is missing."""
    after_message_id: str | None = None
    """`HistoryRef.newest_message_id`: nothing of this turn is older."""
    sent_before: list[str] = []
    """With `reconcile`: ids of messages of this turn that are known already, not to be matched."""


class SentMessage(Contract):
    ordinal: int
    part: int = 0
    """0, 1, … where one outgoing became several messages."""
    message_id: str
    webhook_id: str | None = None
    """Of the webhook that sent it: only through that one it can be deleted or edited."""


class Refusal(Contract):
    """Discord will not take messages here; sending again would not help."""

    code: int
    """Discord's JSON error code (50013, 50001, 10003, …), or the HTTP status without one."""
    message: str


class SendResult(Contract):
    sent: list[SentMessage] = []
    refusal: Refusal | None = None
    stopped: bool = False
    """A cancel arrived between two messages; `sent` is what went out before it."""


class DeleteRequest(Contract):
    turn_id: str
    channel_id: str
    message_ids: list[str] = []
    webhook_ids: dict[str, str] = {}
    """Message id to webhook id, of those that a webhook sent."""
    stop_button_id: str | None = None
    """Also our message with this Stop button, which may stand in the channel although nobody has
    said so: the process that sent it died. It is looked for after `after_message_id`."""
    after_message_id: str | None = None


class DeleteResult(Contract):
    deleted: int = 0


class EndTyping(Contract):
    turn_id: str
    channel_id: str


class HiddenNotices(Contract):
    """For the server's thought log (behaviour 10). Best effort: where it may not be posted, it
    vanishes."""

    turn_id: str
    guild_id: str
    source_channel_id: str
    log_channel_id: str
    trigger_message_id: str
    first_message_id: str | None = None
    """The turn's first message, to link to; None: the trigger, if it is a message."""
    is_synthetic: bool = False
    """The trigger is no message of the channel."""
    persona_id: int = 0
    persona_name: str = ""
    generation: int = 0
    notices: list[ToolNotice] = []


class ReportBack(Contract):
    """The end of a task from another channel: read what was said here, and tell the channel that
    asked (behaviour 12)."""

    application_id: str
    guild_id: str | None = None
    channel_id: str
    """Where the task was done."""
    channel_name: str = ""
    task: str = ""
    end: InvocationEnd
    boomerang: Boomerang
    user_id: str
    user_name: str = ""
    guild_name: str = ""
    bot_user_id: str = ""


class Nothing(Contract):
    """An empty result that can gain fields later."""


SEND_SEGMENTS = ActivityStub("send_segments", SendRequest, SendResult)
DELETE_MESSAGES = ActivityStub("delete_messages", DeleteRequest, DeleteResult)
END_TYPING = ActivityStub("end_typing", EndTyping, Nothing)
POST_HIDDEN_NOTICES = ActivityStub("post_hidden_notices", HiddenNotices, Nothing)
REPORT_BACK = ActivityStub("report_back", ReportBack, Nothing)
"""Signals the source channel with an `Origin.BOOMERANG` invocation. Idempotent: the invocation's
message id is in the `Boomerang`."""


_STOP_ID = "everturn:stop"


def stop_button_id(
    channel_id: str, trigger_message_id: str, persona_id: int, generation: int = 0
) -> str:
    """The custom id of a turn's Stop button: all that the button needs to know, so that it works
    in a process that never saw it sent. At most 100 characters, as Discord demands. `generation`:
    as in `turn_workflow_id`."""
    base = f"{_STOP_ID}:{channel_id}:{trigger_message_id}:{persona_id}"
    return f"{base}:{generation}" if generation else base


STOP_BUTTON_PATTERN = (
    _STOP_ID
    + r":(?P<channel>[0-9]{1,20}):(?P<trigger>[0-9]{1,20}):(?P<persona>[0-9]{1,7})"
    + r"(?::(?P<generation>[1-9][0-9]?))?"
)


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number: int, width: int) -> str:
    """`number` in base 36, zero-padded to `width`. Raises ValueError when it does not fit."""
    digits = ""
    rest = number
    while rest:
        rest, digit = divmod(rest, 36)
        digits = _DIGITS[digit] + digits
    if number < 0 or len(digits) > width:
        raise ValueError(f"{number} does not fit in {width} base-36 digits")
    return digits.rjust(width, "0")


def message_nonce(
    trigger_message_id: str, persona_id: int, generation: int, ordinal: int, part: int
) -> str:
    """The nonce of one message: 24 of the 25 characters that Discord allows.

    `e`, trigger snowflake (13), persona (4), generation (1), ordinal (3), part (2). It depends on
    nothing but where the message stands, so every attempt to send it carries the same one, and
    Discord creates it once.
    """
    return (
        "e"
        + base36(int(trigger_message_id), 13)
        + base36(persona_id, 4)
        + base36(generation, 1)
        + base36(ordinal, 3)
        + base36(part, 2)
    )


class SpokenIn(NamedTuple):
    """The turn that a message was sent in, as its nonce tells it."""

    trigger_message_id: str
    persona_id: int
    generation: int


_NONCE = re.compile("e([0-9a-z]{13})([0-9a-z]{4})([0-9a-z])[0-9a-z]{5}")


def spoken_in(nonce: object) -> SpokenIn | None:
    """What `message_nonce` made the nonce of; None for one of another make."""
    found = _NONCE.fullmatch(nonce) if isinstance(nonce, str) else None
    if found is None:
        return None
    trigger, persona, generation = (int(digits, 36) for digits in found.groups())
    return SpokenIn(str(trigger), persona, generation)
