from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import structlog
from temporalio.testing import ActivityEnvironment

from activities.tools.http_guard import Resolver, resolve_by_system
from activities.tools.registry import ToolRegistry
from activities.tools.resources import ToolResources
from activities.tools.run_tool import ToolActivities
from storage.config import ServerConfig
from workflows.contracts.tools import ToolContext, ToolRequest, ToolResult


@pytest.fixture(autouse=True)
def plain_logs():
    """One line an event; the default's coloured stack traces cost more than the tests."""
    before = structlog.get_config()
    structlog.configure(processors=[structlog.processors.format_exc_info, _line])
    yield
    structlog.configure(**before)


def _line(logger: Any, method: str, event: Any) -> str:
    return repr(dict(event))


class MemoryBlobs:
    """Content-addressed like the real store, in a dict."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}

    async def put(self, kind: str, data: bytes) -> str:
        blob_id = hashlib.sha256(data).hexdigest()
        self.stored[blob_id] = data
        return blob_id


class MemoryConfigs:
    """Settings by server key; what is not there has its defaults."""

    def __init__(self) -> None:
        self.servers: dict[str, ServerConfig] = {}

    async def server(self, server_key: str) -> ServerConfig:
        return self.servers.get(server_key, ServerConfig())


class MemoryDispatches:
    """Which calls have been taken."""

    def __init__(self) -> None:
        self.taken: set[tuple[str, int, int]] = set()

    async def claim(self, turn_id: str, iteration: int, position: int) -> bool:
        call = (turn_id, iteration, position)
        is_first = call not in self.taken
        self.taken.add(call)
        return is_first


class MemoryStore:
    def __init__(self) -> None:
        self.blobs = MemoryBlobs()
        self.configs = MemoryConfigs()
        self.dispatches = MemoryDispatches()


class Bench:
    """Runs tool calls as the worker does, in an activity environment. Each is the next iteration's,
    unless it says which it is."""

    def __init__(self, registry: ToolRegistry, resources: ToolResources) -> None:
        self.store = MemoryStore()
        self.activities = ToolActivities(registry, self.store, resources)
        self.environment = ActivityEnvironment()
        self._iterations = itertools.count()

    async def call(
        self, name: str, arguments: Any, provider: str = "demo", **context: Any
    ) -> ToolResult:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        request = ToolRequest(
            call_id="call-1",
            name=name,
            arguments=text,
            context=ToolContext(
                **{
                    "turn_id": "turn/1/2/3",
                    "provider": provider,
                    "user_id": "10",
                    "iteration": next(self._iterations),
                    **context,
                }
            ),
        )
        return await self.environment.run(self.activities.run_tool, request)

    def whole(self, result: ToolResult) -> Any:
        """What a result says, from the history or from storage."""
        if result.content_id is None:
            return json.loads(result.content)
        return json.loads(self.store.blobs.stored[result.content_id])


@pytest.fixture
async def bench() -> AsyncIterator[Callable[..., Bench]]:
    """Make a bench: `bench(allow=["127.0.0.1:1234"], resolve=…, registry=…)`."""
    async with AsyncExitStack() as stack:

        def make(
            allow: list[str] | None = None,
            resolve: Resolver = resolve_by_system,
            registry: ToolRegistry | None = None,
            **more: Any,
        ) -> Bench:
            resources = ToolResources(allow or [], resolve, **more)
            stack.push_async_callback(resources.aclose)
            return Bench(registry or ToolRegistry.builtin(), resources)

        yield make
