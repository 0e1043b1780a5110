"""What each model call consumed. A turn's usage is the sum over its calls and their attempts."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database
from workflows.contracts.generation import Usage


class UsageBook:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def book(
        self,
        turn_id: str,
        call_index: int,
        attempt: int,
        provider: str,
        model: str,
        usage: Usage,
        status: str,
        duration_ms: float,
    ) -> None:
        """Record one attempt of one call. Booked again, it is replaced and not added."""
        numbers = {
            "provider": provider,
            "model": model,
            "status": status,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
            "duration_ms": duration_ms,
        }
        statement = (
            self._database.insert(tables.model_calls)
            .values(
                turn_id=turn_id,
                call_index=call_index,
                attempt=attempt,
                created_at=datetime.now(UTC),
                **numbers,
            )
            .on_conflict_do_update(
                index_elements=["turn_id", "call_index", "attempt"], set_=numbers
            )
        )
        await self._database.write(lambda connection: connection.execute(statement))

    async def total(self, turn_id: str) -> Usage:
        """The sum of what is booked for a turn.

        The cost is that of the calls whose price is known, and None when no price is.
        """
        calls = tables.model_calls.c
        query = select(
            func.coalesce(func.sum(calls.input_tokens), 0),
            func.coalesce(func.sum(calls.output_tokens), 0),
            func.sum(calls.cost_usd),
        ).where(calls.turn_id == turn_id)

        async def work(connection: AsyncConnection) -> Usage:
            input_tokens, output_tokens, cost = (await connection.execute(query)).one()
            # PostgreSQL sums integers to a decimal
            return Usage(
                input_tokens=int(input_tokens), output_tokens=int(output_tokens), cost_usd=cost
            )

        return await self._database.read(work)
