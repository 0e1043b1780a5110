"""Keeps a set of processes running: start, restart with backoff, stop in order.

A process that exits is started again after 1, 2, 4, … 30 s. One that exits with code 78 has a
configuration that no restart mends: its reason is shown once, and the others stay up (D38, D39).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.orphans import HAS_PDEATHSIG, die_with_parent, guarded
from worker.child_log import ChildLog, last_words, worth_showing
from worker.errors import EXIT_CONFIGURATION, EXIT_FAILED
from worker.private import OTHERS

LONGEST_BACKOFF = 30.0
HEALTHY_AFTER = 60.0
"""Seconds a process must have run for its backoff to begin at 1 s again."""
READY_POLL = 0.1
GO_ON = "  The other parts stay up. Mend it, press Ctrl-C, and start again."
"""What follows the reason of a part that is off for good."""

Tell = Callable[[str], None]
Note = Callable[[str, str | None], None]


def backoffs(first: float) -> Iterator[float]:
    """Seconds to wait before each new start: `first`, twice that, and so on up to 30."""
    pause = first
    while True:
        yield pause
        pause = min(pause * 2, LONGEST_BACKOFF)


@dataclass(frozen=True)
class Part:
    """One process to keep running."""

    name: str
    command: Sequence[str]
    log: Path
    environ: Mapping[str, str] | None = None
    ready: Callable[[], Awaitable[bool]] | None = None
    """Asked while it starts. None: ready as soon as it runs."""
    before_start: Callable[[], None] | None = None
    """Called before each start, such as to remove the file that said it was ready."""
    grace: float = 20.0
    """Seconds between SIGTERM and SIGKILL."""


@dataclass
class _Running:
    part: Part
    log: ChildLog
    is_ready: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it will not be started again."""
    process: asyncio.subprocess.Process | None = None
    reason: str | None = None
    """What the present process has said in the end, if anything."""
    last_failure: str | None = None
    last_warning: str | None = None
    failures: int = 0
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Supervisor:
    """`tell` receives one line at a time, for the screen.

    `note` receives a part's name and the reason with which it has ended, or None when it is ready
    again.
    """

    def __init__(self, tell: Tell, first_backoff: float = 1.0, note: Note | None = None) -> None:
        self._tell = tell
        self._note: Note = note or (lambda name, why: None)
        self._first_backoff = first_backoff
        self._parts: dict[str, _Running] = {}

    def start(self, part: Part) -> None:
        """Start `part` and keep it running."""
        running = _Running(part, ChildLog(part.log))
        self._parts[part.name] = running
        running.task = asyncio.create_task(self._keep_running(running), name=part.name)

    async def wait_ready(
        self, name: str, timeout: float | None, failures: int | None = None
    ) -> str | None:
        """None once `name` is ready; else, in a few words, why it is not.

        `timeout` in seconds; None: as long as it takes. `failures`: give up when it has died so
        many times.
        """
        running = self._parts[name]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    if running.is_ready.is_set():
                        return None
                    if running.ended.is_set() or (failures and running.failures >= failures):
                        return running.last_failure
                    await asyncio.sleep(READY_POLL / 2)
        last = running.last_failure or running.last_warning
        return last or f"it is still starting; its log is {running.part.log}"

    async def all_ready(self, names: Collection[str], timeout: float | None) -> bool:
        """Whether all of `names` are ready within `timeout` seconds (None: as long as it takes).

        False at once when one of them is off for good.
        """
        parts = [self._parts[name] for name in names]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while not any(part.ended.is_set() for part in parts):
                    if all(part.is_ready.is_set() for part in parts):
                        return True
                    await asyncio.sleep(READY_POLL / 2)
        return False

    def has_ended(self, name: str) -> bool:
        """Whether `name` is off for good; the reason has been told."""
        return self._parts[name].ended.is_set()

    async def stop(self, order: Sequence[str] | None = None) -> None:
        """Stop the named parts one after the other (default: all, the last started first)."""
        for name in order or [*reversed(self._parts)]:
            if (running := self._parts.get(name)) is not None:
                await self._stop_one(running)

    def kill(self) -> None:
        """End everything at once."""
        for running in self._parts.values():
            running.stopping.set()
            _kill_group(running.process)

    async def _stop_one(self, running: _Running) -> None:
        running.stopping.set()
        process = running.process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        if running.task is not None:
            _, pending = await asyncio.wait({running.task}, timeout=running.part.grace)
            if pending:
                _kill_group(running.process)
                await asyncio.wait({running.task})

    async def _keep_running(self, running: _Running) -> None:
        pauses = backoffs(self._first_backoff)
        loop = asyncio.get_running_loop()
        name = running.part.name
        try:
            while not running.stopping.is_set():
                started = loop.time()
                code = await self._run_once(running)
                if running.stopping.is_set():
                    return
                running.last_failure = why = running.reason or _exit_words(code)
                running.failures += 1
                self._note(name, why)
                if code == EXIT_CONFIGURATION:
                    self._tell(f"{name} is off: {why}")
                    self._tell(GO_ON)
                    return
                if loop.time() - started > HEALTHY_AFTER:
                    pauses = backoffs(self._first_backoff)
                pause = next(pauses)
                self._tell(
                    f"{name} stopped ({why}); starting it again in {pause:.0f} s"
                    f" (log: {running.part.log})"
                )
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await running.stopping.wait()
        finally:
            running.ended.set()

    async def _run_once(self, running: _Running) -> int:
        part = running.part
        again = running.is_ready.is_set()
        running.is_ready.clear()
        running.reason = None
        if part.before_start is not None:
            part.before_start()
        try:
            running.process = process = await _spawn(part)
        except OSError as error:
            running.reason = f"it cannot be started: {error.strerror}"
            return EXIT_FAILED
        if running.stopping.is_set():  # asked to stop while it was being started
            process.terminate()
        watch = asyncio.create_task(self._watch_ready(running, again))
        try:
            await self._read_lines(running, process)
            return await process.wait()
        finally:
            watch.cancel()
            _kill_group(process)

    async def _watch_ready(self, running: _Running, again: bool) -> None:
        while True:
            if running.part.ready is None or await running.part.ready():
                break
            await asyncio.sleep(READY_POLL)
        running.is_ready.set()
        if running.failures:
            self._note(running.part.name, None)
        if again:
            self._tell(f"{running.part.name} is back")

    async def _read_lines(self, running: _Running, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        rest = b""
        while chunk := await process.stdout.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take_line(running, line)
            if len(rest) > 1_000_000:  # no line of ours is that long
                self._take_line(running, rest)
                rest = b""
        if rest:
            self._take_line(running, rest)

    def _take_line(self, running: _Running, raw: bytes) -> None:
        line = raw.decode("utf-8", "replace").rstrip()
        running.log.write(line)
        if (reason := last_words(line)) is not None:
            running.reason = reason
        if (brief := worth_showing(line)) is not None:
            running.last_warning = brief.partition(": ")[2]
            self._tell(f"{running.part.name} {brief}")


async def _spawn(part: Part) -> asyncio.subprocess.Process:
    """A session of its own, so that Ctrl-C reaches only us, and we stop the parts in order.

    What the parts write is conversations, Temporal's database among it: nobody else reads it.
    """
    command = list(part.command) if HAS_PDEATHSIG else guarded(part.command)
    return await asyncio.create_subprocess_exec(
        *command,
        env=None if part.environ is None else dict(part.environ),
        stdin=asyncio.subprocess.DEVNULL if HAS_PDEATHSIG else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
        umask=OTHERS,
        preexec_fn=die_with_parent() if HAS_PDEATHSIG else None,
    )


def _kill_group(process: asyncio.subprocess.Process | None) -> None:
    if process is None or process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _exit_words(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit {code}"
