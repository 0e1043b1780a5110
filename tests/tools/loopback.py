"""Web servers on 127.0.0.1 that behave well, badly or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Handler = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
"""Receives the head of a request and writes the answer."""


@dataclass
class Loopback:
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """A request has arrived."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """A client has closed its connection before the server did."""

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.target}/page?token=planted"


@asynccontextmanager
async def serve(handler: Handler) -> AsyncIterator[Loopback]:
    """Answer each connection's one request with `handler`, then close it."""
    loopback = Loopback()
    connections: set[asyncio.Task[None]] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            loopback.heads.append(await reader.readuntil(b"\r\n\r\n"))
            loopback.asked.set()
            answering = asyncio.ensure_future(handler(loopback.heads[-1], writer))
            leaving = asyncio.ensure_future(reader.read())
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                loopback.left.set()
            answering.cancel()
            leaving.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
        except (asyncio.IncompleteReadError, ConnectionError):
            loopback.left.set()
        finally:
            connections.discard(task)
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    loopback.port = server.sockets[0].getsockname()[1]
    try:
        yield loopback
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


def answer(
    body: bytes = b"",
    content_type: str = "text/html; charset=utf-8",
    status: str = "200 OK",
    **headers: str,
) -> Handler:
    """A whole answer at once; `Content_Encoding="gzip"` becomes a header."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    raw = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def handler(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()

    return handler


async def stall(head: bytes, writer: asyncio.StreamWriter) -> None:
    """Begin an answer, and never go on."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>begun")
    await writer.drain()
    await asyncio.Event().wait()
