"""Which turns run when a session begins, asked of Temporal.

For: a bot that has just started knows of no turn, and one whose model thinks or whose tools run
tells it nothing, so nobody could stop it in words. In: what Temporal lists. Out: `ActiveTurns`.
What always holds: Temporal being away holds nobody up for longer than LISTED_WITHIN. While a turn
runs whose owner is not known, everybody's words in its channel are told to the channel, so it is
looked for again until it is over or has told its owner itself.
"""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta

import structlog
from temporalio.client import Client
from temporalio.service import RPCError

from bot.active_turns import ActiveTurns, RunningTurn
from workflows.contracts.invocation import TURN_WORKFLOW

log = structlog.get_logger(__name__)

LISTED_WITHIN = timedelta(seconds=3)
LOOK_EVERY = 5.0
"""Seconds."""
AT_MOST = 10_000

_QUERY = f"WorkflowType = '{TURN_WORKFLOW}' AND ExecutionStatus = 'Running'"
_TURN = re.compile(r"turn/(?P<channel>[0-9]+)/[0-9]+/(?P<persona>[0-9]+)(/[0-9]+)?")
"""`turn_workflow_id`."""


class RunningTurns:
    def __init__(self, temporal: Client, turns: ActiveTurns) -> None:
        self._temporal = temporal
        self._turns = turns
        self._is_known = False

    async def look(self) -> None:
        """Ask once. A Temporal that is away is logged; `keep_looking` asks again."""
        self._is_known = False
        try:
            async with asyncio.timeout(LISTED_WITHIN.total_seconds()):
                found = [
                    turn
                    async for execution in self._temporal.list_workflows(_QUERY, limit=AT_MOST)
                    if (turn := turn_of(execution.id)) is not None
                ]
        except (RPCError, TimeoutError) as error:
            log.warning(
                "which turns run is not known: Temporal does not answer",
                error=str(error) or type(error).__name__,
            )
            return
        self._is_known = True
        self._turns.listed(found)

    async def keep_looking(self) -> None:
        """For ever, as long as it is needed."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if not self._is_known or self._turns.owners_unknown:
                await self.look()


def turn_of(workflow_id: str) -> RunningTurn | None:
    """None: it is no turn's id."""
    found = _TURN.fullmatch(workflow_id)
    if found is None:
        return None
    return RunningTurn(found["channel"], workflow_id, int(found["persona"]))
