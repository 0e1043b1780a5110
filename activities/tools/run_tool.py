"""The activity that runs one tool call.

In: a `ToolRequest` whose call the registry has examined before. Out: a `ToolResult`, whether the
tool did what was asked or not; a failure is an answer that the model reads, in one shape, without
anything of our insides. The only ways out by exception are a
cancellation, and heartbeats that cannot be sent.

A call runs at most once, so the turn allows one attempt. Beats come from a timer beside the tool:
one that is silent for minutes is healthy, and hears of a kill while it waits. A tool may swallow
the CancelledError that reaches it, or turn it into another exception; the call is cancelled all
the same, and its result goes nowhere.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from temporalio import activity

from activities.tools.registry import CallRefused, ToolRegistry, is_available
from activities.tools.resources import ToolResources
from activities.tools.results import failure_json, success_json
from activities.tools.tool import ToolFailure
from runtime.heartbeat import heartbeating
from workflows.contracts.tools import INLINE_RESULT_LIMIT, RUN_TOOL, ToolRequest, ToolResult

log = structlog.get_logger(__name__)

RESULT_KIND = "tool_result"


class Blobs(Protocol):
    async def put(self, kind: str, data: bytes) -> str: ...


class ResultStore(Protocol):
    """The part of `storage.Storage` that large results need."""

    @property
    def blobs(self) -> Blobs: ...


@dataclass(frozen=True)
class _Answer:
    success: bool
    text: str


class ToolActivities:
    """`resources` are closed by `aclose`; without any, tools reach public addresses only."""

    def __init__(
        self,
        registry: ToolRegistry,
        storage: ResultStore,
        resources: ToolResources | None = None,
    ) -> None:
        self._registry = registry
        self._storage = storage
        self._resources = resources or ToolResources()

    async def aclose(self) -> None:
        await self._resources.aclose()

    @activity.defn(name=RUN_TOOL.name)
    async def run_tool(self, request: ToolRequest) -> ToolResult:
        """Run one call. Raises CancelledError when it is cancelled, and HeartbeatFailed."""
        started = time.monotonic()
        call_log = log.bind(
            tool=request.name, call_id=request.call_id, turn_id=request.context.turn_id
        )
        async with heartbeating():
            answer = await self._answer(request, call_log)
            content, content_id, success = await self._stored(request, answer, call_log)
        duration_ms = round((time.monotonic() - started) * 1000, 1)
        call_log.info("tool finished", success=success, duration_ms=duration_ms)
        return ToolResult(
            call_id=request.call_id,
            name=request.name,
            success=success,
            content=content,
            content_id=content_id,
            duration_ms=duration_ms,
        )

    async def _answer(self, request: ToolRequest, call_log: Any) -> _Answer:
        """Judge the call again, run it, and turn every outcome but a cancellation into text."""

        def failed(reason: str) -> _Answer:
            return _Answer(False, failure_json(request.name, reason))

        try:
            call = self._registry.admit(request.name, request.arguments)
        except CallRefused as error:
            call_log.warning("tool call refused", reason=error.reason)
            return failed(error.reason)
        provider = request.context.provider
        if not is_available(call.tool, provider):
            call_log.error("tool not available for provider", provider=provider)
            return failed(f"{request.name} is not available for provider {provider}.")

        try:
            output = await call.tool.run(call.arguments, request.context, self._resources)
            answer = _Answer(True, success_json(output))
        except asyncio.CancelledError:
            if _cancelled():
                raise
            call_log.exception("tool cancelled itself")
            answer = failed("The tool stopped by itself before it had a result.")
        except ToolFailure as error:
            call_log.warning("tool failed", reason=error.reason)
            answer = failed(error.reason)
        except (Exception, SystemExit) as error:
            # SystemExit too: a tool that calls sys.exit() must not end the worker
            call_log.exception("tool failed unexpectedly")
            answer = failed(f"The tool failed with an internal error ({type(error).__name__}).")
        if _cancelled():
            raise asyncio.CancelledError("the tool went on after it was cancelled")
        return answer

    async def _stored(
        self, request: ToolRequest, answer: _Answer, call_log: Any
    ) -> tuple[str, str | None, bool]:
        """What stands in the history, the blob id of the rest, and whether it still succeeded."""
        if len(answer.text) <= INLINE_RESULT_LIMIT:
            return answer.text, None, answer.success
        try:
            content_id = await self._storage.blobs.put(RESULT_KIND, answer.text.encode())
        except Exception:
            call_log.exception("tool result could not be stored")
            reason = "The tool ran, but its result could not be stored. Do not repeat the call."
            return failure_json(request.name, reason), None, False
        return answer.text[:INLINE_RESULT_LIMIT], content_id, answer.success


def _cancelled() -> bool:
    """Whether somebody outside the tool wants this activity to end."""
    task = asyncio.current_task()
    return activity.is_cancelled() or (task is not None and task.cancelling() > 0)
