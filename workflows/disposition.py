"""What becomes of a message that reaches a channel: the decision tree of behaviour 2.2 to 2.5.

In: the message, and the lock as it stands. Out: a `Disposition` with its reason code; what follows
from it is the channel's to do. Pure: it changes nothing, and knows no clock.

Of the tree's rows, those that need the database (lists, rate limits, cooldowns) are judged when the
message is planned, by the time at which it was written; so a message that waits loses nothing by
waiting, and gains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workflows.contracts.invocation import Addressed, ChatIncoming, Origin
from workflows.natural_stop import asks_to_stop


class Disposition(StrEnum):
    """The reason codes of behaviour 2.2; `ACCEPTED` finds the channel unlocked."""

    ACCEPTED = "accepted"
    STOP_REQUESTED = "locked_stop_requested"
    NATURAL_STOP = "locked_natural_stop_requested"
    FOLLOW_UP = "locked_follow_up_queued"
    NON_TRIGGER = "locked_non_trigger"
    NON_TRIGGER_PRE_LOCK = "non_trigger_pre_lock"
    QUEUED = "locked_busy_queued"


@dataclass(frozen=True)
class Lock:
    """What runs in the channel, as far as a message has to know."""

    owner_id: str = ""
    """The member who is being answered."""
    persona_id: int | None = None
    """Who answers; None: it is being planned."""
    is_main: bool = True
    follow_up_eligible: bool = False
    follow_ups: int = 0
    """Answers in a row that really gave way to a follow-up."""
    max_follow_ups: int = 3
    by_command: bool = False
    is_stop_response: bool = False
    stop_pending: bool = False
    """A real stop, not a follow-up, has been asked for and is under way."""
    as_shown: bool = True
    """Words are read as Discord shows them, and what has none is no follow-up (`STOP_RULES`)."""


def dispose(message: ChatIncoming, lock: Lock | None) -> Disposition:
    """`lock` is None when nothing runs."""
    if lock is None or message.skip_lock:
        passive = message.addressed is Addressed.NOT and not message.is_manual
        return Disposition.NON_TRIGGER_PRE_LOCK if passive else Disposition.ACCEPTED
    if lock.stop_pending:
        return Disposition.STOP_REQUESTED
    if is_natural_stop(message, lock):
        return Disposition.NATURAL_STOP
    if is_follow_up(message, lock):
        return Disposition.FOLLOW_UP
    if not message.is_manual and message.addressed in (Addressed.NOT, Addressed.AUTOCHAT):
        # An automatic answer is counted only when its message is planned, and this one is not.
        return Disposition.NON_TRIGGER
    return Disposition.QUEUED


def is_real_user(message: ChatIncoming) -> bool:
    """Said by a person in the channel: no persona, no reminder, nothing of the system's own."""
    return message.origin is Origin.MESSAGE and message.author_persona_id is None


def is_natural_stop(message: ChatIncoming, lock: Lock) -> bool:
    """Whether the member who is being answered asks, in words, that it stop (behaviour 2.4)."""
    return (
        is_real_user(message)
        and not message.is_manual
        and not message.is_stop_response
        and not lock.is_stop_response
        and message.author_id == lock.owner_id
        and asks_to_stop(message.content, as_shown=lock.as_shown)
    )


def is_follow_up(message: ChatIncoming, lock: Lock) -> bool:
    """Whether the message takes the place of the answer that its author is getting (2.3)."""
    return (
        is_real_user(message)
        and not (message.is_stop_response or message.is_persona_job or message.is_manual)
        and not is_cross_persona(message, lock)
        and lock.follow_up_eligible
        and not lock.by_command
        and message.author_id == lock.owner_id
        and lock.follow_ups < lock.max_follow_ups
        and (bool(message.content.strip()) or not lock.as_shown)
        and not asks_to_stop(message.content, as_shown=lock.as_shown)
    )


def is_cross_persona(message: ChatIncoming, lock: Lock) -> bool:
    """Whether the message calls another persona than the one that answers (C016)."""
    others = any(persona_id != lock.persona_id for persona_id in message.persona_ids)
    if message.persona_named and others:
        return True
    if message.mentions_us and not lock.is_main:
        return True
    return message.reply_persona_id is not None and message.reply_persona_id != lock.persona_id
