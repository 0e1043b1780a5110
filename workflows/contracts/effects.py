"""turn ──► worker: what is recorded when a turn is over."""

from __future__ import annotations

from workflows.contracts.base import ActivityStub, Contract
from workflows.contracts.delivery import Nothing
from workflows.contracts.generation import StreamStatus
from workflows.contracts.invocation import Origin


class FinishRequest(Contract):
    """Idempotent by `turn_id`. Usage is not in it: each model call has booked its own."""

    turn_id: str
    guild_id: str | None = None
    channel_id: str
    persona_id: int
    trigger_message_id: str
    user_id: str
    status: StreamStatus
    iterations: int = 0
    messages_sent: int = 0
    error: str | None = None
    """For the operator, without content."""
    is_dm: bool = False
    is_private: bool = False
    """`HistoryRef.is_private`."""
    origin: Origin = Origin.MESSAGE
    channel_name: str = ""
    persona_name: str = ""
    user_name: str = ""
    author_persona_id: int | None = None
    """The persona that said what was answered, where it was no person."""
    user_text: str = ""
    """What was answered, for short-term memory; with `reply_text` the only content here. It is
    the argument of a local activity, which stands in no history."""
    reply_text: str = ""
    """What the persona said, all segments."""
    details_text: str = ""
    """What it wrote in `<details>`, which no channel shows."""
    quota_key: str | None = None
    """What the text quota is charged for, once; None: it is not charged (behaviour 5.4)."""
    tools_succeeded: list[str] = []
    """One name for each successful call."""


FINISH_TURN = ActivityStub("finish_turn", FinishRequest, Nothing)
