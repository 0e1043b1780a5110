"""`everturn up`: everything on one machine, in one command.

    Temporal's dev server ─┬─ worker
    playground ────────────┴─ bot

Each is a process of its own, supervised. The dev server is left out when the operator names a
Temporal of their own, the playground when DISCORD_TOKEN is set.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx

from worker.beacon import beacon_file
from worker.dev_server import is_serving, server_command, without_temporal_variables
from worker.errors import EXIT_UNAVAILABLE, OperatorError
from worker.mcp import mcp_servers
from worker.ports import HOST, next_free_port
from worker.running import Running, prepare_home, up_lock, write_running
from worker.settings import Provider, Settings
from worker.supervisor import Part, Supervisor
from worker.token_shape import token_doubt

STOP_ORDER = ("bot", "worker", "playground", "temporal")
"""First who takes new messages, last what everything else needs in order to end well."""

START_TIMEOUT = 60.0
"""Seconds; a first start on a slow machine has to compile the Python sources."""

READY_WITHIN = 30.0
"""Seconds for worker and bot; a busy machine takes 20. When they take longer, what they wait for
may never come, and what is missing is said."""

START_FAILURES = 2
"""What nothing else can do without may die once while everything starts, not twice."""

READY_WORDS = {"worker": "ready", "bot": "connected"}

WORKER_GRACE = timedelta(seconds=5)
"""Here no other worker goes on meanwhile, the bot has stopped before, and a person waits: enough
for a tool or the end of an answer. What takes longer goes on at the next start."""

DISCORD_ADDRESS = "Discord, wherever the bot has been invited"


@dataclass(frozen=True)
class Plan:
    """Which parts run here, and on which ports."""

    home: Path
    namespace: str
    temporal_port: int | None
    """None: the operator's own Temporal."""
    temporal_ui_port: int | None
    playground_port: int | None
    """None: the real Discord."""

    @property
    def temporal_ui(self) -> str | None:
        return f"http://{HOST}:{self.temporal_ui_port}" if self.temporal_ui_port else None

    @property
    def chat_page(self) -> str | None:
        return f"http://{HOST}:{self.playground_port}" if self.playground_port else None

    @property
    def discord_api(self) -> str | None:
        return f"{self.chat_page}/api/v10" if self.chat_page else None


def make_plan(
    settings: Settings, own_server: bool, namespace: str, tell: Callable[[str], None]
) -> Plan:
    """Choose the ports, and say so where a wanted one is taken."""
    taken: list[int] = []

    def port(wanted: int, what: str, name: str) -> int:
        found = next_free_port(wanted, taken)
        if found != wanted:
            tell(f"Port {wanted} is in use: {what} takes {found} ({name} sets another one)")
        taken.append(found)
        return found

    with_playground = settings.discord_token is None and settings.discord_api is None
    page = port(settings.port, "the chat page", "EVERTURN_PORT") if with_playground else None
    if own_server:
        return Plan(settings.home, namespace, None, None, page)
    return Plan(
        settings.home,
        namespace,
        port(settings.temporal_port, "Temporal", "EVERTURN_TEMPORAL_PORT"),
        port(settings.temporal_ui_port, "Temporal's UI", "EVERTURN_TEMPORAL_UI_PORT"),
        page,
    )


async def run_up(
    settings: Settings, own_address: str | None, namespace: str, tell: Callable[[str], None]
) -> int:
    """Start everything, and stay until SIGINT or SIGTERM. Returns the exit code.

    `own_address`: the operator's Temporal, when there is one.
    """
    _check(settings, tell)
    home = settings.home
    prepare_home(home)
    with up_lock(home):
        _check_personas(settings)
        plan = make_plan(settings, own_address is not None, namespace, tell)
        supervisor = Supervisor(tell, note=_keep_down(plan))
        stop = _stop_on_signals(supervisor)
        starting = asyncio.create_task(_start(supervisor, settings, plan, own_address, tell))
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()  # an error during the start ends everything
                await stopped
            return 0
        finally:
            starting.cancel()
            if stop.is_set():
                tell("Stopping: what runs has a few seconds to end, Ctrl-C again ends it at once")
            await supervisor.stop(STOP_ORDER)
            tell("Stopped")


def _check(settings: Settings, tell: Callable[[str], None]) -> None:
    """What a worker or a bot would find as well, said now instead of in its log."""
    settings.generation()
    if settings.database_choice is not None or settings.storage_key is not None:
        from worker.database import check_database  # here: it takes half a second to import

        check_database(settings)
    mcp_servers(settings)
    if settings.discord_token is not None and settings.discord_api is None:
        doubt = token_doubt(settings.discord_token.get_secret_value())
        if doubt is not None:
            tell(doubt)


def _check_personas(settings: Settings) -> None:
    """As a worker reads them; raises PersonaFileError. After the data folder has been prepared."""
    from storage.personas.files import read_folder  # here: the other commands do without it

    read_folder(settings.persona_folder)


def _keep_down(plan: Plan) -> Callable[[str, str | None], None]:
    """Keeps in the data folder, for `everturn doctor`, which parts have ended and why."""
    down: dict[str, str] = {}

    def note(name: str, why: str | None) -> None:
        if why is None:
            down.pop(name, None)
        else:
            down[name] = why
        with suppress(OSError):  # a full disk is told by whoever needs it
            write_running(plan.home, _running(plan, down))

    return note


