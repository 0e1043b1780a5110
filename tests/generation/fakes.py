"""The surroundings of a model call: a store in memory, a turn that takes segments, odd models."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from activities.generation.segments import TurnGone
from storage import BlobMissing, StorageError
from workflows.contracts.generation import Segment, SegmentBatch, Usage
from workflows.contracts.tools import TranscriptEntry

M = TypeVar("M", bound=BaseModel)


class MemoryBlobs:
    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    async def put(self, kind: str, data: bytes) -> str:
        blob_id = hashlib.sha256(data).hexdigest()
        self.data[blob_id] = data
        return blob_id

    async def get(self, blob_id: str) -> bytes:
        if blob_id not in self.data:
            raise BlobMissing(blob_id)
        return self.data[blob_id]

    async def put_model(self, kind: str, model: BaseModel) -> str:
        return await self.put(kind, model.model_dump_json().encode())

    async def get_model(self, blob_id: str, model: type[M]) -> M:
        return model.model_validate_json(await self.get(blob_id))


class MemoryTranscript:
    def __init__(self) -> None:
        self.entries: dict[tuple[str, int], TranscriptEntry] = {}

    async def append(self, turn_id: str, position: int, entries: Sequence[TranscriptEntry]) -> None:
        for offset, entry in enumerate(entries):
            self.entries[turn_id, position + offset] = entry

    async def load(self, turn_id: str, length: int) -> list[TranscriptEntry]:
        return [self.entries[turn_id, position] for position in range(length)]


@dataclass(frozen=True)
class Booked:
    provider: str
    model: str
    usage: Usage
    status: str
    duration_ms: float


class MemoryUsage:
    def __init__(self) -> None:
        self.rows: dict[tuple[str, int, int], Booked] = {}
        self.fails = False

    async def book(
        self,
        turn_id: str,
        call_index: int,
        attempt: int,
        provider: str,
        model: str,
        usage: Usage,
        status: str,
        duration_ms: float,
    ) -> None:
        await asyncio.sleep(0)  # a real store lets others run, and a cancel arrive
        if self.fails:
            raise StorageError("the database is locked")
        key = (turn_id, call_index, attempt)
        self.rows[key] = Booked(provider, model, usage, status, duration_ms)


class MemoryStorage:
    def __init__(self) -> None:
        self.blobs = MemoryBlobs()
        self.transcript = MemoryTranscript()
        self.usage = MemoryUsage()


@dataclass
class RecordingSignaller:
    """The turn's side. `gate` cleared holds every signal; `faults` are raised first, in order."""

    batches: list[SegmentBatch] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    tries: int = 0
    under_way: int = 0
    most_under_way: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    async def signal(self, batch: SegmentBatch) -> None:
        self.tries += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await self.gate.wait()
            if self.faults:
                raise self.faults.pop(0)
            self.batches.append(batch)
        finally:
            self.under_way -= 1

    @property
    def segments(self) -> list[Segment]:
        return [segment for batch in self.batches for segment in batch.segments]

    @property
    def text(self) -> str:
        return "\n".join(segment.text for segment in self.segments)


class GoneSignaller:
    def __init__(self) -> None:
        self.tries = 0

    async def signal(self, batch: SegmentBatch) -> None:
        self.tries += 1
        raise TurnGone


Events = Callable[["ScriptedStream"], AsyncIterator[ModelResponseStreamEvent]]


class ScriptedModel(Model[None]):
    """A model whose stream is an async generator of the test."""

    def __init__(self, events: Events) -> None:
        super().__init__()
        self._events = events

    @property
    def model_name(self) -> str:
        return "scripted"

    @property
    def system(self) -> str:
        return "scripted"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        raise AssertionError("calls are always streamed")

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        yield ScriptedStream(model_request_parameters=model_request_parameters, events=self._events)


@dataclass
class ScriptedStream(StreamedResponse):
    events: Events

    def text(self, content: str) -> list[ModelResponseStreamEvent]:
        return list(self._parts_manager.handle_text_delta(vendor_part_id="t", content=content))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in self.events(self):
            yield event

    async def close_stream(self) -> None: ...

    @property
    def model_name(self) -> str:
        return "scripted"

    @property
    def provider_name(self) -> str:
        return "scripted"

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return datetime.now(UTC)
