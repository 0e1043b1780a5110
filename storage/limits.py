"""How often, and how much: cooldowns and text quotas (behaviour 5.4).

In: keys that the planner makes, and the moment a message was written, so that one that waited in a
queue is judged by when its author wrote it. Out: whether it may be answered. Each check-and-set is
one step, so that of any number of channels, workers and processes one gets what is there once. A
call that is repeated after its answer was lost takes nothing twice.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Table, and_, bindparam, exists, func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database, lock_of

_cooldowns = tables.cooldowns.c
_days = tables.quota_days.c
_pools = tables.quota_pools.c
_charges = tables.quota_charges.c


class Charge(StrEnum):
    """What became of charging an answer."""

    CHARGED = "charged"
    ALREADY = "already"
    """The same message was charged before, by another persona's turn or by this one."""
    USER_EXHAUSTED = "user_exhausted"
    POOL_EXHAUSTED = "pool_exhausted"


@dataclass(frozen=True)
class QuotaUsage:
    """What has been used of the quotas that were set at that time."""

    user_today: int
    pool: int
    pool_started_on: date | None
    """None: nothing has been charged to the pool yet, or its days are over."""


# made once: putting a query together costs more than asking it
_IN_THE_WAY = and_(
    _cooldowns.key == bindparam("key"),
    _cooldowns.holder != bindparam("holder"),
    _cooldowns.since < bindparam("free_at"),
    _cooldowns.free_at > bindparam("since"),
)
_FREE_AT = select(func.max(_cooldowns.free_at)).where(_IN_THE_WAY)
_PEEK = select(func.max(_cooldowns.free_at)).where(
    _cooldowns.key == bindparam("key"),
    _cooldowns.since <= bindparam("at"),
    _cooldowns.free_at > bindparam("at"),
)
_USAGE = select(
    exists()
    .where(_charges.server_key == bindparam("server_key"))
    .where(_charges.quota_key == bindparam("quota_key"))
    .label("charged"),
    select(_days.used)
    .where(_days.server_key == bindparam("server_key"))
    .where(_days.user_id == bindparam("user_id"))
    .where(_days.day == bindparam("today"))
    .scalar_subquery()
    .label("user_today"),
    select(_pools.used)
    .where(_pools.server_key == bindparam("server_key"))
    .where(_pools.started_on > bindparam("pool_over_on"))
    .scalar_subquery()
    .label("pool"),
    select(_pools.started_on)
    .where(_pools.server_key == bindparam("server_key"))
    .where(_pools.started_on > bindparam("pool_over_on"))
    .scalar_subquery()
    .label("pool_started_on"),
)


