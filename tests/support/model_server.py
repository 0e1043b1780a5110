"""A scriptable, OpenAI-compatible model server on the loopback interface.

    server = ModelServer()
    await server.start()
    server.script(Text("Hello. "), Pause(0.5), Text("Bye."))      # for the next request
    server.default = lambda request: [Text(f"You said {request.last_user_text}")]
    ... point a provider's base URL at `server.base_url` ...
    assert server.requests[0].closed_early_at is None
    await server.stop()

A script is a list of steps. One that does not end the stream itself (`Finish`, `Cut`, `EndWithout`,
`Stall`, `Status`, `Raw`) is finished as a provider would: finish reason, usage, `[DONE]`.

Written on bare asyncio streams, because the point of it is to see when a client goes away: each
request has a connection of its own, and the moment at which the client closed it before the answer
was complete is recorded.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Text:
    """One delta of text. `pause` is in seconds, before it."""

    text: str
    pause: float = 0


@dataclass(frozen=True)
class Thinking:
    """One delta of `reasoning_content`."""

    text: str
    pause: float = 0


@dataclass(frozen=True)
class ToolCall:
    """A tool call; its arguments arrive in `pieces` deltas. `index` numbers parallel calls."""

    name: str
    arguments: str = "{}"
    call_id: str = "call-1"
    index: int = 0
    pieces: int = 2


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Hold:
    """Wait until the test sets `event`."""

    event: asyncio.Event


@dataclass(frozen=True)
class Finish:
    """End in good order. Usage (input, output) is sent unless it is None."""

    reason: str = "stop"
    usage: tuple[int, int] | None = (7, 5)


@dataclass(frozen=True)
class Cut:
    """Break the connection in the middle of the stream."""


@dataclass(frozen=True)
class EndWithout:
    """End the HTTP response in good order, without finish reason and `[DONE]`."""


@dataclass(frozen=True)
class Stall:
    """Say nothing more until the client goes away."""


@dataclass(frozen=True)
class Status:
    """An HTTP error instead of a stream. Only as the first step."""

    code: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A whole HTTP 200 body of whatever kind. Only as the first step."""

    body: bytes
    content_type: str = "text/event-stream"


Step = Text | Thinking | ToolCall | Pause | Hold | Finish | Cut | EndWithout | Stall | Status | Raw
Script = Sequence[Step]


