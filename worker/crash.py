"""Where the trace of an error goes that nobody foresaw."""

from __future__ import annotations

import traceback
from datetime import UTC, datetime

from runtime.logs import redact
from worker.private import append_private, private_folder
from worker.settings import Settings


def keep_trace(error: Exception, process: str, settings: Settings | None) -> str:
    """Append the trace, without secrets, to `logs/crash.log`; returns the operator's line."""
    what = redact(f"{type(error).__name__}: {error}".splitlines()[0])
    line = f"unexpected error in {process}: {what}"
    if settings is None:
        return line
    path = settings.home / "logs" / "crash.log"
    trace = redact("".join(traceback.format_exception(error)))
    try:
        private_folder(path.parent)
        with append_private(path) as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {process}\n{trace}\n")
    except OSError:
        return f"{line} (EVERTURN_DEBUG=true shows where)"
    return f"{line} (its trace is in {path})"
