"""What is due later: reminders of people, and tasks that a persona has set itself.

A row says what is due and when; the workflow `reminder/<id>` only waits for it. Both clocks are
kept: what the wall clock of `zone` shows, which recurrence follows, and the instant that this is.
Counting and adding are one step, so the limit holds with any number of processes.

A row remembers that its workflow may not have heard of its latest change, until somebody says that
it has: whoever made the change may have died before they could tell.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any, NamedTuple, NotRequired, TypedDict, Unpack

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NaiveDatetime
from sqlalchemy import ColumnElement, Row, bindparam, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.cleaned import cleaned
from storage.database import Database, lock_of
from storage.errors import ReminderLimitReached

MAX_PENDING = 100
"""Of one server (behaviour 16)."""

MAX_PURPOSE = 4000
MAX_NAME = 100
"""Of a server, a channel or a member, as Discord allows."""

_columns = tables.reminders.c
_PENDING = (
    select(tables.reminders)
    .where(_columns.server_key == bindparam("server_key"))
    .order_by(_columns.due_at, _columns.id)
)
_LENGTHS = {
    "purpose": MAX_PURPOSE,
    "guild_name": MAX_NAME,
    "channel_name": MAX_NAME,
    "user_name": MAX_NAME,
}


class NewReminder(TypedDict):
    """What whoever adds a reminder says; the fields are those of `Reminder`."""

    server_key: str
    guild_id: NotRequired[str | None]
    guild_name: NotRequired[str]
    application_id: str
    bot_user_id: str
    channel_id: str
    channel_name: NotRequired[str]
    is_dm: NotRequired[bool]
    is_thread: NotRequired[bool]
    is_private: NotRequired[bool]
    persona_id: int
    user_id: str
    user_name: NotRequired[str]
    recipient_id: NotRequired[str | None]
    purpose: str
    wall_time: datetime
    zone: str
    interval_hours: NotRequired[int]
    due_at: datetime


class ReminderChanges(TypedDict, total=False):
    guild_name: str
    channel_id: str
    channel_name: str
    is_thread: bool
    is_private: bool
    user_name: str
    recipient_id: str | None
    purpose: str
    wall_time: datetime
    zone: str
    interval_hours: int
    due_at: datetime


class UntoldChange(NamedTuple):
    reminder_id: int
    token: str


class Reminder(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: int
    """Never used again: it names a workflow."""
    server_key: str
    guild_id: str | None = None
    guild_name: str = ""
    application_id: str
    """Of the bot that delivers it."""
    bot_user_id: str
    channel_id: str
    channel_name: str = ""
    is_dm: bool = False
    is_thread: bool = False
    is_private: bool = False
    """Not everybody of the server could read where its purpose was said."""
    persona_id: int
    user_id: str
    """Who asked for it, and as whom the turn runs that delivers it."""
    user_name: str = ""
    recipient_id: str | None = None
    """Whom it reminds; None: it is a task of the persona's own."""
    purpose: str
    wall_time: NaiveDatetime
    """What the clock in `zone` shows when it is due."""
    zone: str = Field(min_length=1, max_length=64)
    """IANA name."""
    interval_hours: int = Field(default=0, ge=0, le=24 * 366 * 5)
    """0: once."""
    due_at: AwareDatetime
    created_at: AwareDatetime

    def is_shown_in(self, channel_id: str) -> bool:
        """Whether a conversation there may tell of it."""
        return self.channel_id == channel_id or not self.is_private


