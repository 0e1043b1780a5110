"""ChannelWorkflow: one per Discord channel; its lock and its queue.

In: `enqueue` signals (messages that the bot admitted) and `kill` updates. Out: one TurnWorkflow
for each persona that answers, as a child, one at a time. What becomes of a message that finds the
channel locked is decided by `workflows.disposition`; here is what follows from it.
What always holds: exactly one turn runs in a channel; an accepted message is never lost, neither
by closing when idle nor by continue-as-new; a repeated gateway event is answered once; a message
that cannot be accepted or planned is told so. Cancelling a channel stops its turn, drops what
waits, and ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import (
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import (
    ActivityError,
    ChildWorkflowError,
    FailureError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)
from temporalio.workflow import ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from workflows import summaries
    from workflows.activity_calls import HEARTBEAT_TIMEOUT, Policy, run_local, start
    from workflows.contracts import attributes
    from workflows.contracts.base import discord_queue, turn_workflow_id
    from workflows.contracts.delivery import (
        SEND_SEGMENTS,
        Outgoing,
        OutgoingKind,
        SendRequest,
    )
    from workflows.contracts.generation import StreamStatus
    from workflows.contracts.invocation import (
        CHANNEL_WORKFLOW,
        ENQUEUE_SIGNAL,
        KILL_SIGNAL,
        KILL_UPDATE,
        TURN_WORKFLOW,
        Addressed,
        ChatIncoming,
        InvocationEnd,
        KillOutcome,
        KillRequest,
        QuotaSource,
        Source,
    )
    from workflows.contracts.planning import (
        GIVE_UP_PLAN,
        PLAN_TURNS,
        PlannedTurn,
        PlanRefusal,
        PlanRequest,
        TurnPlan,
    )
    from workflows.contracts.tools import NoticeColour
    from workflows.contracts.turn import (
        DISPOSITION_RULES,
        FOLLOW_UP_SIGNAL,
        LOCK_RULES,
        NATURAL_STOP_SIGNAL,
        SIZE_RULES,
        STOP_RULES,
        TOOLS_USED_SIGNAL,
        ChannelInput,
        ChannelState,
        QueueEntry,
        ToolsUsed,
        TurnInput,
        TurnResult,
    )
    from workflows.deliberate import Retention
    from workflows.disposition import Disposition, Lock, dispose, is_real_user
    from workflows.outcomes import end_of, report
    from workflows.queue import ChannelQueue

PLAN_PATIENCE = timedelta(minutes=5)
PLAN_PAUSE = timedelta(seconds=15)
"""How long, and how often, a message is planned again while the database is away."""

TELL_POLICY = Policy(
    start_to_close=timedelta(seconds=10),
    schedule_to_close=timedelta(seconds=10),
    heartbeat=HEARTBEAT_TIMEOUT,
)

_TOO_MANY = (
    "Too many messages are waiting here, so I had to leave some out. Please ask again later."
)
_OUR_FAULT = "Something went wrong on my side, and this message gets no answer. Please ask again."

STOP_GRACE = timedelta(milliseconds=500)
"""What passes between the end of a stopped turn and the moment its channel hears of it; tens of
milliseconds, more on a busy server."""

RETRY_PAUSE = timedelta(seconds=1)
"""Before an empty answer is asked for again (behaviour 18)."""

PERSONA_JOBS = "persona-jobs"
"""2026-11-30: further personas of a message became entries of the queue. Channels that were in the
middle of several personas run them as they did."""

GIVEN_UP = "plans-given-up"
"""2026-12-01: a plan that comes to no turn gives back what it took."""

KILLED_AFTER_WORDS = "killed-after-words"
"""2026-12-01: a `/kill` is more than the stop in words that has come just before it."""

ASKED_DURING_A_STOP = "asked-during-a-stop"
"""2026-12-01: a command asks for an answer although a stop is under way."""

RECENT_REPLY_TOOL = "interact_with_recent_message"

TURN_TASK_TIMEOUT = timedelta(seconds=5)
"""Workflow task timeout of a turn: how long a task stays with a worker that was killed."""


@workflow.defn(name=CHANNEL_WORKFLOW)
class ChannelWorkflow:
    @workflow.init
    def __init__(self, channel: ChannelInput) -> None:
        self._channel = channel
        self._queue = ChannelQueue(channel.state, as_carried=channel.rules >= SIZE_RULES)
        self._retention = Retention(channel.state.retained_tools)
        self._counters = channel.state.counters
        self._follow_ups = channel.state.follow_ups
        self._stopped_before = channel.state.stopped_before
        self._lock: Lock | None = None
        self._stop_pending = False
        """A stop is under way: `/kill`, or one in words."""
        self._killed = False
        """It is a `/kill`."""
        self._held: list[tuple[ChatIncoming, datetime]] = []
        """What was said while a stop was under way, and when."""
        self._told: list[str] = []
        """Signals for the running turn that are still to be sent."""
        self._turn: workflow.ChildWorkflowHandle[TurnWorkflowType, TurnResult] | None = None
        self._turns_run = 0
        self._untold: tuple[ChatIncoming, str] | None = None
        """The newest message that will get no answer, and why, until its author has been told."""
        self._untold_directly = False
        """In the author's direct messages, and not in the channel."""

    @workflow.run
    async def run(self, channel: ChannelInput) -> None:
        try:
            await self._serve(channel)
        except asyncio.CancelledError:
            if workflow.cancellation_reason() is None:
                raise  # no cancel: the worker drops this workflow from its cache
            self._queue.clear()
            await self._report_dismissed()
            raise

    async def _serve(self, channel: ChannelInput) -> None:
        while await self._message_waits():
            await self._report_dismissed()
            if len(self._queue):
                await self._answer(self._queue.take())
                await self._tell()
            if workflow.cancellation_reason() is not None:
                # Somebody cancelled the channel itself; its turn has been stopped with it.
                raise asyncio.CancelledError
            if self._should_continue_as_new():
                await self._report_dismissed()
                update = {"state": self._state(), "rules": LOCK_RULES}
                workflow.continue_as_new(channel.model_copy(update=update))

    @workflow.signal(name=ENQUEUE_SIGNAL)
    def enqueue(self, message: ChatIncoming) -> None:
        """Dispose of a message. Repeated gateway events are dropped here."""
        if not self._queue.first_time(message.message_id):
            workflow.logger.info("message %s was accepted before", message.message_id)
            return
        if self._was_stopped(message):
            workflow.logger.info("message %s was said before a stop", message.message_id)
            self._queue.dismiss(message)
            return
        lock = self._lock
        if self._channel.rules < DISPOSITION_RULES:
            self._append(message, Source.QUEUE if lock else Source.MESSAGE)
            self._show()
            return
        if lock is not None and self._stop_pending:
            lock = replace(lock, stop_pending=not self._asked_anew(message))
        disposition = dispose(message, lock)
        if is_real_user(message) and disposition is not Disposition.NATURAL_STOP:
            self._counters = self._counters.model_copy(update={"cascade": 0})
        match disposition:
            case Disposition.ACCEPTED:
                self._append(message)
            case Disposition.QUEUED:
                self._append(message, Source.QUEUE)
            case Disposition.FOLLOW_UP:
                self._follow_up(message)
            case Disposition.NATURAL_STOP:
                self._stop_naturally(message)
            case Disposition.STOP_REQUESTED:
                self._held.append((message, workflow.now()))
            case _:
                self._queue.dismiss(message)
        workflow.logger.info("message %s: %s", message.message_id, disposition.value)
        self._show()

    def _was_stopped(self, message: ChatIncoming) -> bool:
        """Whether a `/kill` that was given later has been quicker. The ids of messages and of
        commands grow with the time at which Discord made them."""
        message_id = message.message_id
        if message.is_synthetic or not message_id.isdecimal():
            return False  # an id without a time
        return _is_older(message_id, self._stopped_before)

    def _asked_anew(self, message: ChatIncoming) -> bool:
        """Somebody who gives a command while a stop is under way wants what comes after it."""
        return message.addressed is Addressed.COMMAND and workflow.patched(ASKED_DURING_A_STOP)

    def _append(self, message: ChatIncoming, source: Source = Source.MESSAGE) -> None:
        if message.is_synthetic:
            source = Source.MANUAL
        elif len(self._queue):
            source = Source.QUEUE
        if not self._queue.append(QueueEntry(invocation=message, source=source)):
            workflow.logger.warning("message %s finds the queue full", message.message_id)
            self._untold = (message, _TOO_MANY)

    def _follow_up(self, message: ChatIncoming) -> None:
        """The author of what is being answered has written more: that comes next, and the answer
        gives way unless a tool has run (behaviour 2.3)."""
        self._queue.drop(
            lambda entry: entry.is_follow_up and entry.invocation.author_id == message.author_id
        )
        job = message.model_copy(
            update={
                "is_manual": True,
                "selected_persona_id": self._lock.persona_id if self._lock else None,
                "disabled_tools": [*message.disabled_tools, RECENT_REPLY_TOOL],
            }
        )
        entry = QueueEntry(invocation=job, source=Source.QUEUE, is_follow_up=True)
        self._queue.push_front([entry])
        self._told.append(FOLLOW_UP_SIGNAL)

    def _stop_naturally(self, message: ChatIncoming) -> None:
        """Stop what runs, with what it has said so far, and let the persona answer that (2.4)."""
        self._queue.drop(lambda entry: is_self_reply(entry.invocation))
        response = message.model_copy(
            update={
                "is_stop_response": True,
                "selected_persona_id": self._lock.persona_id if self._lock else None,
                "text_quota_source": QuotaSource.SYSTEM,
                "surface_errors": True,
            }
        )
        self._queue.push_front([QueueEntry(invocation=response, source=Source.STOP)])
        self._stop_pending = True
        self._told.append(NATURAL_STOP_SIGNAL)

    @workflow.update(name=KILL_UPDATE)
    def kill(self, request: KillRequest) -> KillOutcome:
        """Stop the running turn and drop the queue, and say what there was to stop."""
        return self._stop(request)

    @workflow.signal(name=KILL_SIGNAL)
    def kill_when_back(self, request: KillRequest) -> None:
        """The same, sent when no worker was there to answer an update."""
        self._stop(request)

    @workflow.signal(name=TOOLS_USED_SIGNAL)
    def tools_used(self, used: ToolsUsed) -> None:
        """What the tools of a turn did that ends without a result."""
        self._retention.apply(used)

    def _stop(self, request: KillRequest) -> KillOutcome:
        cleared = self._queue.clear()
        self._let_go(self._held)
        stopped = self._lock is not None
        if stopped:
            self._stop_pending = self._killed = True
            if self._turn is not None:
                self._turn.cancel()
        outcome = KillOutcome(stopped=stopped, cleared=cleared)
        if not outcome.nothing_to_stop and _is_older(self._stopped_before, request.command_id):
            self._stopped_before = request.command_id
        self._show()
        return outcome

    async def _message_waits(self) -> bool:
        """Wait for a message; False when the channel has been idle long enough to close.

        A message that arrives while it closes makes the server hand the task back, and it is
        looked at again; one that arrives later opens the channel anew.
        """
        try:
            await workflow.wait_condition(
                self._work_waits,
                timeout=timedelta(seconds=self._channel.idle_seconds),
                timeout_summary="closes when idle",
            )
        except TimeoutError:
            return self._work_waits()
        return True

    def _work_waits(self) -> bool:
        return len(self._queue) > 0 or len(self._queue.dismissed) > 0

    async def _report_dismissed(self) -> None:
        """Tell those who wait for a message that has lost its turn."""
        while self._queue.dismissed:
            await report(self._queue.dismissed.pop(0), InvocationEnd.DISCARDED)

    async def _answer(self, entry: QueueEntry) -> None:
        """Plan one message, and run the turn of the first persona that answers it. Further ones
        come next, each with a plan, a lock and typing of its own (behaviour 5.2)."""
        message = entry.invocation
        self._lock = Lock(
            owner_id=message.author_id,
            by_command=message.addressed is Addressed.COMMAND,
            is_stop_response=message.is_stop_response,
            follow_ups=self._follow_ups,
            as_shown=self._channel.rules >= STOP_RULES,
        )
        self._show()
        plan = await self._plan(message)
        if plan.counters is not None:
            # A person may have begun the cascade anew while this was planned.
            cascade = min(self._counters.cascade, plan.counters.cascade)
            self._counters = plan.counters.model_copy(update={"cascade": cascade})
        end = await self._run_plan(entry, plan)
        self._lock = None
        self._stop_pending = self._killed = False
        self._told.clear()
        self._after_the_stop()
        self._show()
        await report(message, end)

    def _after_the_stop(self) -> None:
        """What was said while the stop was under way is ignored (C008), but for the last moment:
        the turn had ended by then, for all that anybody could see, and only we had not heard."""
        held, self._held = self._held, []
        now = workflow.now()
        late = [message for message, at in held if now - at <= STOP_GRACE]
        self._let_go([(message, at) for message, at in held if now - at > STOP_GRACE])
        for message in late:
            if dispose(message, None) is Disposition.ACCEPTED:
                self._append(message)
            else:
                self._queue.dismiss(message)

    def _let_go(self, held: list[tuple[ChatIncoming, datetime]]) -> None:
        for message, _ in held:
            self._queue.dismiss(message)
        held.clear()

    async def _run_plan(self, entry: QueueEntry, plan: TurnPlan) -> InvocationEnd:
        message = entry.invocation
        if self._stopped():
            if plan.turns:
                await self._give_up(message)
            return InvocationEnd.STOPPED
        if plan.refusal is not None:
            return self._refused(message, plan.refusal)
        if not plan.turns:
            return InvocationEnd.DISCARDED
        first, *others = plan.turns
        if others and workflow.patched(PERSONA_JOBS):
            self._queue.push_front([_persona_job(message, planned) for planned in others])
            others = []
        end = await self._run_turn(entry, first, plan)
        for planned in others:  # a channel that was begun before there were persona jobs
            if self._stopped():
                return InvocationEnd.STOPPED
            end = await self._run_turn(entry, planned, plan)
        return end

    def _stopped(self) -> bool:
        return self._stop_pending or workflow.cancellation_reason() is not None

    def _refused(self, message: ChatIncoming, refusal: PlanRefusal) -> InvocationEnd:
        workflow.logger.info("message %s: %s", message.message_id, refusal.reason.value)
        if refusal.notice:
            self._untold = (message, refusal.notice)
            self._untold_directly = refusal.by_direct_message
        return InvocationEnd.REFUSED

    async def _plan(self, message: ChatIncoming) -> TurnPlan:
        """Tried again while the database is away, for PLAN_PATIENCE. Between the attempts the
        channel listens: a local activity that is retried by itself would hold up a `/kill`."""
        give_up_at = workflow.now() + PLAN_PATIENCE
        while not self._stop_pending:
            try:
                request = PlanRequest(invocation=message, counters=self._counters)
                return await run_local(PLAN_TURNS, request, summary=summaries.plan(message))
            except FailureError as error:
                if is_cancelled_exception(error):
                    raise
                workflow.logger.error("message %s is not planned: %s", message.message_id, error)
            if workflow.now() >= give_up_at:
                self._untold = (message, _OUR_FAULT)
                break
            with contextlib.suppress(TimeoutError):
                await workflow.wait_condition(
                    lambda: self._stop_pending,
                    timeout=PLAN_PAUSE,
                    timeout_summary="until it is planned again",
                )
        return TurnPlan()

    async def _give_up(self, message: ChatIncoming) -> None:
        """The plan comes to no turn that records its end. Best effort: what it took is free by
        itself after a while."""
        if not workflow.patched(GIVEN_UP):
            return
        try:
            request = PlanRequest(invocation=message)
            await run_local(GIVE_UP_PLAN, request, summary="nobody answers after all")
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("the plan of %s is not given up", message.message_id)

    async def _tell(self) -> None:
        """Say once in the channel that a message gets no answer. Best effort, and bounded."""
        if self._untold is None or self._stop_pending:
            return
        message, reason = self._untold
        directly, self._untold_directly = self._untold_directly, False
        self._untold = None
        if not message.surface_errors or message.tries_again:
            return
        request = SendRequest(
            turn_id=workflow.info().workflow_id,
            channel_id=message.channel_id,
            trigger_message_id=message.message_id,
            persona_id=0,
            outgoing=[
                Outgoing(
                    ordinal=0,
                    text=reason,
                    kind=OutgoingKind.NOTICE,
                    colour=NoticeColour.AMBER,
                )
            ],
            direct_to=message.author_id if directly else None,
            reply_to=None if directly or not message.is_in_channel else message.message_id,
            last=True,
        )
        handle = start(
            SEND_SEGMENTS,
            request,
            summary="a message gets no answer",
            task_queue=discord_queue(message.application_id),
            policy=TELL_POLICY,
        )
        try:
            await handle
        except ActivityError:
            workflow.logger.warning("message %s is not told", message.message_id)

    async def _run_turn(
        self, entry: QueueEntry, planned: PlannedTurn, plan: TurnPlan
    ) -> InvocationEnd:
        """Run one persona's turn to its end, and again while its answer is empty (behaviour 6.9).
        Says what that means to whoever asked."""
        self._lock = replace(
            self._lock or Lock(),
            persona_id=planned.persona_id,
            is_main=planned.voice.is_main,
            follow_up_eligible=plan.follow_up_eligible,
            max_follow_ups=plan.max_follow_ups,
        )
        generation = entry.invocation.retry_count
        while True:
            result = await self._run_once(entry, planned, plan, generation)
            if isinstance(result, InvocationEnd):
                return result
            empty = result.status is StreamStatus.EMPTY_RESPONSE
            if not empty or generation >= plan.empty_retries or self._stopped():
                break
            with contextlib.suppress(TimeoutError):
                await workflow.wait_condition(
                    self._stopped, timeout=RETRY_PAUSE, timeout_summary="an empty answer"
                )
            if self._stopped():
                return InvocationEnd.STOPPED
            generation += 1
            again = entry.invocation.model_copy(
                update={
                    "retry_count": generation,
                    "skip_lock": True,
                    "empty_response_finish_reason": result.finish_reason,
                }
            )
            entry = entry.model_copy(update={"invocation": again, "source": Source.RETRY})
        self._count(entry.invocation, planned, result)
        return end_of(result.status)

    async def _run_once(
        self, entry: QueueEntry, planned: PlannedTurn, plan: TurnPlan, generation: int
    ) -> TurnResult | InvocationEnd:
        """One turn: its result, or what it came to without one."""
        message = entry.invocation
        turn = TurnInput(
            invocation=message,
            persona_id=planned.persona_id,
            persona_name=planned.persona_name,
            voice=planned.voice,
            source=entry.source,
            generation=generation,
            omit_message_ids=self._queue.waiting_ids(),
            limits=plan.limits,
            provider=plan.provider,
            model=plan.model,
            retained_tools=self._retention.offered(),
            retries_left=max(0, plan.empty_retries - generation),
        )
        self._turns_run += 1
        try:
            self._turn = await workflow.start_child_workflow(
                TURN_WORKFLOW,
                turn,
                id=turn_workflow_id(
                    message.channel_id, message.message_id, planned.persona_id, generation
                ),
                result_type=TurnResult,
                # The id is the idempotency key of the turn: once answered, never again.
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
                task_timeout=TURN_TASK_TIMEOUT,
                static_summary=summaries.turn(turn),
                search_attributes=_search_attributes(turn),
            )
            in_words = NATURAL_STOP_SIGNAL in self._told and not (
                self._killed and workflow.patched(KILLED_AFTER_WORDS)
            )
            if self._stop_pending and not in_words:
                self._turn.cancel()
            result = await self._result_of(self._turn)
        except WorkflowAlreadyStartedError:
            workflow.logger.info("message %s was answered before", message.message_id)
            await self._give_up(message)
            return InvocationEnd.ANSWERED
        except ChildWorkflowError as error:
            # A stopped turn ends as cancelled. A turn that failed has said so in the channel
            # itself; the next message must not suffer for it.
            self._follow_ups = 0
            if is_cancelled_exception(error):
                return InvocationEnd.STOPPED
            workflow.logger.error("the turn of message %s failed", message.message_id)
            await self._give_up(message)
            return InvocationEnd.FAILED
        finally:
            self._turn = None
        self._retention.apply(result.tools)
        interrupted = result.status is StreamStatus.FOLLOW_UP_INTERRUPT
        self._follow_ups = self._follow_ups + 1 if interrupted else 0
        return result

    async def _result_of(
        self, turn: workflow.ChildWorkflowHandle[TurnWorkflowType, TurnResult]
    ) -> TurnResult:
        """The turn's result. Meanwhile it is told what the channel hears: a follow-up, a stop."""
        while True:
            await workflow.wait_condition(lambda: turn.done() or len(self._told) > 0)
            if turn.done():
                return await turn
            try:
                await turn.signal(self._told.pop(0))
            except FailureError:
                workflow.logger.info("the turn has ended before it could be told")

    def _count(self, message: ChatIncoming, planned: PlannedTurn, result: TurnResult) -> None:
        """An answer that produced text counts towards the cascade (behaviour 5.3)."""
        if not result.produced_text:
            return
        update: dict[str, object] = {"last_persona_id": planned.persona_id}
        own_doing = message.is_manual and not message.is_persona_job
        if not (own_doing or message.is_stop_response or message.is_synthetic):
            update |= {
                "cascade": self._counters.cascade + 1,
                "cascade_after_id": message.message_id,
                "cascade_at": workflow.now().isoformat(),
            }
        self._counters = self._counters.model_copy(update=update)

    def _state(self) -> ChannelState:
        return self._queue.state().model_copy(
            update={
                "retained_tools": self._retention.state(),
                "counters": self._counters,
                "follow_ups": self._follow_ups,
                "stopped_before": self._stopped_before,
            }
        )

    def _should_continue_as_new(self) -> bool:
        after = self._channel.continue_after_turns
        if after and self._turns_run >= after:
            return True
        return workflow.info().is_continue_as_new_suggested()

    def _show(self) -> None:
        workflow.set_current_details(
            summaries.channel_details(self._lock is not None, len(self._queue))
        )


