"""Nobody answers, and why."""

from __future__ import annotations

from workflows.contracts.invocation import DIRECT, ChatIncoming
from workflows.contracts.planning import PlanReason, PlanRefusal


def silent(reason: PlanReason) -> PlanRefusal:
    return PlanRefusal(reason=reason)


def told(
    reason: PlanReason, message: ChatIncoming, notice: str, *, by_direct_message: bool = False
) -> PlanRefusal:
    """With a notice to the author, unless they asked nobody: whoever only talks in a channel that
    personas listen to is not told of rules (behaviour 2.6)."""
    if not (message.addressed in DIRECT or message.is_manual):
        return silent(reason)
    return PlanRefusal(reason=reason, notice=notice, by_direct_message=by_direct_message)
