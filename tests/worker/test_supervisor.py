"""The supervisor, with small real processes: restarts, code 78, order, and no orphans."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

import worker.supervisor
from worker.child_log import MAX_BYTES, ChildLog, last_words, worth_showing
from worker.supervisor import GO_ON, Part, Supervisor, backoffs

QUICK = 0.02
"""First backoff in these tests, in seconds."""


@pytest.fixture
async def lines() -> list[str]:
    return []


@pytest.fixture
async def supervisor(lines: list[str]) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(lines.append, first_backoff=QUICK)
    yield supervisor
    supervisor.kill()
    await supervisor.stop()


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", textwrap.dedent(code)]


def is_alive(pid: int) -> bool:
    """Whether `pid` runs: a zombie, which only waits to be reaped, does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


SLEEPS = python("import time; time.sleep(60)")


def test_the_pauses_grow_to_half_a_minute() -> None:
    assert list(itertools.islice(backoffs(1.0), 8)) == [1, 2, 4, 8, 16, 30, 30, 30]


async def test_a_process_that_dies_is_started_again(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    code = f"open({str(starts)!r}, 'a').write('x'); raise SystemExit(3)"
    supervisor.start(Part("part", python(code), tmp_path / "part.log"))
    await until(lambda: starts.exists() and len(starts.read_text()) >= 4)
    await supervisor.stop(["part"])
    assert lines[0].startswith("part stopped (exit 3); starting it again")


async def test_waiting_gives_up_on_a_part_that_dies_again_and_again(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    code = "print('Error: no space left'); raise SystemExit(1)"
    never = Part("part", python(code), tmp_path / "part.log", ready=lambda: asyncio.sleep(0, False))
    supervisor.start(never)
    assert await supervisor.wait_ready("part", 20, failures=2) == "no space left"


async def test_the_reason_is_what_the_process_said_last(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    code = "print('everturn: the disk is full'); raise SystemExit(1)"
    supervisor.start(Part("part", python(code), tmp_path / "part.log"))
    await until(lambda: lines)
    assert lines[0].startswith("part stopped (the disk is full); starting it again")


async def test_code_78_is_not_started_again_and_the_others_stay_up(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    """D38, D39: a fatal configuration ends one part with one line, and no restart loop."""
    starts = tmp_path / "starts"
    code = f"""
        open({str(starts)!r}, 'a').write('x')
        print('everturn: switch on the intent')
        raise SystemExit(78)
    """
    supervisor.start(Part("other", SLEEPS, tmp_path / "other.log"))
    supervisor.start(
        Part("bot", python(code), tmp_path / "bot.log", ready=lambda: asyncio.sleep(0, False))
    )
    assert await supervisor.wait_ready("bot", 10) == "switch on the intent"
    assert lines == ["bot is off: switch on the intent", GO_ON]
    assert supervisor.has_ended("bot")
    assert not supervisor.has_ended("other")
    await asyncio.sleep(QUICK * 10)  # several backoffs long, nothing may happen
    assert starts.read_text() == "x"
    assert await supervisor.wait_ready("other", 1) is None


async def test_a_killed_process_comes_back_with_the_same_command(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    code = f"""
        import os, time
        open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')
        time.sleep(60)
    """
    supervisor.start(Part("part", python(code), tmp_path / "part.log"))
    await until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    os.kill(int(pids.read_text()), signal.SIGKILL)
    await until(lambda: pids.read_text().count("\n") == 2)
    assert "killed by SIGKILL" in lines[0]
    await until(lambda: "part is back" in lines)


async def test_what_has_ended_is_noted_with_its_reason_until_it_is_back(tmp_path: Path) -> None:
    notes: list[tuple[str, str | None]] = []
    supervisor = Supervisor(
        lambda line: None, first_backoff=QUICK, note=lambda name, why: notes.append((name, why))
    )
    first = tmp_path / "first"
    code = f"""
        import os, time
        if not os.path.exists({str(first)!r}):
            open({str(first)!r}, 'w').close()
            print('everturn: the disk is full')
            raise SystemExit(1)
        time.sleep(60)
    """
    supervisor.start(Part("part", python(code), tmp_path / "part.log", ready=lambda: _is(first)))
    await until(lambda: len(notes) == 2)
    await supervisor.stop()
    assert notes == [("part", "the disk is full"), ("part", None)]


async def _is(path: Path) -> bool:
    return await asyncio.to_thread(path.exists)


async def test_all_are_ready_or_one_is_off(supervisor: Supervisor, tmp_path: Path) -> None:
    late = tmp_path / "late"
    supervisor.start(Part("a", SLEEPS, tmp_path / "a.log"))
    supervisor.start(Part("b", SLEEPS, tmp_path / "b.log", ready=lambda: _is(late)))
    assert not await supervisor.all_ready(["a", "b"], 0.2)
    late.touch()
    assert await supervisor.all_ready(["a", "b"], 10)
    off = python("raise SystemExit(78)")
    supervisor.start(Part("c", off, tmp_path / "c.log", ready=lambda: _is(tmp_path / "never")))
    async with asyncio.timeout(10):
        assert not await supervisor.all_ready(["a", "b", "c"], None)


async def test_ready_waits_for_the_part_to_say_so(supervisor: Supervisor, tmp_path: Path) -> None:
    flag = tmp_path / "ready"

    async def ready() -> bool:
        return flag.exists()

    supervisor.start(Part("part", SLEEPS, tmp_path / "part.log", ready=ready))
    why = await supervisor.wait_ready("part", 0.3)
    assert why is not None
    assert "still starting" in why
    waiting = asyncio.create_task(supervisor.wait_ready("part", None))
    flag.touch()
    async with asyncio.timeout(10):
        assert await waiting is None


async def test_what_a_part_waits_for_is_its_last_warning(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    code = """
        import time
        print('{"level": "warning", "event": "Discord cannot be reached"}', flush=True)
        time.sleep(60)
    """
    part = Part("bot", python(code), tmp_path / "bot.log", ready=lambda: asyncio.sleep(0, False))
    supervisor.start(part)
    await until(lambda: lines)
    assert await supervisor.wait_ready("bot", 0.1) == "Discord cannot be reached"


async def test_stop_is_in_order_and_ends_with_sigkill(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    ends = tmp_path / "ends"
    polite = f"""
        import signal, sys, time
        def end(*_):
            open({str(ends)!r}, 'a').write(sys.argv[1])
            raise SystemExit(0)
        signal.signal(signal.SIGTERM, end)
        open(sys.argv[2], 'w').close()
        time.sleep(60)
    """
    stubborn = """
        import signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open(sys.argv[2], 'w').close()
        time.sleep(60)
    """
    for name, code in (("a", polite), ("b", stubborn), ("c", polite)):
        up = tmp_path / f"{name}.up"
        command = [*python(code), name, str(up)]
        grace = 0.5 if code is stubborn else 20
        supervisor.start(Part(name, command, tmp_path / f"{name}.log", grace=grace))
        await until(up.exists)
    started = time.monotonic()
    await supervisor.stop(["c", "b", "a"])
    assert time.monotonic() - started < 5
    assert ends.read_text() == "ca"
    assert lines == []


async def test_a_part_that_is_just_being_started_is_stopped_like_any_other(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up, ended = tmp_path / "up", tmp_path / "ended"
    code = f"""
        import signal, time
        def end(*_):
            open({str(ended)!r}, 'w').close()
            raise SystemExit(0)
        signal.signal(signal.SIGTERM, end)
        open({str(up)!r}, 'w').close()
        time.sleep(60)
    """

    async def slow(part: Part) -> asyncio.subprocess.Process:
        process = await spawn(part)
        await until(up.exists)
        await asyncio.sleep(0.1)  # in which the stop arrives
        return process

    spawn = worker.supervisor._spawn
    monkeypatch.setattr("worker.supervisor._spawn", slow)
    supervisor.start(Part("part", python(code), tmp_path / "part.log"))
    await until(up.exists)
    await supervisor.stop()
    assert ended.exists()


async def test_a_stop_does_not_wait_for_the_next_start(lines: list[str], tmp_path: Path) -> None:
    supervisor = Supervisor(lines.append, first_backoff=60)
    supervisor.start(Part("part", python("raise SystemExit(3)"), tmp_path / "part.log"))
    await until(lambda: lines)
    async with asyncio.timeout(10):
        await supervisor.stop()
    assert len(lines) == 1


async def test_a_command_that_does_not_exist_is_one_line(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    supervisor.start(Part("part", [str(tmp_path / "nothing")], tmp_path / "part.log"))
    await until(lambda: lines)
    assert "cannot be started" in lines[0]


PARENT = """
import asyncio, pathlib, sys
from worker.supervisor import Part, Supervisor

async def main():
    folder = pathlib.Path(sys.argv[1])
    supervisor = Supervisor(print)
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    for name in ("one", "two"):
        supervisor.start(Part(name, [sys.executable, "-S", "-c", code], folder / f"{name}.log"))
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_nothing_outlives_a_supervisor_that_is_sigkilled(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, str(tmp_path))
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    try:
        await until(lambda: all(log.exists() and log.read_text() for log in logs))
    finally:
        parent.kill()
        await parent.wait()
    pids = [int(log.read_text()) for log in logs]
    await until(lambda: not any(is_alive(pid) for pid in pids), 5)


async def test_the_guard_of_other_systems_ends_its_child_with_the_parent(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = f"""
        import os, time
        open({str(pid_file)!r}, 'w').write(f'{{os.getpid()}}.')
        time.sleep(60)
    """
    guard = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "runtime.orphans", "0", *python(code)), stdin=subprocess.PIPE
    )
    await until(lambda: pid_file.exists() and pid_file.read_text().endswith("."))
    child = int(pid_file.read_text().rstrip("."))
    assert guard.stdin is not None
    guard.stdin.close()  # what the end of the parent does
    async with asyncio.timeout(5):
        await guard.wait()
    await until(lambda: not is_alive(child), 5)


def test_the_guard_passes_the_exit_code_on() -> None:
    command = [sys.executable, "-m", "runtime.orphans", "0", *python("raise SystemExit(78)")]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert guard.wait(10) == 78


def test_only_warnings_and_errors_reach_the_screen() -> None:
    assert worth_showing('{"level": "info", "event": "x"}') is None
    assert worth_showing("Traceback (most recent call last):") is None
    assert worth_showing('{"broken": ') is None
    shown = worth_showing('{"level": "warning", "event": "a.b", "time": "t", "reason": "x\\ny"}')
    assert shown == "warning: a.b reason=x y"


def test_last_words() -> None:
    assert last_words("everturn: no token") == "no token"
    assert last_words("Error: address in use") == "address in use"
    assert last_words("hello") is None


def test_a_large_log_is_put_aside_and_a_full_disk_is_survived(tmp_path: Path) -> None:
    path = tmp_path / "part.log"
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    log = ChildLog(path)
    log.write("first")
    assert path.read_text() == "first\n"
    assert (tmp_path / "part.log.1").stat().st_size == MAX_BYTES + 1
    ChildLog(Path("/dev/full")).write("lost, and nothing else happens")
