"""What an `everturn up` leaves in EVERTURN_HOME while it runs: its lock, and where and how it is.

The lock makes a second `up` on the same folder impossible. The addresses let `everturn doctor`,
or a further `everturn worker`, find the Temporal server that it started. The parts that are down
let the former say why.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from worker.errors import EXIT_FAILED, OperatorError
from worker.private import private_folder

NEEDED_BYTES = 50_000_000
"""A start writes about 10 MB; with less than this free, the first conversation fills the disk."""


class Running(BaseModel):
    """Where the parts of a running `everturn up` are, and how they are."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    temporal_address: str | None
    """None: the operator's own, which their settings name."""
    namespace: str = "default"
    temporal_ui: str | None = None
    discord_api: str | None = None
    chat_page: str | None = None
    down: dict[str, str] = {}
    """The parts that have ended and are not ready again, each with the reason it gave."""


def run_folder(home: Path) -> Path:
    return home / "run"


def prepare_home(home: Path) -> None:
    """Create the data folder, for its owner only, and see that it can be written and grow.

    One that is there keeps its rights, but for its logs. Raises OperatorError.
    """
    probe = run_folder(home) / f"probe-{os.getpid()}"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        run_folder(home).mkdir(exist_ok=True)
        private_folder(home / "logs")
        probe.write_bytes(b"0" * 65_536)
        probe.unlink()
        free = shutil.disk_usage(home).free
    except OSError as error:
        raise _unusable(home, (error.strerror or "unknown").lower()) from None
    if free < NEEDED_BYTES:
        raise _unusable(home, f"only {free // 1_000_000} MB are free there")


def _unusable(home: Path, reason: str) -> OperatorError:
    return OperatorError(
        f"EVERTURN_HOME {home} cannot be used ({reason}):"
        " make room or rights there, or set EVERTURN_HOME to another folder",
        EXIT_FAILED,
    )


@contextmanager
def up_lock(home: Path) -> Iterator[None]:
    """Hold the folder for one `everturn up`. Raises OperatorError when another has it.

    The kernel drops the lock with the process, however it ends.
    """
    with (run_folder(home) / "up.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            running = _read_file(home)
            page = running.chat_page if running else None
            chat = f" (its chat page is {page})" if page else ""
            raise OperatorError(
                f"an `everturn up` runs already on {home}{chat}:"
                " stop it first, or set EVERTURN_HOME to another folder"
            ) from None
        # One that was killed has left its addresses behind.
        _running_file(home).unlink(missing_ok=True)
        yield
        _running_file(home).unlink(missing_ok=True)


def write_running(home: Path, running: Running) -> None:
    """To be called while `up_lock` is held."""
    temporary = _running_file(home).with_suffix(".new")
    temporary.write_text(running.model_dump_json())
    temporary.replace(_running_file(home))


def read_running(home: Path) -> Running | None:
    """The addresses of the `up` that runs on `home`; None when none runs."""
    try:
        with (run_folder(home) / "up.lock").open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read_file(home)
    except OSError:
        return None
    return None


def _read_file(home: Path) -> Running | None:
    try:
        return Running.model_validate_json(_running_file(home).read_bytes())
    except (OSError, ValidationError):
        return None


def _running_file(home: Path) -> Path:
    return run_folder(home) / "up.json"
