"""Who answers: the personas that a message addresses, or else the main one (behaviour 5)."""

from __future__ import annotations

from temporalio import activity

from activities.reminders.standing import still_stands
from storage import Storage
from workflows.contracts.planning import PLAN_TURNS, PlannedTurn, PlanRequest, TurnPlan
from workflows.contracts.turn import TurnLimits


class PlanningActivities:
    def __init__(
        self,
        storage: Storage,
        limits: TurnLimits | None = None,
        provider: str = "",
        model: str = "",
    ) -> None:
        """`limits`, `provider` and `model` are this worker's; every plan carries them."""
        self._storage = storage
        self._limits = limits or TurnLimits()
        self._provider = provider
        self._model = model

    @activity.defn(name=PLAN_TURNS.name)
    async def plan_turns(self, request: PlanRequest) -> TurnPlan:
        """One query or two, so that it can run as a local activity.

        A persona that was selected answers alone. Else the order is that of `persona_ids`, each at
        most once; ids that do not live in this server are left out, and with none left the main
        persona answers. The plan is empty where no persona exists, and for a reminder that is gone.
        """
        invocation = request.invocation
        if not await still_stands(self._storage, invocation):
            activity.logger.info("the reminder of message %s is gone", invocation.message_id)
            return TurnPlan()
        here = await self._storage.personas.all(invocation.guild_id)
        if not here:
            activity.logger.warning(
                "no persona exists: the worker reads the persona files at start"
            )
            return TurnPlan()
        by_id = {persona.id: persona for persona in here}
        addressed = [by_id[id_] for id_ in dict.fromkeys(invocation.persona_ids) if id_ in by_id]
        if invocation.selected_persona_id in by_id:
            addressed = [by_id[invocation.selected_persona_id]]
        main = [persona for persona in here if persona.is_main]
        return TurnPlan(
            turns=[
                PlannedTurn(persona_id=persona.id, persona_name=persona.name)
                for persona in addressed or main
            ],
            limits=self._limits,
            provider=self._provider,
            model=self._model,
        )
