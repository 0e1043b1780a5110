"""The tool loop of a turn: call the model, run the tools it asks for, call it again.

In: a built context. Out: the status the turn ends with. What it changes: the outbox, which
receives the text, what tools have to tell people, and when something went wrong, one notice. What
always holds: what a call of the model carries does not grow with the number of calls before it
(ids in, one iteration's entries); a text that precedes a tool call stands in the channel before the
tool runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from workflows.activity_calls import Stop, settle, start, work_of
    from workflows.contracts.context import ContextRef
    from workflows.contracts.generation import (
        CALL_MODEL,
        ModelRequest,
        ModelResult,
        StreamStatus,
    )
    from workflows.contracts.tools import ToolResult, TranscriptEntry
    from workflows.contracts.turn import TurnInput
    from workflows.execute_tool_call import Abort, History, Restart, ToolCallStage, failure
    from workflows.outbox import Outbox
    from workflows.progress import Progress
    from workflows.tool_context import tool_context
    from workflows.tool_notices import ToolNotices
    from workflows.turn_tools import TurnTools


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


@dataclass(frozen=True)
class _Called:
    """What the calls of one response came to."""

    entry: TranscriptEntry
    end_turn: bool = False
    requires_follow_up: bool = True
    """Of the last one."""


class ToolLoop:
    def __init__(
        self,
        turn: TurnInput,
        turn_id: str,
        context: ContextRef,
        outbox: Outbox,
        stop: Stop,
        progress: Progress,
    ) -> None:
        self._turn = turn
        self._turn_id = turn_id
        self._context = context
        self._context_id = context.context_id
        self._outbox = outbox
        self._stop = stop
        self._progress = progress
        self.tools = TurnTools(context)
        self.notices = ToolNotices(context, quiet=not turn.invocation.surface_errors)
        self._stage = ToolCallStage(
            self.tools,
            self.notices,
            stop,
            timedelta(seconds=turn.limits.tool_timeout_seconds),
        )
        self._stored_entries = 0
        self._new_entries: list[TranscriptEntry] = []
        self._consecutive_errors = 0
        self._needs_follow_up = True
        self.finish_reason: str | None = None
        """Of the last model call."""
        self.details: list[str] = []
        """What the model wrote in `<details>`, call after call."""

    async def run(self) -> LoopEnd:
        limits = self._turn.limits
        for iteration in range(limits.max_iterations):
            self._warn(iteration)
            result = await self._call_model(iteration)
            if self._outbox.refusal is not None:
                return self._refused()
            if self._outbox.flooded:
                # A stop of the delivery's own, not an error (behaviour 6.8).
                return LoopEnd(
                    StreamStatus.COMPLETED,
                    f"I stopped here: an answer has at most {limits.max_segments} parts.",
                    "the limit of segments was reached",
                )
            if result is None and self._interrupted(iteration):
                return LoopEnd(StreamStatus.FOLLOW_UP_INTERRUPT)
            if result is None:
                return LoopEnd(
                    StreamStatus.ERROR, _WORKER_LOST, "the model call could not be completed"
                )
            if result.status is not StreamStatus.FUNCTION_CALL:
                return self._ending(result)
            if self._outbox.is_cut:
                return LoopEnd(StreamStatus.FOLLOW_UP_INTERRUPT)
            self._outbox.may_give_way = False
            await self._outbox.drained()
            if self._outbox.refusal is not None:
                return self._refused()
            called = await self._run_calls(iteration, result)
            if isinstance(called, Abort):
                return _aborted(called)
            if called.end_turn:
                return LoopEnd(StreamStatus.COMPLETED)
            if self._history_is_long():
                return LoopEnd(
                    StreamStatus.TIMEOUT,
                    "I stopped: this answer has taken too many steps.",
                    "the history of the turn came near its limit",
                )
            self._needs_follow_up = called.requires_follow_up
            self._keep(called.entry, said_something=result.visible_chars > 0)
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

    def _warn(self, iteration: int) -> None:
        """Say once that the turn is still at work, when it has become long."""
        if iteration + 1 == self._turn.limits.warn_at_iteration:
            self._progress.warned()
            if self._turn.invocation.surface_errors:
                self._outbox.still_working(_STILL_WORKING)

    async def _call_model(self, iteration: int) -> ModelResult | None:
        """One call of the model; None when it came to no end, or has no reader any more.

        Raises StoppedError.
        """
        self._stop.check()
        self._progress.model_called(iteration)
        request = ModelRequest(
            turn_id=self._turn_id,
            call_index=iteration,
            context_id=self._context_id,
            transcript_length=self._stored_entries,
            new_entries=self._new_entries,
            tools=self.tools.offered,
            withheld=self.tools.withheld,
        )
        summary = f"{self._turn.persona_name} answers"
        if iteration:
            summary = f"{self._turn.persona_name} goes on, call {iteration + 1}"
        handle = start(CALL_MODEL, request, summary=summary)
        # Each call stores the entries it carries.
        self._stored_entries += len(self._new_entries)
        self._new_entries = []
        await workflow.wait_condition(
            lambda: (
                handle.done()
                or self._stop.ends_the_work
                or self._unread()
                or self._interrupted(iteration)
            )
        )
        unwanted = self._unread() or self._interrupted(iteration)
        if unwanted and not handle.done() and not self._stop.ends_the_work:
            if self._interrupted(iteration):
                self._outbox.discard()  # first: a call that is cancelled still tells its rest
            await settle(handle)  # nobody will read the rest: do not pay for it
            return None
        try:
            result = await work_of(handle, self._stop)
        except ActivityError as error:
            workflow.logger.error("model call %d of %s: %s", iteration, self._turn_id, error.cause)
            return None
        self._progress.model_answered(result)
        self.finish_reason = result.finish_reason
        if result.details:
            self.details.append(result.details)
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

    def _interrupted(self, iteration: int) -> bool:
        """Whether a follow-up takes the place of this answer. A chain of tools, once begun, is
        finished: the follow-up waits in the queue (behaviour 2.3, C013)."""
        return self._stop.follow_up and iteration == 0

    async def _run_calls(self, iteration: int, result: ModelResult) -> _Called | Abort:
        """Every call of one response, in order. The first Abort ends it."""
        results: list[ToolResult] = []
        cleared: list[str] = []
        dropped: list[str] = []
        ends = False
        unanswered = False  # a call that the model has to speak about
        requires_follow_up = True
        for position, call in enumerate(result.calls):
            if position >= MAX_CALLS:
                reason = f"Not run: one response may call at most {MAX_CALLS} tools."
                results.append(failure(call, reason))
                continue
            self._progress.tool_called(call.summary or call.name)
            context = tool_context(
                self._turn,
                self._turn_id,
                self._context,
                self._context_id,
                provider=result.provider,
                model=result.model,
                iteration=iteration,
                position=position,
            )
            outcome = await self._stage.run(call, context, after_text=result.visible_chars > 0)
            match outcome:
                case Abort():
                    return outcome
                case Restart(restart=restart):
                    self._context_id = restart.context_id
                    self._consecutive_errors = 0
                    dropped.append(call.call_id)
                    unanswered = True
                case History():
                    self._show(outcome.result, context.show_kill_hint)
                    # What people were told is no part of what the model reads.
                    results.append(outcome.result.model_copy(update={"notices": []}))
                    if outcome.cleared:
                        cleared.append(call.call_id)
                    if outcome.result.success:
                        self._consecutive_errors = 0
                    else:
                        self._consecutive_errors += 1
                    if outcome.end_turn:
                        ends = True
                    elif outcome.requires_follow_up or not outcome.result.success:
                        unanswered = True
                    requires_follow_up = outcome.requires_follow_up
        entry = TranscriptEntry(
            response_id=result.response_id or "",
            results=results,
            cleared_call_ids=cleared,
            dropped_call_ids=dropped,
        )
        return _Called(entry, ends and not unanswered, requires_follow_up)

    def _keep(self, entry: TranscriptEntry, *, said_something: bool) -> None:
        """The next call replays this response; one that only restarted the context and said
        nothing has left nothing to replay (C078)."""
        if entry.results or said_something:
            self._new_entries = [entry]

    def _show(self, result: ToolResult, kill_hint: bool) -> None:
        for notice in self.notices.of_tool(result.notices, kill_hint=kill_hint):
            self._outbox.card(notice)

    def _ending(self, result: ModelResult) -> LoopEnd:
        match result.status:
            case StreamStatus.EMPTY_RESPONSE:
                if self._was_enough(result):
                    return LoopEnd(StreamStatus.COMPLETED)
                again = self._turn.retries_left > 0
                return LoopEnd(
                    StreamStatus.EMPTY_RESPONSE,
                    "" if again else "The model sent an empty answer. Please try again.",
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

    def _was_enough(self, result: ModelResult) -> bool:
        """Whether an empty answer means that all has been said (behaviour 6.4): something was
        delivered, and the last tool needs no word after it. A sticker alone is an answer too."""
        if result.finish_reason == "length":
            return False
        if self.tools.sticker is not None:
            return True
        delivered = self._outbox.delivered_text or self.tools.delivered
        return delivered and not self._needs_follow_up

    def _refused(self) -> LoopEnd:
        refusal = self._outbox.refusal
        reason = f"Discord refused the message: {refusal.message}" if refusal else ""
        return LoopEnd(StreamStatus.ERROR, error=reason)


_WORKER_LOST = "I lost the thread several times in a row and gave up. Please try again."

_STILL_WORKING = "Still working on it; this takes more steps than usual."


def _aborted(abort: Abort) -> LoopEnd:
    if abort.status is StreamStatus.STOPPED_BY_USER:
        return LoopEnd(abort.status)
    return LoopEnd(
        abort.status,
        "The model sent a tool call that makes no sense. Please try again.",
        "a tool call without a name",
    )


def _member_message(result: ModelResult) -> str:
    return result.error.member_message if result.error else ""


def _operator_message(result: ModelResult) -> str:
    return result.error.message if result.error else ""
