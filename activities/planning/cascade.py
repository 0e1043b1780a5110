"""How long personas may talk among themselves (behaviour 5.3). Pure.

In: the message, and the channel's count of answers since a person last spoke. Out: that count as
it stands for this message, and whether it is used up. The channel raises it, when an answer has
produced text. What always holds: what a person says is never refused for it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from activities.planning.known import is_said
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.invocation import ChatIncoming

IDLE = timedelta(minutes=30)
"""After so long without an answer the count begins anew."""


def renewed(
    message: ChatIncoming, counters: ChannelCounters, arrived_at: datetime
) -> ChannelCounters:
    """The counters, with a cascade that is over set back."""
    over = (
        is_said(message)
        or _is_newer(message.newest_human_id, counters.cascade_after_id)
        or _is_idle(counters.cascade_at, arrived_at)
    )
    return counters.model_copy(update={"cascade": 0}) if over and counters.cascade else counters


def is_used_up(message: ChatIncoming, counters: ChannelCounters, limit: int) -> bool:
    """The first answer is free, and `limit` more."""
    own_doing = message.is_manual and not message.is_persona_job
    if own_doing or message.is_stop_response or message.is_synthetic:
        return False
    return counters.cascade >= limit + 1


def _is_newer(message_id: str | None, than_id: str | None) -> bool:
    if message_id is None or than_id is None:
        return False
    return _number(message_id) > _number(than_id)


def _number(message_id: str) -> int:
    return int(message_id) if message_id.isascii() and message_id.isdecimal() else 0


def _is_idle(since: str | None, at: datetime) -> bool:
    try:
        last = datetime.fromisoformat(since) if since is not None else None
    except ValueError:
        return False
    if last is None:
        return False
    if last.tzinfo is None:
        last = last.replace(tzinfo=UTC)
    return at - last >= IDLE
