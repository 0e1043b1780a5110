"""What `everturn up` starts, and where, and what it says while parts are missing."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from storage import PersonaFileError
from worker.child_log import ChildLog
from worker.cli import report
from worker.crash import keep_trace
from worker.dev_server import server_command
from worker.errors import EXIT_CONFIGURATION, SettingsError
from worker.ports import HOST, next_free_port
from worker.running import prepare_home, read_running
from worker.settings import Settings, load_settings
from worker.supervisor import GO_ON, Part, Supervisor
from worker.token_shape import token_doubt
from worker.up import (
    STOP_ORDER,
    Plan,
    make_plan,
    playground_part,
    python_part,
    run_up,
    temporal_part,
)

README = (Path(__file__).parents[2] / "README.md").read_text()


def settings(tmp_path: Path, **environ: str) -> Settings:
    ports = {
        "EVERTURN_PORT": str(next_free_port(24_000)),
        "EVERTURN_TEMPORAL_PORT": str(next_free_port(24_200)),
        "EVERTURN_TEMPORAL_UI_PORT": str(next_free_port(24_400)),
    }
    return load_settings({"EVERTURN_HOME": str(tmp_path), **ports, **environ}, None)


def test_all_free_ports_are_taken_without_a_word(tmp_path: Path) -> None:
    lines: list[str] = []
    wanted = settings(tmp_path)
    plan = make_plan(wanted, False, "default", lines.append)
    assert plan.playground_port == wanted.port
    assert plan.temporal_port == wanted.temporal_port
    assert plan.temporal_ui == f"http://127.0.0.1:{wanted.temporal_ui_port}"
    assert lines == []


def test_a_port_in_use_is_replaced_and_said(tmp_path: Path) -> None:
    lines: list[str] = []
    with socket.socket() as other:
        other.bind((HOST, next_free_port(24_600)))
        other.listen()
        port = other.getsockname()[1]
        wanted = settings(tmp_path, EVERTURN_PORT=str(port))
        plan = make_plan(wanted, False, "default", lines.append)
    assert plan.playground_port is not None
    assert plan.playground_port > port
    assert lines == [
        f"Port {port} is in use: the chat page takes {plan.playground_port}"
        " (EVERTURN_PORT sets another one)"
    ]


def test_the_same_wanted_port_twice_gives_two_ports(tmp_path: Path) -> None:
    port = str(next_free_port(24_800))
    wanted = settings(tmp_path, EVERTURN_PORT=port, EVERTURN_TEMPORAL_PORT=port)
    plan = make_plan(wanted, False, "default", lambda _: None)
    assert plan.playground_port != plan.temporal_port


def test_with_a_token_there_is_no_playground_and_with_an_own_temporal_no_server(
    tmp_path: Path,
) -> None:
    plan = make_plan(settings(tmp_path, DISCORD_TOKEN="t0ken-t0ken"), True, "n", lambda _: None)
    assert (plan.playground_port, plan.temporal_port, plan.temporal_ui) == (None, None, None)
    assert plan.discord_api is None


def test_the_bot_gets_the_playground_and_nobody_gets_a_token_on_a_command_line(
    tmp_path: Path,
) -> None:
    plan = Plan(tmp_path, "default", 1, 2, 3)
    bot = python_part(plan, settings(tmp_path), "bot")
    assert bot.environ is not None
    assert bot.environ["EVERTURN_DISCORD_API"] == "http://127.0.0.1:3/api/v10"
    worker = python_part(plan, settings(tmp_path), "worker")
    assert worker.environ is not None
    assert "EVERTURN_DISCORD_API" not in worker.environ

    secret = settings(tmp_path, DISCORD_TOKEN="s3cret-token", OPENAI_API_KEY="s3cret-key")
    parts = [python_part(plan, secret, name) for name in ("worker", "bot")]
    parts += [playground_part(plan), temporal_part(plan)]
    assert sorted(part.name for part in parts) == sorted(STOP_ORDER)
    assert all("s3cret" not in word for part in parts for word in part.command)


def test_nobody_waits_for_the_worker_longer_than_what_runs_is_worth(tmp_path: Path) -> None:
    """Fifteen seconds are for a cluster, where other workers go on."""
    plan = Plan(tmp_path, "default", 1, 2, 3)
    worker, bot = (python_part(plan, settings(tmp_path), name) for name in ("worker", "bot"))
    assert list(worker.command)[-3:] == ["worker", "--grace", "5"]
    assert list(bot.command)[-1] == "bot"
    assert worker.grace > 5


def test_the_server_listens_on_this_machine_only_and_keeps_its_data(tmp_path: Path) -> None:
    command = server_command(tmp_path, 7233, 8233, "mine", {"EverturnGuild": "Keyword"})
    options = list(itertools.pairwise(command))
    assert ("--ip", "127.0.0.1") in options
    assert ("--db-filename", str(tmp_path / "temporal.db")) in options
    assert ("--namespace", "mine") in options
    assert ("--search-attribute", "EverturnGuild=Keyword") in options
    assert ("--dynamic-config-value", "frontend.WorkerCommandsEnabled=true") in options


class Screen:
    """What was told, line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    async def until(self, text: str) -> None:
        async with asyncio.timeout(10):
            while True:
                if self.shows(text):
                    return
                await asyncio.sleep(0.01)


