"""One MCP server: its connection, what it offers, and its calls.

A task of its own connects, lists the tools, and keeps the connection until it is broken. Then, and
when it could not connect, the server rests for `REST` and is tried again; meanwhile its tools are
not offered (behaviour 16). Nobody waits for that task: a turn finds the tools that are there.

A call that fails does not tell whether the server is gone or only this call. So the task asks it
for its list again, which costs little, and lets it rest when no answer comes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import structlog
from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ServerNotification,
    ToolListChangedNotification,
)
from mcp_types import Tool as Listed
from pydantic import TypeAdapter

from activities.tools.mcp.config import McpServerSettings
from activities.tools.mcp.content import answer_of
from activities.tools.mcp.http import http_transport
from activities.tools.mcp.offer import Unusable, offered_tool
from activities.tools.mcp.stdio import stdio_transport
from activities.tools.results import clean
from activities.tools.tool import Tool, ToolDefinitionError, ToolFailure, ToolOutput

REST = 300.0
"""Seconds after a failure (GUILD_MCP_FAILURE_COOLDOWN_MS)."""

CONNECT_TIMEOUT = 30.0
"""Seconds to connect and to list the tools. Some servers download themselves first."""

PROBE_TIMEOUT = 5.0
"""Seconds for a server to show that it is still there."""

MAX_TOOLS = 64
MAX_PAGES = 10
"""Of one server: each tool is sent with every model call."""

LIST_PAUSE = 5.0
"""Seconds between two listings that a server asks for."""

log = structlog.get_logger(__name__)

_result = TypeAdapter[Any](CallToolResult)

Offer = Callable[[Sequence[Tool[Any]]], object]


class McpServer:
    """`offer` is told of its tools, whenever they change."""

    def __init__(
        self,
        settings: McpServerSettings,
        offer: Offer,
        rest: float = REST,
        connect_timeout: float = CONNECT_TIMEOUT,
        probe_timeout: float = PROBE_TIMEOUT,
    ) -> None:
        self.settings = settings
        self._offer = offer
        self._rest = rest
        self._connect_timeout = connect_timeout
        self._probe_timeout = probe_timeout
        self._client: Client | None = None
        self._said = ""
        """The last line that a child wrote to stderr."""
        self._ended = asyncio.Event()
        """The connection is known to be gone."""
        self._doubtful = asyncio.Event()
        self._changed = asyncio.Event()
        self._log = log.bind(server=settings.name)
        # It writes what servers sent, and traces of every failure; ours say it in a line.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        logging.getLogger("client").setLevel(logging.CRITICAL)

    @property
    def is_up(self) -> bool:
        return self._client is not None and not self._ended.is_set()

    async def run(self) -> None:
        """Keep the server connected until this is cancelled."""
        while True:
            try:
                await self._connected()
            except asyncio.CancelledError:
                raise
            except BaseExceptionGroup as group:
                if group.split(asyncio.CancelledError)[0] is not None and _is_cancelled():
                    raise asyncio.CancelledError from None
                self._say_failed(group)
            except Exception as error:
                self._say_failed(error)
            await asyncio.sleep(self._rest)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """What the server's tool `name` answers. Raises ToolFailure."""
        client = self._client
        label = self.settings.name
        if client is None or self._ended.is_set():
            raise ToolFailure(f"The server {label} cannot be reached just now.")
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
        try:
            # Not `call_tool`: it would run the server's own output schema on us.
            result: CallToolResult = await self._until_ended(
                client.session.send_request(
                    request, _result, request_read_timeout_seconds=self.settings.timeout
                )
            )
        except _Ended:
            raise ToolFailure(f"The server {label} ended during the call.") from None
        except MCPError as error:
            self._doubtful.set()
            if error.code == CONNECTION_CLOSED:
                raise ToolFailure(f"The server {label} ended during the call.") from None
            self._log.warning("mcp call failed", code=error.code)
            if error.code == REQUEST_TIMEOUT:
                limit = self.settings.timeout
                raise ToolFailure(f"The server {label} did not answer in {limit:g} s.") from None
            words = " ".join(clean(error.message).split())[:300]
            raise ToolFailure(f"The server {label} reported an error: {words}") from None
        except (Exception, BaseExceptionGroup) as error:
            self._doubtful.set()
            self._log.warning("mcp call failed", error=type(error).__name__)
            raise ToolFailure(f"The server {label} gave no usable answer.") from None
        answer = answer_of(result)
        if result.is_error:
            raise ToolFailure(answer.text.strip() or "The tool failed without a reason.")
        return answer if answer.truncated else answer.text

    async def _until_ended(self, request: Any) -> Any:
        """The answer to `request`. Raises _Ended once the connection is gone."""
        asking = asyncio.ensure_future(request)
        ending = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({asking, ending}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            raise _Ended
        finally:
            for task in (asking, ending):
                task.cancel()
            await asyncio.gather(asking, ending, return_exceptions=True)

    async def _connected(self) -> None:
        """Connect, and stay as long as the connection lasts."""
        self._said = ""
        for event in (self._ended, self._doubtful, self._changed):
            event.clear()
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._connect_timeout):
                client = await stack.enter_async_context(
                    Client(
                        self._transport(),
                        read_timeout_seconds=self._connect_timeout,
                        message_handler=self._on_message,
                        cache=None,
                    )
                )
                listed = await _listed(client)
            stack.callback(self._disconnected)
            self._client = client
            self._publish(listed)
            await self._stay(client)

    async def _stay(self, client: Client) -> None:
        listed_at = time.monotonic()
        while True:
            await _first(self._ended, self._doubtful, self._changed)
            if self._ended.is_set():
                raise ConnectionError("the connection ended")
            self._doubtful.clear()
            if self._changed.is_set():
                await asyncio.sleep(max(0.0, listed_at + LIST_PAUSE - time.monotonic()))
                self._changed.clear()
            async with asyncio.timeout(self._probe_timeout):
                listed = await _listed(client)
            listed_at = time.monotonic()
            self._publish(listed)

    def _transport(self) -> Any:
        if self.settings.command is not None:
            return stdio_transport(self.settings, self._ended.set, self._hear)
        return http_transport(self.settings)

    def _hear(self, said: str) -> None:
        self._said = said

    async def _on_message(self, message: ServerNotification | Exception) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    def _publish(self, listed: Sequence[Listed]) -> None:
        tools: list[Tool[Any]] = []
        for item in listed:
            try:
                tools.append(offered_tool(self.settings, item, self.call, lambda: self.is_up))
            except (Unusable, ToolDefinitionError) as error:
                self._log.warning(
                    "mcp tool left out", tool=clean(item.name)[:64], reason=str(error)
                )
        self._offer(tools)
        self._log.info("mcp server connected", tools=len(tools))

    def _disconnected(self) -> None:
        self._client = None

    def _say_failed(self, error: BaseException) -> None:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        reason = type(error).__name__
        if isinstance(error, OSError) and error.args:
            reason = str(error.args[-1])[:100]
        said = {"said": clean(self._said)} if self._said else {}
        self._log.warning("mcp server rests", reason=reason, seconds=self._rest, **said)


class _Ended(Exception):
    pass


async def _listed(client: Client) -> list[Listed]:
    """The tools of a server, page by page, as many as we take."""
    tools: list[Listed] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor or len(tools) >= MAX_TOOLS:
            break
    return tools[:MAX_TOOLS]


async def _first(*events: asyncio.Event) -> None:
    """Return when one of `events` is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
