"""Several small reads over one connection."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import ServerConfig, Storage, StorageError


async def broken(connection: AsyncConnection) -> None:
    await connection.execute(text("SELECT nothing FROM nowhere"))


async def test_reads_share_a_connection_and_only_within(storage: Storage) -> None:
    seen: list[int] = []

    async def which(connection: AsyncConnection) -> None:
        seen.append(id(connection.sync_connection))

    async def work() -> ServerConfig:
        await storage.database.read(which)
        await storage.database.read(which)
        return await storage.configs.server("600")

    assert await storage.database.read_together(work) == ServerConfig()
    assert seen[0] == seen[1]
    assert await storage.configs.server("600") == ServerConfig()


async def test_a_read_that_fails_leaves_the_others_alone(storage: Storage) -> None:
    """In a transaction of PostgreSQL's, it would fail all that follow."""

    async def work() -> ServerConfig:
        with pytest.raises(SQLAlchemyError):
            await storage.database.read(broken)
        return await storage.configs.server("600")

    assert await storage.database.read_together(work) == ServerConfig()


async def test_what_is_not_caught_is_explained_as_ever(storage: Storage) -> None:
    with pytest.raises(StorageError):
        await storage.database.read_together(lambda: storage.database.read(broken))
