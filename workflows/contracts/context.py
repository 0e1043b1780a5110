"""turn ──► worker: build the prompt once per turn. The context goes to `storage`."""

from __future__ import annotations

from enum import StrEnum

from workflows.contracts.base import ActivityStub, Contract
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.tools import Situation


class ContextRequest(Contract):
    turn_id: str
    persona_id: int
    history_id: str
    invocation: ChatIncoming
    is_queued: bool = False
    provider: str = ""
    """Who will be asked: not every provider is offered every tool."""
    is_private: bool = False
    """`HistoryRef.is_private`."""
    own_permissions: list[str] = []
    retained_tools: list[str] = []


class ExposureSource(StrEnum):
    """Why deliberate tool mode offers a tool (behaviour 8)."""

    TRIGGER = "trigger"
    INTENT = "intent"
    FOLLOW_UP = "follow_up"
    RECENT = "recent"
    """Intended, or used with success, in the last turns."""
    MEDIA = "media"
    AUTONOMOUS = "autonomous"


class Exposure(Contract):
    tool: str
    source: ExposureSource
    phrase: str = ""
    """The words, or the pattern, that matched; at most 40 code points."""


class ToolSet(Contract):
    """Which tools this turn has. Applied to declarations, to names from MCP servers, to macros in
    prompts, and again at dispatch."""

    deliberate: bool = False
    """Whether deliberate tool mode is active."""
    allowed: list[str] = []
    """With `deliberate`, these and no others; empty means none."""
    exposed: list[Exposure] = []
    unavailable: list[str] = []
    """Known tools that this turn's context withholds (a setting, a permission), whatever the
    mode."""
    lasting: list[str] = []
    """Allowed tools that do not end the turn although they otherwise would (behaviour 6.1.1)."""

    def allows(self, name: str) -> bool:
        """As far as deliberate mode is concerned."""
        return not self.deliberate or name in self.allowed


class NoticeStyle(StrEnum):
    """What the channel shows of a tool's work (behaviour 10)."""

    HIDDEN = "hidden"
    MINIMAL = "minimal"
    VERBOSE = "verbose"


class ContextRef(Contract):
    context_id: str
    """Blob id of the built context in `storage`."""
    tools: ToolSet = ToolSet()
    situation: Situation = Situation()
    retain_for: int = 0
    """`deliberate_tool_context_turns`; 0 while the mode is off."""
    notices: NoticeStyle = NoticeStyle.MINIMAL
    log_channel_id: str | None = None
    """The server's thought log; None: hidden notices vanish."""
    items: int = 0
    tokens_estimate: int = 0
    build_ms: float = 0


BUILD_CONTEXT = ActivityStub("build_context", ContextRequest, ContextRef)
