"""One row for each turn that is over."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import AwareDatetime
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database
from workflows.contracts.effects import FinishRequest


class TurnRecord(FinishRequest):
    """How a turn ended, and when that was first recorded."""

    finished_at: AwareDatetime


class Turns:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def finish(self, request: FinishRequest) -> None:
        """Record the end of a turn. Repeated, it changes nothing; after a turn was reset and ended
        differently, the last end stands."""
        outcome = {
            "guild_id": request.guild_id,
            "channel_id": request.channel_id,
            "persona_id": request.persona_id,
            "trigger_message_id": request.trigger_message_id,
            "user_id": request.user_id,
            "status": request.status.value,
            "iterations": request.iterations,
            "messages_sent": request.messages_sent,
            # PostgreSQL's text cannot hold U+0000, and a provider's error may
            "error": request.error.replace("\0", "") if request.error is not None else None,
        }
        statement = (
            self._database.insert(tables.turns)
            .values(turn_id=request.turn_id, finished_at=datetime.now(UTC), **outcome)
            .on_conflict_do_update(index_elements=["turn_id"], set_=outcome)
        )
        await self._database.write(lambda connection: connection.execute(statement))

    async def get(self, turn_id: str) -> TurnRecord | None:
        """The record of a turn; None while it has not ended, or when it is not known here."""
        query = select(tables.turns).where(tables.turns.c.turn_id == turn_id)

        async def work(connection: AsyncConnection) -> TurnRecord | None:
            row = (await connection.execute(query)).one_or_none()
            return None if row is None else TurnRecord.model_validate(dict(row._mapping))

        return await self._database.read(work)