class Limits:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._take = _take(database.insert(tables.cooldowns))

    async def take_cooldown(
        self, key: str, arrived_at: datetime, length: timedelta, *, holder: str | None = None
    ) -> datetime | None:
        """None when `key` was free for a message written at `arrived_at`, and is now taken for
        `length` from then; else until when it is not free.

        Of all that took a key no two were written within `length`, in whatever order they asked;
        and a message is refused only for one that was written within `length` of it, never because
        it waited while later ones were answered.

        `holder` (at most 64 characters) names the message: asked again for the same one, for
        instance by a repeated activity, the answer is None again.
        """
        values = {
            "key": key,
            "holder": holder if holder is not None else secrets.token_hex(16),
            "since": arrived_at,
            "free_at": arrived_at + length,
        }

        async def work(connection: AsyncConnection) -> datetime | None:
            await self._database.alone(connection, lock_of("cooldown", key))
            if (await connection.execute(self._take, values)).one_or_none() is not None:
                return None
            return (await connection.execute(_FREE_AT, values)).scalar_one()

        return await self._database.write(work)

    async def peek_cooldown(self, key: str, at: datetime) -> datetime | None:
        """Until when `key` is taken; None when it is free `at` that moment. Takes nothing."""

        async def work(connection: AsyncConnection) -> datetime | None:
            return (await connection.execute(_PEEK, {"key": key, "at": at})).scalar_one()

        return await self._database.read(work)

    async def charge(
        self,
        quota_key: str,
        *,
        server_key: str,
        user_id: str,
        user_daily: int,
        server_pool: int,
        pool_days: int,
        at: datetime,
    ) -> Charge:
        """Charge one answer to the member's day and to the server's pool, or to neither.

        A limit of 0 is none, and nothing is counted for it. Days are UTC's. The pool begins on the
        day of its first answer and is full again `pool_days` later. The same `quota_key` is
        charged once (for as long as housekeeping remembers it, which is days).
        """
        if not user_daily and not server_pool:
            return Charge.CHARGED
        today = at.astimezone(UTC).date()
        asked = _parameters(quota_key, server_key, user_id, pool_days, today)
        attempts: list[Charge] = []

        async def work(connection: AsyncConnection) -> Charge:
            await self._database.alone(connection, lock_of("quota", server_key))
            found = (await connection.execute(_USAGE, asked)).one()
            if found.charged:
                # an earlier attempt of this call, when its answer was lost
                return Charge.CHARGED if Charge.CHARGED in attempts else Charge.ALREADY
            refusal = _refusal(found, user_daily, server_pool)
            if refusal is not None:
                return refusal
            await self._count(connection, server_key, quota_key, at)
            if user_daily:
                key = {"server_key": server_key, "user_id": user_id, "day": today}
                await self._set(connection, tables.quota_days, key, (found.user_today or 0) + 1)
            if server_pool:
                await self._set(
                    connection,
                    tables.quota_pools,
                    {"server_key": server_key},
                    (found.pool or 0) + 1,
                    started_on=found.pool_started_on or today,
                )
            attempts.append(Charge.CHARGED)
            return Charge.CHARGED

        return await self._database.write(work)

    async def would_refuse(
        self,
        quota_key: str,
        *,
        server_key: str,
        user_id: str,
        user_daily: int,
        server_pool: int,
        pool_days: int,
        at: datetime,
    ) -> Charge | None:
        """Which quota is exhausted, as `charge` would find it now; None: neither, or this message
        is charged already. Charges nothing."""
        if not user_daily and not server_pool:
            return None
        today = at.astimezone(UTC).date()
        asked = _parameters(quota_key, server_key, user_id, pool_days, today)

        async def work(connection: AsyncConnection) -> Charge | None:
            found = (await connection.execute(_USAGE, asked)).one()
            return None if found.charged else _refusal(found, user_daily, server_pool)

        return await self._database.read(work)

    async def usage(
        self, server_key: str, user_id: str, *, pool_days: int, at: datetime
    ) -> QuotaUsage:
        """What a member has used on that day, and what is used of the server's pool."""
        asked = _parameters("", server_key, user_id, pool_days, at.astimezone(UTC).date())

        async def work(connection: AsyncConnection) -> QuotaUsage:
            found = (await connection.execute(_USAGE, asked)).one()
            return QuotaUsage(found.user_today or 0, found.pool or 0, found.pool_started_on)

        return await self._database.read(work)

    async def _count(
        self, connection: AsyncConnection, server_key: str, quota_key: str, at: datetime
    ) -> None:
        await connection.execute(
            self._database.insert(tables.quota_charges).values(
                server_key=server_key, quota_key=quota_key, charged_at=at
            )
        )

    async def _set(
        self,
        connection: AsyncConnection,
        table: Table,
        key: dict[str, object],
        used: int,
        **values: object,
    ) -> None:
        changes = {"used": used, **values}
        await connection.execute(
            self._database.insert(table)
            .values(**key, **changes)
            .on_conflict_do_update(index_elements=list(key), set_=changes)
        )


def _take(insert: postgresql.Insert | sqlite_dialect.Insert) -> Any:
    """The check and the set, in one statement. It answers with a row when it took the key, now or
    when the same holder asked before."""
    values = [bindparam(column.name, type_=column.type) for column in tables.cooldowns.columns]
    row = select(*values).where(~exists().where(_IN_THE_WAY))
    return (
        insert.from_select([column.name for column in tables.cooldowns.columns], row)
        .on_conflict_do_update(
            index_elements=["key", "holder"], set_={"free_at": _cooldowns.free_at}
        )
        .returning(_cooldowns.key)
    )


def _parameters(
    quota_key: str, server_key: str, user_id: str, pool_days: int, today: date
) -> dict[str, object]:
    return {
        "quota_key": quota_key,
        "server_key": server_key,
        "user_id": user_id,
        "today": today,
        "pool_over_on": today - timedelta(days=pool_days),
    }


def _refusal(found: Any, user_daily: int, server_pool: int) -> Charge | None:
    if user_daily and (found.user_today or 0) >= user_daily:
        return Charge.USER_EXHAUSTED
    if server_pool and (found.pool or 0) >= server_pool:
        return Charge.POOL_EXHAUSTED
    return None
