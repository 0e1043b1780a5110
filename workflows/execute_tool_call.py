"""One tool call of the model: validate it, gate it, dispatch it at most once, record it.

In: a `FunctionCall` as it came out of the stream, and what the turn knows of its tools. Out: a
`CallOutcome`. What it changes: `TurnTools` and `ToolNotices`, beside what the tool itself does.
What always holds: a call is dispatched at most once, also when its worker dies; a truncated call is
never dispatched; after a stop no result reaches the model; a restart leaves no history entry.

The steps are those of behaviour 6.5, in its order, each a function or a line of `run`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field
from temporalio import workflow
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

with workflow.unsafe.imports_passed_through():
    from workflows.activity_calls import Stop, StoppedError, start, work_of
    from workflows.contracts.base import Contract, discord_queue
    from workflows.contracts.generation import FunctionCall, StreamStatus
    from workflows.contracts.tools import (
        DISCORD_TOOLS,
        RUN_TOOL,
        ContextRestart,
        ToolContext,
        ToolRequest,
        ToolResult,
    )
    from workflows.tool_notices import ToolNotices
    from workflows.turn_tools import TurnTools

FAILED = "tool_execution_failed"
BLOCKED = "blocked_by_deliberate_tool_mode"

LONGEST_NAME = 64
"""Code points of a tool's name; more of what a model invented is not repeated to it."""


class Restart(Contract):
    """The model is asked again with a richer context, as if it had not called (behaviour 6.6)."""

    kind: Literal["restart"] = "restart"
    restart: ContextRestart


class Abort(Contract):
    """The turn ends here, with `status`; nothing is recorded for the model."""

    kind: Literal["abort"] = "abort"
    status: StreamStatus


class History(Contract):
    """The model will read `result` in its next call, unless the turn ends."""

    kind: Literal["history"] = "history"
    result: ToolResult
    cleared: bool = False
    """The call's arguments arrived truncated, and are replayed empty."""
    end_turn: bool = False
    requires_follow_up: bool = True


CallOutcome = Annotated[Restart | Abort | History, Field(discriminator="kind")]


@dataclass
class ToolCallStage:
    """What the calls of one turn share."""

    tools: TurnTools
    notices: ToolNotices
    stop: Stop
    timeout: timedelta
    """Start-to-close of a tool, fresh for each call."""

    async def run(
        self, call: FunctionCall, context: ToolContext, *, after_text: bool
    ) -> Restart | Abort | History:
        """Take one call through its steps. `after_text`: its response said something first."""
        if not call.name.strip():
            workflow.logger.error("the model called a tool without a name")
            return Abort(status=StreamStatus.ERROR)
        if ends_the_chain(self.stop):
            return Abort(status=StreamStatus.STOPPED_BY_USER)
        refused = self._truncated(call) or self._blocked(call) or self._gated(call)
        if refused is not None:
            self.notices.failed(call, reason_of(refused.result))
            return refused
        try:
            result = await self._dispatch(call, context)
        except StoppedError:
            return Abort(status=StreamStatus.STOPPED_BY_USER)
        if ends_the_chain(self.stop):
            return Abort(status=StreamStatus.STOPPED_BY_USER)
        return self._recorded(call, result, after_text=after_text)

    def _truncated(self, call: FunctionCall) -> History | None:
        """Step 4. Never dispatched, whatever the later gates would say (C068)."""
        if not call.truncated:
            return None
        workflow.logger.error("tool %s was called with truncated arguments", call.name)
        content = call.refusal or failure(call, truncation_reason(call)).content
        return History(result=_result(call, content), cleared=True)

    def _blocked(self, call: FunctionCall) -> History | None:
        """Step 5: outside what deliberate tool mode allows in this turn."""
        offered = self.tools.offered
        if offered.allows(call.name):
            return None
        content = {
            "status": BLOCKED,
            "functionName": call.name[:LONGEST_NAME],
            "allowedToolNames": [
                name for name in offered.allowed if name not in offered.unavailable
            ],
        }
        return History(result=_result(call, json.dumps(content, ensure_ascii=False)))

    def _gated(self, call: FunctionCall) -> History | None:
        """Step 6: what the registry has refused, and what this turn has used up."""
        if call.refusal is not None:
            return History(result=_result(call, call.refusal))
        if self.tools.is_withheld(call.name):
            workflow.logger.warning("tool %s is not available for the current turn", call.name)
            return History(result=failure(call, withheld_reason(call.name)))
        return None

    async def _dispatch(self, call: FunctionCall, context: ToolContext) -> ToolResult:
        """The one place where a tool is started. Raises StoppedError."""
        request = ToolRequest(
            call_id=call.call_id, name=call.name, arguments=call.arguments, context=context
        )
        handle = start(
            RUN_TOOL,
            request,
            summary=call.summary or call.name,
            task_queue=_queue(call, context),
            start_to_close=self.timeout,
        )
        try:
            return await work_of(handle, self.stop)
        except ActivityError as error:
            return failure(call, reason_for(error, self.timeout))

    def _recorded(
        self, call: FunctionCall, result: ToolResult, *, after_text: bool
    ) -> Restart | History:
        """Steps 7 to 14."""
        self.tools.capture_sticker(call, result)
        if not result.success:
            self.notices.failed(call, reason_of(result))
            return History(result=result, requires_follow_up=call.requires_follow_up)
        self.tools.succeeded(call, result)
        exposure = self.tools.exposed_by_trigger(call.name)
        if exposure is not None:
            self.notices.triggered(call, exposure)
        if result.restart is not None:
            self.tools.restarted(result.restart)
            return Restart(restart=result.restart)
        return History(
            # The model has its own words in the call's arguments.
            result=result.model_copy(update={"said": ""}),
            end_turn=result.end_turn or (call.ends_turn and after_text),
            requires_follow_up=call.requires_follow_up,
        )


