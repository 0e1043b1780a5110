"""What a turn's model calls and tools said, entry by entry, to be replayed in the next call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.blobs import insert_blob
from storage.database import Database
from storage.errors import TranscriptMissing
from workflows.contracts.tools import TranscriptEntry


class Transcript:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, turn_id: str, position: int, entries: Sequence[TranscriptEntry]) -> None:
        """Store `entries` at `position`, `position + 1`, … (from 0).

        Idempotent: an attempt that is repeated writes the same positions again.
        """
        if not entries:
            return

        async def work(connection: AsyncConnection) -> None:
            for offset, entry in enumerate(entries):
                data = entry.model_dump_json().encode()
                blob_id = await insert_blob(self._database, connection, "transcript", data)
                await connection.execute(
                    self._database.insert(tables.transcript)
                    .values(
                        turn_id=turn_id,
                        position=position + offset,
                        blob_id=blob_id,
                        created_at=datetime.now(UTC),
                    )
                    .on_conflict_do_update(
                        index_elements=["turn_id", "position"], set_={"blob_id": blob_id}
                    )
                )

        await self._database.write(work)

    async def load(self, turn_id: str, length: int) -> list[TranscriptEntry]:
        """The first `length` entries, in order. Raises TranscriptMissing when one is not there."""
        if length <= 0:
            return []
        rows, content = tables.transcript.c, tables.blobs.c
        query = (
            select(rows.position, content.data)
            .join_from(tables.transcript, tables.blobs, rows.blob_id == content.id)
            .where(rows.turn_id == turn_id, rows.position < length)
            .order_by(rows.position)
        )

        async def work(connection: AsyncConnection) -> list[TranscriptEntry]:
            return [
                TranscriptEntry.model_validate_json(row.data)
                for row in await connection.execute(query)
            ]

        entries = await self._database.read(work)
        if len(entries) != length:
            raise TranscriptMissing(
                f"the transcript of turn {turn_id} has {len(entries)} of {length} entries"
            )
        return entries

    async def stored(self, turn_id: str) -> list[TranscriptEntry]:
        """All entries that are there, in order; those whose content is gone are left out."""
        rows, content = tables.transcript.c, tables.blobs.c
        query = (
            select(content.data)
            .join_from(tables.transcript, tables.blobs, rows.blob_id == content.id)
            .where(rows.turn_id == turn_id)
            .order_by(rows.position)
        )

        async def work(connection: AsyncConnection) -> list[TranscriptEntry]:
            return [
                TranscriptEntry.model_validate_json(row.data)
                for row in await connection.execute(query)
            ]

        return await self._database.read(work)
