"""channel ──► worker: which personas answer an admitted message."""

from __future__ import annotations

from workflows.contracts.base import ActivityStub, Contract
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.turn import TurnLimits


class PlannedTurn(Contract):
    persona_id: int
    """Row id in the database, at most 36**4 - 1 (it has four places in a message's nonce)."""
    persona_name: str


class TurnPlan(Contract):
    turns: list[PlannedTurn] = []
    """In the order they run. Empty: nobody answers."""
    limits: TurnLimits = TurnLimits()
    provider: str = ""
    model: str = ""
    """Who will be asked; what a turn shows until it has been answered."""


PLAN_TURNS = ActivityStub("plan_turns", ChatIncoming, TurnPlan)
