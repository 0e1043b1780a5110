"""aiosqlite with one trip to its thread for a statement, instead of four.

SQLAlchemy makes a cursor, executes, fetches all rows and closes the cursor, and aiosqlite hands
each of these to the connection's thread and back: most of the CPU time of a small read. Here the
thread does all of it at once, and is not asked to end a transaction that there is not. In: what
SQLAlchemy's adapter for aiosqlite asks of a connection. Results are always read whole, as
SQLAlchemy does too; `AsyncConnection.stream` is not there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import aiosqlite

CHUNK = 64
"""Rows that aiosqlite's own cursors would fetch at a time; nothing here uses them."""


async def connect(path: Path) -> aiosqlite.Connection:
    def in_the_thread() -> sqlite3.Connection:
        # two threads see the connection (the loop's asks whether it is in a transaction), and
        # one after the other, which is what the driver's own check cannot know
        return sqlite3.connect(path, check_same_thread=False)

    connection = _Connection(in_the_thread, CHUNK)
    connection._thread.daemon = True  # a process that leaves without closing does not hang on it
    return await connection


class _Connection(aiosqlite.Connection):
    _is_settled = True
    """All that the thread was asked to do has come back without an error. Where a statement was
    cancelled, the thread may not even have begun it."""

    def cursor(self) -> Any:
        return _Cursor(self)

    async def commit(self) -> None:
        if self._may_be_in_transaction():
            await super().commit()

    async def rollback(self) -> None:
        if self._may_be_in_transaction():
            await super().rollback()

    def _may_be_in_transaction(self) -> bool:
        return not self._is_settled or self.in_transaction

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._is_settled = False
        result = await super()._execute(fn, *args, **kwargs)
        self._is_settled = True
        return result


class _Cursor:
    """One statement at a time, and what is left of it: the cursor itself stays in the thread."""

    arraysize = 1

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> _Cursor:
        return self

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        await self._run(lambda cursor: cursor.execute(sql, parameters))

    async def executemany(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        await self._run(lambda cursor: cursor.executemany(sql, parameters))

    async def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        """Nothing is open."""

    async def _run(self, statement: Callable[[sqlite3.Cursor], object]) -> None:
        def in_the_thread() -> None:
            with closing(self._connection._conn.cursor()) as cursor:
                statement(cursor)
                self._rows = cursor.fetchall()
                self.description = cursor.description
                self.rowcount = cursor.rowcount  # of a RETURNING, known after the last row
                self.lastrowid = cursor.lastrowid

        await self._connection._execute(in_the_thread)
