"""channel ──► turn, and what each keeps of the other."""

from __future__ import annotations

from workflows.contracts.base import Contract
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.generation import StreamStatus, Usage
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import ChatIncoming, Source


class TurnLimits(Contract):
    """How far a turn may go (behaviour 6.4). The worker's settings, taken when it is planned."""

    tool_timeout_seconds: float = 300
    """Start-to-close of one tool call, fresh for each; at least 10."""
    max_iterations: int = 100
    """Model calls in one turn."""
    max_consecutive_errors: int = 5
    """Failed tool calls in a row."""
    warn_at_iteration: int = 0
    """Iteration at which the channel is told that the turn is still at work (behaviour 6.4); 0:
    never, as in turns that were begun before there was such a notice."""
    max_segments: int = 40
    """Segments of one model call (behaviour 18, MAX_FLUSH_COUNT)."""


class TurnInput(Contract):
    invocation: ChatIncoming
    persona_id: int
    persona_name: str
    voice: Voice = Voice()
    source: Source = Source.MESSAGE
    generation: int = 0
    omit_message_ids: list[str] = []
    limits: TurnLimits = TurnLimits()
    provider: str = ""
    model: str = ""
    retained_tools: list[str] = []
    """Tools that succeeded lately in this channel, and stay on offer (behaviour 8)."""
    retries_left: int = 0
    """How often an empty answer is asked for again: only the last one is told (behaviour 6.9)."""

    @property
    def is_queued(self) -> bool:
        """Whether the message waited behind another turn; its answer is then a native reply."""
        return self.source is Source.QUEUE


class ToolsUsed(Contract):
    """What a turn's tools mean for the next turns of the channel (behaviour 8)."""

    succeeded: list[str] = []
    """Names, each once, in the order of their latest success."""
    retain_for: int = 0
    """`deliberate_tool_context_turns` as this turn found it; 0 while the mode is off."""
    context_built: bool = False
    """Whether this turn counts as one in which earlier tools were on offer."""


class TurnResult(Contract):
    status: StreamStatus
    messages_sent: int = 0
    iterations: int = 0
    usage: Usage = Usage()
    tools: ToolsUsed = ToolsUsed()
    produced_text: bool = False
    """The persona's own words stand in the channel."""
    finish_reason: str | None = None
    """Of the last model call."""


NATURAL_STOP_SIGNAL = "natural_stop"
"""Signal of `TurnWorkflow` without an argument: the member who is being answered asked in words
that it stop (behaviour 2.4). What was said so far is still delivered."""

FOLLOW_UP_SIGNAL = "follow_up"
"""Signal of `TurnWorkflow` without an argument: the member who is being answered has written more,
and that comes next (behaviour 2.3)."""

TOOLS_USED_SIGNAL = "tools_used"
"""Signal of `ChannelWorkflow` with the `ToolsUsed` of a turn that ends without a result, because
it was stopped."""


class QueueEntry(Contract):
    """An accepted message that waits for its turn."""

    invocation: ChatIncoming
    source: Source = Source.MESSAGE
    is_follow_up: bool = False
    """It took the place of an answer to its author (behaviour 2.3)."""


class RetainedTool(Contract):
    """A tool that stays on offer for `turns_left` more turns."""

    name: str
    turns_left: int


class ChannelState(Contract):
    """All that a channel carries through continue-as-new."""

    queue: list[QueueEntry] = []
    dismissed: list[ChatIncoming] = []
    """Messages that lost their turn, and whose sender wants to hear of it."""
    retained_tools: list[RetainedTool] = []
    counters: ChannelCounters = ChannelCounters()
    follow_ups: int = 0
    """Answers in a row that gave way to a follow-up."""
    stopped_before: str = ""
    """Snowflake of the last `/kill` that found something: what was said before it is over."""
    seen_message_ids: list[str] = []
    """Newest last, bounded: gateway events that Discord repeats are answered once."""


DISPOSITION_RULES = 1
"""2026-11-30: what finds a channel locked is disposed of by `workflows.disposition`."""

SIZE_RULES = 2
"""2026-12-01: what waits is measured as continue-as-new carries it."""

STOP_RULES = 3
"""2026-12-01: a stop in words is read as Discord shows the message, with marks, emoji and links."""

LOCK_RULES = STOP_RULES
"""The newest."""


class ChannelInput(Contract):
    channel_id: str
    rules: int = 0
    """Which rules this run was begun under; 0 for one that queues whatever finds it locked, as
    channels did at first. Continue-as-new takes the newest."""
    state: ChannelState = ChannelState()
    idle_seconds: float = 3600
    """The channel closes after this long without a message; signal-with-start opens it again."""
    continue_after_turns: int = 0
    """For tests: continue as new after so many turns. 0: when the server suggests it."""
