"""Long-term memory: what a persona keeps about a server, or about one of its members.

In: a text and whom it is about. Out: memories, oldest first. A memory belongs to one persona and to
the server it was made in; one about a member is shown in that server only (D78), but counts for
that member everywhere. Counting and adding are one step, so a limit holds with any number of
processes.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict
from sqlalchemy import ColumnElement, Row, and_, bindparam, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.cleaned import cleaned
from storage.database import Database, lock_of
from storage.errors import MemoryLimitReached

MAX_TAGS = 20
MAX_TAG_LENGTH = 60

_columns = tables.memories.c

# made once: putting a query together costs more than asking it
_OF_SERVER_AND_USERS = (
    select(tables.memories)
    .where(
        _columns.server_key == bindparam("server_key"),
        _columns.persona_id == bindparam("persona_id"),
        or_(
            _columns.user_id.is_(None),
            _columns.user_id.in_(bindparam("user_ids", expanding=True)),
        ),
    )
    .order_by(_columns.id)
)


class Memory(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: int
    """Never used again, also when the memory is gone."""
    server_key: str
    persona_id: int
    user_id: str | None
    """Whom it is about; None: it holds for the whole server."""
    text: str
    tags: list[str]
    author_id: str
    """Who made the persona remember it."""
    created_at: AwareDatetime
    updated_at: AwareDatetime


class Memories:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        *,
        server_key: str,
        persona_id: int,
        text: str,
        author_id: str,
        limit: int,
        user_id: str | None = None,
        tags: Iterable[str] = (),
    ) -> Memory:
        """Keep `text`. Raises MemoryLimitReached when there are `limit` already: of the server's
        own, or, with `user_id`, of that member's over all servers; of the same persona each."""
        now = datetime.now(UTC)
        token = secrets.token_hex(16)
        values = {
            "token": token,
            "server_key": server_key,
            "persona_id": persona_id,
            "user_id": user_id,
            "text": cleaned(text),
            "tags": [cleaned(tag, MAX_TAG_LENGTH) for tag in list(tags)[:MAX_TAGS]],
            "author_id": author_id,
            "created_at": now,
            "updated_at": now,
        }
        same_scope = _scope(server_key, persona_id, user_id)
        owner = server_key if user_id is None else f"user {user_id}"

        async def work(connection: AsyncConnection) -> Memory:
            await self._database.alone(connection, lock_of("memories", owner, persona_id))
            # an earlier attempt may have been stored although its answer was lost
            known = (await connection.execute(_query(_columns.token == token))).one_or_none()
            if known is not None:
                return _memory(known)
            count = select(func.count()).select_from(tables.memories).where(same_scope)
            if (await connection.execute(count)).scalar_one() >= limit:
                raise MemoryLimitReached(limit)
            await connection.execute(self._database.insert(tables.memories).values(values))
            return _memory((await connection.execute(_query(_columns.token == token))).one())

        return await self._database.write(work)

    async def get(self, memory_id: int) -> Memory | None:
        return await self._database.read(lambda connection: _find(connection, memory_id))

    async def replace(self, memory_id: int, text: str) -> Memory | None:
        """The memory with its new text; None when it is gone."""
        statement = (
            update(tables.memories)
            .where(_columns.id == memory_id)
            .values(text=cleaned(text), updated_at=datetime.now(UTC))
        )

        async def work(connection: AsyncConnection) -> Memory | None:
            await connection.execute(statement)
            return await _find(connection, memory_id)

        return await self._database.write(work)

    async def delete(self, memory_id: int) -> Memory | None:
        """The memory as it was; None when there was none."""
        statement = delete(tables.memories).where(_columns.id == memory_id)
        seen: list[Memory] = []

        async def work(connection: AsyncConnection) -> None:
            found = await _find(connection, memory_id)
            if found is not None:
                seen.append(found)
                await connection.execute(statement)

        # A repeated attempt finds nothing, and it was this call all the same.
        await self._database.write(work)
        return seen[-1] if seen else None

    async def of_server(self, server_key: str, persona_id: int) -> list[Memory]:
        """What holds for the whole server, oldest first."""
        shared, _ = await self.of_server_and_users(server_key, persona_id, ())
        return shared

    async def of_users(
        self, server_key: str, persona_id: int, user_ids: Collection[str]
    ) -> dict[str, list[Memory]]:
        """What was kept about each of these members in this server, oldest first; only those about
        whom there is something."""
        _, personal = await self.of_server_and_users(server_key, persona_id, user_ids)
        return personal

    async def of_server_and_users(
        self, server_key: str, persona_id: int, user_ids: Collection[str]
    ) -> tuple[list[Memory], dict[str, list[Memory]]]:
        """Both of the above, with one query."""
        values = {
            "server_key": server_key,
            "persona_id": persona_id,
            "user_ids": sorted(set(user_ids)),
        }

        async def work(connection: AsyncConnection) -> list[Memory]:
            rows = await connection.execute(_OF_SERVER_AND_USERS, values)
            return [_memory(row) for row in rows]

        shared: list[Memory] = []
        personal: dict[str, list[Memory]] = {}
        for memory in await self._database.read(work):
            if memory.user_id is None:
                shared.append(memory)
            else:
                personal.setdefault(memory.user_id, []).append(memory)
        return shared, personal


def _scope(server_key: str, persona_id: int, user_id: str | None) -> ColumnElement[bool]:
    """The memories that count together."""
    same_persona = _columns.persona_id == persona_id
    if user_id is not None:
        return and_(same_persona, _columns.user_id == user_id)
    return and_(same_persona, _columns.server_key == server_key, _columns.user_id.is_(None))


def _query(where: ColumnElement[bool]) -> Any:
    return select(tables.memories).where(where).order_by(_columns.id)


async def _find(connection: AsyncConnection, memory_id: int) -> Memory | None:
    row = (await connection.execute(_query(_columns.id == memory_id))).one_or_none()
    return None if row is None else _memory(row)


def _memory(row: Row[Any]) -> Memory:
    return Memory.model_validate(dict(row._mapping))
