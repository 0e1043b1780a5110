"""Which channels are being answered at this moment, and for whom: what the concurrency guard counts
(behaviour 5.4).

A channel answers one message at a time, so its row is replaced by whatever is answered next, and
nothing has to be taken back for a turn that died: past its time a row counts no more. Counting and
taking a place are one step.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import bindparam, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database, lock_of

_columns = tables.answering.c

# made once: putting a query together costs more than asking it
_OTHERS = select(func.count()).where(
    _columns.channel_id != bindparam("channel_id"), _columns.until > bindparam("at")
)
_OF_USER = _OTHERS.where(_columns.user_id == bindparam("user_id")).scalar_subquery()
_OF_SERVER = _OTHERS.where(_columns.server_key == bindparam("server_key")).scalar_subquery()
_COUNT = select(_OF_USER.label("of_user"), _OF_SERVER.label("of_server"))


class Busy(StrEnum):
    """Who is being answered in too many channels already."""

    USER = "user"
    SERVER = "server"


class Answering:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(
        self,
        channel_id: str,
        message_id: str,
        *,
        server_key: str,
        user_id: str,
        user_limit: int,
        server_limit: int,
        at: datetime,
        lasts: timedelta,
    ) -> Busy | None:
        """None: `message_id` is being answered in the channel from now on, for `lasts` at most.

        Else the member, or the server, has its limit of other channels that are being answered at
        `at`, and nothing is changed. A limit of 0 is none. A member's channels count in all
        servers.
        """
        asked = {
            "channel_id": channel_id,
            "at": at,
            "user_id": user_id,
            "server_key": server_key,
        }
        row = {
            "message_id": message_id,
            "server_key": server_key,
            "user_id": user_id,
            "until": at + lasts,
        }

        async def work(connection: AsyncConnection) -> Busy | None:
            # always in this order, so that two that need both never wait for each other
            await self._database.alone(connection, lock_of("answering user", user_id))
            await self._database.alone(connection, lock_of("answering server", server_key))
            others = (await connection.execute(_COUNT, asked)).one()
            if user_limit and others.of_user >= user_limit:
                return Busy.USER
            if server_limit and others.of_server >= server_limit:
                return Busy.SERVER
            await connection.execute(
                self._database.insert(tables.answering)
                .values(channel_id=channel_id, **row)
                .on_conflict_do_update(index_elements=["channel_id"], set_=row)
            )
            return None

        return await self._database.write(work)

    async def end(self, channel_id: str, message_id: str) -> None:
        """The message is answered. Changes nothing when the channel answers another one by now."""
        statement = delete(tables.answering).where(
            _columns.channel_id == channel_id, _columns.message_id == message_id
        )
        await self._database.write(lambda connection: connection.execute(statement))
