"""Segments on their way to the turn, by signal, beside the stream.

Reading never waits for signalling: segments queue here, one signal is under way at a time, and all
that waited meanwhile goes with the next as one batch. So the number of signals adapts to how quick
the server is, and a burst of short paragraphs costs one.

A signal that fails is sent again with the same sequence numbers; the turn drops what it has. What
was not confirmed when the stream ends comes back from `close`, to travel in the result; if it is
large, signals carry it first, since a result has to stay small.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from typing import Protocol

import structlog
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.generation.sizes import encoded_size
from runtime.logs import brief
from workflows.contracts.generation import SEGMENTS_SIGNAL, Segment, SegmentBatch

SIGNAL_TIMEOUT = timedelta(seconds=5)
"""One signal takes about 9 ms; a server that needs seconds is in trouble, and the next one repeats
what this one carried."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds between attempts while Temporal cannot be reached."""

LARGEST_SEGMENT = 100_000
"""Code points. Only a table can be longer, since the segmenter never cuts one: it is cut here, at a
line, so that no payload comes near Temporal's 2 MB."""

LARGEST_BATCH = 400_000
"""Bytes of text in a signal, as it travels; a segment that alone is larger travels alone."""

LARGEST_TAIL = 200_000
"""Bytes of text that may travel in the result."""

DELIVERY_BUDGET = 30.0
"""Seconds at the end of a stream to signal what is too large for the result."""

log = structlog.get_logger(__name__)


class TurnGone(Exception):
    """The turn's workflow is over: nobody will read another segment."""


class SegmentSignaller(Protocol):
    """Carries a batch to the turn of the current activity.

    Raises TurnGone when the turn is over; any other exception means: not delivered, try again.
    """

    async def signal(self, batch: SegmentBatch) -> None: ...


class TemporalSegmentSignaller:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def signal(self, batch: SegmentBatch) -> None:
        info = activity.info()
        assert info.workflow_id is not None, "a model call is an activity of a turn"
        turn = self._client.get_workflow_handle(info.workflow_id, run_id=info.workflow_run_id)
        try:
            await turn.signal(SEGMENTS_SIGNAL, batch, rpc_timeout=SIGNAL_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                raise TurnGone from error
            raise


class SegmentSender:
    """Numbers the segments of one (call, attempt) and signals them, from `start` to `close`."""

    def __init__(self, signaller: SegmentSignaller, call_index: int, attempt: int) -> None:
        self._signaller = signaller
        self._call_index = call_index
        self._attempt = attempt
        self._waiting: deque[tuple[Segment, int]] = deque()
        """Each with its size in bytes, as it travels."""
        self._waiting_bytes = 0
        self._put = 0
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.signalled = 0
        """How many segments the server has confirmed."""

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="segments")

    def put(self, text: str) -> None:
        """Queue the next segment. Never waits."""
        for piece in _pieces(text):
            size = encoded_size(piece)
            self._waiting.append((Segment(sequence=self._put, text=piece), size))
            self._waiting_bytes += size
            self._put += 1
        self._wake.set()

    async def close(self) -> list[Segment]:
        """Wait for the signal under way, send no other unless much is left, and return what is not
        confirmed: at most `LARGEST_TAIL`, unless signals fail for `DELIVERY_BUDGET`."""
        self._closing.set()
        self._wake.set()
        if self._task is not None:
            # Not `await self._task`: a cancel that arrives here must not tear the signal apart.
            await asyncio.wait({self._task}, timeout=DELIVERY_BUDGET)
        return [segment for segment, _ in self._waiting]

    async def flush(self) -> None:
        """Signal all that is left, once, and stop: the turn decides whether it still wants it."""
        left = await self.close()
        if left:
            await self._signaller.signal(
                SegmentBatch(call_index=self._call_index, attempt=self._attempt, segments=left)
            )

    async def abandon(self) -> None:
        """Stop at once, whatever is under way. Does nothing after `close`."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause = FIRST_PAUSE
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._has_to_send():
                try:
                    await self._send_batch()
                    pause = FIRST_PAUSE
                except TurnGone:
                    return
                except Exception as error:
                    log.warning("segments not delivered, trying again", reason=brief(str(error)))
                    await self._rest(pause)
                    pause = min(pause * 2, LONGEST_PAUSE)
            if self._closing.is_set():
                return

    def _has_to_send(self) -> bool:
        if self._closing.is_set():
            return self._waiting_bytes > LARGEST_TAIL
        return bool(self._waiting)

    async def _send_batch(self) -> None:
        batch: list[Segment] = []
        size = 0
        for segment, segment_size in self._waiting:
            size += segment_size
            if batch and size > LARGEST_BATCH:
                break
            batch.append(segment)
        await self._signaller.signal(
            SegmentBatch(call_index=self._call_index, attempt=self._attempt, segments=batch)
        )
        for _ in batch:
            _, size = self._waiting.popleft()
            self._waiting_bytes -= size
        self.signalled += len(batch)

    async def _rest(self, seconds: float) -> None:
        """A close cuts a rest short, once."""
        if self._closing.is_set():
            await asyncio.sleep(seconds)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            pass


def _pieces(text: str) -> Iterator[str]:
    while len(text) > LARGEST_SEGMENT:
        cut = text.rfind("\n", 0, LARGEST_SEGMENT) + 1 or LARGEST_SEGMENT
        yield text[:cut]
        text = text[cut:]
    yield text
