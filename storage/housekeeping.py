"""Takes away what nobody needs any more: content and transcripts of turns long past."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Table, and_, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.blobs import TOUCH_INTERVAL
from storage.database import Database

BATCH = 200
"""Rows for each transaction: others wait for the writer, so it never writes for long."""


async def clean(database: Database, older_than: timedelta) -> int:
    """Delete transcripts written, and blobs last used, longer ago than `older_than`.

    A blob that was used within `older_than` always stays: since its recorded use may lag by
    `TOUCH_INTERVAL`, it is kept for that much longer. Returns how many rows went.
    """
    now = datetime.now(UTC)
    # transcripts first: what they point to goes after them, never before
    removed = await _delete(database, tables.transcript, "created_at", now - older_than)
    return removed + await _delete(
        database, tables.blobs, "last_used_at", now - older_than - TOUCH_INTERVAL
    )


async def _delete(database: Database, table: Table, column: str, before: datetime) -> int:
    key = tuple_(*table.primary_key.columns)
    old = table.c[column] < before
    batch = select(*table.primary_key.columns).where(old).limit(BATCH)
    # `old` stands twice: a row that was used while the batch was being chosen stays
    statement = delete(table).where(and_(key.in_(batch), old))

    async def work(connection: AsyncConnection) -> int:
        return (await connection.execute(statement)).rowcount

    removed = 0
    while gone := await database.write(work):
        removed += gone
    return removed
