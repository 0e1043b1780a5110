"""What ends short-term memory: 12 hours for what was said, 24 for a summary, 90 days for all.

An entry lives for 12 hours from when it was said. A record lives for as long from when it was last
written, and for 24 hours with a summary: a turn keeps the summary alive. Past the retention a
summary goes although turns have kept it alive, and so do the marks that keep a turn from being
captured twice or a cleared channel from coming back.

Reading leaves out what has expired; `purge` deletes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, or_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database
from storage.housekeeping import delete_in_batches
from storage.short_term.models import Place

CRUDE_LIFETIME = timedelta(hours=12)
SUMMARY_LIFETIME = timedelta(hours=24)
RETENTION = timedelta(days=90)
"""Default of STM_JANITOR_RETENTION_DAYS (behaviour 18)."""

_records = tables.stm_records.c
_entries = tables.stm_entries.c


@dataclass(frozen=True)
class Expired:
    """The conditions for what has expired at `now`."""

    now: datetime
    retention: timedelta = RETENTION

    @property
    def entry(self) -> ColumnElement[bool]:
        return _entries.at <= self.now - CRUDE_LIFETIME

    @property
    def summary(self) -> ColumnElement[bool]:
        """Of a record that itself may live on."""
        return and_(_records.summary.is_not(None), _records.summary_at <= self.now - self.retention)

    @property
    def record(self) -> ColumnElement[bool]:
        without_summary = or_(_records.summary.is_(None), self.summary)
        return or_(
            _records.touched_at <= self.now - SUMMARY_LIFETIME,
            and_(without_summary, _records.touched_at <= self.now - CRUDE_LIFETIME),
        )


async def purge(database: Database, expired: Expired) -> int:
    """Delete everything that has expired. Returns how many rows went."""
    removed = await delete_in_batches(database, tables.stm_entries, expired.entry)
    removed += await delete_in_batches(database, tables.stm_records, expired.record)
    no_summary = (
        update(tables.stm_records).where(expired.summary).values(summary=None, summary_at=None)
    )
    await database.write(lambda connection: connection.execute(no_summary))
    past = expired.now - expired.retention
    removed += await delete_in_batches(
        database, tables.stm_turns, tables.stm_turns.c.captured_at <= past
    )
    return removed + await delete_in_batches(
        database, tables.stm_clears, tables.stm_clears.c.cleared_at <= past
    )


async def purge_place(connection: AsyncConnection, place: Place, expired: Expired) -> None:
    """The same for one record, within a write that is about to change it."""
    here = [tables.stm_records.c[name] == value for name, value in place.key.items()]
    await connection.execute(delete(tables.stm_records).where(*here, expired.record))
    await connection.execute(
        update(tables.stm_records)
        .where(*here, expired.summary)
        .values(summary=None, summary_at=None)
    )
