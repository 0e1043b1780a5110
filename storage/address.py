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


_POSTGRES_FORM = (
    "write postgresql://user:password@host:5432/name, with special characters of the password "
    "percent-encoded"
)


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
    """Read `sqlite:///path`, `postgresql://…`, `postgres://…` or a path that is clearly one.

    As in SQLAlchemy, `sqlite:///name` is relative and `sqlite:////name` absolute. A bare path
    begins with `/`, `./`, `../` or `~/` and holds no `@`: anything else may be an address whose
    scheme was forgotten, and a password must not become the name of a folder. Raises StorageError
    for it; the message repeats nothing of the value.
    """
    text = url.strip()
    if not text:
        raise _invalid("it is empty")
    scheme, separator, rest = text.partition("://")
    if not separator or not scheme.replace("+", "").isalnum():
        if _is_path(text):
            return _sqlite(text)
        raise _invalid("it begins with postgresql:// or sqlite:///")
    scheme = scheme.lower()
    if scheme in _SQLITE:
        if not rest.startswith("/"):
            raise _invalid("write sqlite:/// with three slashes, then the path")
        return _sqlite(unquote(rest[1:]))
    if scheme in _POSTGRES:
        return _postgres(rest)
    raise _invalid("it begins with postgresql:// or sqlite:///")


def _invalid(what: str) -> StorageError:
    return StorageError(f"DATABASE_URL is not valid: {what}", lasting=True)


def _is_path(text: str) -> bool:
    begins = text.startswith(("/", "./", "../", "~/")) and not text.startswith("//")
    return begins and "@" not in text


def _sqlite(path: str) -> DatabaseAddress:
    if not path or ":memory:" in path:
        raise _invalid("SQLite needs a file, since bot and worker share it: sqlite:///path")
    full = Path(os.path.abspath(Path(path).expanduser()))
    return DatabaseAddress("sqlite", path=full, shown=str(full))


def _postgres(rest: str) -> DatabaseAddress:
    try:
        parts = urlsplit(f"postgresql://{rest}")
        port = parts.port
    except ValueError:
        # a comma separates several hosts, which only asyncpg itself understands
        if "," not in rest:
            raise _invalid(_POSTGRES_FORM) from None
        try:
            parts, port = urlsplit(f"postgresql://{rest}"), None
        except ValueError:
            raise _invalid(_POSTGRES_FORM) from None
    # A `/`, `?` or `#` in a password ends the host too early: the rest of the password would be
    # taken for the database's name, and shown.
    beyond = parts.path + parts.fragment
    if "@" in beyond or ("@" in parts.query and "@" not in parts.netloc):
        raise _invalid(_POSTGRES_FORM)
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
