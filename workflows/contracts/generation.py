"""turn ──► worker ──► turn: one call of the model, and the segments it signals while it streams."""

from __future__ import annotations

from enum import StrEnum

from workflows.contracts.base import ActivityStub, Contract
from workflows.contracts.context import ToolSet
from workflows.contracts.tools import TranscriptEntry


class StreamStatus(StrEnum):
    """How a model call, and in the end a turn, came out (behaviour 6.4)."""

    COMPLETED = "completed"
    FUNCTION_CALL = "function_call"
    EMPTY_RESPONSE = "empty_response"
    ERROR = "error"
    TIMEOUT = "timeout"
    STOPPED_BY_USER = "stopped_by_user"
    FOLLOW_UP_INTERRUPT = "follow_up_interrupt"


class ErrorType(StrEnum):
    """behaviour 6.8, normalised chunk."""

    API_ERROR = "api_error"
    RATE_LIMIT = "rate_limit"
    CONTENT_BLOCKED = "content_blocked"
    TIMEOUT = "timeout"
    PROVIDER_OVERLOADED = "provider_overloaded"
    MODEL_ERROR = "model_error"


class ModelError(Contract):
    type: ErrorType
    message: str
    """For the operator: one line, no key, no request or response body."""
    member_message: str = ""
    """For the channel: one plain sentence."""
    retryable: bool = False
    code: int | None = None
    """HTTP status, where there was one."""


class FunctionCall(Contract):
    """One tool call as the model made it."""

    call_id: str
    name: str
    arguments: str = "{}"
    """JSON text exactly as it arrived, or `{}` where it was too long to keep."""
    arrived: list[str] = []
    """Of truncated arguments, the tool's parameters that did arrive; names only, at most 20."""
    cut_by: str = ""
    """Of truncated arguments, the cause, as it reads after "because": `the answer reached its
    length limit`."""
    requires_follow_up: bool = True
    """The model is to speak after the tool: an empty answer then is a fault (behaviour 6.4)."""
    ends_turn: bool = False
    """Success after visible text ends the turn (behaviour 6.4)."""
    truncated: bool = False
    """The stream ended by length, the JSON is incomplete, or it was too long to keep: never to be
    dispatched, and replayed without arguments."""
    refusal: str | None = None
    """JSON text for the model when the registry knows already that the call cannot be dispatched:
    an unknown name, or arguments that do not fit the tool's schema."""
    summary: str = ""
    """A few words for the Temporal UI, such as `fetch_url example.org`: no content, no secret."""
    task_queue: str | None = None
    """Where the tool runs; None: the turns queue."""


class Usage(Contract):
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class ModelRequest(Contract):
    """Ids in. The size does not depend on how long the turn already is."""

    turn_id: str
    call_index: int
    """0, 1, 2, … within the turn; with the attempt it numbers the segments' origin."""
    context_id: str
    transcript_length: int = 0
    """How many entries of this turn's transcript are stored already."""
    new_entries: list[TranscriptEntry] = []
    """Entries to append at `transcript_length` before calling; at most one iteration's."""
    tools: ToolSet = ToolSet()
    """What is offered, before `withheld`."""
    withheld: list[str] = []
    """Tools that this turn has used up: a second memory update, a second restart."""


class Segment(Contract):
    """A piece of visible text, cut where a reader would pause (a paragraph, a whole code block)."""

    sequence: int
    """0, 1, 2, … within (call_index, attempt)."""
    text: str


class SegmentBatch(Contract):
    call_index: int
    attempt: int
    """The activity's attempt, from 1."""
    segments: list[Segment] = []


SEGMENTS_SIGNAL = "segments"
"""Signal of `TurnWorkflow` that carries a `SegmentBatch`."""


class ModelResult(Contract):
    status: StreamStatus
    """completed, function_call, empty_response, error or timeout."""
    attempt: int = 1
    segments_signalled: int = 0
    """How many segments of this attempt went out by signal."""
    tail: list[Segment] = []
    """Text that had not been signalled when the stream ended; it follows the signalled ones.
    It travels in the result since a signal more would be a round trip more."""
    calls: list[FunctionCall] = []
    response_id: str | None = None
    """Blob id of the model's whole response in `storage`, to be replayed in the next call."""
    visible_chars: int = 0
    details: str = ""
    """What stood in `<details>`: for memory, never for the channel (behaviour 6.7)."""
    finish_reason: str | None = None
    error: ModelError | None = None
    usage: Usage = Usage()
    provider: str = ""
    model: str = ""
    first_chunk_ms: float | None = None
    """From the call to the provider's first progress of any kind; None when there was none."""
    duration_ms: float = 0


CALL_MODEL = ActivityStub("call_model", ModelRequest, ModelResult)