@dataclass
class ReceivedRequest:
    """One request, and what became of its connection. Times are `time.monotonic()`."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    received_at: float
    steps_done: int = 0
    finished_at: float | None = None
    """When the whole answer had been written."""
    closed_early_at: float | None = None
    """When the client went away before that."""
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body.get("messages", [])

    @property
    def last_user_text(self) -> str:
        for message in reversed(self.messages):
            if message["role"] == "user":
                content = message["content"]
                if isinstance(content, str):
                    return content
                return " ".join(part.get("text", "") for part in content)
        return ""

    async def wait_closed_early(self, timeout: float = 30) -> float:
        """When the client went away. Raises AssertionError when it did not, or not in time."""
        async with asyncio.timeout(timeout):
            await self.over.wait()
        assert self.closed_early_at is not None, "the client stayed to the end"
        return self.closed_early_at


Responder = Callable[[ReceivedRequest], Script]


class ModelServer:
    def __init__(self, default: Script | Responder = (Text("Hello from the model server."),)):
        self.default = default
        """Script, or what makes one from the request, when none is queued."""
        self._first_default = default
        self.requests: list[ReceivedRequest] = []
        self._scripts: deque[Script] = deque()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; `port` 0 takes a free one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> ModelServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        assert self._server is not None, "start() first"
        return self._server.sockets[0].getsockname()[1]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def reset(self) -> None:
        """Forget requests and scripts; the default script is the first one again."""
        self.requests.clear()
        self._scripts.clear()
        self.default = self._first_default

    def script(self, *steps: Step) -> None:
        """Queue the script of the next request that has none yet."""
        self._scripts.append(steps)

    async def wait_for_requests(self, count: int, timeout: float = 30) -> list[ReceivedRequest]:
        """Wait until `count` model requests have arrived, and return all."""
        async with asyncio.timeout(timeout), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            request = await _read_request(reader)
            if request is not None:
                await self._answer(request, reader, writer)
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(
        self,
        request: ReceivedRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        if request.method == "GET":
            models = {"object": "list", "data": [{"id": "test-model", "object": "model"}]}
            writer.write(_whole(200, json.dumps(models).encode(), "application/json"))
            await writer.drain()
            return
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        script = self._scripts.popleft() if self._scripts else self.default
        steps = script(request) if callable(script) else script
        answering = asyncio.create_task(_Answer(request, writer).play(steps))
        # A client sends nothing after its request, so whatever read() returns, it is the end.
        leaving = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() or answering.exception() is not None:
                request.closed_early_at = time.monotonic()
            else:
                request.finished_at = time.monotonic()
        finally:
            answering.cancel()
            leaving.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
            request.over.set()


class _Answer:
    """Plays one script onto one connection."""

    def __init__(self, request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        self._request = request
        self._writer = writer
        self._called = False

    async def play(self, steps: Script) -> None:
        first = steps[0] if steps else None
        if isinstance(first, Status):
            body = first.body if first.body is not None else {"error": {"message": "no"}}
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self._writer.write(_whole(first.code, data, "application/json", first.headers))
            await self._writer.drain()
            return
        if isinstance(first, Raw):
            self._writer.write(_whole(200, first.body, first.content_type))
            await self._writer.drain()
            return
        self._writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        await self._writer.drain()
        for step in steps:
            if not await self._step(step):
                return
            self._request.steps_done += 1
        await self._finish(Finish("tool_calls" if self._called else "stop"))

    async def _step(self, step: Step) -> bool:
        """Whether the stream goes on after it."""
        match step:
            case Text():
                await asyncio.sleep(step.pause)
                await self._delta({"content": step.text})
            case Thinking():
                await asyncio.sleep(step.pause)
                await self._delta({"reasoning_content": step.text})
            case ToolCall():
                self._called = True
                await self._tool_call(step)
            case Pause():
                await asyncio.sleep(step.seconds)
            case Hold():
                await step.event.wait()
            case Stall():
                await asyncio.Event().wait()
            case Finish():
                await self._finish(step)
                return False
            case Cut():
                self._writer.transport.abort()
                return False
            case EndWithout():
                await self._chunk(b"")
                return False
            case Status() | Raw():
                raise AssertionError("only as the first step of a script")
        return True

    async def _tool_call(self, call: ToolCall) -> None:
        await self._delta(
            {
                "tool_calls": [
                    {
                        "index": call.index,
                        "id": call.call_id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": ""},
                    }
                ]
            }
        )
        length = max(1, -(-len(call.arguments) // max(1, call.pieces)))
        for at in range(0, len(call.arguments), length):
            piece = call.arguments[at : at + length]
            await self._delta(
                {"tool_calls": [{"index": call.index, "function": {"arguments": piece}}]}
            )

    async def _finish(self, finish: Finish) -> None:
        await self._delta({}, finish.reason)
        if finish.usage is not None:
            prompt, completion = finish.usage
            await self._event(
                {
                    **self._frame(),
                    "choices": [],
                    "usage": {
                        "prompt_tokens": prompt,
                        "completion_tokens": completion,
                        "total_tokens": prompt + completion,
                    },
                }
            )
        await self._chunk(b"data: [DONE]\n\n")
        await self._chunk(b"")

    async def _delta(self, delta: dict[str, Any], finish_reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        await self._event({**self._frame(), "choices": [choice]})

    def _frame(self) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self._request.body.get("model", "test-model"),
        }

    async def _event(self, event: dict[str, Any]) -> None:
        await self._chunk(b"data: " + json.dumps(event).encode() + b"\n\n")

    async def _chunk(self, data: bytes) -> None:
        """One HTTP chunk; an empty one ends the response."""
        self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self._writer.drain()


async def _read_request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return ReceivedRequest(
        method=method,
        path=path,
        headers=headers,
        body=json.loads(body) if body else {},
        received_at=time.monotonic(),
    )


def _whole(
    code: int, body: bytes, content_type: str, headers: dict[str, str] | None = None
) -> bytes:
    lines = [
        f"HTTP/1.1 {code} Scripted",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
