"""Which tools were used, by turn: one row for each turn and tool, summed when somebody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.cleaned import cleaned
from storage.database import Database

MAX_NAME_LENGTH = 80

_columns = tables.tool_uses.c


class Counters:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def tools_used(self, turn_id: str, server_key: str, names: Iterable[str]) -> None:
        """Record the tools of a turn, one name for each use. Repeated, it changes nothing; after a
        turn was reset and ended differently, the last end stands."""
        now = datetime.now(UTC)
        uses = Counter(cleaned(name, MAX_NAME_LENGTH) for name in names)
        rows = [
            {
                "turn_id": turn_id,
                "tool": tool,
                "server_key": server_key,
                "uses": count,
                "created_at": now,
            }
            for tool, count in sorted(uses.items())
        ]

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                delete(tables.tool_uses).where(
                    _columns.turn_id == turn_id, _columns.tool.not_in(list(uses))
                )
            )
            for row in rows:
                await connection.execute(
                    self._database.insert(tables.tool_uses)
                    .values(row)
                    .on_conflict_do_update(
                        index_elements=["turn_id", "tool"], set_={"uses": row["uses"]}
                    )
                )

        await self._database.write(work)

    async def totals(self, server_key: str) -> dict[str, int]:
        """How often each tool was used in a server, by name."""
        query = (
            select(_columns.tool, func.sum(_columns.uses))
            .where(_columns.server_key == server_key)
            .group_by(_columns.tool)
            .order_by(_columns.tool)
        )

        async def work(connection: AsyncConnection) -> dict[str, int]:
            return {tool: int(uses) for tool, uses in await connection.execute(query)}

        return await self._database.read(work)