@pytest.fixture
def in_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`up` with small processes in place of the real ones: each is ready once its file exists.

    The bot ends with 78 when there is a file `bot.off`.
    """
    for name in ("temporal", "playground"):
        (tmp_path / f"{name}.ready").touch()

    def part(plan: Plan, name: str) -> Part:
        code = f"""if 1:
            import os, time
            print('{{"level": "warning", "event": "{name} waits for its server"}}', flush=True)
            if os.path.exists({str(tmp_path / f"{name}.off")!r}):
                print("everturn: refused", flush=True)
                raise SystemExit(78)
            time.sleep(60)
        """

        async def ready() -> bool:
            return (tmp_path / f"{name}.ready").exists()

        command = [sys.executable, "-S", "-c", code]
        return Part(name, command, tmp_path / f"{name}.log", ready=ready, grace=1)

    monkeypatch.setattr("worker.up.temporal_part", lambda plan: part(plan, "temporal"))
    monkeypatch.setattr("worker.up.playground_part", lambda plan: part(plan, "playground"))
    monkeypatch.setattr("worker.up.python_part", lambda plan, settings, name: part(plan, name))
    monkeypatch.setattr("worker.up.READY_WITHIN", 0.5)


@asynccontextmanager
async def running_up(settings: Settings) -> AsyncIterator[Screen]:
    screen = Screen()
    up = asyncio.create_task(run_up(settings, None, "default", screen.lines.append))
    try:
        yield screen
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await up == 0


@pytest.mark.usefixtures("in_small")
async def test_a_bot_that_cannot_connect_is_said_and_the_chat_is_told_of_once_it_is_there(
    tmp_path: Path,
) -> None:
    (tmp_path / "worker.ready").touch()
    async with running_up(settings(tmp_path)) as screen:
        await screen.until("  Stop      Ctrl-C")
        assert screen.shows("The bot is not connected yet: bot waits for its server")
        assert screen.shows("  Temporal  http://127.0.0.1:")
        assert not screen.shows("  Chat")
        assert not screen.shows("The worker is not")
        (tmp_path / "bot.ready").touch()
        await screen.until("  Chat      http://127.0.0.1:")


@pytest.mark.usefixtures("in_small")
async def test_a_part_that_is_off_is_said_once_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "worker.ready").touch()
    (tmp_path / "bot.off").touch()
    async with running_up(settings(tmp_path)) as screen:
        await screen.until("  Stop      Ctrl-C")
        off = screen.lines.index("bot is off: refused")
        assert screen.lines[off + 1] == GO_ON
        assert not screen.shows("not connected yet")
        assert not screen.shows("  Chat"), "nobody would answer there"
        assert not screen.shows("Stopping")
        running = read_running(tmp_path)
        assert running is not None
        assert running.down == {"bot": "refused"}, "for `everturn doctor`"


@pytest.mark.usefixtures("in_small")
async def test_when_all_is_well_the_addresses_are_the_last_word(tmp_path: Path) -> None:
    for name in ("worker", "bot"):
        (tmp_path / f"{name}.ready").touch()
    async with running_up(settings(tmp_path)) as screen:
        await screen.until("  Stop      Ctrl-C")
        page = read_running(tmp_path)
        assert page is not None
        assert screen.shows(f"  Chat      {page.chat_page}")
        assert not screen.shows("yet")
        assert page.down == {}
        shown = without_places("\n".join(screen.lines))
    (block,) = [block for block in README.split("```") if "Data in" in block]
    quiet = [line for line in shown.split("\n") if "warning: " not in line]
    assert "\n".join(quiet).strip() == without_places(block).strip()


def without_places(text: str) -> str:
    """The lines of a start, without the ports and the folder, which differ."""
    return re.sub(r"(127\.0\.0\.1|Data in) ?.*", r"\1", text)


@pytest.mark.usefixtures("in_small")
async def test_a_second_ctrl_c_does_not_wait_for_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one says that it waits, and that a second one would not."""
    busy = "import signal, time; signal.signal(15, signal.SIG_IGN); print('busy', flush=True)"
    command = [sys.executable, "-S", "-c", f"{busy}; time.sleep(60)"]
    log = tmp_path / "bot.log"

    def part(plan: Plan, settings: Settings, name: str) -> Part:
        return Part(name, command, tmp_path / f"{name}.log", grace=50)

    monkeypatch.setattr("worker.up.python_part", part)
    async with running_up(settings(tmp_path)) as screen:
        await screen.until("  Chat")
        async with asyncio.timeout(10):
            while "busy" not in log.read_text():  # noqa: ASYNC110, the file tells nobody
                await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        await screen.until("Stopping: what runs has a few seconds to end, Ctrl-C again ends it")
        assert not screen.shows("Stopped")


