"""PDFs, read in a process of their own (D37).

A PDF is a program that a stranger wrote: it can make its reader run for minutes, or fill the
memory. So each is read by `pdf_child.py` with bounded time, memory and output, and without our
environment, which holds secrets. The child tells each page as soon as it has it: what was told
before the time was up is the result, marked as truncated.
What always holds: the child is dead when this returns or raises, also when it is cancelled.
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

import structlog

from activities.tools.documents.unreadable import Unreadable

TIME_BUDGET = 30.0
"""Seconds for one document; 200 pages of plain text take about one."""
MEMORY = 512 * 1024 * 1024
"""Bytes of address space, where the system can limit it. The reader itself needs 60 MB."""
PARALLEL = 2
"""Documents read at the same time by one process; others wait."""

_CHILD = Path(__file__).with_name("pdf_child.py")
_OUTPUT = 16_000_000
"""Bytes of output that are kept. The child stops long before; this is in case it does not."""
_CHUNK = 64 * 1024
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")
"""What a Python may need to start. Nothing else reaches the child."""

_REASONS = {
    "encrypted": "The PDF is protected by a password.",
    "broken": "The PDF is damaged and cannot be read.",
    "memory": "The PDF needs too much memory to be read.",
}

log = structlog.get_logger(__name__)

_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@dataclass(frozen=True)
class PdfPage:
    number: int
    """From 1."""
    text: str


@dataclass(frozen=True)
class Pdf:
    page_count: int
    pages: list[PdfPage]
    """Those with text."""
    truncated: bool


async def read_pdf(data: bytes, max_text: int, seconds: float = TIME_BUDGET) -> Pdf:
    """The pages of `data`, with at most `max_text` code points. Raises Unreadable."""
    slots = _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(PARALLEL))
    async with slots:
        output, in_time = await _run_child(data, max_text, seconds)
    return _told(output, in_time)


async def _run_child(data: bytes, max_text: int, seconds: float) -> tuple[bytes, bool]:
    """What the child wrote, and whether it came to its end in time."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",  # neither our folder nor our environment decide what it imports
        "-B",
        str(_CHILD),
        str(max_text),
        str(MEMORY),
        str(int(seconds) + 1),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )
    output = bytearray()
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(_feed(process, data), _collect(process, output))
            if len(output) < _OUTPUT:
                await process.wait()
        return bytes(output), True
    except TimeoutError:
        return bytes(output), False
    finally:
        await _end(process)


async def _feed(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(data)
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # it has ended already; its output says why
    finally:
        process.stdin.close()


async def _collect(process: Process, output: bytearray) -> None:
    assert process.stdout is not None
    while len(output) < _OUTPUT and (chunk := await process.stdout.read(_CHUNK)):
        output += chunk


async def _end(process: Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself just now
            process.kill()
    assert process.stdout is not None
    while await process.stdout.read(_CHUNK):
        pass  # what a dead child left in the pipe: `wait` waits for the pipe, too
    await process.wait()


def _told(output: bytes, in_time: bool) -> Pdf:
    page_count = 0
    pages: list[PdfPage] = []
    ended = cut = False
    for line in _lines(output):
        if (fault := line.get("fault")) is not None:
            if pages:
                cut = True
                break
            raise Unreadable(_REASONS.get(fault, _REASONS["broken"]))
        if "pages" in line:
            page_count = line["pages"]
        elif "page" in line:
            pages.append(PdfPage(line["page"], line["text"]))
        elif "end" in line:
            ended, cut = True, line["cut"]
    if not pages:
        if not in_time:
            raise Unreadable("The PDF is too complicated to be read in time.")
        if not ended:
            # killed by its limits, or it never started
            log.warning("PDF reader ended early", bytes_told=len(output))
            raise Unreadable(_REASONS["broken"])
        raise Unreadable("The PDF holds no text, only pictures or nothing at all.")
    return Pdf(page_count=page_count, pages=pages, truncated=cut or not ended)


def _lines(output: bytes) -> Iterator[dict[str, Any]]:
    """The child's messages; a line that was cut off is left out."""
    for line in output.split(b"\n")[:-1]:
        try:
            yield json.loads(line)
        except ValueError:
            return
