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
from contextlib import AsyncExitStack, suppress
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

from activities.tools.mcp.allowance import Allowance
from activities.tools.mcp.config import McpServerSettings
from activities.tools.mcp.content import answer_of
from activities.tools.mcp.guard import MAX_TOOLS, guarded
from activities.tools.mcp.http import http_transport
from activities.tools.mcp.offer import declared_size, offered_tool
from activities.tools.mcp.stdio import stdio_transport
from activities.tools.results import clean
from activities.tools.tool import Tool, ToolFailure, ToolOutput

REST = 300.0
"""Seconds after a failure (GUILD_MCP_FAILURE_COOLDOWN_MS)."""

CONNECT_TIMEOUT = 30.0
"""Seconds to connect and to list the tools. Some servers download themselves first."""

PROBE_TIMEOUT = 5.0
"""Seconds for a server to show that it is still there."""

MAX_PAGES = 10
"""Of one list."""

MAX_DECLARED = 64_000
"""Characters of all declarations of a server together: they are sent with every model call."""

MAX_LEFT_OUT = 64
"""Tools that are said to be left out while a connection lasts."""

MAX_REASON = 4_000
"""Characters of why a call failed, as the server says it."""

LIST_PAUSE = 5.0
"""Seconds between two listings that a server asks for."""

log = structlog.get_logger(__name__)

_result = TypeAdapter[Any](CallToolResult)

Offer = Callable[[Sequence[Tool[Any]]], object]


class McpServer:
    """`offer` is told of its tools, whenever they change. `room` says how many characters its
    declarations may have beside those of other servers."""

    def __init__(
        self,
        settings: McpServerSettings,
        offer: Offer,
        rest: float = REST,
        connect_timeout: float = CONNECT_TIMEOUT,
        probe_timeout: float = PROBE_TIMEOUT,
        room: Callable[[], int] = lambda: MAX_DECLARED,
    ) -> None:
        self.settings = settings
        self._offer = offer
        self._rest = rest
        self._connect_timeout = connect_timeout
        self._probe_timeout = probe_timeout
        self._room = room
        self.declared = 0
        """Characters of what is declared of it just now."""
        self._made: dict[str, Tool[Any]] = {}
        """What was last offered, by what was listed: a list that only repeats costs nothing."""
        self._left_out = 0
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
            reason = answer.text.strip()[:MAX_REASON]
            raise ToolFailure(reason or "The tool failed without a reason.")
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
        self._left_out = 0
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
            await self._publish(listed)
            self._log.info("mcp server connected", tools=len(self._made))
            await self._stay(client)

    async def _stay(self, client: Client) -> None:
        listed_at = time.monotonic()
        while True:
            await _first(self._ended, self._doubtful, self._changed)
            if self._changed.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(listed_at + LIST_PAUSE - time.monotonic()):
                        await self._ended.wait()
            if self._ended.is_set():
                raise ConnectionError("the connection ended")
            self._doubtful.clear()
            self._changed.clear()
            async with asyncio.timeout(self._probe_timeout):
                listed = await _listed(client)
            listed_at = time.monotonic()
            await self._publish(listed)

    def _transport(self) -> Any:
        allowance, end = Allowance(), self._ended.set
        if self.settings.command is not None:
            transport = stdio_transport(self.settings, end, self._hear, allowance)
        else:
            transport = http_transport(self.settings, end, allowance)
        return guarded(transport, self.settings.name, allowance, end, self._leave_out)

    def _leave_out(self, name: str, reason: str) -> None:
        self._left_out += 1
        if self._left_out <= MAX_LEFT_OUT:
            self._log.warning("mcp tool left out", tool=clean(name)[:64], reason=reason)

    def _hear(self, said: str) -> None:
        self._said = said

    async def _on_message(self, message: ServerNotification | Exception) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    async def _publish(self, listed: Sequence[Listed]) -> None:
        made: dict[str, Tool[Any]] = {}
        before, used = self.declared, 0
        for item in listed:
            await asyncio.sleep(0)  # to make one takes a millisecond
            size = declared_size(item)
            if used + size > min(MAX_DECLARED, self._room()):
                self._leave_out(item.name, "the declarations are too large together")
                continue
            used += size
            self.declared = max(before, used)  # other servers count at the same time
            key = item.model_dump_json()
            made[key] = self._made.get(key) or offered_tool(
                self.settings, item, self.call, lambda: self.is_up
            )
        self.declared = used
        if made.keys() != self._made.keys():
            self._made = made
            self._offer(list(made.values()))

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