def _is_older(snowflake: str, other: str) -> bool:
    """What is no snowflake is older than any, and nothing is older than it."""
    if not other.isdecimal():
        return False
    return not snowflake.isdecimal() or int(snowflake) < int(other)


def is_self_reply(message: ChatIncoming) -> bool:
    """Work that personas made for themselves: further personas, and answers to personas."""
    answers_a_persona = message.author_persona_id is not None and not message.is_manual
    return message.is_persona_job or answers_a_persona


def _persona_job(message: ChatIncoming, planned: PlannedTurn) -> QueueEntry:
    job = message.model_copy(
        update={
            "is_persona_job": True,
            "is_manual": True,
            "selected_persona_id": planned.persona_id,
            "text_quota_key": message.text_quota_key or message.message_id,
            # Whoever waits for this message is told by its first answer.
            "answer_to": None,
            "boomerang": None,
        }
    )
    return QueueEntry(invocation=job, source=Source.PERSONA_JOB)


TurnWorkflowType = object
"""Turns are started by name, so that this module does not import theirs."""


def _search_attributes(turn: TurnInput) -> TypedSearchAttributes:
    message = turn.invocation
    provider = [SearchAttributePair(attributes.PROVIDER, turn.provider)] if turn.provider else []
    return TypedSearchAttributes(
        [
            *provider,
            SearchAttributePair(
                attributes.GUILD, message.guild_id or attributes.DIRECT_MESSAGE_GUILD
            ),
            SearchAttributePair(attributes.CHANNEL, message.channel_id),
            SearchAttributePair(attributes.PERSONA, turn.persona_name),
            SearchAttributePair(attributes.SOURCE, turn.source.value),
            SearchAttributePair(attributes.STATUS, "running"),
        ]
    )
