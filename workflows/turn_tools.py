"""What a turn knows about its tools: which it may use, which it has used, and what became of them.

In: the `ToolSet` of the built context, then every call's outcome. Out: answers for the steps of
`execute_tool_call`, and the `ToolsUsed` that the channel keeps. Pure.
What always holds: an empty allowed set means no tools; what is withheld stays so to the turn's end.
"""

from __future__ import annotations

from workflows.contracts.context import ContextRef, Exposure, ExposureSource, ToolSet
from workflows.contracts.generation import FunctionCall
from workflows.contracts.tools import (
    REVEAL_MESSAGE_METADATA,
    SELECT_STICKER,
    UPDATE_SHORT_TERM_MEMORY,
    ContextRestart,
    RestartKind,
    StickerChoice,
    ToolResult,
)
from workflows.contracts.turn import ToolsUsed

ONCE_A_TURN = (UPDATE_SHORT_TERM_MEMORY,)
"""Tools that a success withholds for the rest of the turn (behaviour 6.5, step 10)."""

_RESTARTED_BY = {RestartKind.MESSAGE_METADATA: REVEAL_MESSAGE_METADATA}
"""The tool behind each restart: once its flag is set it has nothing more to give."""


class TurnTools:
    def __init__(self, context: ContextRef) -> None:
        self.offered = context.tools.model_copy(update={"exposed": []})
        """For every model call: why a tool is offered does not travel with it."""
        self.withheld: list[str] = []
        self.sticker: StickerChoice | None = None
        """The latest sticker call's choice; None: none, or the latest one missed."""
        self._set: ToolSet = context.tools
        self._retain_for = context.retain_for
        self._succeeded: dict[str, None] = {}
        self.delivered = False
        """A tool has put something into the channel by itself."""
        self.said: list[str] = []
        """What tools have said in the channel in the persona's name."""
        self.calls_succeeded: list[str] = []
        """One name for each successful call."""

    def is_withheld(self, name: str) -> bool:
        return name in self.withheld or name in self._set.unavailable

    def exposed_by_trigger(self, name: str) -> Exposure | None:
        """The trigger that put this tool on offer, where one did (behaviour 6.5, step 8)."""
        for exposure in self._set.exposed:
            if exposure.tool == name and exposure.source is not ExposureSource.AUTONOMOUS:
                return exposure
        return None

    def succeeded(self, call: FunctionCall, result: ToolResult) -> None:
        self.delivered = self.delivered or result.delivered
        if result.said.strip():
            self.said.append(result.said)
        self._succeeded.pop(call.name, None)  # the latest success comes last
        self._succeeded[call.name] = None
        self.calls_succeeded.append(call.name)
        if call.name in ONCE_A_TURN:
            self._withhold(call.name)

    def restarted(self, restart: ContextRestart) -> None:
        self._withhold(_RESTARTED_BY[restart.kind])

    def capture_sticker(self, call: FunctionCall, result: ToolResult) -> None:
        """The latest sticker call wins, and a miss clears (behaviour 6.5, step 11)."""
        if call.name != SELECT_STICKER:
            return
        choice = result.sticker if result.success else None
        self.sticker = choice if choice is not None and choice.sticker_id else None

    def used(self, *, context_built: bool) -> ToolsUsed:
        return ToolsUsed(
            succeeded=list(self._succeeded) if self._retain_for else [],
            retain_for=self._retain_for,
            context_built=context_built,
        )

    def _withhold(self, name: str) -> None:
        if name not in self.withheld:
            self.withheld.append(name)
