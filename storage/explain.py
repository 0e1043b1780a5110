"""From a driver's error to one line for an operator.

The only place that knows how SQLite, asyncpg and the operating system word their errors.
"""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from storage.address import DatabaseAddress
from storage.errors import StorageError

_SQLITE_ADVICE = {
    # by the words of SQLite's own message, see sqlite3ErrStr in its source
    "unable to open database file": "cannot be opened: check that its folder exists and that this "
    "user may write there",
    "file is not a database": "is not a SQLite database: move it away, or point DATABASE_URL "
    "elsewhere",
    "malformed": "is damaged: restore it from a backup, or move it away",
    "readonly database": "is read-only for this user: change its owner or its mode",
    "disk is full": "cannot grow, the disk is full: free some space",
    "disk i/o error": "cannot be read or written: check the disk and its free space",
    "locked": "is busy: another process has been writing for too long",
}

_POSTGRES_ADVICE = {
    # by SQLSTATE, PostgreSQL documentation, appendix A
    "28P01": "does not accept the user name or password",
    "28000": "does not admit this user",
    "3D000": "does not exist: create it, or correct the name in DATABASE_URL",
    "42501": "does not let this user create or change tables: grant it the rights",
    "53100": "cannot grow, its disk is full: free some space",
    "53300": "has no connection left: raise max_connections, or run fewer workers",
    "57P03": "is starting up or shutting down",
    "25006": "is read-only: point DATABASE_URL at the primary",
}

_LASTING = {
    "unable to open database file",
    "file is not a database",
    "malformed",
    "readonly database",
    "28P01",
    "28000",
    "3D000",
    "42501",
}
"""Those of the above that no attempt mends."""


def explain(error: BaseException, address: DatabaseAddress) -> StorageError:
    """The one line for an operator. Never contains the password, a statement or its values."""
    chain = list(_chain(error))
    for cause in chain:
        state = getattr(cause, "sqlstate", None)
        if isinstance(state, str) and state in _POSTGRES_ADVICE:
            return StorageError(f"{address} {_POSTGRES_ADVICE[state]}", lasting=state in _LASTING)
        if isinstance(cause, sqlite3.Error):
            words = str(cause).lower()
            for part, advice in _SQLITE_ADVICE.items():
                if part in words:
                    return StorageError(f"{address} {advice}", lasting=part in _LASTING)
    for cause in chain:
        if isinstance(cause, socket.gaierror):
            return StorageError(f"{address} cannot be found: its host name does not resolve")
        if isinstance(cause, ConnectionRefusedError | FileNotFoundError):
            return StorageError(f"{address} refuses connections: is it running, is the port right?")
        if isinstance(cause, PoolTimeout):
            return StorageError(f"{address} is busy: no connection became free in time")
        if isinstance(cause, TimeoutError):
            return StorageError(f"{address} does not answer: check host, port and firewall")
    for cause in chain:
        if isinstance(cause, IntegrityError):
            return StorageError(f"{address} refused a row that breaks one of its rules")
        if isinstance(cause, OSError):
            return StorageError(f"{address} cannot be reached: {address.redact(_line(cause))}")
    innermost = chain[-1]
    return StorageError(
        f"{address} failed: {type(innermost).__name__}: {address.redact(_line(innermost))}"
    )


def passes(error: BaseException) -> bool:
    """Whether the same work may succeed a moment later: a lock, a deadlock, a lost connection."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    for cause in _chain(error):
        if isinstance(cause, sqlite3.OperationalError) and "locked" in str(cause).lower():
            return True
        # serialization_failure, deadlock_detected
        if getattr(cause, "sqlstate", None) in {"40001", "40P01"}:
            return True
    return False


def _line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else "no details"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it wraps, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        if isinstance(current, DBAPIError) and current.orig is not None:
            current = current.orig
        else:
            current = current.__cause__ or current.__context__