@pytest.mark.usefixtures("in_small")
async def test_a_broken_persona_file_is_said_before_anything_starts(tmp_path: Path) -> None:
    lines: list[str] = []
    file = tmp_path / "personas" / "nova.md"
    file.parent.mkdir()
    file.write_text('+++\nname = "Nova"\nmain = yes\n+++\nYou are kind.\n')
    with pytest.raises(PersonaFileError, match=rf"{file}, line 3: main = yes is not") as caught:
        await run_up(settings(tmp_path), None, "default", lines.append)
    assert report(caught.value, "up", None) == EXIT_CONFIGURATION
    assert lines == []
    assert not (tmp_path / "worker.log").exists()


@pytest.mark.usefixtures("in_small")
async def test_a_token_of_an_odd_shape_is_a_warning_and_no_more(tmp_path: Path) -> None:
    for name in ("worker", "bot"):
        (tmp_path / f"{name}.ready").touch()
    async with running_up(settings(tmp_path, DISCORD_TOKEN="s3cret")) as screen:
        await screen.until("  Stop      Ctrl-C")
        assert screen.lines[0].startswith("DISCORD_TOKEN does not look like a bot token: ")
        assert not screen.shows("s3cret")


@pytest.mark.usefixtures("in_small")
async def test_what_stops_the_worker_is_said_before_anything_starts(tmp_path: Path) -> None:
    lines: list[str] = []
    broken = settings(tmp_path, EVERTURN_MCP=str(tmp_path / "nothing.json"))
    with pytest.raises(SettingsError, match=r"nothing\.json: it cannot be read"):
        await run_up(broken, None, "default", lines.append)
    assert lines == []
    assert not (tmp_path / "worker.log").exists()


def test_the_data_folder_is_its_owners(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    before = os.umask(0o022)
    try:
        prepare_home(home)
    finally:
        os.umask(before)
    assert home.stat().st_mode & 0o777 == 0o700


def test_the_logs_are_their_owners_also_those_that_are_there(tmp_path: Path) -> None:
    """They hold ids and names."""
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o755)
    for name in ("worker.log", "worker.log.1"):
        (logs / name).touch(mode=0o644)
    before = os.umask(0o022)
    try:
        prepare_home(tmp_path)
        ChildLog(logs / "bot.log").write("x")
        keep_trace(KeyError("x"), "bot", settings(tmp_path))
    finally:
        os.umask(before)
    rights = {path.name: path.stat().st_mode & 0o777 for path in (logs, *logs.iterdir())}
    files = dict.fromkeys(["worker.log", "worker.log.1", "bot.log", "crash.log"], 0o600)
    assert rights == {"logs": 0o700, **files}


async def test_what_a_part_writes_is_its_owners(tmp_path: Path) -> None:
    """Temporal's database holds what was said."""
    file = tmp_path / "temporal.db"
    code = f"open({str(file)!r}, 'w').close()"
    part = Part("temporal", [sys.executable, "-S", "-c", code], tmp_path / "log")
    supervisor = Supervisor(lambda line: None)
    supervisor.start(part)
    async with asyncio.timeout(10):
        while not file.exists():  # noqa: ASYNC110, the file tells nobody
            await asyncio.sleep(0.01)
    await supervisor.stop(["temporal"])
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("token", "says"),
    [
        ("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", None),
        ("MTk4NjI_-0.Cl2FMQ.ZnC-jm1_X", None),
        ("garbage", "three parts"),
        ("a.b", "three parts"),
        ("a.b.c.d", "three parts"),
        ("a..c", "three parts"),
        ("a.b.ü", "three parts"),
        ("Bot a.b.c", "the word Bot"),
        ('"a.b.c"', "quotes"),
        ("'a.b.c", "quotes"),
        ("a.b .c", "spaces"),
        ("a.b.c\n", "spaces"),
    ],
)
def test_what_a_token_looks_like(token: str, says: str | None) -> None:
    doubt = token_doubt(token)
    assert (doubt is None) if says is None else (doubt is not None and says in doubt)
    assert doubt is None or token not in doubt
