"""What a member wants forgotten: all that short-term memory holds of their turns.

In: the member, within a write. Changes: their own records go; of the records of servers, the
entries of their turns, what they said and what was answered, and the summaries of where they spoke,
in which nobody can tell their words apart. Each of those has a twin under the member, which lives
as long as it, so nothing needs to be opened; only of a summary that others' turns have kept alive
for a day without them it is not known any more.
"""

from __future__ import annotations

from sqlalchemy import delete, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.short_term.models import SERVER_SCOPE, member_scope

_entries = tables.stm_entries.c
_records = tables.stm_records.c


async def forget_member(connection: AsyncConnection, user_id: str) -> None:
    scope = member_scope(user_id)
    turns = select(_entries.persona_id, _entries.channel_id, _entries.turn_id).where(
        _entries.scope == scope
    )
    places = select(_records.persona_id, _records.channel_id).where(_records.scope == scope)
    for statement in (
        delete(tables.stm_entries).where(
            tuple_(_entries.persona_id, _entries.channel_id, _entries.turn_id).in_(turns)
        ),
        update(tables.stm_records)
        .where(
            _records.scope.startswith(SERVER_SCOPE),
            tuple_(_records.persona_id, _records.channel_id).in_(places),
        )
        .values(summary=None, summary_at=None),
        delete(tables.stm_records).where(_records.scope == scope),
    ):
        await connection.execute(statement)
