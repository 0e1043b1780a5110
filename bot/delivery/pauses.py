"""Channels in which Discord has told us to wait longer than an attempt lasts.

Temporal keeps to such a wait only inside one activity. When it is longer than the nonce window, the
activity fails at once and another one reconciles; without this memory that one would send at once,
against the limit, and requests against a limit count towards a ban of the whole address. In: the
pause that Discord asked for. Out: how much of it is left. In memory: a new process learns it again
with one request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from temporalio.exceptions import ApplicationError


class Pauses:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def note(self, channel_id: str, pause: timedelta) -> None:
        until = self._clock() + pause.total_seconds()
        self._until[channel_id] = max(until, self._until.get(channel_id, until))

    def check(self, channel_id: str) -> None:
        """Raises ApplicationError (retryable, after what is left) while the channel is to rest."""
        until = self._until.get(channel_id)
        if until is None:
            return
        left = until - self._clock()
        if left <= 0:
            del self._until[channel_id]
            return
        raise ApplicationError(
            f"Discord asked for a pause in this channel: {left:.0f} s are left",
            type="DiscordUnavailable",
            next_retry_delay=timedelta(seconds=left),
        )
