"""Short-term memory of the personas, by channel: capture, summarise, load, clear.

Each record stands twice: under the member whose turn it was, and, in a server, under the server. So
what is shown to whom is decided by the key of a row and never by a filter over somebody else's
(D78). Captures and updates of one channel happen one after the other, also among processes; a clear
leaves a mark, and what was said before it does not come back through a write that is late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    Row,
    Select,
    and_,
    bindparam,
    delete,
    func,
    literal,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database, lock_of
from storage.short_term.expiry import (
    ASKED,
    CRUDE_LIFETIME,
    RETENTION,
    Expired,
    purge,
    purge_place,
)
from storage.short_term.models import (
    MAX_ENTRIES,
    SERVER_SCOPE,
    Place,
    StmEntry,
    StmRecord,
    fitting,
    member_scope,
    merged,
    open_entry,
    open_name,
    open_summary,
    seal_entry,
    seal_name,
    seal_summary,
)
from storage.vault import Vault

MAX_OTHERS = 5
"""Records of other channels that are loaded: so many open ones, and as many private ones. Three are
shown (behaviour 7.1)."""

_records = tables.stm_records.c
_entries = tables.stm_entries.c
_clears = tables.stm_clears.c

_DM_KEY = "dm"
"""How `contracts.base.server_key` begins for direct messages; a server's is a number."""


def _newest_records() -> Select[Any]:
    """The records of `load`: of this channel, and `MAX_OTHERS` of either kind of others."""
    server_key = bindparam("server_key")
    # a member whose other servers are not wanted is None, whose records there are none of
    elsewhere = and_(_records.scope == bindparam("member"), _records.server_key != server_key)
    here = and_(_records.scope == bindparam("scope"), _records.server_key == server_key)
    is_here = _records.channel_id == bindparam("channel_id")
    rank = (
        func.row_number()
        .over(partition_by=(is_here, _records.is_private), order_by=_records.touched_at.desc())
        .label("rank")
    )
    alive = (
        select(tables.stm_records, rank)
        .where(_records.persona_id == bindparam("persona_id"), or_(here, elsewhere), ~ASKED.record)
        .subquery()
    )
    return select(alive).where(alive.c.rank <= MAX_OTHERS)


# made once: every turn asks them, and putting the first together costs more than asking it
_NEWEST_RECORDS = _newest_records()
_ENTRIES_OF_RECORDS = (
    select(tables.stm_entries)
    .where(
        _entries.persona_id == bindparam("persona_id"),
        tuple_(_entries.scope, _entries.channel_id).in_(bindparam("keys", expanding=True)),
        ~ASKED.entry,
    )
    .order_by(_entries.at, _entries.turn_id, _entries.position)
)


def utc_now() -> datetime:
    return datetime.now(UTC)


