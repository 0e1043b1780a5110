"""The command line: `everturn up | bot | worker | doctor | version`.

Each command imports what it needs when it runs, so that `everturn version` answers at once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worker.errors import EXIT_CONFIGURATION, EXIT_FAILED, OperatorError
from worker.process import WORKER_GRACE, leave, stop_on_signals

if TYPE_CHECKING:
    from worker.settings import Settings

app = typer.Typer(
    name="everturn",
    help="AI personas on Discord whose every turn is a durable Temporal workflow.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _options(
    wanted: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """AI personas on Discord whose every turn is a durable Temporal workflow."""


@app.command()
def up() -> None:
    """Start everything on this machine: Temporal, worker, bot, and the playground."""
    from worker.settings import load_settings

    def start(settings: Settings) -> Coroutine[Any, Any, int]:
        from worker.settings import own_temporal, temporal_environment
        from worker.up import run_up

        variables = temporal_environment()
        namespace = variables.get("TEMPORAL_NAMESPACE") or "default"
        return run_up(settings, own_temporal(variables), namespace, _tell)

    _run("up", load_settings, start)


@app.command()
def bot() -> None:
    """Run the bot: the only connection to Discord."""

    def start(settings: Settings) -> Coroutine[Any, Any, int]:
        from worker.run_bot import serve_discord

        return _until_signal(lambda stop: serve_discord(settings, stop))

    _run_service("bot", start)


@app.command()
def worker(
    grace: Annotated[
        int,
        typer.Option(
            min=0,
            max=600,
            help="Seconds that model calls and tools have to end when the worker is stopped.",
        ),
    ] = int(WORKER_GRACE.total_seconds()),
) -> None:
    """Run a worker: workflows, model calls and tools. Start as many as you like."""

    def start(settings: Settings) -> Coroutine[Any, Any, int]:
        from worker.run import run_worker

        return _until_signal(lambda stop: run_worker(settings, stop, timedelta(seconds=grace)))

    _run_service("worker", start)


@app.command()
def doctor(
    only: Annotated[
        str | None,
        typer.Option(
            help="One check: temporal, database, discord, provider, personas, tools or workers."
        ),
    ] = None,
    alive: Annotated[
        str | None,
        typer.Option(
            help="Only look whether this machine's `bot` or `worker` is well (for health checks)."
        ),
    ] = None,
) -> None:
    """Check Temporal, database, Discord, provider, personas, tools and workers: one line each."""
    from worker.settings import load_settings

    def start(settings: Settings) -> Coroutine[Any, Any, int]:
        if alive is not None:
            return _look_at_beacon(settings, alive)
        from worker.doctor import examine

        return examine(settings, _tell, only)

    _run("doctor", load_settings, start)


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    typer.echo(f"everturn {installed('everturn')}")


def main() -> None:
    """Entry point of the `everturn` command."""
    app()


def _tell(line: str) -> None:
    typer.echo(line)
    sys.stdout.flush()


async def _look_at_beacon(settings: Settings, part: str) -> int:
    from worker.beacon import beacon_file, is_lit

    if part not in ("bot", "worker"):
        raise OperatorError("--alive takes bot or worker")
    lit = is_lit(beacon_file(settings.home, part))
    _tell(f"{part} is well" if lit else f"{part} has given no sign of life lately")
    return 0 if lit else EXIT_FAILED


async def _until_signal(serve: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    stop = asyncio.Event()
    stop_on_signals(stop)
    return await serve(stop)


def _run_service(name: str, start: Callable[[Settings], Coroutine[Any, Any, int]]) -> None:
    from runtime.logs import configure_logs
    from worker.settings import load_settings

    def load() -> Settings:
        settings = load_settings()
        configure_logs(name, settings.log_level, settings.log_json)
        return settings

    _run(name, load, start)


def _run(
    name: str,
    load: Callable[[], Settings],
    start: Callable[[Settings], Coroutine[Any, Any, int]],
) -> None:
    """Run a command to its end, and leave. The one place where errors become a line and a code."""
    settings: Settings | None = None
    try:
        settings = load()
        code = asyncio.run(start(settings))
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        code = report(error, name, settings)
    leave(code)


def report(error: Exception, name: str, settings: Settings | None) -> int:
    """Say what went wrong in one line on stderr; returns the exit code.

    An error that nobody foresaw also goes to `EVERTURN_HOME/logs/crash.log`, with its trace.
    """
    line, code = _foreseen(error)
    if line is None:
        from worker.crash import keep_trace

        if settings is not None and settings.debug:
            raise error
        line, code = keep_trace(error, name, settings), EXIT_FAILED
    typer.echo(f"everturn: {line}", err=True)
    return code


def _foreseen(error: Exception) -> tuple[str | None, int]:
    if isinstance(error, OperatorError):
        return str(error), error.exit_code
    # Only a process that has imported them can have raised them, and `everturn version` has not.
    if "storage" in sys.modules:
        from storage import StorageError

        if isinstance(error, StorageError):
            code = EXIT_CONFIGURATION if error.lasting else EXIT_FAILED
            return " ".join(str(error).split()), code
    if "bot.errors" in sys.modules:
        from bot.errors import BotStartError

        if isinstance(error, BotStartError):
            return " ".join(str(error).split()), error.exit_code
    return None, EXIT_FAILED


if __name__ == "__main__":
    main()
