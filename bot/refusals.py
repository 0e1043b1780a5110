"""Channels that refused a message lately (behaviour 2.1 row 15, D41).

A member who is timed out, or a permission that the cache does not show, makes every send fail after
a whole generation has been paid for. In: what Discord answered to each send. Out: whether a channel
refused within the window. Kept in memory: a new process learns it again with one send.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

REFUSAL_WINDOW = timedelta(minutes=15)
REFUSING_CODES = frozenset({50001, 50013})
"""Missing Access, Missing Permissions."""


class RefusalMemory:
    def __init__(
        self,
        window: timedelta = REFUSAL_WINDOW,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._window = window.total_seconds()
        self._clock = clock
        self._refused_at: dict[str, float] = {}

    def note(self, channel_id: str, code: int) -> None:
        """Record Discord's JSON error code of a send that failed; other codes change nothing."""
        if code in REFUSING_CODES:
            self._refused_at[channel_id] = self._clock()

    def clear(self, channel_id: str) -> None:
        """A send succeeded."""
        self._refused_at.pop(channel_id, None)

    def refused(self, channel_id: str) -> bool:
        at = self._refused_at.get(channel_id)
        if at is None:
            return False
        if self._clock() - at < self._window:
            return True
        del self._refused_at[channel_id]
        return False
