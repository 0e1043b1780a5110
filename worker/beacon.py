"""A file that a bot or worker touches while it is ready and reaches Temporal.

`everturn up` waits for it, and a container's health check looks at its age. A process that is
alive but deaf stops touching it (D32).
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from temporalio.client import Client

INTERVAL = timedelta(seconds=10)
ASKING = timedelta(seconds=5)
"""For the answer to one question."""
MISSES = 2
"""So many questions in a row without an answer deserve a warning. On a busy machine one is late
now and then, and nothing is wrong."""
STALE_AFTER = timedelta(seconds=45)
"""Four missed touches: longer than any pause of a healthy process."""


def beacon_file(home: Path, part: str) -> Path:
    """By machine, since containers may share the folder."""
    return home / "run" / f"{part}.{socket.gethostname()}.ready"


def is_lit(path: Path, now: float | None = None) -> bool:
    """Whether the process behind `path` was well within the last 45 s."""
    try:
        age = (time.time() if now is None else now) - path.stat().st_mtime
    except OSError:
        return False
    return age < STALE_AFTER.total_seconds()


async def keep_lit(path: Path, client: Client) -> None:
    """Touch `path` now, and again every 10 s for as long as Temporal answers. Never returns."""
    # Here, so that a health check, which only looks at the file, stays cheap.
    import structlog

    log = structlog.get_logger(__name__)
    misses = 0
    while True:
        why = await _ask(client)
        if why is None:
            if misses >= MISSES:
                log.info("temporal.reachable")
            misses = 0
            try:
                _touch(path)
            except OSError as error:
                log.warning("beacon.unwritable", reason=error.strerror)
        else:
            misses += 1
            if misses >= MISSES:
                log.warning("temporal.unreachable", reason=f"{why}, {misses} times in a row")
        await asyncio.sleep(INTERVAL.total_seconds())


async def _ask(client: Client) -> str | None:
    """None when Temporal answers that it is well; else, in words, what came instead."""
    from temporalio.service import RPCError, RPCStatusCode

    try:
        if await client.service_client.check_health(timeout=ASKING):
            return None
    except RPCError as error:
        match error.status:
            case RPCStatusCode.CANCELLED | RPCStatusCode.DEADLINE_EXCEEDED:
                return f"Temporal did not answer within {ASKING.total_seconds():.0f} s"
            case RPCStatusCode.UNAVAILABLE:
                return "Temporal cannot be reached"
            case status:
                return f"Temporal answered: {status.name.lower().replace('_', ' ')}"
    return "Temporal answered that it is not well"


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{os.getpid()}\n")