class Reminders:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, limit: int = MAX_PENDING, **fields: Unpack[NewReminder]) -> Reminder:
        """Keep a reminder. Raises ReminderLimitReached when the server has `limit` already, and
        ValueError for what makes no reminder."""
        token = secrets.token_hex(16)
        new = Reminder.model_validate(
            {**_fitting(fields), "id": 0, "created_at": datetime.now(UTC)}
        )
        values = {**new.model_dump(exclude={"id"}), "token": token, "untold": token}
        same_server = _columns.server_key == new.server_key

        async def work(connection: AsyncConnection) -> Reminder:
            await self._database.alone(connection, lock_of("reminders", new.server_key))
            # an earlier attempt may have been stored although its answer was lost
            known = (await connection.execute(_query(_columns.token == token))).one_or_none()
            if known is not None:
                return _reminder(known)
            count = select(func.count()).select_from(tables.reminders).where(same_server)
            if (await connection.execute(count)).scalar_one() >= limit:
                raise ReminderLimitReached(limit)
            await connection.execute(self._database.insert(tables.reminders).values(values))
            return _reminder((await connection.execute(_query(_columns.token == token))).one())

        return await self._database.write(work)

    async def get(self, reminder_id: int) -> Reminder | None:
        return await self._database.read(lambda connection: _find(connection, reminder_id))

    async def replace(
        self,
        reminder_id: int,
        *,
        only_if_due_at: datetime | None = None,
        is_told: bool = False,
        **changes: Unpack[ReminderChanges],
    ) -> Reminder | None:
        """The reminder with `changes`; None when it is gone.

        With `only_if_due_at` it changes only while it is due then, so that somebody's edit in the
        meantime stands; what is returned is the row as it is afterwards, in either case. With
        `is_told` it is its workflow that asks, and needs not be told. Raises ValueError for what
        makes no reminder; nothing is changed then.
        """
        fixed = set(changes) - set(ReminderChanges.__annotations__)
        if fixed:
            raise ValueError(f"a reminder has no {', '.join(sorted(fixed))} that can be changed")
        fitting = _fitting(changes)
        mark = {} if is_told else {"untold": secrets.token_hex(16)}

        async def work(connection: AsyncConnection) -> Reminder | None:
            await self._database.alone(connection, lock_of("reminder", reminder_id))
            before = await _find(connection, reminder_id)
            if before is None or not fitting:
                return before
            if only_if_due_at is not None and before.due_at != only_if_due_at:
                return before
            after = Reminder.model_validate({**before.model_dump(), **fitting})
            await connection.execute(
                update(tables.reminders)
                .where(_columns.id == reminder_id)
                .values({**{name: getattr(after, name) for name in fitting}, **mark})
            )
            return after

        return await self._database.write(work)

    async def remove(self, reminder_id: int, *, only_if_due_at: datetime | None = None) -> bool:
        """Whether this call removed it. With `only_if_due_at`, as in `replace`."""
        removed: list[bool] = []

        async def work(connection: AsyncConnection) -> None:
            await self._database.alone(connection, lock_of("reminder", reminder_id))
            statement = delete(tables.reminders).where(_columns.id == reminder_id)
            if only_if_due_at is not None:
                statement = statement.where(_columns.due_at == only_if_due_at)
            removed.append((await connection.execute(statement)).rowcount > 0)

        # A repeated attempt finds nothing, and it was this call all the same.
        await self._database.write(work)
        return any(removed)

    async def pending(self, server_key: str) -> list[Reminder]:
        """All of a server, the next one first."""

        async def work(connection: AsyncConnection) -> list[Reminder]:
            rows = await connection.execute(_PENDING, {"server_key": server_key})
            return [_reminder(row) for row in rows]

        return await self._database.read(work)

    async def untold(self) -> list[UntoldChange]:
        """Of all servers: those whose workflow may not have heard of their latest change."""
        query = (
            select(_columns.id, _columns.untold)
            .where(_columns.untold.is_not(None))
            .order_by(_columns.id)
        )

        async def work(connection: AsyncConnection) -> list[UntoldChange]:
            return [UntoldChange(*row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def told(self, change: UntoldChange) -> None:
        """Its workflow has heard of a change. One that came after it is still untold."""
        statement = (
            update(tables.reminders)
            .where(_columns.id == change.reminder_id, _columns.untold == change.token)
            .values(untold=None)
        )
        await self._database.write(lambda connection: connection.execute(statement))

    async def ids(self) -> list[int]:
        """Of all servers, oldest first."""
        query = select(_columns.id).order_by(_columns.id)

        async def work(connection: AsyncConnection) -> list[int]:
            return list((await connection.execute(query)).scalars())

        return await self._database.read(work)


def _fitting(fields: NewReminder | ReminderChanges) -> dict[str, Any]:
    """With text as the database can hold it."""
    return {
        name: cleaned(value, _LENGTHS.get(name)) if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _query(where: ColumnElement[bool]) -> Any:
    return select(tables.reminders).where(where)


async def _find(connection: AsyncConnection, reminder_id: int) -> Reminder | None:
    row = (await connection.execute(_query(_columns.id == reminder_id))).one_or_none()
    return None if row is None else _reminder(row)


def _reminder(row: Row[Any]) -> Reminder:
    return Reminder.model_validate(dict(row._mapping))
