"""turn ──► worker: build the prompt once per turn. The context goes to `storage`."""

from __future__ import annotations

from workflows.contracts.base import ActivityStub, Contract
from workflows.contracts.invocation import ChatIncoming


class ContextRequest(Contract):
    turn_id: str
    persona_id: int
    history_id: str
    invocation: ChatIncoming
    is_queued: bool = False


class ContextRef(Contract):
    context_id: str
    """Blob id of the built context in `storage`."""
    items: int = 0
    tokens_estimate: int = 0
    build_ms: float = 0


BUILD_CONTEXT = ActivityStub("build_context", ContextRequest, ContextRef)