async def _start(
    supervisor: Supervisor,
    settings: Settings,
    plan: Plan,
    own_address: str | None,
    tell: Callable[[str], None],
) -> None:
    tell(f"Data in {plan.home}")
    if settings.provider is Provider.DEMO:
        tell("No provider key is set: the demo model answers")
    else:
        tell(f"{settings.generation().model_name} of {settings.provider} answers")
    if own_address is not None:
        await _need_own_temporal()
    write_running(plan.home, _running(plan, {}))
    if own_address is None:
        tell("Starting Temporal …")
    if plan.playground_port is not None:
        tell("Starting the playground …")
    tell("Starting the worker and the bot …")
    # All at once: each waits by itself for what it needs. First those that import for seconds.
    for name in READY_WORDS:
        supervisor.start(python_part(plan, settings, name))
    if plan.playground_port is not None:
        supervisor.start(playground_part(plan))
    if own_address is None:
        supervisor.start(temporal_part(plan))
    if own_address is None:
        await _need(supervisor, "temporal")
    if plan.playground_port is not None:
        await _need(supervisor, "playground")
    chat = plan.chat_page or settings.discord_api or DISCORD_ADDRESS
    others = [f"  Temporal  {plan.temporal_ui or own_address}", "  Stop      Ctrl-C"]
    if not await supervisor.all_ready(READY_WORDS, READY_WITHIN):
        await _tell_missing(supervisor, tell)
        _tell_block(others, tell)
        if not await supervisor.all_ready(READY_WORDS, None):
            return
    # Only now does somebody answer there.
    _tell_block([f"  Chat      {chat}", *others], tell)


async def _tell_missing(supervisor: Supervisor, tell: Callable[[str], None]) -> None:
    """Which of worker and bot are late, and why; when one is off, that alone has been told, and
    the other may wait for it."""
    if any(supervisor.has_ended(name) for name in READY_WORDS):
        return
    for name, word in READY_WORDS.items():
        why = await supervisor.wait_ready(name, 0)
        if why is not None:
            tell(f"The {name} is not {word} yet: {why}")


def _tell_block(lines: Sequence[str], tell: Callable[[str], None]) -> None:
    for line in ("", *lines, ""):
        tell(line)


async def _need_own_temporal() -> None:
    """Ask in a process of its own: the SDK's threads do not go with starting children from here."""
    asking = await asyncio.create_subprocess_exec(
        *_python("worker.cli"),
        *("doctor", "--only", "temporal"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    answer, _ = await asking.communicate()
    if asking.returncode != 0:
        raise OperatorError(
            answer.decode("utf-8", "replace").strip() or "Temporal cannot be asked",
            EXIT_UNAVAILABLE,
        )


async def _need(supervisor: Supervisor, name: str) -> None:
    why = await supervisor.wait_ready(name, START_TIMEOUT, START_FAILURES)
    if why is not None:
        raise OperatorError(f"{name} does not start: {why}", EXIT_UNAVAILABLE)


def _running(plan: Plan, down: dict[str, str]) -> Running:
    return Running(
        temporal_address=f"{HOST}:{plan.temporal_port}" if plan.temporal_port else None,
        namespace=plan.namespace,
        temporal_ui=plan.temporal_ui,
        discord_api=plan.discord_api,
        chat_page=plan.chat_page,
        down=down,
    )


def temporal_part(plan: Plan) -> Part:
    """The dev server; ready when it answers a health request."""
    from workflows.contracts.attributes import SEARCH_ATTRIBUTES

    assert plan.temporal_port is not None
    assert plan.temporal_ui_port is not None
    port = plan.temporal_port
    command = server_command(
        plan.home,
        port,
        plan.temporal_ui_port,
        plan.namespace,
        {key.name: "Keyword" for key in SEARCH_ATTRIBUTES},
    )

    async def ready() -> bool:
        return await is_serving(port)

    return Part(
        "temporal",
        command,
        _log(plan, "temporal"),
        environ=without_temporal_variables(os.environ),
        ready=ready,
        grace=10,
    )


def playground_part(plan: Plan) -> Part:
    """The loopback Discord; ready when its page is served."""
    command = [
        *_python("playground"),
        *("--port", str(plan.playground_port)),
        *("--data", str(plan.home / "playground")),
        *("--namespace", plan.namespace),
    ]
    if plan.temporal_ui is not None:
        command += ["--temporal-ui", plan.temporal_ui]
    page = plan.chat_page

    async def ready() -> bool:
        async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
            with suppress(httpx.HTTPError):
                return (await client.get(f"{page}/")).is_success
        return False

    return Part("playground", command, _log(plan, "playground"), ready=ready, grace=5)


def python_part(plan: Plan, settings: Settings, name: str) -> Part:
    """The worker or the bot; ready when it has lit its beacon."""
    command = [*_python("worker.cli"), name]
    if name == "worker":
        command += ["--grace", f"{WORKER_GRACE.total_seconds():.0f}"]
    beacon = beacon_file(plan.home, name)
    environ = {**os.environ, "EVERTURN_HOME": str(plan.home), "EVERTURN_LOG_JSON": "true"}
    if name == "bot" and plan.discord_api is not None:
        environ |= {"EVERTURN_DISCORD_API": plan.discord_api, "DISCORD_TOKEN": "playground"}
    if settings.database_choice is not None:
        environ["DATABASE_URL"] = settings.database_url

    async def ready() -> bool:
        return await asyncio.to_thread(beacon.is_file)

    return Part(
        name,
        command,
        _log(plan, name),
        environ=environ,
        ready=ready,
        before_start=lambda: beacon.unlink(missing_ok=True),
        grace=25,
    )


def _python(module: str) -> list[str]:
    """`-P`: the working directory is the operator's, and not a place to import from."""
    return [sys.executable, "-P", "-m", module]


def _log(plan: Plan, name: str) -> Path:
    return plan.home / "logs" / f"{name}.log"


def _stop_on_signals(supervisor: Supervisor) -> asyncio.Event:
    """The first signal stops in order, a second one ends everything at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            supervisor.kill()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal)
    return stop
