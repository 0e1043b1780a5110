"""The tool loop of a turn: call the model, run the tools it asks for, call it again.

In: a built context. Out: the status the turn ends with. What it changes: the outbox, which
receives the text and, when something went wrong, one notice. What always holds: what a call of
the model carries does not grow with the number of calls before it (ids in, one iteration's
entries); a text that precedes a tool call stands in the channel before the tool runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from workflows.activity_calls import Stop, outcome_of, settle, start
    from workflows.contracts.generation import (
        CALL_MODEL,
        ModelRequest,
        ModelResult,
        StreamStatus,
    )
    from workflows.contracts.tools import ToolContext, ToolResult, TranscriptEntry
    from workflows.contracts.turn import TurnInput
    from workflows.execute_tool_call import Abort, execute_tool_call, failure
    from workflows.outbox import Outbox
    from workflows.progress import Progress


MAX_CALLS = 32
"""Tools that one response may call. Their inline results travel in one payload, which at four bytes
a code point stays below 1 MB, and each costs six events."""

MAX_EVENTS, MAX_HISTORY_BYTES = 40_000, 40_000_000
"""Where a turn ends by itself. The server terminates a run, without a word to anybody, at 51,200
events or 50 MB."""


@dataclass(frozen=True)
class LoopEnd:
    """How the loop came out, and what to tell the member when it did not come out well."""

    status: StreamStatus
    notice: str = ""
    error: str | None = None
    """For the operator."""


class ToolLoop:
    def __init__(
        self, turn: TurnInput, turn_id: str, outbox: Outbox, stop: Stop, progress: Progress
    ) -> None:
        self._turn = turn
        self._turn_id = turn_id
        self._outbox = outbox
        self._stop = stop
        self._progress = progress
        self._consecutive_errors = 0

    async def run(self, context_id: str) -> LoopEnd:
        limits = self._turn.limits
        entries: list[TranscriptEntry] = []
        for iteration in range(limits.max_iterations):
            result = await self._call_model(iteration, context_id, entries)
            if self._outbox.refusal is not None:
                return self._refused()
            if self._outbox.flooded:
                # A stop of the delivery's own, not an error (behaviour 6.8).
                return LoopEnd(
                    StreamStatus.COMPLETED,
                    f"I stopped here: an answer has at most {limits.max_segments} parts.",
                    "the limit of segments was reached",
                )
            if result is None:
                return LoopEnd(
                    StreamStatus.ERROR, _WORKER_LOST, "the model call could not be completed"
                )
            if result.status is not StreamStatus.FUNCTION_CALL:
                return self._ending(result)
            await self._outbox.drained()
            if self._outbox.refusal is not None:
                return self._refused()
            outcome = await self._run_calls(iteration, result)
            if isinstance(outcome, Abort):
                if outcome.status is StreamStatus.STOPPED_BY_USER:
                    return LoopEnd(outcome.status)
                return LoopEnd(
                    outcome.status,
                    "The model sent a tool call that makes no sense. Please try again.",
                    "a tool call without a name",
                )
            if self._history_is_long():
                return LoopEnd(
                    StreamStatus.TIMEOUT,
                    "I stopped: this answer has taken too many steps.",
                    "the history of the turn came near its limit",
                )
            entries = [outcome]
            if self._consecutive_errors >= limits.max_consecutive_errors:
                return LoopEnd(
                    StreamStatus.ERROR,
                    "I stopped: my tools failed too many times in a row.",
                    "too many tool errors in a row",
                )
        return LoopEnd(
            StreamStatus.TIMEOUT,
            f"I stopped after {limits.max_iterations} steps without coming to an end.",
            "the limit of iterations was reached",
        )

    async def _call_model(
        self, iteration: int, context_id: str, entries: list[TranscriptEntry]
    ) -> ModelResult | None:
        """One call of the model; None when it came to no end, or has no reader any more.

        Raises StoppedError.
        """
        self._stop.check()
        self._progress.model_called(iteration)
        request = ModelRequest(
            turn_id=self._turn_id,
            call_index=iteration,
            context_id=context_id,
            # Each call before this one has left exactly one entry; the newest is in our hand.
            transcript_length=max(0, iteration - 1),
            new_entries=entries,
        )
        summary = f"{self._turn.persona_name} answers"
        if iteration:
            summary = f"{self._turn.persona_name} goes on, call {iteration + 1}"
        handle = start(CALL_MODEL, request, summary=summary)
        await workflow.wait_condition(
            lambda: handle.done() or self._stop.requested or self._unread()
        )
        if self._unread():
            await settle(handle)  # nobody will read the rest: do not pay for it
            return None
        try:
            result = await outcome_of(handle, self._stop)
        except ActivityError as error:
            workflow.logger.error("model call %d of %s: %s", iteration, self._turn_id, error.cause)
            return None
        self._progress.model_answered(result)
        self._outbox.accept_result(iteration, result)
        return result

    def _history_is_long(self) -> bool:
        info = workflow.info()
        return (
            info.get_current_history_length() > MAX_EVENTS
            or info.get_current_history_size() > MAX_HISTORY_BYTES
        )

    def _unread(self) -> bool:
        return self._outbox.refusal is not None or self._outbox.flooded

    async def _run_calls(self, iteration: int, result: ModelResult) -> TranscriptEntry | Abort:
        """Run every call of one response, in order."""
        timeout = timedelta(seconds=self._turn.limits.tool_timeout_seconds)
        results: list[ToolResult] = []
        cleared: list[str] = []
        for number, call in enumerate(result.calls):
            if number >= MAX_CALLS:
                reason = f"Not run: one response may call at most {MAX_CALLS} tools."
                results.append(failure(call, reason))
                continue
            self._progress.tool_called(call.summary or call.name)
            context = self._tool_context(iteration, result.provider)
            outcome = await execute_tool_call(call, context, timeout, self._stop)
            if isinstance(outcome, Abort):
                return outcome
            results.append(outcome.result)
            if outcome.cleared:
                cleared.append(call.call_id)
            if outcome.result.success:
                self._consecutive_errors = 0
            else:
                self._consecutive_errors += 1
        return TranscriptEntry(
            response_id=result.response_id or "", results=results, cleared_call_ids=cleared
        )

    def _tool_context(self, iteration: int, provider: str) -> ToolContext:
        message = self._turn.invocation
        return ToolContext(
            turn_id=self._turn_id,
            guild_id=message.guild_id,
            channel_id=message.channel_id,
            trigger_message_id=message.message_id,
            user_id=message.author_id,
            user_name=message.author_name,
            persona_id=self._turn.persona_id,
            provider=provider,
            iteration=iteration,
            suppress_progress_notices=not message.surface_errors,
        )

    def _ending(self, result: ModelResult) -> LoopEnd:
        match result.status:
            case StreamStatus.EMPTY_RESPONSE:
                if self._outbox.delivered_text and result.finish_reason != "length":
                    return LoopEnd(StreamStatus.COMPLETED)
                return LoopEnd(
                    StreamStatus.EMPTY_RESPONSE,
                    "The model sent an empty answer. Please try again.",
                    "the model sent an empty answer",
                )
            case StreamStatus.TIMEOUT:
                return LoopEnd(
                    StreamStatus.TIMEOUT,
                    _member_message(result) or "The model stopped answering. Please try again.",
                    _operator_message(result) or "the model stopped answering",
                )
            case StreamStatus.ERROR:
                return LoopEnd(
                    StreamStatus.ERROR,
                    _member_message(result) or "The model could not answer. Please try again.",
                    _operator_message(result) or "the model could not answer",
                )
            case _:
                return LoopEnd(result.status)

    def _refused(self) -> LoopEnd:
        refusal = self._outbox.refusal
        reason = f"Discord refused the message: {refusal.message}" if refusal else ""
        return LoopEnd(StreamStatus.ERROR, error=reason)


_WORKER_LOST = "I lost the thread several times in a row and gave up. Please try again."


def _member_message(result: ModelResult) -> str:
    return result.error.member_message if result.error else ""


def _operator_message(result: ModelResult) -> str:
    return result.error.message if result.error else ""
