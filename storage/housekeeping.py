"""Takes away what nobody needs any more: content, transcripts and dispatches of turns long past,
limits that are over, marks of channels that have been quiet for long."""

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
COOLDOWNS_FOR = timedelta(days=1)
"""After their end. A message that waited longer in a queue is not held against later ones."""

CHARGES_FOR = timedelta(days=7)
"""How long it is known what was charged: longer than any turn may be retried."""

POOLS_FOR = timedelta(days=366)
"""After their start; the longest pool has 365 days (`config.QuotaConfig`)."""

SEEN_FOR = timedelta(days=90)
"""A direct message that was quiet for longer is not looked into after a restart."""


async def clean(database: Database, older_than: timedelta) -> int:
    """Delete transcripts written, and blobs last used, longer ago than `older_than`; and what tells
    that a tool call was carried out, after KEEP_DISPATCHES.

    A blob that was used within `older_than` always stays: since its recorded use may lag by
    `TOUCH_INTERVAL`, it is kept for that much longer. Limits and marks go after times of their
    own. Returns how many rows went.
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
    for table, old in (
        (tables.tool_dispatches, tables.tool_dispatches.c.created_at < now - KEEP_DISPATCHES),
        (tables.cooldowns, tables.cooldowns.c.free_at < now - COOLDOWNS_FOR),
        (tables.quota_charges, tables.quota_charges.c.charged_at < now - CHARGES_FOR),
        # a day is still open for what is charged to it late
        (tables.quota_days, tables.quota_days.c.day < (now - CHARGES_FOR).date()),
        (tables.quota_pools, tables.quota_pools.c.started_on < (now - POOLS_FOR).date()),
        (tables.answering, tables.answering.c.until < now),
        (tables.seen_messages, tables.seen_messages.c.noted_at < now - SEEN_FOR),
    ):
        removed += await delete_in_batches(database, table, old)
    return removed


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
