"""Which tool calls were dispatched: each is taken once, whoever asks and however often."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from storage import Storage, StorageError, tables
from storage.housekeeping import KEEP_DISPATCHES


async def rows(storage: Storage) -> int:
    query = select(func.count()).select_from(tables.tool_dispatches)
    async with storage.database.engine.connect() as connection:
        return (await connection.execute(query)).scalar_one()


async def test_a_call_is_taken_once(storage: Storage) -> None:
    places = [("turn/1", 0, 0), ("turn/1", 0, 1), ("turn/1", 1, 0), ("turn/2", 0, 0)]
    assert [await storage.dispatches.claim(*place) for place in places] == [True] * 4
    assert [await storage.dispatches.claim(*place) for place in places] == [False] * 4


async def test_of_many_who_want_it_one_has_it(storage: Storage) -> None:
    claims = await asyncio.gather(*(storage.dispatches.claim("turn/1", 0, 0) for _ in range(10)))
    assert claims.count(True) == 1


async def test_a_claim_that_is_written_twice_is_still_one_s_own(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a connection that was lost between the write and its answer."""
    write = storage.database.write

    async def twice(work: Any) -> Any:
        await write(work)
        return await write(work)

    monkeypatch.setattr(storage.database, "write", twice)
    assert await storage.dispatches.claim("turn/1", 0, 0)
    assert not await storage.dispatches.claim("turn/1", 0, 0)


async def test_a_claim_that_cannot_be_written_is_an_error(storage: Storage) -> None:
    async with storage.database.engine.begin() as connection:
        await connection.run_sync(tables.tool_dispatches.drop)
    try:
        with pytest.raises(StorageError):
            await storage.dispatches.claim("turn/1", 0, 0)
    finally:
        async with storage.database.engine.begin() as connection:
            await connection.run_sync(tables.tool_dispatches.create)


async def test_dispatches_are_kept_for_thirty_days_whatever_else_goes(storage: Storage) -> None:
    assert timedelta(days=30) == KEEP_DISPATCHES
    for number in range(3):
        await storage.dispatches.claim("turn/1", number, 0)
    columns = tables.tool_dispatches.c
    for number, days in ((0, 29), (1, 31)):
        then = datetime.now(UTC) - timedelta(days=days)
        async with storage.database.engine.begin() as connection:
            await connection.execute(
                update(tables.tool_dispatches)
                .where(columns.iteration == number)
                .values(created_at=then)
            )
    assert await storage.housekeeping(timedelta(0)) == 1
    assert await rows(storage) == 2
    assert not await storage.dispatches.claim("turn/1", 0, 0)
