"""What an MCP server says, judged before the SDK sees it.

The SDK trusts a server: it checks each part of an answer in several ways on the event loop, refuses
a whole list for one bad tool, and starts a task for each message. So this stands between transport
and SDK, and passes on only what we use, in bounded size: answers; the notice that the list of tools
has changed; requests, without what they ask, since we grant none and only the refusal matters.

Whoever sends more unasked than `Allowance` permits is cut off: the connection ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
import structlog
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from activities.tools.mcp.allowance import Allowance
from activities.tools.mcp.offer import listed_tool
from activities.tools.mcp.schema import Unusable, count_nodes

MAX_TOOLS = 64
"""Of one list, and of one server: each tool is sent with every model call."""

MAX_BLOCKS = 256
"""Parts of an answer that are looked at."""

MAX_NODES = 5_000
"""Values in an answer, besides its structured content: the SDK tries each as several things."""
MAX_STRUCTURED = 50_000
"""Values in the structured content of an answer that says nothing else."""
MAX_DEPTH = 64
MAX_ID = 200
MAX_ASKED = 1_000
"""Requests whose answers are still known as such."""

TOOLS_CHANGED = "notifications/tools/list_changed"

log = structlog.get_logger(__name__)

LeaveOut = Callable[[str, str], object]
"""(name, reason): told of each tool that is not offered."""


class GuardedStream:
    """The stream that the SDK reads from. `on_end` is called when the server is cut off."""

    def __init__(
        self,
        inner: Any,
        server: str,
        asked: dict[str, None],
        allowance: Allowance,
        on_end: Callable[[], object],
        leave_out: LeaveOut,
    ) -> None:
        self._inner = inner
        self._server = server
        self._asked = asked
        self._allowance = allowance
        self._on_end = on_end
        self._leave_out = leave_out

    async def receive(self) -> SessionMessage:
        while True:
            item = await self._inner.receive()
            if self._is_answer(item):
                if isinstance(item.message, JSONRPCResponse):
                    item.message = await self._bounded(item.message)
                return item
            if not self._allowance.permits_unasked():
                log.warning("mcp server says too much unasked", server=self._server)
                self._on_end()
                raise anyio.EndOfStream
            if isinstance(item, SessionMessage) and (kept := _unasked(item)) is not None:
                return kept
            await asyncio.sleep(0)  # the stream may have the next one at once

    def _is_answer(self, item: Any) -> bool:
        """To something that was asked, and the first one."""
        if not isinstance(item, SessionMessage):
            return False
        message = item.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return False
        number = str(message.id)
        if number not in self._asked:
            return False
        del self._asked[number]
        return True

    async def _bounded(self, answer: JSONRPCResponse) -> JSONRPCResponse | JSONRPCError:
        try:
            answer.result = await self._result(answer.result)
            return answer
        except Unusable as error:
            return JSONRPCError(
                jsonrpc="2.0",
                id=answer.id,
                error=ErrorData(code=INTERNAL_ERROR, message=f"the answer: {error.reason}"),
            )

    async def _result(self, result: dict[str, Any]) -> dict[str, Any]:
        rest = dict(result)
        kept: dict[str, Any] = {}
        if isinstance(tools := rest.get("tools"), list):
            del rest["tools"]
            kept["tools"] = await self._tools(tools)
        if isinstance(content := rest.get("content"), list):
            rest["content"] = content[:MAX_BLOCKS]
        if "structuredContent" in rest:
            structured = rest.pop("structuredContent")
            if not content:  # beside words it is not read
                count_nodes(structured, MAX_STRUCTURED, MAX_DEPTH)
                kept["structuredContent"] = structured
        count_nodes(rest, MAX_NODES, MAX_DEPTH)
        return rest | kept

    async def _tools(self, tools: list[Any]) -> list[dict[str, Any]]:
        """Those that are usable: a bad one costs the others nothing."""
        kept: list[dict[str, Any]] = []
        for tool in tools[:MAX_TOOLS]:
            try:
                kept.append(listed_tool(tool))
            except Unusable as error:
                name = tool.get("name") if isinstance(tool, dict) else None
                self._leave_out(str(name)[:MAX_ID] if name else "unnamed", error.reason)
            await asyncio.sleep(0)  # one takes up to some milliseconds
        return kept

    # What else a stream of the SDK has

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> GuardedStream:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> GuardedStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class WatchedSink:
    """The stream that the SDK writes to; `asked` remembers what it has asked for."""

    def __init__(self, inner: Any, asked: dict[str, None]) -> None:
        self._inner = inner
        self._asked = asked

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCRequest):
            self._asked[str(item.message.id)] = None
            if len(self._asked) > MAX_ASKED:
                del self._asked[next(iter(self._asked))]
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> WatchedSink:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def guarded(
    transport: AbstractAsyncContextManager[Any],
    server: str,
    allowance: Allowance,
    on_end: Callable[[], object],
    leave_out: LeaveOut,
) -> AsyncGenerator[tuple[GuardedStream, WatchedSink], None]:
    """`transport`, guarded."""
    asked: dict[str, None] = {}
    async with transport as (reading, writing):
        guard = GuardedStream(reading, server, asked, allowance, on_end, leave_out)
        yield guard, WatchedSink(writing, asked)


def _unasked(item: SessionMessage) -> SessionMessage | None:
    message = item.message
    if isinstance(message, JSONRPCNotification):
        if message.method != TOOLS_CHANGED:
            return None
        message.params = None
    elif isinstance(message, JSONRPCRequest):
        if len(str(message.id)) > MAX_ID or len(message.method) > MAX_ID:
            return None
        message.params = None
    else:
        return None  # an answer to nothing
    return item
