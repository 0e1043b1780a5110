"""Serving the Discord task queue: a Temporal worker with activities only."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import structlog
from temporalio.client import Client
from temporalio.worker import Interceptor, Worker

from runtime.logs import brief
from workflows.contracts.base import discord_queue

log = structlog.get_logger(__name__)

GRACE = timedelta(seconds=10)
"""How long a send in flight may take when the process is asked to stop (T25)."""
MAX_HEARTBEAT_THROTTLE = timedelta(milliseconds=500)
HEARTBEAT_THROTTLE = timedelta(milliseconds=300)
"""A cancel comes back with a heartbeat, so this is the slowest a stop is felt (T20)."""
MAX_ACTIVITIES = 200
"""They wait for Discord nearly all the time, and its own limit is 50 requests a second."""
START_AGAIN_AFTER = 2.0
"""Seconds between two starts while Temporal is away."""


class DiscordQueue:
    """The queue of one application, from `run` until `shutdown`."""

    def __init__(
        self,
        temporal: Client,
        application_id: str,
        activities: Sequence[Callable[..., Any]],
        interceptors: Sequence[Interceptor] = (),
    ) -> None:
        self._temporal = temporal
        self._application_id = application_id
        self._activities = activities
        self._interceptors = interceptors
        self._worker: Worker | None = None
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve until `shutdown`. A Temporal that is away at the start is waited for; later the
        worker itself does that. Raises what ends the worker."""
        while not self._stopping.is_set():
            self._worker = self._make_worker()
            try:
                await self._worker.run()
                return
            except RuntimeError as error:
                # What a worker raises that could not look at its namespace; it polled nothing.
                if self._worker.is_running or "validation" not in str(error):
                    raise
                log.warning("Temporal cannot be reached; trying again", error=brief(str(error)))
            finally:
                self._worker = None
            try:
                await asyncio.wait_for(self._stopping.wait(), START_AGAIN_AFTER)
            except TimeoutError:
                continue

    async def shutdown(self) -> None:
        """Take no more work, and wait for what is in flight, at most GRACE."""
        self._stopping.set()
        if self._worker is not None:
            await self._worker.shutdown()

    def _make_worker(self) -> Worker:
        return Worker(
            self._temporal,
            task_queue=discord_queue(self._application_id),
            activities=self._activities,
            interceptors=self._interceptors,
            identity=f"bot-{self._application_id}@{socket.gethostname()}-{os.getpid()}",
            graceful_shutdown_timeout=GRACE,
            max_heartbeat_throttle_interval=MAX_HEARTBEAT_THROTTLE,
            default_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
            max_concurrent_activities=MAX_ACTIVITIES,
        )
