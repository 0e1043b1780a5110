"""`DATABASE_URL`: what people write there, and what the drivers need."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from storage.errors import StorageError

_SQLITE = {"sqlite", "sqlite+aiosqlite", "sqlite3"}
_POSTGRES = {"postgres", "postgresql", "postgresql+asyncpg", "postgres+asyncpg"}
_NOT_FOR_ASYNCPG = {"channel_binding", "gssencmode", "connect_timeout", "keepalives"}
"""libpq options that hosted databases put into the addresses they hand out. asyncpg would pass
them to the server, which refuses what it does not know."""


@dataclass(frozen=True)
class DatabaseAddress:
    """Where the database is. `str()` is safe to print: it never contains the password."""

    dialect: Literal["sqlite", "postgresql"]
    path: Path | None = None
    """The file, for SQLite."""
    dsn: str = field(default="", repr=False)
    """What asyncpg connects to, for PostgreSQL; contains the password."""
    shown: str = ""

    def __str__(self) -> str:
        return f"database {self.shown}"

    def redact(self, text: str) -> str:
        """`text` without the password and without the address that contains it."""
        parts = urlsplit(self.dsn)
        secrets = [self.dsn, parts.password, dict(parse_qsl(parts.query)).get("password")]
        for secret in filter(None, secrets):
            text = text.replace(secret, "***").replace(unquote(secret), "***")
        return text


def parse_address(url: str) -> DatabaseAddress:
    """Read `sqlite:///path`, `postgresql://…`, `postgres://…` or a bare path.

    As in SQLAlchemy, `sqlite:///name` is relative and `sqlite:////name` absolute. Raises
    StorageError for anything else; the message never repeats the whole address.
    """
    text = url.strip()
    if not text:
        raise StorageError("DATABASE_URL is empty: give a file path or postgresql://…")
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _sqlite(text)
    scheme = scheme.lower()
    if scheme in _SQLITE:
        if not rest.startswith("/"):
            raise StorageError("DATABASE_URL: write sqlite:/// with three slashes, then the path")
        return _sqlite(unquote(rest[1:]))
    if scheme in _POSTGRES:
        return _postgres(rest)
    raise StorageError(
        f"DATABASE_URL: {scheme[:20]}:// is not supported; use sqlite:///path or postgresql://…"
    )


def _sqlite(path: str) -> DatabaseAddress:
    if not path or ":memory:" in path:
        raise StorageError(
            "DATABASE_URL: SQLite needs a file, since bot and worker share it: sqlite:///path"
        )
    full = Path(os.path.abspath(Path(path).expanduser()))
    return DatabaseAddress("sqlite", path=full, shown=str(full))


def _postgres(rest: str) -> DatabaseAddress:
    try:
        parts = urlsplit(f"postgresql://{rest}")
        port = parts.port
    except ValueError:
        # a comma separates several hosts, which only asyncpg itself understands
        if "," not in rest:
            raise StorageError(
                "DATABASE_URL is malformed: write postgresql://user:password@host:5432/name, with "
                "special characters of the password percent-encoded"
            ) from None
        parts, port = urlsplit(f"postgresql://{rest}"), None
    options = [
        (key, value)
        for key, value in parse_qsl(parts.query, keep_blank_values=True)
        if key not in _NOT_FOR_ASYNCPG
    ]
    dsn = urlunsplit(parts._replace(query=urlencode(options), fragment=""))
    user = f"{unquote(parts.username)}@" if parts.username else ""
    host = parts.hostname or dict(options).get("host", "")
    at = f":{port}" if port else ""
    return DatabaseAddress(
        "postgresql", dsn=dsn, shown=f"postgresql://{user}{host}{at}{parts.path}"
    )
