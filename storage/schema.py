"""Which revision the database has, and the way to the one this code needs.

An up-to-date database is the common case and costs one query; alembic is imported only when there
is something to migrate.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from storage.database import Database
from storage.errors import StorageError

MIGRATIONS = Path(__file__).parent / "migrations"

VERSION_TABLE = "everturn_revision"
"""Its own name, so that a PostgreSQL database may be shared with others who use alembic."""

REVISIONS = ("0001", "0002", "0003")
"""All revisions of `migrations/versions`, oldest first; a test compares them."""

_MIGRATION_LOCK = 0x45766572
"""Key of the advisory lock: "Ever" in ASCII."""


async def bring_up_to_date(database: Database) -> None:
    """Create or migrate the tables, once, whoever else starts at the same moment.

    Everything happens in one transaction: a process that dies in the middle leaves the database as
    it was. Raises StorageError, also for a database from the future.
    """
    if await database.read(_revision) == REVISIONS[-1]:
        return
    await database.write(lambda connection: _migrate(database, connection))


async def _migrate(database: Database, connection: AsyncConnection) -> None:
    await database.alone(connection, _MIGRATION_LOCK)
    # another process may have finished while this one waited
    current = await _revision(connection)
    if current == REVISIONS[-1]:
        return
    if current is not None and current not in REVISIONS:
        raise StorageError(
            f"{database.address} was written by a newer Everturn (revision {current[:40]}, this "
            f"one knows {REVISIONS[-1]}); upgrade, or point DATABASE_URL elsewhere",
            lasting=True,
        )
    await connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


async def _revision(connection: AsyncConnection) -> str | None:
    """The database's revision; None for a database without our tables."""
    if not await connection.run_sync(lambda sync: inspect(sync).has_table(VERSION_TABLE)):
        return None
    query = text(f"SELECT version_num FROM {VERSION_TABLE}")
    return (await connection.execute(query)).scalar_one_or_none()
