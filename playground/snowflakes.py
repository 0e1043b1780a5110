"""Discord's ids: 42 bits of milliseconds since 2015, then worker, process and increment.

Source of the layout: Discord's API reference, "Snowflakes".
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

DISCORD_EPOCH_MS = 1_420_070_400_000
_PAST = 1 << 21
"""The upper half of what tells the ids of one millisecond apart."""


class Snowflakes:
    """Hands out ids that grow strictly, also when the clock stands still or steps back.

    `floor` is the largest id given out before, so that a restart never repeats one.
    """

    def __init__(self, floor: int = 0) -> None:
        self._last = floor
        self._past = 0

    def next(self) -> int:
        now = (int(time.time() * 1000) - DISCORD_EPOCH_MS) << 22
        self._last = max(now, self._last + 1)
        return self._last

    def past(self, age: float) -> int:
        """The id of something that is `age` seconds old already: none that `next` gives out."""
        moment = max(int((time.time() - age) * 1000) - DISCORD_EPOCH_MS, 0)
        self._past = (self._past + 1) % _PAST
        return (moment << 22) + _PAST + self._past


def created_at(snowflake: int) -> datetime:
    """The moment an id was made, in UTC, to the millisecond."""
    return datetime.fromtimestamp(((snowflake >> 22) + DISCORD_EPOCH_MS) / 1000, UTC)


def iso(moment: datetime) -> str:
    """A moment as Discord writes it: ISO 8601 with microseconds and an offset."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def now_iso() -> str:
    return iso(datetime.now(UTC))
