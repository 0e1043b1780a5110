"""One model call in an `ActivityEnvironment`, against a loopback server and stores in memory."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from pydantic import SecretStr
from pydantic_ai.models import Model
from temporalio.activity import ActivityCancellationDetails
from temporalio.testing import ActivityEnvironment

from activities.context.document import ContextDocument, ContextItem
from activities.generation.call_model import GenerationActivities
from activities.generation.models import ModelSource
from activities.generation.segments import SegmentSignaller
from activities.generation.settings import GenerationSettings
from activities.tools.registry import ToolRegistry
from storage import Storage
from tests.generation.fakes import MemoryStorage, RecordingSignaller
from tests.support.model_server import ModelServer
from workflows.contracts.context import ToolSet
from workflows.contracts.generation import ModelRequest, ModelResult
from workflows.contracts.tools import TranscriptEntry

KEY = "sk-loopback-1234567890abcdef"


async def until(condition: Callable[[], Any], timeout: float = 30) -> None:
    """Wait for `condition`. Raises TimeoutError after `timeout` seconds."""
    async with asyncio.timeout(timeout):
        while not condition():  # noqa: ASYNC110 - it looks at what has no event of its own
            await asyncio.sleep(0.005)


class Desk:
    """Everything a test needs to make one call after another."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.storage = MemoryStorage()
        self.turn: Any = RecordingSignaller()
        self.registry: Any = ToolRegistry.builtin()
        self.heartbeats = 0
        self._sources: list[ModelSource] = []
        self.use()

    def use(self, instance: Model | None = None, **changes: Any) -> None:
        """Replace settings, or the model itself."""
        self.settings = GenerationSettings(
            **{
                "provider": "custom",
                "model": "test-model",
                "base_url": self.server.base_url,
                "api_key": SecretStr(KEY),
                **changes,
            }
        )
        self.models = ModelSource(self.settings)
        self.models._model = instance
        self._sources.append(self.models)

    def patience(self, first_token: float, idle: float) -> None:
        """Budgets in seconds."""
        self.use(
            first_token_budget=timedelta(seconds=first_token), idle_budget=timedelta(seconds=idle)
        )

    def environment(self, attempt: int = 1) -> ActivityEnvironment:
        env = ActivityEnvironment()
        env.info = dataclasses.replace(env.info, attempt=attempt)

        def beat(*_: object) -> None:
            self.heartbeats += 1

        env.on_heartbeat = beat
        return env

    async def request(
        self,
        *said: str,
        call_index: int = 0,
        transcript_length: int = 0,
        new_entries: tuple[TranscriptEntry, ...] = (),
        stop_strings: tuple[str, ...] = (),
        tools: ToolSet | None = None,
        withheld: list[str] | None = None,
    ) -> ModelRequest:
        """`said` alternates between member and persona, and ends with the member."""
        document = ContextDocument(
            persona_name="Nova",
            system="You are Nova.",
            items=[
                ContextItem(role="model" if (len(said) - at) % 2 == 0 else "user", text=text)
                for at, text in enumerate(said or ("Ada: hello",))
            ],
            stop_strings=list(stop_strings),
        )
        return ModelRequest(
            turn_id="turn/1/2/3",
            call_index=call_index,
            context_id=await self.storage.blobs.put_model("context", document),
            transcript_length=transcript_length,
            new_entries=list(new_entries),
            tools=tools or ToolSet(),
            withheld=withheld or [],
        )

    def start(
        self, request: ModelRequest, env: ActivityEnvironment | None = None
    ) -> asyncio.Task[ModelResult]:
        activities = GenerationActivities(
            cast(Storage, self.storage),
            self.models,
            self.registry,
            cast(SegmentSignaller, self.turn),
        )
        running = (env or self.environment()).run(activities.call_model, request)
        return asyncio.create_task(running)

    async def call(self, *said: str, attempt: int = 1, **options: Any) -> ModelResult:
        """One whole call."""
        return await self.start(await self.request(*said, **options), self.environment(attempt))

    def whole_text(self, result: ModelResult) -> str:
        """As the turn puts it together: what was signalled, then the tail, repeats dropped.

        Segments become messages of their own, so they need not carry the space between them.
        """
        by_number = {segment.sequence: segment.text for segment in self.turn.segments}
        by_number |= {segment.sequence: segment.text for segment in result.tail}
        assert sorted(by_number) == list(range(len(by_number))), "a sequence number is missing"
        return "\n".join(text for _, text in sorted(by_number.items()))

    async def close(self) -> None:
        for source in self._sources:
            await source.close()


STOPPED = ActivityCancellationDetails(cancel_requested=True)
SHUTDOWN = ActivityCancellationDetails(worker_shutdown=True)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def desk(server: ModelServer) -> AsyncIterator[Desk]:
    desk = Desk(server)
    yield desk
    await desk.close()
