"""What ends short-term memory: 12 hours for what was said, 24 for a summary, 90 days for all.

An entry lives for 12 hours from when it was said. A record lives for as long from when it was last
written, and for 24 hours with a summary: a turn keeps the summary alive. Past the retention a
summary goes although turns have kept it alive, and so do the marks that keep a turn from being
captured twice or a cleared channel from coming back.

Reading leaves out what has expired; `purge` deletes it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, delete, or_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database
from storage.housekeeping import delete_in_batches
from storage.short_term.models import Place

CRUDE_LIFETIME = timedelta(hours=12)
SUMMARY_LIFETIME = timedelta(hours=24)
RETENTION = timedelta(days=90)
"""Default of STM_JANITOR_RETENTION_DAYS (behaviour 18)."""

Moment = datetime | BindParameter[Any]

_records = tables.stm_records.c
_entries = tables.stm_entries.c


class Expired(NamedTuple):
    """The conditions for what has expired. The moments are `at` some time, or parameters of a
    statement that is made once (`ASKED`)."""

    past_crude: Moment
    past_summary: Moment
    past_retention: Moment

    @classmethod
    def at(cls, now: datetime, retention: timedelta = RETENTION) -> Expired:
        return cls(now - CRUDE_LIFETIME, now - SUMMARY_LIFETIME, now - retention)

    @property
    def parameters(self) -> dict[str, Moment]:
        """For a statement with the conditions of `ASKED`."""
        return self._asdict()

    @property
    def entry(self) -> ColumnElement[bool]:
        return _entries.at <= self.past_crude

    @property
    def summary(self) -> ColumnElement[bool]:
        """Of a record that itself may live on."""
        return and_(_records.summary.is_not(None), _records.summary_at <= self.past_retention)

    @property
    def record(self) -> ColumnElement[bool]:
        without_summary = or_(_records.summary.is_(None), self.summary)
        return or_(
            _records.touched_at <= self.past_summary,
            and_(without_summary, _records.touched_at <= self.past_crude),
        )


ASKED = Expired(*(bindparam(name) for name in Expired._fields))


async def purge(database: Database, expired: Expired) -> int:
    """Delete everything that has expired. Returns how many rows went."""
    removed = await delete_in_batches(database, tables.stm_entries, expired.entry)
    removed += await delete_in_batches(database, tables.stm_records, expired.record)
    no_summary = (
        update(tables.stm_records).where(expired.summary).values(summary=None, summary_at=None)
    )
    await database.write(lambda connection: connection.execute(no_summary))
    removed += await delete_in_batches(
        database, tables.stm_turns, tables.stm_turns.c.captured_at <= expired.past_retention
    )
    return removed + await delete_in_batches(
        database, tables.stm_clears, tables.stm_clears.c.cleared_at <= expired.past_retention
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
