"""When a message was written: its id says so. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from workflows.contracts.invocation import ChatIncoming

_DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
_LONGEST_ID = 20  # decimal digits of 64 bits


def arrived_at(message: ChatIncoming, now: datetime) -> datetime:
    """To the millisecond, and never later than `now`; `now` where no message has this id."""
    digits = message.message_id
    if message.is_synthetic or len(digits) > _LONGEST_ID:
        return now
    if not (digits.isascii() and digits.isdecimal()):
        return now
    return min(now, _DISCORD_EPOCH + timedelta(milliseconds=int(digits) >> 22))
