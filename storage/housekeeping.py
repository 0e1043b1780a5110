"""Takes away what nobody needs any more: content, transcripts and dispatches of turns long past."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Table, and_, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.blobs import TOUCH_INTERVAL
from storage.database import Database

BATCH = 200
"""Rows for each transaction: others wait for the writer, so it never writes for long."""

KEEP_DISPATCHES = timedelta(days=30)
"""How long it is known which tool calls were carried out: longer than a turn can be reset."""


async def clean(database: Database, older_than: timedelta) -> int:
    """Delete transcripts written, and blobs last used, longer ago than `older_than`; and what tells
    that a tool call was carried out, after KEEP_DISPATCHES.

    A blob that was used within `older_than` always stays: since its recorded use may lag by
    `TOUCH_INTERVAL`, it is kept for that much longer. Returns how many rows went.
    """
    now = datetime.now(UTC)
    transcript, blobs = tables.transcript.c, tables.blobs.c
    # transcripts first: what they point to goes after them, never before
    removed = await delete_in_batches(
        database, tables.transcript, transcript.created_at < now - older_than
    )
    removed += await delete_in_batches(
        database, tables.blobs, blobs.last_used_at < now - older_than - TOUCH_INTERVAL
    )
    return removed + await delete_in_batches(
        database,
        tables.tool_dispatches,
        tables.tool_dispatches.c.created_at < now - KEEP_DISPATCHES,
    )


async def delete_in_batches(database: Database, table: Table, old: ColumnElement[bool]) -> int:
    """Delete the rows that are `old`. Returns how many went."""
    key = tuple_(*table.primary_key.columns)
    batch = select(*table.primary_key.columns).where(old).limit(BATCH)
    # `old` stands twice: a row that was used while the batch was being chosen stays
    statement = delete(table).where(and_(key.in_(batch), old))

    async def work(connection: AsyncConnection) -> int:
        return (await connection.execute(statement)).rowcount

    removed = 0
    while gone := await database.write(work):
        removed += gone
    return removed
