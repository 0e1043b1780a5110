"""One log for a process: ours, temporalio's and discord.py's, without secrets.

What comes in: structlog events (`structlog.get_logger()`) and standard `logging` records. What goes
out: one line per event on stderr, for people when stderr is a terminal, else JSON. A stack trace
follows its line in the form for people, and is a field of it in JSON.

What always holds: a value given to `register_secret` appears in no line, and neither does anything
that has the shape of a token, wherever in an event it stands (message, field, exception text).
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO, cast

import structlog
from pydantic import SecretStr

REDACTED = "[redacted]"

_SHORTEST_SECRET = 6
"""Shorter values are not registered: replacing every `test` in a log would make it unreadable."""

_secrets: set[str] = set()

_TOKEN_SHAPES = re.compile(
    r"""
      (?P<keep> (?:[?&](?:key|api_key|token|access_token)= | \bBearer\s+ | \bBot\s+(?=\S{20})
                 | /webhooks/\d+/ | ://[^/\s:@]+: ))
      (?P<value> [^\s&"'/@]{6,} )
    | \b[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,}       # Discord bot token
    | \b(?:sk|pk|rk|gsk|xai)-[\w-]{16,}                  # OpenAI, Anthropic, OpenRouter and alike
    | \bAIza[\w-]{30,}                                   # Google API key
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}               # JSON web token
    """,
    re.VERBOSE,
)

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
    return _TOKEN_SHAPES.sub(lambda match: (match["keep"] or "") + REDACTED, text)


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

    It also keeps an event on one line; only a stack trace may take more.
    """
    for key, value in event.items():
        cleaned = _redact_value(value)
        if isinstance(cleaned, str) and key not in ("exception", "stack"):
            cleaned = cleaned.replace("\r", "\\r").replace("\n", "\\n")
        event[key] = cleaned
    return event


def _redact_value(value: object) -> object:
    match value:
        case str():
            return redact(value)
        case None | bool() | int() | float():
            return value
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return {str(key): _redact_value(item) for key, item in items}
        case list() | tuple() | set() | frozenset():
            return [_redact_value(item) for item in cast("list[object]", value)]
        case _:
            # Exceptions and other objects are rendered by their text, which may quote a request.
            return redact(str(value))
