"""The settings of servers and members: read whole, changed by a function.

A change reads, applies the function and writes in one step, so that of two changes at once, also in
two processes, neither is lost. Only what somebody has set is stored: a default that a later
Everturn changes holds for everybody who never chose.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from typing import TypeVar

import structlog
from pydantic import ValidationError
from sqlalchemy import Column, Table, bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.config.models import Privacy, Section, ServerConfig, UserConfig
from storage.database import Database, lock_of
from storage.errors import StorageError
from storage.short_term.forget import forget_member

S = TypeVar("S", bound=Section)

log = structlog.get_logger(__name__)

KEYS_TOGETHER = 500
"""In one query: databases bound how many values one may carry."""


def _key(table: Table) -> Column[str]:
    (key,) = table.primary_key.columns
    return key


_ONE = {
    table: select(table.c.settings).where(_key(table) == bindparam("owner"))
    for table in (tables.server_settings, tables.user_settings)
}
_SERVERS = select(tables.server_settings.c.server_key, tables.server_settings.c.settings).where(
    tables.server_settings.c.server_key.in_(bindparam("server_keys", expanding=True))
)
_USERS = select(tables.user_settings.c.user_id, tables.user_settings.c.settings).where(
    tables.user_settings.c.user_id.in_(bindparam("user_ids", expanding=True))
)


class Configs:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def server(self, server_key: str) -> ServerConfig:
        """Of a server, or of the direct messages with a user (`contracts.base.server_key`)."""
        return await self._database.read(
            lambda connection: _load(connection, tables.server_settings, server_key, ServerConfig)
        )

    async def user(self, user_id: str) -> UserConfig:
        return await self._database.read(
            lambda connection: _load(connection, tables.user_settings, user_id, UserConfig)
        )

    async def users(self, user_ids: Collection[str]) -> dict[str, UserConfig]:
        """Of those among them who have set something.

        One whose row is not readable counts as fully private, and is logged: one damaged row is
        no reason to answer nobody whom its owner has met, and none to show what they may have
        hidden.
        """
        if not user_ids:
            return {}
        values = {"user_ids": sorted(set(user_ids))}

        async def work(connection: AsyncConnection) -> dict[str, object]:
            rows = await connection.execute(_USERS, values)
            return {row.user_id: row.settings for row in rows}

        stored = await self._database.read(work)
        return {user_id: _private_unless_read(user_id, row) for user_id, row in stored.items()}

    async def servers(self, server_keys: Collection[str]) -> dict[str, ServerConfig]:
        """Of those among them who have set something. One whose row is not readable is left out,
        and is logged: whoever needs that one alone is told so by `server`."""
        keys = sorted(set(server_keys))
        found: dict[str, ServerConfig] = {}
        for start in range(0, len(keys), KEYS_TOGETHER):
            values = {"server_keys": keys[start : start + KEYS_TOGETHER]}

            async def work(
                connection: AsyncConnection, values: dict[str, list[str]] = values
            ) -> list[tuple[str, object]]:
                rows = await connection.execute(_SERVERS, values)
                return [(row.server_key, row.settings) for row in rows]

            for key, stored in await self._database.read(work):
                try:
                    found[key] = _read(tables.server_settings, key, ServerConfig, stored)
                except StorageError as error:
                    log.warning("storage.settings_not_readable", reason=str(error))
        return found

    async def users_since(
        self, moment: datetime | None
    ) -> tuple[dict[str, UserConfig], datetime | None]:
        """Of all who have changed something at or after `moment` (None: ever), and when the last
        of them did. One whose row is not readable counts as fully private."""
        changed = tables.user_settings.c.updated_at
        query = select(tables.user_settings)
        if moment is not None:
            query = query.where(changed >= moment)

        async def work(connection: AsyncConnection) -> list[tuple[str, object, datetime]]:
            rows = await connection.execute(query)
            return [(row.user_id, row.settings, row.updated_at) for row in rows]

        rows = await self._database.read(work)
        return (
            {user_id: _private_unless_read(user_id, stored) for user_id, stored, _ in rows},
            max((at for _, _, at in rows), default=moment),
        )

    async def change_server(
        self, server_key: str, change: Callable[[ServerConfig], ServerConfig]
    ) -> ServerConfig:
        """Store what `change` makes of the settings, and return it.

        `change` must be a pure function: it may be called more than once. Raises what it raises,
        and ValueError for a result that is not valid (`model_copy` does not look); nothing is
        stored then.
        """
        return await self._change(tables.server_settings, server_key, ServerConfig, change)

    async def change_user(
        self, user_id: str, change: Callable[[UserConfig], UserConfig]
    ) -> UserConfig:
        """As `change_server`. Whoever chooses full privacy is forgotten in the same step, as far
        as short-term memory holds anything of them."""

        async def forget(connection: AsyncConnection, after: UserConfig) -> None:
            if after.privacy is Privacy.FULL:
                await forget_member(connection, user_id)

        return await self._change(tables.user_settings, user_id, UserConfig, change, forget)

    async def _change(
        self,
        table: Table,
        owner: str,
        model: type[S],
        change: Callable[[S], S],
        then: Callable[[AsyncConnection, S], Awaitable[None]] | None = None,
    ) -> S:
        key = _key(table)

        async def work(connection: AsyncConnection) -> S:
            await self._database.alone(connection, lock_of(table.name, owner))
            before = await _load(connection, table, owner, model)
            settings = change(before).model_dump(mode="json", exclude_unset=True, warnings=False)
            after = model.model_validate(settings)
            values = {"settings": settings, "updated_at": datetime.now(UTC)}
            await connection.execute(
                self._database.insert(table)
                .values({key.name: owner, **values})
                .on_conflict_do_update(index_elements=[key.name], set_=values)
            )
            if then is not None:
                await then(connection, after)
            return after

        return await self._database.write(work)


async def _load(connection: AsyncConnection, table: Table, owner: str, model: type[S]) -> S:
    stored = (await connection.execute(_ONE[table], {"owner": owner})).scalar_one_or_none()
    return model() if stored is None else _read(table, owner, model, stored)


def _private_unless_read(user_id: str, stored: object) -> UserConfig:
    try:
        return _read(tables.user_settings, user_id, UserConfig, stored)
    except StorageError as error:
        log.warning("storage.settings_not_readable", reason=str(error))
        return UserConfig(privacy=Privacy.FULL)


def _read(table: Table, owner: str, model: type[S], stored: object) -> S:
    try:
        return model.model_validate(stored)
    except ValidationError:
        # Not the defaults: they would allow what the server may have switched off.
        raise StorageError(
            f"the row {owner} of the table {table.name} is not readable: correct or delete it",
            lasting=True,
        ) from None
