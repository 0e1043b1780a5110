"""turn ──► worker: one tool call, and what the transcript keeps of it."""

from __future__ import annotations

from workflows.contracts.base import ActivityStub, Contract


class ToolContext(Contract):
    """What every tool receives beside its arguments. What is live elsewhere is an id here."""

    turn_id: str
    guild_id: str | None = None
    channel_id: str = ""
    trigger_message_id: str = ""
    user_id: str = ""
    user_name: str = ""
    persona_id: int = 0
    provider: str = ""
    iteration: int = 0
    suppress_progress_notices: bool = False


class ToolRequest(Contract):
    call_id: str
    name: str
    arguments: str
    """JSON text, complete."""
    context: ToolContext


class ToolResult(Contract):
    """What the model will read. Inline while small, else a blob with its head inline."""

    call_id: str
    name: str
    success: bool
    content: str = ""
    """JSON text of at most `INLINE_RESULT_LIMIT` code points."""
    content_id: str | None = None
    """Blob id of the whole result, when `content` is only its head."""
    duration_ms: float = 0


INLINE_RESULT_LIMIT = 4_000
"""Code points of a tool result that may stand in a history; the rest is in `storage`."""


class TranscriptEntry(Contract):
    """One iteration of the tool loop: the model's response, and the results of its calls."""

    response_id: str
    results: list[ToolResult] = []
    cleared_call_ids: list[str] = []
    """Calls whose arguments arrived truncated; they are replayed without arguments."""


RUN_TOOL = ActivityStub("run_tool", ToolRequest, ToolResult)
