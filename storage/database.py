"""One database, two ways to use it: short reads, and short writes that are tried again.

Several processes share the database (a bot, any number of workers), so a write is one small
transaction, holds no lock while anything else is awaited, and is repeated when it met another
writer or lost its connection. Every write of this package is idempotent, which is what makes that
safe.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import URL, Table, event, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from storage.address import DatabaseAddress
from storage.errors import StorageError, is_lasting, reason
from storage.explain import explain, passes
from storage.sqlite_driver import connect

T = TypeVar("T")

SQLITE_PRAGMAS = (
    # first, so that the switch to WAL below waits for another process as well
    "PRAGMA busy_timeout=2000",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
)

RETRY_BUDGET = timedelta(seconds=8)
"""How long work is tried again. Under the 10 s that the shortest activity has (planning)."""

CONNECT_TIMEOUT = 5
"""Seconds, for a PostgreSQL that does not answer."""

_IMMEDIATE = "everturn_immediate"
_NO_TRANSACTION = "everturn_no_transaction"


class Database:
    """Connections to one address. `read` and `write` raise StorageError and nothing else of the
    database's."""

    def __init__(self, address: DatabaseAddress) -> None:
        """Does not connect yet. Raises StorageError when a SQLite file cannot be created."""
        self.address = address
        self.engine = _sqlite(address) if address.dialect == "sqlite" else _postgres(address)
        self._writing = self.engine.execution_options(**{_IMMEDIATE: True})
        # Reads have no transaction: it would cost more than a small read does, each of their
        # statements sees what is there by itself (as in any transaction of PostgreSQL's), and an
        # error in one of PostgreSQL's would fail all that follows it.
        if address.dialect == "sqlite":
            self._reading = self.engine.execution_options(**{_NO_TRANSACTION: True})
        else:
            self._reading = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._shared: ContextVar[AsyncConnection | None] = ContextVar("shared", default=None)

    async def read(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Run `work`, which only reads. It may run twice."""
        shared = self._shared.get()
        if shared is not None:
            return await work(shared)
        return await self._run(self._reading, work)

    async def read_together(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work`, all of whose reads then share one connection, one after another: several
        small reads cost less than half of what they do apart.

        `work` may run twice. It starts no tasks, and writes nothing: a write waits for a second
        connection. A read in it that fails raises the driver's own error, and the others go on.
        """

        async def sharing(connection: AsyncConnection) -> T:
            token = self._shared.set(connection)
            try:
                return await work()
            finally:
                self._shared.reset(token)

        return await self._run(self._reading, sharing)

    async def write(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Run `work` in one transaction. It may run twice, and awaits nothing but the database."""
        return await self._run(self._writing, work)

    async def _run(self, engine: AsyncEngine, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        deadline = time.monotonic() + RETRY_BUDGET.total_seconds()
        pause = 0.01
        while True:
            try:
                async with engine.begin() as connection:
                    return await work(connection)
            except StorageError:
                raise
            except (SQLAlchemyError, OSError, TimeoutError, *_driver_errors()) as error:
                if not passes(error) or time.monotonic() + pause > deadline:
                    raise explain(error, self.address) from error
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, 0.5)

    def insert(self, table: Table) -> postgresql.Insert | sqlite_dialect.Insert:
        """An INSERT that can say ON CONFLICT, which both databases know in the same form."""
        if self.address.dialect == "sqlite":
            return sqlite_dialect.insert(table)
        return postgresql.insert(table)

    async def alone(self, connection: AsyncConnection, lock: int) -> None:
        """Within a write: until its end, no other write that named the same `lock` runs.

        For what reads, decides and then writes. On SQLite every write is alone anyway.
        """
        if self.address.dialect == "postgresql":
            await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})

    async def close(self) -> None:
        await self.engine.dispose()


def lock_of(*parts: object) -> int:
    """A key for `Database.alone`, made of what it is about: 64 bits, signed."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _driver_errors() -> tuple[type[BaseException], ...]:
    """Errors of the drivers that SQLAlchemy lets through while a connection is being made."""
    asyncpg = sys.modules.get("asyncpg")
    if asyncpg is None:
        return (sqlite3.Error,)
    return (sqlite3.Error, asyncpg.PostgresError, asyncpg.InterfaceError)


def _sqlite(address: DatabaseAddress) -> AsyncEngine:
    path = address.path
    assert path is not None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # only this user may read what people wrote; SQLite gives the WAL the same mode
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StorageError(
            f"{address} cannot be opened ({reason(error)}): choose a file that this user may write",
            lasting=is_lasting(error),
        ) from None

    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        async_creator=lambda: connect(path),
        hide_parameters=True,
        pool_size=4,  # each is a thread; one writes at a time anyway
        max_overflow=4,
        pool_timeout=RETRY_BUDGET.total_seconds(),
    )

    @event.listens_for(engine.sync_engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        # The driver's own transactions begin too late and in the wrong mode: see _begin.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in SQLITE_PRAGMAS:
            cursor.execute(pragma)
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Connection) -> None:
        # A transaction that reads first and writes later cannot wait for another writer: SQLite
        # refuses it at once, whatever busy_timeout says. One that will write says so at the start.
        options = connection.get_execution_options()
        if not options.get(_NO_TRANSACTION):
            connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_IMMEDIATE) else "BEGIN")

    return engine


def _postgres(address: DatabaseAddress) -> AsyncEngine:
    async def connect() -> Any:
        import asyncpg  # here, since most installations never need it

        # asyncpg reads the address itself: it knows libpq's options (sslmode, several hosts, …)
        try:
            return await asyncpg.connect(
                address.dsn,
                timeout=CONNECT_TIMEOUT,
                server_settings={"application_name": "everturn"},
            )
        except ValueError as error:
            raise StorageError(
                f"DATABASE_URL is not valid: {address.redact(str(error))}", lasting=True
            ) from None

    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        hide_parameters=True,
        pool_size=5,
        max_overflow=5,
        pool_timeout=RETRY_BUDGET.total_seconds(),
    )
