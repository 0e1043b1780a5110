"""How far each channel is disposed of, kept so that a restart knows where to go on (D26, D31).

In: what was taken in, by channel, and what of it still waits for Temporal. Out: marks in the
database, written together every WRITE_EVERY and at the stop; the first one of a channel at once,
since of a direct message nothing else tells that it exists. A mark says: this message and all older
ones of its channel were disposed of; answered, refused or passed by makes no difference.
What always holds: a message whose signal Temporal has not acknowledged is after its channel's mark.
While the database is away marks are kept, and written when it is back.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

log = structlog.get_logger(__name__)

WRITE_EVERY = 2.0
"""Seconds. What a SIGKILL takes is looked at again at the start; most of it is dropped there, since
a message has one turn at most."""
TOGETHER = 0.05
"""Seconds for which the first marks of several channels are gathered."""
WRITTEN_WITHIN = 5.0
CHANNELS_KEPT = 20_000


class MarkStore(Protocol):
    """`storage.Storage.marks`."""

    async def seen(self) -> Mapping[str, str]: ...
    async def note(self, newest: Mapping[str, str]) -> None: ...


@dataclass
class _Channel:
    newest: int
    written: int = 0


class Progress:
    def __init__(self, store: MarkStore, oldest_waiting: Callable[[str], int | None]) -> None:
        """`oldest_waiting`: of a channel, the oldest message that Temporal has not taken yet."""
        self._store = store
        self._oldest_waiting = oldest_waiting
        self._channels: OrderedDict[str, _Channel] = OrderedDict()
        self._unwritten: set[str] = set()
        self._new = asyncio.Event()
        self._writing = asyncio.Lock()

    def taken(self, channel_id: str, message_id: int) -> None:
        """A message was passed by, or is with the dispatcher."""
        channel = self._channels.get(channel_id)
        if channel is None:
            self._channels[channel_id] = _Channel(message_id)
            self._new.set()
            while len(self._channels) > CHANNELS_KEPT:
                forgotten, _ = self._channels.popitem(last=False)
                self._unwritten.discard(forgotten)
        elif message_id > channel.newest:
            channel.newest = message_id
            self._channels.move_to_end(channel_id)
        else:
            return
        self._unwritten.add(channel_id)

    def newest(self, channel_id: str) -> int:
        """The newest message of the channel that was taken in here; 0: none."""
        channel = self._channels.get(channel_id)
        return 0 if channel is None else channel.newest

    async def keep_writing(self) -> None:
        """Write for ever."""
        while True:
            try:
                await asyncio.wait_for(self._new.wait(), WRITE_EVERY)
                await asyncio.sleep(TOGETHER)
            except TimeoutError:
                pass
            self._new.clear()
            await self.write()

    async def write(self) -> None:
        """Write what is not written yet. A database that is away is logged."""
        async with self._writing:
            due = {
                channel_id: mark
                for channel_id in self._unwritten
                if (mark := self._mark(channel_id)) > self._channels[channel_id].written
            }
            if not due:
                return
            try:
                async with asyncio.timeout(WRITTEN_WITHIN):
                    await self._store.note({key: str(mark) for key, mark in due.items()})
            except Exception as error:
                log.warning(
                    "marks of channels could not be written",
                    error=str(error) or type(error).__name__,
                )
                return
            for channel_id, mark in due.items():
                channel = self._channels.get(channel_id)
                if channel is None:
                    continue
                channel.written = mark
                if mark >= channel.newest:
                    self._unwritten.discard(channel_id)

    def _mark(self, channel_id: str) -> int:
        newest = self._channels[channel_id].newest
        waiting = self._oldest_waiting(channel_id)
        return newest if waiting is None else min(newest, waiting - 1)
