"""A loopback web server for tools to read, which can be slow and sees its readers leave."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field


@dataclass
class Visit:
    path: str
    closed_early_at: float | None = None
    """`time.monotonic()` when the reader went away before it had its answer."""
    over: asyncio.Event = field(default_factory=asyncio.Event)


class PageServer:
    """`/slow…` never answers; anything else is a small page."""

    def __init__(self) -> None:
        self.visits: list[Visit] = []
        self.body = "The heron stands in the reeds."
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> PageServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def port(self) -> int:
        assert self._server is not None
        return self._server.sockets[0].getsockname()[1]

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def wait_for_visit(self, path: str, seconds: float = 30) -> Visit:
        async with asyncio.timeout(seconds):
            while True:
                for visit in self.visits:
                    if visit.path == path:
                        return visit
                await asyncio.sleep(0.01)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            visit = Visit(head.split(b" ")[1].decode())
            self.visits.append(visit)
            if visit.path.startswith("/slow"):
                await reader.read(1)  # nothing comes but the end
                visit.closed_early_at = time.monotonic()
            else:
                page = f"<html><body><article><p>{self.body}</p></article>".encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
                    + f"Content-Length: {len(page)}\r\n\r\n".encode()
                    + page
                )
                await writer.drain()
            visit.over.set()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()
