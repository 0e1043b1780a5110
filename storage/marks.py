"""How far a channel is: the newest message that was disposed of, and where `/refresh` cut it.

In and out: ids of Discord's messages, which grow with time. Both marks only move forward, so a late
or repeated write changes nothing. A missing mark says that nothing is known, never that nothing
happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Table, bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database

BATCH = 500
"""Marks for each transaction: others wait for the writer, so it never writes for long."""

_SEEN = select(tables.seen_messages.c.channel_id, tables.seen_messages.c.message_id)
_CUT = select(tables.history_cuts.c.message_id).where(
    tables.history_cuts.c.channel_id == bindparam("channel_id")
)


class Marks:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._note = self._forward(tables.seen_messages, "noted_at")
        self._cut = self._forward(tables.history_cuts, "cut_at")

    async def seen(self) -> dict[str, str]:
        """By channel, the newest message that was disposed of (D31)."""

        async def work(connection: AsyncConnection) -> dict[str, str]:
            rows = await connection.execute(_SEEN)
            return {channel_id: str(message_id) for channel_id, message_id in rows}

        return await self._database.read(work)

    async def note(self, newest: Mapping[str, str]) -> None:
        """These messages, by channel, and all older ones of theirs have been disposed of."""
        now = datetime.now(UTC)
        # in one order for everybody, so that two that write at once wait and never deadlock
        rows = [
            {"channel_id": channel_id, "message_id": int(message_id), "noted_at": now}
            for channel_id, message_id in sorted(newest.items())
        ]
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            await self._database.write(
                lambda connection, batch=batch: connection.execute(self._note, batch)
            )

    async def refreshed(self, channel_id: str) -> str | None:
        """The message after which the channel's history begins; None: with its first one."""

        async def work(connection: AsyncConnection) -> str | None:
            found = (await connection.execute(_CUT, {"channel_id": channel_id})).scalar()
            return None if found is None else str(found)

        return await self._database.read(work)

    async def refresh(self, channel_id: str, message_id: str) -> None:
        """From now on the history begins after this message."""
        row = {
            "channel_id": channel_id,
            "message_id": int(message_id),
            "cut_at": datetime.now(UTC),
        }
        await self._database.write(lambda connection: connection.execute(self._cut, row))

    def _forward(self, table: Table, time: str) -> Any:
        insert = self._database.insert(table)
        return insert.on_conflict_do_update(
            index_elements=["channel_id"],
            set_={"message_id": insert.excluded.message_id, time: insert.excluded[time]},
            where=table.c.message_id < insert.excluded.message_id,
        )
