"""Large content, written once and named by its hash, so that histories carry only ids."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
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


RECENT_BYTES = 16_000_000
"""Bytes of blobs kept in memory: a turn reads what it has just written, often in this process."""

RECENT_FOR = TOUCH_INTERVAL / 2
"""How long: within it the row is known to be marked as used."""


def blob_id_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Blobs:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._recent = _Recent()

    async def put(self, kind: str, data: bytes) -> str:
        """Store `data` and return its id: the SHA-256 in hex. The same data is stored once.

        `kind` (at most 40 characters) is for whoever looks into the table; the first one stays.
        """

        async def work(connection: AsyncConnection) -> str:
            return await insert_blob(self._database, connection, kind, data)

        blob_id = await self._database.write(work)
        self._recent.keep(blob_id, data)
        return blob_id

    async def get(self, blob_id: str) -> bytes:
        """The data, marked as used. Raises BlobMissing."""
        if (recent := self._recent.get(blob_id)) is not None:
            return recent
        row = await self._database.read(lambda connection: _find(connection, blob_id))
        if row is None:
            raise BlobMissing(blob_id)
        now = datetime.now(UTC)
        if now - row.last_used_at > TOUCH_INTERVAL:
            touch = (
                update(tables.blobs).where(tables.blobs.c.id == blob_id).values(last_used_at=now)
            )
            await self._database.write(lambda connection: connection.execute(touch))
            self._recent.keep(blob_id, row.data)
        return row.data

    def forget_recent(self) -> None:
        """Read from the database again, whatever this process has in memory."""
        self._recent = _Recent()

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


class _Recent:
    """The blobs this process has used last. An id names its content, so nothing here goes stale."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0

    def keep(self, blob_id: str, data: bytes) -> None:
        self._drop(blob_id)
        self._kept[blob_id] = (time.monotonic(), data)
        self._bytes += len(data)
        while self._bytes > RECENT_BYTES:
            self._drop(next(iter(self._kept)))

    def get(self, blob_id: str) -> bytes | None:
        found = self._kept.get(blob_id)
        if found is None:
            return None
        since, data = found
        if time.monotonic() - since > RECENT_FOR.total_seconds():
            self._drop(blob_id)
            return None
        self._kept.move_to_end(blob_id)
        return data

    def _drop(self, blob_id: str) -> None:
        if (dropped := self._kept.pop(blob_id, None)) is not None:
            self._bytes -= len(dropped[1])


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
