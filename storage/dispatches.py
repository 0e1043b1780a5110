"""Which tool calls were dispatched: one row for each, so that none is ever carried out twice.

The activity that runs a tool is attempted once, but a workflow that an operator resets schedules it
again, as another activity of another run. What both have in common is the call's place in its turn.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database

_columns = tables.tool_dispatches.c


class Dispatches:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._take = database.insert(tables.tool_dispatches).on_conflict_do_nothing(
            index_elements=["turn_id", "iteration", "position"]
        )

    async def claim(self, turn_id: str, iteration: int, position: int) -> bool:
        """Take a call, named by its place in its turn; False when somebody has taken it before.

        Raises StorageError: then it is not known, and the call must not be carried out.
        """
        place = {"turn_id": turn_id, "iteration": iteration, "position": position}
        token = secrets.token_hex(16)
        row = {**place, "token": token, "created_at": datetime.now(UTC)}

        async def work(connection: AsyncConnection) -> bool:
            if (await connection.execute(self._take, row)).rowcount > 0:
                return True
            # an earlier attempt of this write may have been stored although its answer was lost
            holder = select(_columns.token).filter_by(**place)
            return (await connection.execute(holder)).scalar_one() == token

        return await self._database.write(work)
