"""channel ──► turn, and what each keeps of the other."""

from __future__ import annotations

from workflows.contracts.base import Contract
from workflows.contracts.generation import StreamStatus, Usage
from workflows.contracts.invocation import ChatIncoming, Source


class TurnLimits(Contract):
    """How far a turn may go (behaviour 6.4). The worker's settings, taken when it is planned."""

    tool_timeout_seconds: float = 300
    """Start-to-close of one tool call, fresh for each; at least 10."""
    max_iterations: int = 100
    """Model calls in one turn."""
    max_consecutive_errors: int = 5
    """Failed tool calls in a row."""
    max_segments: int = 40
    """Segments of one model call (behaviour 18, MAX_FLUSH_COUNT)."""


class TurnInput(Contract):
    invocation: ChatIncoming
    persona_id: int
    persona_name: str
    source: Source = Source.MESSAGE
    generation: int = 0
    omit_message_ids: list[str] = []
    limits: TurnLimits = TurnLimits()
    provider: str = ""
    model: str = ""

    @property
    def is_queued(self) -> bool:
        """Whether the message waited behind another turn; its answer is then a native reply."""
        return self.source is Source.QUEUE


class TurnResult(Contract):
    status: StreamStatus
    messages_sent: int = 0
    iterations: int = 0
    usage: Usage = Usage()


class QueueEntry(Contract):
    """An accepted message that waits for its turn."""

    invocation: ChatIncoming
    source: Source = Source.MESSAGE


class ChannelState(Contract):
    """All that a channel carries through continue-as-new."""

    queue: list[QueueEntry] = []
    seen_message_ids: list[str] = []
    """Newest last, bounded: gateway events that Discord repeats are answered once."""


class ChannelInput(Contract):
    channel_id: str
    state: ChannelState = ChannelState()
    idle_seconds: float = 3600
    """The channel closes after this long without a message; signal-with-start opens it again."""
    continue_after_turns: int = 0
    """For tests: continue as new after so many turns. 0: when the server suggests it."""
