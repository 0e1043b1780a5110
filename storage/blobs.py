"""Large content, written once and named by its hash, so that histories carry only ids."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from pydantic import BaseModel
from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database
from storage.errors import BlobMissing, StorageError

M = TypeVar("M", bound=BaseModel)

TOUCH_INTERVAL = timedelta(hours=1)
"""`last_used_at` lags behind by at most this much, so that reading rarely has to write."""


def blob_id_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Blobs:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, kind: str, data: bytes) -> str:
        """Store `data` and return its id: the SHA-256 in hex. The same data is stored once.

        `kind` (at most 40 characters) is for whoever looks into the table; the first one stays.
        """

        async def work(connection: AsyncConnection) -> str:
            return await insert_blob(self._database, connection, kind, data)

        return await self._database.write(work)

    async def get(self, blob_id: str) -> bytes:
        """The data, marked as used. Raises BlobMissing."""
        row = await self._database.read(lambda connection: _find(connection, blob_id))
        if row is None:
            raise BlobMissing(blob_id)
        now = datetime.now(UTC)
        if now - row.last_used_at > TOUCH_INTERVAL:
            touch = (
                update(tables.blobs).where(tables.blobs.c.id == blob_id).values(last_used_at=now)
            )
            await self._database.write(lambda connection: connection.execute(touch))
        return row.data

    async def put_model(self, kind: str, model: BaseModel) -> str:
        """Store `model` as JSON."""
        return await self.put(kind, model.model_dump_json().encode())

    async def get_model(self, blob_id: str, model: type[M]) -> M:
        """Raises BlobMissing, and StorageError when the blob is not such a document."""
        data = await self.get(blob_id)
        try:
            return model.model_validate_json(data)
        except ValueError:
            # without the cause: pydantic's message quotes the content
            raise StorageError(f"blob {blob_id[:12]}… is not a {model.__name__}") from None


async def insert_blob(
    database: Database, connection: AsyncConnection, kind: str, data: bytes
) -> str:
    """Store a blob within a write that is under way."""
    blob_id = blob_id_of(data)
    now = datetime.now(UTC)
    await connection.execute(
        database.insert(tables.blobs)
        .values(id=blob_id, kind=kind, data=data, created_at=now, last_used_at=now)
        .on_conflict_do_update(
            index_elements=["id"],
            set_={"last_used_at": now},
            where=tables.blobs.c.last_used_at < now - TOUCH_INTERVAL,
        )
    )
    return blob_id


async def _find(connection: AsyncConnection, blob_id: str) -> Row[Any, Any] | None:
    columns = tables.blobs.c
    return (
        await connection.execute(
            select(columns.data, columns.last_used_at).where(columns.id == blob_id)
        )
    ).one_or_none()