class ShortTermMemories:
    def __init__(
        self,
        database: Database,
        vault: Vault,
        clock: Callable[[], datetime] = utc_now,
        retention: timedelta = RETENTION,
    ) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock
        self._retention = retention

    async def capture(
        self,
        *,
        turn_id: str,
        server_key: str,
        user_id: str,
        persona_id: int,
        channel_id: str,
        channel_name: str,
        is_private: bool,
        entries: Sequence[StmEntry],
        as_of: datetime | None = None,
    ) -> bool:
        """Add what was said in a turn, oldest first, and count the turn. A summary stays.

        Of a channel's entries the last ten stay. A turn is captured once, however often this is
        called. What the channel was cleared after does not come back: an entry that is older, an
        answer to one, and everything of a turn whose trigger, written at `as_of`, is older. Returns
        whether anything was stored.
        """
        now = self._clock()
        said = [fitting(entry, now) for entry in entries][-MAX_ENTRIES:]

        async def work(connection: AsyncConnection) -> bool:
            await self._alone(connection, server_key, channel_id)
            first = (
                self._database.insert(tables.stm_turns)
                .values(turn_id=turn_id, captured_at=now)
                .on_conflict_do_nothing(index_elements=["turn_id"])
            )
            if (await connection.execute(first)).rowcount < 1:
                return False
            cleared_at = await _cleared_at(connection, server_key, channel_id)
            if _is_over(cleared_at, as_of):
                return False
            kept = [
                entry
                for entry in _after(cleared_at, said)
                if entry.text.strip() and entry.at > now - CRUDE_LIFETIME
            ]
            if not kept:
                return False
            for place in _places(server_key, user_id, persona_id, channel_id):
                await purge_place(connection, place, self._expired(now))
                await self._count(connection, place, server_key, channel_name, is_private, now)
                await self._add(connection, place, server_key, turn_id, kept)
            await _mark(connection, server_key, channel_id, is_private)
            return True

        return await self._database.write(work)

    async def summarise(
        self,
        *,
        server_key: str,
        user_id: str,
        persona_id: int,
        channel_id: str,
        channel_name: str,
        is_private: bool,
        values: Mapping[str, str],
        as_of: datetime | None = None,
    ) -> bool:
        """Replace parts of the summary (an empty text takes its part away), and count turns from 0
        again. `as_of` as in `capture`. Returns whether it was stored."""
        now = self._clock()
        if not values:
            return False

        async def work(connection: AsyncConnection) -> bool:
            await self._alone(connection, server_key, channel_id)
            if _is_over(await _cleared_at(connection, server_key, channel_id), as_of):
                return False
            for place in _places(server_key, user_id, persona_id, channel_id):
                await purge_place(connection, place, self._expired(now))
                before = (
                    await connection.execute(_at(place, select(_records.summary)))
                ).scalar_one_or_none()
                summary = merged(open_summary(self._vault, place, before), values)
                written = {
                    "server_key": server_key,
                    "is_private": is_private,
                    "channel_name": seal_name(self._vault, place, channel_name),
                    "summary": seal_summary(self._vault, place, summary),
                    "summary_at": now if summary else None,
                    "turns_since_update": 0,
                    "touched_at": now,
                }
                # that the channel has become open is for a turn's capture to say, which comes last
                private = or_(_records.is_private, literal(is_private))
                await connection.execute(
                    self._database.insert(tables.stm_records)
                    .values(**place.key, **written)
                    .on_conflict_do_update(
                        index_elements=list(place.key), set_={**written, "is_private": private}
                    )
                )
            if is_private:
                await _mark(connection, server_key, channel_id, is_private)
            return True

        return await self._database.write(work)

    async def load(
        self,
        *,
        server_key: str,
        user_id: str,
        persona_id: int,
        channel_id: str,
        other_servers: bool,
    ) -> tuple[StmRecord | None, list[StmRecord]]:
        """This channel's record, and those of others, newest first. Nothing in them has expired.

        Others are channels of this server; with `other_servers` also those elsewhere, direct
        messages among them, in which this very member spoke with the persona. Private ones are
        among them and say so: whether they may be shown here is for the caller.
        """
        expired = self._expired(self._clock())
        values = {
            "server_key": server_key,
            "scope": _places(server_key, user_id, persona_id, channel_id)[-1].scope,
            "member": _member(server_key, user_id) if other_servers else None,
            "persona_id": persona_id,
            "channel_id": channel_id,
            **expired.parameters,
        }

        async def work(connection: AsyncConnection) -> list[StmRecord]:
            rows = (await connection.execute(_NEWEST_RECORDS, values)).all()
            if not rows:
                return []
            said = await self._said(connection, persona_id, rows, expired)
            return [self._record(row, said.get((row.scope, row.channel_id), [])) for row in rows]

        found = [record for record in await self._database.read(work) if _has_text(record)]
        found.sort(key=_age, reverse=True)
        return (
            next((record for record in found if record.channel_id == channel_id), None),
            [record for record in found if record.channel_id != channel_id],
        )

    async def clear_channel(self, server_key: str, channel_id: str) -> None:
        """Forget everything of a channel, of all personas and for everybody, up to this moment."""
        now = self._clock()

        async def work(connection: AsyncConnection) -> None:
            await self._alone(connection, server_key, channel_id)
            for table in (tables.stm_entries, tables.stm_records):
                await connection.execute(
                    delete(table).where(
                        table.c.server_key == server_key, table.c.channel_id == channel_id
                    )
                )
            await connection.execute(
                self._database.insert(tables.stm_clears)
                .values(server_key=server_key, channel_id=channel_id, cleared_at=now)
                .on_conflict_do_update(
                    index_elements=["server_key", "channel_id"],
                    set_={"cleared_at": now},
                    where=_clears.cleared_at < now,
                )
            )

        await self._database.write(work)

    async def expire(self, now: datetime | None = None) -> int:
        """Delete what has expired at `now` (default: now). Returns how many rows went."""
        return await purge(self._database, self._expired(now or self._clock()))

    def _expired(self, now: datetime) -> Expired:
        return Expired.at(now, self._retention)

    async def _alone(self, connection: AsyncConnection, server_key: str, channel_id: str) -> None:
        await self._database.alone(connection, lock_of("short-term", server_key, channel_id))

    async def _count(
        self,
        connection: AsyncConnection,
        place: Place,
        server_key: str,
        channel_name: str,
        is_private: bool,
        now: datetime,
    ) -> None:
        written = {
            "server_key": server_key,
            "is_private": is_private,
            "channel_name": seal_name(self._vault, place, channel_name),
            "touched_at": now,
        }
        await connection.execute(
            self._database.insert(tables.stm_records)
            .values(**place.key, **written, turns_since_update=1)
            .on_conflict_do_update(
                index_elements=list(place.key),
                set_={**written, "turns_since_update": _records.turns_since_update + 1},
            )
        )

    async def _add(
        self,
        connection: AsyncConnection,
        place: Place,
        server_key: str,
        turn_id: str,
        said: Sequence[StmEntry],
    ) -> None:
        rows = [
            {
                **place.key,
                "turn_id": turn_id,
                "position": position,
                "server_key": server_key,
                "entry": seal_entry(self._vault, place, turn_id, position, entry),
                "at": entry.at,
            }
            for position, entry in enumerate(said)
        ]
        await connection.execute(self._database.insert(tables.stm_entries), rows)
        here = [_entries[name] == value for name, value in place.key.items()]
        newest = (
            select(_entries.turn_id, _entries.position)
            .where(*here)
            .order_by(_entries.at.desc(), _entries.turn_id.desc(), _entries.position.desc())
            .limit(MAX_ENTRIES)
        )
        await connection.execute(
            delete(tables.stm_entries).where(
                *here, tuple_(_entries.turn_id, _entries.position).not_in(newest)
            )
        )

    async def _said(
        self,
        connection: AsyncConnection,
        persona_id: int,
        records: Sequence[Row[Any]],
        expired: Expired,
    ) -> dict[tuple[str, str], list[StmEntry]]:
        """The entries of `records` by scope and channel, oldest first."""
        values = {
            "persona_id": persona_id,
            "keys": [(record.scope, record.channel_id) for record in records],
            **expired.parameters,
        }
        said: dict[tuple[str, str], list[StmEntry]] = {}
        for row in await connection.execute(_ENTRIES_OF_RECORDS, values):
            entry = open_entry(self._vault, _place(row), row.turn_id, row.position, row.entry)
            if entry is not None:
                said.setdefault((row.scope, row.channel_id), []).append(entry)
        return said

    def _record(self, row: Row[Any], entries: list[StmEntry]) -> StmRecord:
        place = _place(row)
        summary_at = row.summary_at
        summary = open_summary(self._vault, place, row.summary)
        if summary_at is None or summary_at <= self._clock() - self._retention:
            summary = {}
        return StmRecord(
            channel_id=row.channel_id,
            channel_name=open_name(self._vault, place, row.channel_name),
            is_private=row.is_private,
            server_key=row.server_key,
            entries=entries,
            summary=summary,
            summary_at=summary_at if summary else None,
            newest_at=entries[-1].at if entries else None,
            turns_since_update=row.turns_since_update,
        )


