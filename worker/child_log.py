"""The log file of one supervised process, and which of its lines deserve the screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from worker.private import append_private

MAX_BYTES = 5_000_000
"""At this size the file becomes `<name>.log.1`; one old file is kept."""

SHOWN_LEVELS = ("warning", "error", "critical")
LAST_WORDS = ("everturn: ", "playground: ", "Error: ")
"""How our own processes, and the Temporal CLI, begin the line with which they give up."""


class ChildLog:
    """Appends lines to a file. A full disk stops the file, never the process behind it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rotate_when_large()

    def write(self, line: str) -> None:
        try:
            with append_private(self.path) as file:
                file.write(line + "\n")
                size = file.tell()
        except OSError:
            return
        if size > MAX_BYTES:
            self._rotate_when_large()

    def _rotate_when_large(self) -> None:
        try:
            if self.path.stat().st_size > MAX_BYTES:
                self.path.replace(self.path.with_name(self.path.name + ".1"))
        except OSError:
            return


def worth_showing(line: str) -> str | None:
    """A warning or error of our own log, as one short line; None for everything else."""
    if not line.startswith("{"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or record.get("level") not in SHOWN_LEVELS:
        return None
    return _brief(record)


def last_words(line: str) -> str | None:
    """The one-line reason with which a process gives up; None for any other line."""
    for prefix in LAST_WORDS:
        if line.startswith(prefix):
            return line.removeprefix(prefix).strip()
    return None


LEFT_OUT = frozenset({"level", "event", "time", "logger", "process", "exception", "stack"})
"""Fields of a log line that say nothing on a screen where the process is named already."""


def _brief(record: dict[str, Any]) -> str:
    details = " ".join(f"{k}={v}" for k, v in record.items() if k not in LEFT_OUT)
    text = f"{record['level']}: {record.get('event', '')} {details}".strip()
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"
