"""Reads one document in a process of its own (D37).

What a stranger wrote can make its reader run for minutes, hold Python's lock in C code all that
time, or fill the memory. So `child.py` runs the reader with bounded time, memory and output, and
without our environment, which holds secrets. It tells what it has as soon as it has it: what was
told before the time was up is the result.
What always holds: the child is dead when this returns or raises, also when it is cancelled; and no
more of them run at the same time than `Places` has.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

_CHILD = Path(__file__).with_name("child.py")
_CHUNK = 64 * 1024
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")
"""What a Python may need to start. Nothing else reaches the child."""


class Places:
    """How many documents of a kind are read at the same time by one process; others wait."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def here(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        return self._of_loop.setdefault(loop, asyncio.Semaphore(self._count))


@dataclass(frozen=True)
class Limits:
    text: int
    """Code points."""
    seconds: float
    memory: int
    """Bytes of address space, where the system can limit it."""
    output: int
    """Bytes of output that are kept. A reader stops long before; this is in case it does not."""


@dataclass(frozen=True)
class Told:
    messages: list[dict[str, Any]]
    in_time: bool
    size: int
    """Bytes."""


async def read_apart(reader: Path, data: bytes, limits: Limits) -> Told:
    """What the file `reader` tells of `data`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",  # neither our folder nor our environment decide what it imports
        "-B",
        str(_CHILD),
        str(reader),
        str(limits.text),
        str(limits.memory),
        str(int(limits.seconds) + 1),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )
    output = bytearray()
    in_time = True
    try:
        async with asyncio.timeout(limits.seconds):
            await asyncio.gather(_feed(process, data), _collect(process, output, limits.output))
            if len(output) < limits.output:
                await process.wait()
    except TimeoutError:
        in_time = False
    finally:
        await _end(process)
    return Told(list(_lines(bytes(output))), in_time, len(output))


async def _feed(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(data)
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # it has ended already; its output says why
    finally:
        process.stdin.close()


async def _collect(process: Process, output: bytearray, most: int) -> None:
    assert process.stdout is not None
    while len(output) < most and (chunk := await process.stdout.read(_CHUNK)):
        output += chunk


async def _end(process: Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself just now
            process.kill()
    assert process.stdout is not None
    while await process.stdout.read(_CHUNK):
        pass  # what a dead child left in the pipe: `wait` waits for the pipe, too
    await process.wait()


def _lines(output: bytes) -> Iterator[dict[str, Any]]:
    """The child's messages; a line that was cut off is left out."""
    for line in output.split(b"\n")[:-1]:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if isinstance(message, dict):
            yield message
