"""One tool call of the model: validate it, dispatch it at most once, record it (behaviour 6.5).

In: a `FunctionCall` as it came out of the stream. Out: a `CallOutcome`. What it changes: nothing
but what the tool itself does. What always holds: a call is dispatched at most once, also when its
worker dies; a truncated call is never dispatched; after a stop no result reaches the model.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field
from temporalio import workflow
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

with workflow.unsafe.imports_passed_through():
    from workflows.activity_calls import Stop, StoppedError, outcome_of, start
    from workflows.contracts.base import Contract
    from workflows.contracts.generation import FunctionCall, StreamStatus
    from workflows.contracts.tools import RUN_TOOL, ToolContext, ToolRequest, ToolResult


class Abort(Contract):
    """The turn ends here, with `status`; nothing is recorded for the model."""

    kind: Literal["abort"] = "abort"
    status: StreamStatus


class History(Contract):
    """The model will read `result` in its next call."""

    kind: Literal["history"] = "history"
    result: ToolResult
    cleared: bool = False
    """The call's arguments arrived truncated, and are replayed empty."""


CallOutcome = Annotated[Abort | History, Field(discriminator="kind")]


async def execute_tool_call(
    call: FunctionCall, context: ToolContext, timeout: timedelta, stop: Stop
) -> Abort | History:
    """Take one call through its steps, in the order of behaviour 6.5."""
    if not call.name:
        workflow.logger.error("the model called a tool without a name")
        return Abort(status=StreamStatus.ERROR)
    if stop.requested:
        return Abort(status=StreamStatus.STOPPED_BY_USER)
    if call.truncated:
        workflow.logger.error("tool %s was called with truncated arguments", call.name)
        if call.refusal is not None:
            return History(result=_result(call, call.refusal), cleared=True)
        reason = (
            "The arguments were cut off before they were complete, so the tool was not run. "
            "Call it again with shorter arguments."
        )
        return History(result=failure(call, reason), cleared=True)
    if call.refusal is not None:
        return History(result=_result(call, call.refusal))
    try:
        return History(result=await _dispatch(call, context, timeout, stop))
    except StoppedError:
        return Abort(status=StreamStatus.STOPPED_BY_USER)


def failure(call: FunctionCall, reason: str) -> ToolResult:
    """The shape of every failed call (behaviour 6.5, step 12)."""
    content = {"status": "tool_execution_failed", "tool_name": call.name, "reason": reason}
    return _result(call, json.dumps(content, ensure_ascii=False))


def _result(call: FunctionCall, content: str) -> ToolResult:
    return ToolResult(call_id=call.call_id, name=call.name, success=False, content=content)


async def _dispatch(
    call: FunctionCall, context: ToolContext, timeout: timedelta, stop: Stop
) -> ToolResult:
    request = ToolRequest(
        call_id=call.call_id, name=call.name, arguments=call.arguments, context=context
    )
    handle = start(
        RUN_TOOL,
        request,
        summary=call.summary or call.name,
        task_queue=call.task_queue,
        start_to_close=timeout,
    )
    try:
        return await outcome_of(handle, stop)
    except ActivityError as error:
        return failure(call, _reason(error, timeout))


def _reason(error: ActivityError, timeout: timedelta) -> str:
    cause = error.cause
    if isinstance(cause, TimeoutError):
        if cause.type == TimeoutType.START_TO_CLOSE:
            return f"The tool timed out after {timeout.total_seconds():g} seconds."
        return (
            "The process that ran the tool went away. It may have done its work or not; it was "
            "not run again."
        )
    return "The tool failed unexpectedly."
