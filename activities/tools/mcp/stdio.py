"""An MCP server as a child process: one JSON message a line, in both directions.

Our own and not the SDK's, for bounds that it lacks. A line longer than `MAX_MESSAGE`, or more than
`Allowance` permits, ends the connection, so that a server neither fills our memory nor takes all
our time. And the child does not outlive us: it is told to end, then made to, and it dies with a
worker that is killed.

The child sees a few harmless variables of our environment and those that the file gives it; our
own settings, with their secrets, it does not.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import structlog
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from activities.tools.mcp.allowance import Allowance
from activities.tools.mcp.config import McpServerSettings
from runtime.orphans import HAS_PDEATHSIG, guarded

MAX_MESSAGE = 4_000_000
"""Bytes of one message."""

LEAVE_TIMEOUT = 1.0
"""Seconds for the child to end after its input has, and again after SIGTERM."""

MAX_SAID = 500
"""Bytes kept of what the child last wrote to stderr, for the operator."""

LISTEN_PAUSE = 0.05
"""Seconds between two looks at stderr, of 64 kB each; a child that writes more has to wait."""

_DIE_WITH_US = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG; it outlasts the exec below
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
"""

log = structlog.get_logger(__name__)

Streams = tuple[
    "anyio.abc.ObjectReceiveStream[SessionMessage | Exception]",
    "anyio.abc.ObjectSendStream[SessionMessage]",
]


@asynccontextmanager
async def stdio_transport(
    server: McpServerSettings,
    on_end: Callable[[], None],
    on_said: Callable[[str], None],
    allowance: Allowance,
) -> AsyncGenerator[Streams, None]:
    """Start the child; `on_end` is called once it answers nothing more, `on_said` with the last
    line that it wrote to stderr. Raises OSError."""
    ours: list[int] = []
    try:
        process = await _start(server, ours)
    except BaseException:
        _close(ours)
        raise
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def read(stdout: asyncio.StreamReader) -> None:
        async with to_session:
            try:
                while line := await stdout.readline():
                    if not allowance.permits(line):
                        raise ValueError
                    if line.strip():
                        await to_session.send(_parsed(line))
                    else:
                        await asyncio.sleep(0)
            except ValueError:  # longer than the limit, or more than is permitted
                log.warning("mcp server sent too much at once", server=server.name)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                pass  # the session has closed, or the child's end of the pipe
            finally:
                on_end()

    async def write(stdin: asyncio.StreamWriter) -> None:
        try:
            async for message in from_session:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(data.encode() + b"\n")
                await stdin.drain()
        except (anyio.ClosedResourceError, OSError):
            on_end()

    said = bytearray()

    async def listen(stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(64 * 1024):
            said.extend(chunk[-MAX_SAID:])
            del said[:-MAX_SAID]
            on_said("".join(said.decode(errors="replace").strip().splitlines()[-1:]))
            await asyncio.sleep(LISTEN_PAUSE)

    tasks = [
        asyncio.create_task(read(process.stdout)),
        asyncio.create_task(write(process.stdin)),
        asyncio.create_task(listen(process.stderr)),
    ]
    try:
        yield from_server, to_server
    finally:
        try:
            await _end(process)
        finally:
            _signal(process, signal.SIGKILL)
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_TIMEOUT):
                    await process.wait()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # Nothing public closes the pipes of a child that was ended in the middle.
            getattr(process, "_transport").close()  # noqa: B009
            await asyncio.sleep(0)
            for stream in (to_session, from_server, to_server, from_session):
                stream.close()
            _close(ours)


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


async def _start(server: McpServerSettings, ours: list[int]) -> asyncio.subprocess.Process:
    """`ours` takes what is to be closed when the child has ended, and not before."""
    environment = get_default_environment() | {
        name: value.get_secret_value() for name, value in server.env.items()
    }
    assert server.command is not None
    if shutil.which(server.command, path=environment.get("PATH")) is None:
        raise FileNotFoundError("there is no such command")
    command = [server.command, *server.args]
    watched: list[int] = []
    if HAS_PDEATHSIG:
        launcher = [sys.executable, "-I", "-S", "-c", _DIE_WITH_US, str(os.getpid())]
        command = launcher + command
    else:
        reading, held = os.pipe()
        ours.append(held)
        watched.append(reading)
        command = guarded(command, reading)
    try:
        return await _spawned(server, command, environment, watched)
    finally:
        _close(watched)


async def _spawned(
    server: McpServerSettings,
    command: Sequence[str],
    environment: Mapping[str, str],
    watched: Sequence[int],
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        pass_fds=watched,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        cwd=server.cwd,
        limit=MAX_MESSAGE,
        start_new_session=True,  # a Ctrl-C is for us to pass on, and its children end with it
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the child's input, then ask it to end."""
    assert process.stdin is not None
    process.stdin.close()
    for number in (signal.SIGTERM, None):
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_TIMEOUT):
                await process.wait()
                return
        if number is not None:
            _signal(process, number)


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To the child and to what it has started: its group may be there without it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error  # the session passes over it
