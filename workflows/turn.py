"""TurnWorkflow: one persona's answer to one message.

In: a `TurnInput`. Out: a `TurnResult`, or a cancelled workflow when somebody stopped it. Two
coroutines: the tool loop, which produces text, and the outbox, which delivers it.
What always holds: a stop reaches the turn in `run` and nowhere else; `_close` runs on every way
out, exactly once for the status it ends with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

with workflow.unsafe.imports_passed_through():
    from workflows import summaries
    from workflows.activity_calls import Stop, StoppedError, outcome_of, run_local, start
    from workflows.contracts import attributes
    from workflows.contracts.base import discord_queue
    from workflows.contracts.context import BUILD_CONTEXT, ContextRef, ContextRequest
    from workflows.contracts.delivery import POST_HIDDEN_NOTICES, HiddenNotices
    from workflows.contracts.effects import FINISH_TURN, FinishRequest
    from workflows.contracts.generation import SEGMENTS_SIGNAL, SegmentBatch, StreamStatus
    from workflows.contracts.history import READ_HISTORY, HistoryRequest
    from workflows.contracts.invocation import TURN_WORKFLOW, Origin, QuotaSource
    from workflows.contracts.turn import (
        FOLLOW_UP_SIGNAL,
        NATURAL_STOP_SIGNAL,
        TOOLS_USED_SIGNAL,
        ToolsUsed,
        TurnInput,
        TurnResult,
    )
    from workflows.outbox import Outbox
    from workflows.progress import Progress
    from workflows.tool_loop import LoopEnd, ToolLoop

OUR_BUGS: list[type[BaseException]] = [
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
]
"""A bug of ours fails its turn and lets the channel go on, in place of a task that is retried for
ever. A non-deterministic replay is not among them: it is mended by the right code."""

WORDS_CUT = "words-cut-the-delivery"
"""2026-12-01: a stop in words, and a follow-up, end what waits to be delivered."""

_OUR_FAULT = "Something went wrong on my side. The operator can see it in this turn."


@workflow.defn(name=TURN_WORKFLOW, failure_exception_types=OUR_BUGS)
class TurnWorkflow:
    @workflow.init
    def __init__(self, turn: TurnInput) -> None:
        self._turn = turn
        self._turn_id = workflow.info().workflow_id
        self._stop = Stop()
        self._progress = Progress(
            title=summaries.turn(turn), provider=turn.provider, model=turn.model
        )
        self._outbox = Outbox(turn, self._turn_id, self._stop, self._progress)
        self._bug: BaseException | None = None
        self._context: ContextRef | None = None
        self._loop: ToolLoop | None = None

    @workflow.run
    async def run(self, turn: TurnInput) -> TurnResult:
        end = await self._to_the_end(self._answer())
        end = await self._to_the_end(self._close(end))
        if self._bug is not None:
            # Without its message and trace: both may quote content, and a failure is in the open.
            raise ApplicationError(end.error or "a bug", non_retryable=True)
        if self._stop_requested():
            raise asyncio.CancelledError
        return TurnResult(
            status=end.status,
            messages_sent=self._outbox.messages_sent,
            iterations=self._progress.iteration,
            usage=self._progress.usage,
            tools=self._tools_used(),
            produced_text=bool(self._said().strip()),
            finish_reason=self._loop.finish_reason if self._loop else None,
        )

    @workflow.signal(name=SEGMENTS_SIGNAL)
    def segments(self, batch: SegmentBatch) -> None:
        """Text of the model call that is streaming."""
        self._outbox.accept(batch)
        self._progress.streaming()

    @workflow.signal(name=NATURAL_STOP_SIGNAL)
    def natural_stop(self) -> None:
        """The member who is being answered asked that it stop."""
        self._stop.natural = True
        if workflow.patched(WORDS_CUT):
            self._outbox.stop_in_words()

    @workflow.signal(name=FOLLOW_UP_SIGNAL)
    def follow_up(self) -> None:
        """The member who is being answered has written more, and that comes next."""
        self._stop.follow_up = True
        if workflow.patched(WORDS_CUT):
            self._outbox.give_way()

    async def _to_the_end(self, stage: Coroutine[Any, Any, LoopEnd]) -> LoopEnd:
        """Wait for a stage whatever happens, and turn a cancel into a Stop.

        `/kill`, `temporal workflow cancel` and the UI's Cancel all arrive here.
        Everything that waits in the turn looks at the Stop.
        """
        task = asyncio.create_task(stage)
        while not task.done():
            try:
                await workflow.wait_condition(task.done)
            except asyncio.CancelledError:
                if self._stop.requested or workflow.cancellation_reason() is None:
                    raise  # not a stop: the worker drops this workflow from its cache
                self._stop.requested = True
        return task.result()

    async def _answer(self) -> LoopEnd:
        """Produce the answer and deliver it. Never raises."""
        outbox = asyncio.create_task(self._outbox.run())
        try:
            end = await self._generate()
        except StoppedError:
            end = LoopEnd(StreamStatus.STOPPED_BY_USER)
        except tuple(OUR_BUGS) as bug:
            end = self._fault(bug)
        if end.status is StreamStatus.COMPLETED:
            self._add_sticker()
        invocation = self._turn.invocation
        quiet = invocation.tries_again and end.status is not StreamStatus.COMPLETED
        if end.notice and invocation.surface_errors and not quiet:
            self._outbox.notice(end.notice)
        self._progress.delivering()
        self._outbox.seal()
        try:
            await outbox
        except tuple(OUR_BUGS) as bug:
            end = self._fault(bug)
        if self._outbox.was_cut and end.status is StreamStatus.COMPLETED:
            # The model had said all of it, and Discord had not taken it yet.
            natural = self._stop.natural
            return LoopEnd(
                StreamStatus.STOPPED_BY_USER if natural else StreamStatus.FOLLOW_UP_INTERRUPT
            )
        refusal = self._outbox.refusal
        if refusal is not None and end.status is StreamStatus.COMPLETED:
            return LoopEnd(StreamStatus.ERROR, error=f"Discord refused: {refusal.message}")
        return end

    async def _generate(self) -> LoopEnd:
        """The stages of a turn, in order. Raises StoppedError."""
        self._progress.reading()
        message = self._turn.invocation
        try:
            history = await outcome_of(
                start(
                    READ_HISTORY,
                    HistoryRequest(
                        turn_id=self._turn_id,
                        channel_id=message.channel_id,
                        trigger_message_id=message.message_id,
                        owner_id=message.author_id,
                        persona_id=self._turn.persona_id,
                        omit_message_ids=self._turn.omit_message_ids,
                    ),
                    summary="reads the channel, starts typing",
                    task_queue=discord_queue(message.application_id),
                ),
                self._stop,
            )
        except ActivityError as error:
            return LoopEnd(
                StreamStatus.ERROR, _OUR_FAULT, f"the channel cannot be read: {error.cause}"
            )
        self._outbox.newest_message_id = history.newest_message_id
        self._progress.building()
        request = ContextRequest(
            turn_id=self._turn_id,
            persona_id=self._turn.persona_id,
            history_id=history.history_id,
            invocation=message,
            is_queued=self._turn.is_queued,
            provider=self._turn.provider,
            is_private=history.is_private,
            own_permissions=history.own_permissions,
            retained_tools=self._turn.retained_tools,
        )
        try:
            context = await run_local(BUILD_CONTEXT, request, summary="builds the context")
        except FailureError as error:
            return LoopEnd(
                StreamStatus.ERROR, _OUR_FAULT, f"the context could not be built: {error}"
            )
        self._context = context
        self._loop = ToolLoop(
            self._turn, self._turn_id, context, self._outbox, self._stop, self._progress
        )
        return await self._loop.run()

    def _add_sticker(self) -> None:
        """The sticker goes with a completed answer only, after its text (behaviour 11)."""
        sticker = self._loop.tools.sticker if self._loop else None
        if sticker is not None:
            self._outbox.sticker(sticker)

    def _fault(self, bug: BaseException) -> LoopEnd:
        """A bug of ours: the turn says so, is recorded, and then fails with it."""
        workflow.logger.error("a bug ended turn %s", self._turn_id, exc_info=bug)
        self._bug = bug
        return LoopEnd(StreamStatus.ERROR, _OUR_FAULT, f"a bug: {type(bug).__name__}")

    async def _close(self, end: LoopEnd) -> LoopEnd:
        """Record how the turn came out, and say so. A stop that arrives meanwhile still counts."""
        if self._stop_requested():
            end = LoopEnd(StreamStatus.STOPPED_BY_USER)
        await self._outbox.end_typing()
        await self._outbox.remove_working()
        try:
            await self._post_hidden_notices()
        except tuple(OUR_BUGS) as bug:
            # What only the log would have shown must not keep the turn from being recorded.
            workflow.logger.error("hidden notices of %s are lost", self._turn_id, exc_info=bug)
        await self._record(end)
        if self._stop_requested() and end.status is not StreamStatus.STOPPED_BY_USER:
            end = LoopEnd(StreamStatus.STOPPED_BY_USER)
            await self._record(end)
        if end.status is StreamStatus.STOPPED_BY_USER or self._bug is not None:
            await self._report_tools()
        self._progress.ended(end.status, end.error)
        updates = [attributes.STATUS.value_set(end.status.value)]
        if self._progress.provider:
            updates.append(attributes.PROVIDER.value_set(self._progress.provider))
        workflow.upsert_search_attributes(updates)  # pyright: ignore[reportUnknownMemberType]
        return end

    def _stop_requested(self) -> bool:
        return self._stop.requested or workflow.cancellation_reason() is not None

    async def _post_hidden_notices(self) -> None:
        """What the server's thought log is to know of this turn's tools (behaviour 10)."""
        message, context = self._turn.invocation, self._context
        notices = self._loop.notices.take_hidden() if self._loop else []
        if not notices or context is None or not context.log_channel_id or not message.guild_id:
            return
        request = HiddenNotices(
            turn_id=self._turn_id,
            guild_id=message.guild_id,
            source_channel_id=message.channel_id,
            log_channel_id=context.log_channel_id,
            trigger_message_id=message.message_id,
            first_message_id=self._outbox.first_message_id,
            is_synthetic=not message.is_in_channel,
            persona_id=self._turn.persona_id,
            persona_name=self._turn.persona_name,
            generation=self._turn.generation,
            notices=notices,
        )
        handle = start(
            POST_HIDDEN_NOTICES,
            request,
            summary=f"{len(notices)} for the thought log",
            task_queue=discord_queue(message.application_id),
        )
        try:
            await handle
        except ActivityError:
            workflow.logger.warning("the thought log misses turn %s", self._turn_id)

    def _quota_key(self) -> str | None:
        """One charge for a message, however many personas answer it (C045)."""
        message = self._turn.invocation
        charged = message.text_quota_source is QuotaSource.USER and message.origin is Origin.MESSAGE
        charged = charged and message.author_persona_id is None
        if not charged or message.guild_id is None or message.is_stop_response:
            return None
        return message.text_quota_key or message.message_id

    def _said(self) -> str:
        """The persona's words in this channel: its text, and what its tools said for it."""
        by_tools = self._loop.tools.said if self._loop else []
        return "\n".join(part for part in (self._outbox.said(), *by_tools) if part)

    def _tools_used(self) -> ToolsUsed:
        return self._loop.tools.used(context_built=True) if self._loop else ToolsUsed()

    async def _report_tools(self) -> None:
        """A turn that was stopped, or failed, has no result. What its tools did stays on offer all
        the same, and for what was on offer before it counts as a turn (behaviour 8)."""
        used, parent = self._tools_used(), workflow.info().parent
        counts = used.context_built and self._turn.retained_tools
        if parent is None or not (used.succeeded or counts):
            return
        channel = workflow.get_external_workflow_handle(parent.workflow_id)
        try:
            await channel.signal(TOOLS_USED_SIGNAL, used)
        except FailureError:
            workflow.logger.info("the channel of turn %s is gone", self._turn_id)

    async def _record(self, end: LoopEnd) -> None:
        message = self._turn.invocation
        request = FinishRequest(
            turn_id=self._turn_id,
            guild_id=message.guild_id,
            channel_id=message.channel_id,
            persona_id=self._turn.persona_id,
            trigger_message_id=message.message_id,
            user_id=message.author_id,
            status=end.status,
            iterations=self._progress.iteration,
            messages_sent=self._outbox.messages_sent,
            error=end.error,
            is_dm=message.is_dm,
            is_private=self._context.situation.is_private if self._context else False,
            origin=message.origin,
            channel_name=message.channel_name,
            persona_name=self._turn.persona_name,
            user_name=message.author_name,
            author_persona_id=message.author_persona_id,
            user_text=message.content,
            reply_text=self._said(),
            details_text="\n".join(self._loop.details) if self._loop else "",
            quota_key=self._quota_key(),
            tools_succeeded=self._loop.tools.calls_succeeded if self._loop else [],
        )
        try:
            await run_local(FINISH_TURN, request, summary="records the turn")
        except FailureError as error:
            # A row of statistics; the channel must not wait for it (behaviour 6.9).
            workflow.logger.error("turn %s is not recorded: %s", self._turn_id, error)
