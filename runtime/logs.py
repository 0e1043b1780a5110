"""One log for a process: ours, temporalio's and discord.py's, without secrets.

What comes in: structlog events (`structlog.get_logger()`) and standard `logging` records. What goes
out: one line per event on stderr, for people when stderr is a terminal, else JSON. A stack trace
follows its line in the form for people, and is a field of it in JSON.

What always holds: a value given to `register_secret` appears in no line, and neither does anything
that has the shape of a token, wherever in an event it stands (message, field, exception text). No
text fills the log, whoever wrote it.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO, cast

import structlog
from pydantic import SecretStr

from workflows.contracts.secret_shapes import REDACTED, mask_secrets

_SHORTEST_SECRET = 6
"""Shorter values are not registered: replacing every `test` in a log would make it unreadable."""

_secrets: set[str] = set()

MAX_FIELD = 2_000
"""Characters of the message and of each text in an event, at any depth."""
MAX_TRACE = 20_000
"""Characters of a stack trace: an error's text may quote what a stranger sent."""

_TRACES = ("exception", "stack")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CONTROL_IN_TRACES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_QUIET_LOGGERS = (
    "temporalio",
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "openai",
    "anthropic",
    "google_genai",
    "aiohttp.access",
    "aiosqlite",
    "alembic",
    "sqlalchemy",
    "trafilatura",
    "asyncio",
    "discord.http",
    "discord.client",
)
"""Heard from WARNING up: their INFO is a line per request."""

_TALKATIVE_LOGGERS = ("discord",)
"""Heard from INFO up, never below: at DEBUG they write what members said."""


def register_secret(value: str | SecretStr | None) -> None:
    """Keep `value` out of every line from now on. None and very short values are ignored."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if text and len(text.strip()) >= _SHORTEST_SECRET:
        _secrets.add(text.strip())


def redact(text: str) -> str:
    """`text` without registered secrets and without anything that looks like a token."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return mask_secrets(text)


def brief(text: str, limit: int = 200) -> str:
    """What a stranger wrote, as a field of an event: its beginning, on one line."""
    return _one_line(redact(text), limit)


def configure_logs(
    process: str,
    level: str = "INFO",
    json: bool | None = None,
    stream: TextIO | None = None,
) -> None:
    """Send everything this process logs to `stream` (stderr), once at its start.

    `process` (`bot`, `worker`, …) stands in every line. `level` is a name of the standard library;
    a wrong one raises ValueError. `json` None: JSON unless `stream` is a terminal. Calling it again
    replaces what was set before.
    """
    level_number = logging.getLevelNamesMapping().get(level.strip().upper())
    if level_number is None:
        raise ValueError(f"unknown log level {level!r}: use DEBUG, INFO, WARNING or ERROR")
    out = stream or sys.stderr
    as_json = not out.isatty() if json is None else json

    def name_process(
        _logger: Any, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        event.setdefault("process", process)
        return event

    before_rendering: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=as_json, key="time"),
        name_process,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *before_rendering,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    renderer: list[Any] = (
        [structlog.processors.JSONRenderer(ensure_ascii=False)]
        if as_json
        else [
            structlog.dev.ConsoleRenderer(
                colors=out.isatty(),
                timestamp_key="time",
                exception_formatter=structlog.dev.plain_traceback,
                pad_event_to=0,
            )
        ]
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before_rendering,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                # The trace becomes text first, so that redaction sees it too.
                structlog.processors.format_exc_info,
                redact_event,
                *renderer,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level_number)
    for name in _QUIET_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.WARNING, level_number))
    for name in _TALKATIVE_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.INFO, level_number))
    logging.captureWarnings(True)


def redact_event(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """The structlog processor that keeps secrets out: every text in the event, at any depth.

    It also keeps an event on one line, bounded and without control characters; only a stack trace
    may take more lines.
    """
    for key, value in event.items():
        if key in _TRACES and isinstance(value, str):
            event[key] = _bounded(_escaped(redact(value), _CONTROL_IN_TRACES), MAX_TRACE)
        else:
            event[key] = _cleaned(value)
    return event


def _cleaned(value: object) -> object:
    match value:
        case str():
            return _one_line(redact(value), MAX_FIELD)
        case None | bool() | int() | float():
            return value
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return {str(key): _cleaned(item) for key, item in items}
        case list() | tuple() | set() | frozenset():
            return [_cleaned(item) for item in cast("list[object]", value)]
        case _:
            # Exceptions and other objects are rendered by their text, which may quote a request.
            return _one_line(redact(str(value)), MAX_FIELD)


def _one_line(text: str, limit: int) -> str:
    return _bounded(_escaped(text[: limit + 1], _CONTROL), limit)


def _escaped(text: str, unwanted: re.Pattern[str]) -> str:
    return unwanted.sub(lambda match: ascii(match[0])[1:-1], text)


def _bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
