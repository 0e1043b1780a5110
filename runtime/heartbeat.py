"""Heartbeats of an activity on a timer of their own, beside its work.

A cancel reaches an activity only in the answer to a heartbeat, so an activity that beats when it
makes progress cannot be stopped while it waits. Here the beats come from a task of their own: the
first at once, then every `interval` seconds, whether the work progresses or not. (The SDK throttles
what it sends by the worker's `max_heartbeat_throttle_interval`; beating more often costs nothing.)

A beater that dies fails the activity: without beats the server would declare the attempt lost and
start another beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity

BEAT_INTERVAL = 0.2
"""Seconds. A cancel was noticed 0.16 s after it was asked for with the throttle at 0.2 s."""


class HeartbeatFailed(Exception):
    """The beater died, so the activity may not go on."""


@asynccontextmanager
async def heartbeating(interval: float = BEAT_INTERVAL) -> AsyncIterator[None]:
    """Beat from now until the block ends. `interval` is in seconds.

    Raises HeartbeatFailed when beating fails; the work in the block is cancelled first. A cancel of
    the activity itself passes through as the CancelledError that it is.
    """
    work = asyncio.current_task()
    assert work is not None, "heartbeating() is used inside an async activity"
    activity.heartbeat()
    leaving = False
    interrupted = False

    async def beat() -> None:
        while True:
            await asyncio.sleep(interval)
            activity.heartbeat()

    def stop_work(beater: asyncio.Task[None]) -> None:
        nonlocal interrupted
        if not leaving and not beater.cancelled():
            interrupted = True
            work.cancel()

    beater = asyncio.create_task(beat(), name="heartbeat")
    beater.add_done_callback(stop_work)
    try:
        yield
    except asyncio.CancelledError:
        if not interrupted or activity.is_cancelled():
            raise
    finally:
        leaving = True
        beater.cancel()
    if interrupted:
        work.uncancel()
    # A beater that died in the very moment in which the work ended counts as well.
    if beater.done() and not beater.cancelled():
        raise HeartbeatFailed("the activity's heartbeat stopped") from beater.exception()