def _member(server_key: str, user_id: str) -> str | None:
    """The scope of a member; of direct messages it is whom they are with. None where the turn is
    nobody's: such turns are not one person's memory."""
    if server_key.startswith(_DM_KEY):
        user_id = server_key.removeprefix(_DM_KEY)
    return member_scope(user_id) if user_id else None


def _places(server_key: str, user_id: str, persona_id: int, channel_id: str) -> list[Place]:
    """Where a record stands. The last is the one that this channel reads."""
    scopes = [_member(server_key, user_id)]
    if not server_key.startswith(_DM_KEY):
        scopes.append(f"{SERVER_SCOPE}{server_key}")
    return [Place(scope, persona_id, channel_id) for scope in scopes if scope]


def _place(row: Row[Any]) -> Place:
    return Place(row.scope, row.persona_id, row.channel_id)


def _at(place: Place, query: Select[Any]) -> Select[Any]:
    return query.where(*(_records[name] == value for name, value in place.key.items()))


async def _cleared_at(
    connection: AsyncConnection, server_key: str, channel_id: str
) -> datetime | None:
    query = select(_clears.cleared_at).where(
        _clears.server_key == server_key, _clears.channel_id == channel_id
    )
    return (await connection.execute(query)).scalar_one_or_none()


async def _mark(
    connection: AsyncConnection, server_key: str, channel_id: str, is_private: bool
) -> None:
    """Who may see a channel changes; that holds for all copies of what was said there."""
    await connection.execute(
        update(tables.stm_records)
        .where(
            _records.server_key == server_key,
            _records.channel_id == channel_id,
            _records.is_private.is_not(is_private),
        )
        .values(is_private=is_private)
    )


def _is_over(cleared_at: datetime | None, as_of: datetime | None) -> bool:
    return cleared_at is not None and as_of is not None and as_of <= cleared_at


def _after(cleared_at: datetime | None, entries: Sequence[StmEntry]) -> list[StmEntry]:
    """Those of after the clear; an answer is as old as what it answers."""
    if cleared_at is None:
        return list(entries)
    kept: list[StmEntry] = []
    asked_at: datetime | None = None
    for entry in entries:
        if not entry.is_persona:
            asked_at = entry.at
        if (asked_at or entry.at) > cleared_at:
            kept.append(entry)
    return kept


def _has_text(record: StmRecord) -> bool:
    return bool(record.entries or record.summary)


def _age(record: StmRecord) -> datetime:
    times = [time for time in (record.newest_at, record.summary_at) if time is not None]
    return max(times)
