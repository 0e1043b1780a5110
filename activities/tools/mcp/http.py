"""An MCP server behind an HTTP address (Streamable HTTP), with a bound on what it may send.

The address is the operator's own choice, so it may be a private one. A redirect is followed only
within its origin, which is the SDK's rule; the environment's proxies are not used.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from activities.tools.mcp.allowance import Allowance
from activities.tools.mcp.config import McpServerSettings
from activities.tools.mcp.stdio import MAX_MESSAGE

CONNECT_TIMEOUT = 10.0
"""Seconds."""

MAX_STREAM = 4 * MAX_MESSAGE
"""Bytes of one stream of events."""


@asynccontextmanager
async def http_transport(
    server: McpServerSettings, on_end: Callable[[], None], allowance: Allowance
) -> AsyncGenerator[Any, None]:
    """Opens no connection by itself: the first request does. `on_end` is called when the server
    sends more than it may."""
    assert server.url is not None
    async with (
        httpx2.AsyncClient(
            headers={name: value.get_secret_value() for name, value in server.headers.items()},
            transport=_Bounded(httpx2.AsyncHTTPTransport(trust_env=False), allowance, on_end),
            timeout=httpx2.Timeout(CONNECT_TIMEOUT, read=server.timeout + CONNECT_TIMEOUT),
            trust_env=False,
        ) as client,
        streamable_http_client(
            server.url.get_secret_value(), http_client=client, max_sse_event_size=MAX_MESSAGE
        ) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        allowance: Allowance,
        on_end: Callable[[], None],
    ) -> None:
        self._inner = inner
        self._allowance = allowance
        self._on_end = on_end

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # nothing packed is asked for, since a little of it can become very much
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the response is packed", request=request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        limit = MAX_STREAM if is_stream else MAX_MESSAGE
        response.stream = _BoundedStream(response.stream, request, limit, self._admit)
        return response

    def _admit(self, chunk: bytes) -> bool:
        permitted = self._allowance.permits(chunk)
        if not permitted:
            self._on_end()
        return permitted

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self,
        inner: httpx2.AsyncByteStream,
        request: httpx2.Request,
        limit: int,
        admit: Callable[[bytes], bool],
    ) -> None:
        self._inner = inner
        self._request = request
        self._limit = limit
        self._admit = admit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._inner:
            received += len(chunk)
            if received > self._limit or not self._admit(chunk):
                raise httpx2.ReadError("the response is too long", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
