"""What SQLAlchemy gets from our connections to SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from storage.address import parse_address
from storage.database import Database
from storage.sqlite_driver import connect


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(parse_address(f"sqlite:///{tmp_path / 'e.db'}"))
    async with opened.engine.begin() as connection:
        await connection.execute(text("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT UNIQUE)"))
    yield opened
    await opened.close()


async def words(connection: AsyncConnection) -> list[str]:
    return list((await connection.execute(text("SELECT word FROM t ORDER BY id"))).scalars())


async def test_what_a_statement_leaves_behind(database: Database) -> None:
    async def work(connection: AsyncConnection) -> None:
        insert = text("INSERT INTO t (word) VALUES (:word)")
        first = await connection.execute(insert, {"word": "a"})
        assert first.rowcount == 1
        assert not first.returns_rows
        await connection.execute(insert, [{"word": "b"}, {"word": "c"}])
        told = await connection.execute(text("DELETE FROM t WHERE id > 1 RETURNING word"))
        assert list(told.scalars()) == ["b", "c"]
        none = await connection.execute(text("SELECT id, word FROM t WHERE id = 9"))
        assert none.keys() == ["id", "word"]
        assert none.all() == []

    await database.write(work)
    assert await database.read(words) == ["a"]


async def test_a_statement_that_fails_leaves_the_connection_usable(database: Database) -> None:
    async def work(connection: AsyncConnection) -> list[str]:
        insert = text("INSERT INTO t (word) VALUES ('a')")
        await connection.execute(insert)
        with pytest.raises(IntegrityError):
            await connection.execute(insert)
        return await words(connection)

    assert await database.write(work) == ["a"]


async def test_a_write_that_is_cancelled_is_undone(database: Database) -> None:
    """Wherever it was: its connection is free of it when the next one takes it."""

    async def work(connection: AsyncConnection) -> None:
        for number in range(200):
            await connection.execute(text("INSERT INTO t (word) VALUES (:word)"), {"word": number})

    for pause in (0, 0.001, 0.002, 0.005, 0.01):
        writing = asyncio.ensure_future(database.write(work))
        await asyncio.sleep(pause)
        assert writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await database.read(words) == []
    await database.write(work)
    assert len(await database.read(words)) == 200


async def test_a_transaction_that_was_cancelled_before_it_began_is_ended(tmp_path: Path) -> None:
    """The thread, still busy, begins it later: nobody would ever end it."""
    connection = await connect(tmp_path / "e.db")
    connection.isolation_level = None
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500000)"
    asked = [
        asyncio.ensure_future(connection.cursor().execute(statement))
        for statement in (f"{counting} SELECT count(*) FROM n", "BEGIN")
    ]
    await asyncio.sleep(0)
    for each in asked:
        each.cancel()
    assert not connection.in_transaction
    await connection.rollback()
    await connection.cursor().execute("SELECT 1")
    assert not connection.in_transaction
    await connection.close()
