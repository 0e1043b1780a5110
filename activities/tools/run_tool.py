"""The activity that runs one tool call.

In: a `ToolRequest` whose call the registry has examined before. Out: a `ToolResult`, whether the
tool did what was asked or not; a failure is an answer that the model reads, in one shape, without
anything of our insides. It stores a result that is too long for a history. The only ways out by
exception are a cancellation, and heartbeats that cannot be sent.

The gates are asked again here, with the server's settings as they are now: what was switched off
since the model was told of its tools is refused (C130).

A call runs at most once. So the turn allows one attempt, and its place in the turn is claimed in
the database before the tool begins: a turn that an operator has reset does not run it again.

Beats come from a timer beside the tool: one that is silent for minutes is healthy, and hears of a
kill while it waits. A tool may swallow the CancelledError that reaches it, or turn it into another
exception; the call is cancelled all the same, and its result goes nowhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

import structlog
from temporalio import activity

from activities.tools.notices import bounded
from activities.tools.registry import CallRefused, ToolRegistry
from activities.tools.resources import ToolResources
from activities.tools.results import beginning_json, failure_json, success_json
from activities.tools.tool import Answer, ToolFailure
from runtime.heartbeat import heartbeating
from runtime.logs import brief
from storage.config import ServerConfig
from workflows.contracts.base import server_key
from workflows.contracts.discord_port import DiscordRefused
from workflows.contracts.tools import (
    INLINE_RESULT_LIMIT,
    RUN_TOOL,
    ContextRestart,
    StickerChoice,
    ToolNotice,
    ToolRequest,
    ToolResult,
)

log = structlog.get_logger(__name__)

RESULT_KIND = "tool_result"

CARRIED_OUT = (
    "This call was carried out before the turn was reset; it may have done its work or not, and "
    "was not run again."
)

DURATION_METRIC = "everturn_tool_duration"


class Blobs(Protocol):
    async def put(self, kind: str, data: bytes) -> str: ...


class Configs(Protocol):
    async def server(self, server_key: str) -> ServerConfig: ...


class Dispatches(Protocol):
    async def claim(self, turn_id: str, iteration: int, position: int) -> bool: ...


class ToolStore(Protocol):
    """The part of `storage.Storage` that running a tool needs."""

    @property
    def blobs(self) -> Blobs: ...
    @property
    def dispatches(self) -> Dispatches: ...
    @property
    def configs(self) -> Configs: ...


@dataclass(frozen=True)
class _Outcome:
    """What a call came to; `text` is for the model."""

    success: bool
    text: str
    label: str
    """`success`, `failure` or `refused`, for the metric."""
    notices: Sequence[ToolNotice] = ()
    restart: ContextRestart | None = None
    sticker: StickerChoice | None = None
    end_turn: bool = False
    delivered: bool = False
    said: str = ""


class ToolActivities:
    """`resources` are closed by `aclose`; without any, tools reach public addresses only."""

    def __init__(
        self,
        registry: ToolRegistry,
        storage: ToolStore,
        resources: ToolResources | None = None,
    ) -> None:
        self._registry = registry
        self._storage = storage
        self._resources = resources or ToolResources()
        self._resources.connect(offered=registry)

    async def aclose(self) -> None:
        await self._resources.aclose()

    @activity.defn(name=RUN_TOOL.name)
    async def run_tool(self, request: ToolRequest) -> ToolResult:
        """Run one call. Raises CancelledError when it is cancelled, and HeartbeatFailed."""
        started = time.monotonic()
        call_log = log.bind(
            tool=brief(request.name),
            call_id=brief(request.call_id),
            turn_id=request.context.turn_id,
        )
        label = "cancelled"
        try:
            async with heartbeating():
                outcome = await self._outcome(request, call_log)
                content, content_id, outcome = await self._stored(request, outcome, call_log)
            label = outcome.label
        finally:
            duration_ms = round((time.monotonic() - started) * 1000, 1)
            call_log.info(
                "tool finished",
                success=label == "success",
                outcome=label,
                duration_ms=duration_ms,
            )
            self._measure(request.name, label, duration_ms)
        return ToolResult(
            call_id=request.call_id,
            name=request.name,
            success=outcome.success,
            content=content,
            content_id=content_id,
            duration_ms=duration_ms,
            notices=bounded(outcome.notices),
            restart=outcome.restart,
            sticker=outcome.sticker,
            end_turn=outcome.end_turn,
            delivered=outcome.delivered,
            said=outcome.said,
        )

    async def _outcome(self, request: ToolRequest, call_log: Any) -> _Outcome:
        """Judge the call again, run it, and turn all but a cancellation into an outcome."""

        def failed(reason: str, label: str = "failure") -> _Outcome:
            return _Outcome(False, failure_json(request.name, reason), label)

        context = request.context
        try:
            config = await self._storage.configs.server(
                server_key(context.guild_id, context.user_id)
            )
        except Exception:
            call_log.exception("settings could not be read")
            reason = "The tool was not run: the server's settings could not be read just now."
            return failed(reason)
        withheld = self._registry.withheld(context.provider, context.situation, config)
        try:
            call = self._registry.admit(
                request.name, request.arguments, context.provider, withheld=withheld
            )
        except CallRefused as error:
            call_log.log(error.level, "tool call refused", reason=brief(error.reason))
            return failed(error.reason, "refused")
        try:
            is_first = await self._storage.dispatches.claim(
                context.turn_id, context.iteration, context.position
            )
        except Exception:
            call_log.exception("tool call could not be claimed")
            reason = "The tool was not run: what was run could not be recorded just now."
            return failed(reason)
        if not is_first:
            call_log.warning("tool call was carried out before")
            return failed(CARRIED_OUT, "refused")

        try:
            outcome = _told(await call.tool.run(call.arguments, context, self._resources))
        except asyncio.CancelledError:
            if _cancelled():
                raise
            call_log.exception("tool cancelled itself")
            outcome = failed("The tool stopped by itself before it had a result.")
        except ToolFailure as error:
            call_log.warning("tool failed", reason=brief(error.reason))
            outcome = replace(failed(error.reason), sticker=error.sticker)
            try:
                text = failure_json(request.name, error.reason, error.data)
                outcome = replace(outcome, text=text)
            except (ValueError, TypeError, RecursionError):
                call_log.exception("the data of a tool's failure has no JSON form")
        except DiscordRefused as error:
            call_log.warning("tool refused by discord", reason=brief(error.reason))
            outcome = failed(error.reason)
        except (Exception, SystemExit) as error:
            # SystemExit too: a tool that calls sys.exit() must not end the worker
            call_log.exception("tool failed unexpectedly")
            outcome = failed(f"The tool failed with an internal error ({type(error).__name__}).")
        if _cancelled():
            raise asyncio.CancelledError("the tool went on after it was cancelled")
        return outcome

    async def _stored(
        self, request: ToolRequest, outcome: _Outcome, call_log: Any
    ) -> tuple[str, str | None, _Outcome]:
        """What stands in the history, the blob id of the whole, and what it came to after all."""
        if len(outcome.text) <= INLINE_RESULT_LIMIT:
            return outcome.text, None, outcome
        try:
            content_id = await self._storage.blobs.put(RESULT_KIND, outcome.text.encode())
        except Exception:
            call_log.exception("tool result could not be stored")
            reason = "The tool ran, but its result could not be stored. Do not repeat the call."
            lost = replace(outcome, success=False, label="failure")
            return failure_json(request.name, reason), None, lost
        return beginning_json(outcome.text, content_id), content_id, outcome

    def _measure(self, name: str, label: str, duration_ms: float) -> None:
        # a name that is not ours would be the model's own text, and a new series for each
        known = name if self._registry.get(name) is not None else "unknown"
        activity.metric_meter().create_histogram_timedelta(
            DURATION_METRIC, "How long tool calls take."
        ).record(timedelta(milliseconds=duration_ms), {"tool": known, "outcome": label})


def _told(returned: object) -> _Outcome:
    """Raises ValueError or TypeError when the output has no JSON form."""
    answer = returned if isinstance(returned, Answer) else None
    text = success_json(answer.output if answer else returned)
    if answer is None:
        return _Outcome(True, text, "success")
    return _Outcome(
        True,
        text,
        "success",
        notices=answer.notices,
        restart=answer.restart,
        sticker=answer.sticker,
        end_turn=answer.end_turn,
        delivered=answer.delivered,
        said=answer.said[:INLINE_RESULT_LIMIT],
    )


def _cancelled() -> bool:
    """Whether somebody outside the tool wants this activity to end."""
    task = asyncio.current_task()
    return activity.is_cancelled() or (task is not None and task.cancelling() > 0)
