"""What is recorded when a turn is over (behaviour 6.9)."""

from __future__ import annotations

from temporalio import activity

from storage import Storage
from workflows.contracts.delivery import Nothing
from workflows.contracts.effects import FINISH_TURN, FinishRequest


class EffectsActivities:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @activity.defn(name=FINISH_TURN.name)
    async def finish_turn(self, request: FinishRequest) -> Nothing:
        """Idempotent by turn; what the turn consumed has been booked by its model calls."""
        await self._storage.turns.finish(request)
        return Nothing()
