"""ChannelWorkflow: one per Discord channel; its lock and its queue.

In: `enqueue` signals (messages that the bot admitted) and `kill` updates. Out: one TurnWorkflow
for each persona that answers, as a child, one at a time, in the order the messages arrived.
What always holds: exactly one turn runs in a channel; an accepted message is never lost, neither
by closing when idle nor by continue-as-new; a repeated gateway event is answered once; a message
that cannot be accepted or planned is told so. Cancelling a channel stops its turn, drops what
waits, and ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta

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
    from workflows.contracts.invocation import (
        CHANNEL_WORKFLOW,
        ENQUEUE_SIGNAL,
        KILL_SIGNAL,
        KILL_UPDATE,
        TURN_WORKFLOW,
        ChatIncoming,
        InvocationEnd,
        KillOutcome,
        KillRequest,
    )
    from workflows.contracts.planning import PLAN_TURNS, PlannedTurn, PlanRequest, TurnPlan
    from workflows.contracts.tools import NoticeColour
    from workflows.contracts.turn import (
        TOOLS_USED_SIGNAL,
        ChannelInput,
        ChannelState,
        QueueEntry,
        ToolsUsed,
        TurnInput,
        TurnResult,
    )
    from workflows.deliberate import Retention
    from workflows.outcomes import end_of, report
    from workflows.queue import ChannelQueue, Offer

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

TURN_TASK_TIMEOUT = timedelta(seconds=5)
"""Workflow task timeout of a turn: how long a task stays with a worker that was killed."""


@workflow.defn(name=CHANNEL_WORKFLOW)
class ChannelWorkflow:
    @workflow.init
    def __init__(self, channel: ChannelInput) -> None:
        self._channel = channel
        self._queue = ChannelQueue(channel.state)
        self._retention = Retention(channel.state.retained_tools)
        self._busy = False
        self._stop_pending = False
        self._turn: workflow.ChildWorkflowHandle[TurnWorkflowType, TurnResult] | None = None
        self._turns_run = 0
        self._untold: tuple[ChatIncoming, str] | None = None
        """The newest message that will get no answer, and why, until its author has been told."""

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
                workflow.continue_as_new(channel.model_copy(update={"state": self._state()}))

    @workflow.signal(name=ENQUEUE_SIGNAL)
    def enqueue(self, message: ChatIncoming) -> None:
        """Accept a message. Repeated gateway events are dropped here."""
        match self._queue.offer(message, busy=self._busy):
            case Offer.REPEATED:
                workflow.logger.info("message %s was accepted before", message.message_id)
            case Offer.FULL:
                workflow.logger.warning("message %s finds the queue full", message.message_id)
                self._untold = (message, _TOO_MANY)
            case Offer.ACCEPTED:
                pass
        self._show()

    @workflow.update(name=KILL_UPDATE)
    def kill(self, request: KillRequest) -> KillOutcome:
        """Stop the running turn and drop the queue, and say what there was to stop."""
        return self._stop()

    @workflow.signal(name=KILL_SIGNAL)
    def kill_when_back(self, request: KillRequest) -> None:
        """The same, sent when no worker was there to answer an update."""
        self._stop()

    @workflow.signal(name=TOOLS_USED_SIGNAL)
    def tools_used(self, used: ToolsUsed) -> None:
        """What the tools of a turn did that ends without a result."""
        self._retention.apply(used)

    def _stop(self) -> KillOutcome:
        cleared = self._queue.clear()
        stopped = self._busy
        if stopped:
            self._stop_pending = True
            if self._turn is not None:
                self._turn.cancel()
        self._show()
        return KillOutcome(stopped=stopped, cleared=cleared)

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
        """Plan one message, and run a turn for each persona that answers, one after another."""
        self._busy = True
        self._show()
        plan = await self._plan(entry.invocation)
        end = InvocationEnd.DISCARDED
        for planned in plan.turns:
            if self._stop_pending or workflow.cancellation_reason() is not None:
                end = InvocationEnd.STOPPED
                break
            end = await self._run_turn(entry, planned, plan)
        self._busy = False
        self._stop_pending = False
        self._show()
        await report(entry.invocation, end)

    async def _plan(self, message: ChatIncoming) -> TurnPlan:
        """Tried again while the database is away, for PLAN_PATIENCE. Between the attempts the
        channel listens: a local activity that is retried by itself would hold up a `/kill`."""
        give_up_at = workflow.now() + PLAN_PATIENCE
        while not self._stop_pending:
            try:
                request = PlanRequest(invocation=message)
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

    async def _tell(self) -> None:
        """Say once in the channel that a message gets no answer. Best effort, and bounded."""
        if self._untold is None or self._stop_pending:
            return
        message, reason = self._untold
        self._untold = None
        if not message.surface_errors:
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
            reply_to=None if message.is_synthetic else message.message_id,
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
        """Run one persona's turn to its end, and say what that means to whoever asked."""
        message = entry.invocation
        turn = TurnInput(
            invocation=message,
            persona_id=planned.persona_id,
            persona_name=planned.persona_name,
            source=entry.source,
            omit_message_ids=self._queue.waiting_ids(),
            limits=plan.limits,
            provider=plan.provider,
            model=plan.model,
            retained_tools=self._retention.offered(),
        )
        self._turns_run += 1
        try:
            self._turn = await workflow.start_child_workflow(
                TURN_WORKFLOW,
                turn,
                id=turn_workflow_id(message.channel_id, message.message_id, planned.persona_id),
                result_type=TurnResult,
                # The id is the idempotency key of the turn: once answered, never again.
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
                task_timeout=TURN_TASK_TIMEOUT,
                static_summary=summaries.turn(turn),
                search_attributes=_search_attributes(turn),
            )
            if self._stop_pending:
                self._turn.cancel()
            result = await self._turn
        except WorkflowAlreadyStartedError:
            workflow.logger.info("message %s was answered before", message.message_id)
            return InvocationEnd.ANSWERED
        except ChildWorkflowError as error:
            # A stopped turn ends as cancelled. A turn that failed has said so in the channel
            # itself; the next message must not suffer for it.
            if is_cancelled_exception(error):
                return InvocationEnd.STOPPED
            workflow.logger.error("the turn of message %s failed", message.message_id)
            return InvocationEnd.FAILED
        finally:
            self._turn = None
        self._retention.apply(result.tools)
        return end_of(result.status)

    def _state(self) -> ChannelState:
        return self._queue.state().model_copy(update={"retained_tools": self._retention.state()})

    def _should_continue_as_new(self) -> bool:
        after = self._channel.continue_after_turns
        if after and self._turns_run >= after:
            return True
        return workflow.info().is_continue_as_new_suggested()

    def _show(self) -> None:
        workflow.set_current_details(summaries.channel_details(self._busy, len(self._queue)))


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