def ends_the_chain(stop: Stop) -> bool:
    """Whether somebody really stopped the turn. A follow-up that arrived meanwhile waits in the
    queue already: it is no reason to break a chain, and is forgotten here (behaviour 6.5, 2)."""
    stop.follow_up = False
    return stop.ends_the_work


def failure(call: FunctionCall, reason: str) -> ToolResult:
    """The shape of every failed call (behaviour 6.5, steps 4 and 12)."""
    content = {"status": FAILED, "tool_name": call.name[:LONGEST_NAME], "reason": reason}
    return _result(call, json.dumps(content, ensure_ascii=False))


def truncation_reason(call: FunctionCall) -> str:
    cause = call.cut_by or "they ended before they were complete"
    arrived = ", ".join(f"`{name}`" for name in call.arrived)
    got = f" Only {arrived} had arrived." if arrived else ""
    return (
        f"The arguments were cut off because {cause}, so the tool was not run and nothing has "
        f"changed.{got} Call it again with shorter arguments."
    )


def withheld_reason(name: str) -> str:
    return f"{name} is not available for the current turn; do not call it again in this turn."


def reason_of(result: ToolResult) -> str:
    """What a failed result says, for people."""
    try:
        content: object = json.loads(result.content)
    except ValueError:
        return ""
    if not isinstance(content, dict):
        return ""
    for key in ("reason", "status"):
        value: object = content.get(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(value, str):
            return value[:600]
    return ""


def _result(call: FunctionCall, content: str) -> ToolResult:
    return ToolResult(call_id=call.call_id, name=call.name, success=False, content=content)


def _queue(call: FunctionCall, context: ToolContext) -> str | None:
    if call.task_queue == DISCORD_TOOLS:
        return discord_queue(context.application_id)
    return call.task_queue


def reason_for(error: ActivityError, timeout: timedelta) -> str:
    cause = error.cause
    if isinstance(cause, TimeoutError):
        if cause.type == TimeoutType.START_TO_CLOSE:
            return f"The tool timed out after {timeout.total_seconds():g} seconds."
        if cause.type == TimeoutType.SCHEDULE_TO_START:
            return (
                "Nobody is there to run the tool just now. It has not begun; nothing has changed."
            )
        return (
            "The process that ran the tool went away. It may have done its work or not; it was "
            "not run again."
        )
    return "The tool failed unexpectedly."
