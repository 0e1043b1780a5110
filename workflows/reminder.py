"""ReminderWorkflow: one stored reminder, waited for and delivered.

In: the id of its row; `changed` signals when the row was edited or removed, `outcome` signals of
the channels that were asked to answer. Out: for each occurrence a message to its channel, tried a
few times, or at last a plain notice. One whose maker may not write there any more is not said: they
are told, directly and once. It ends when the row is gone; a cancel removes the row.
What always holds: an occurrence counts from the time it was due, never from its delivery; an
attempt that has not been heard of is asked for again under its own message id, so that it is not
answered twice; nothing is said of a row that has changed meanwhile; arithmetic with calendars is
the activities' matter.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from workflows.activity_calls import Policy, start
    from workflows.contracts.base import discord_queue, synthetic_message_id
    from workflows.contracts.delivery import SEND_SEGMENTS, Outgoing, OutgoingKind, SendRequest
    from workflows.contracts.invocation import (
        OUTCOME_SIGNAL,
        REMINDER_WORKFLOW,
        InvocationEnd,
        InvocationOutcome,
    )
    from workflows.contracts.reminders import (
        ADVANCE_REMINDER,
        CHECK_REMINDER,
        DELIVER_REMINDER,
        LOAD_REMINDER,
        REMINDER_CHANGED_SIGNAL,
        REMOVE_REMINDER,
        ReminderDelivery,
        ReminderInput,
        ReminderKey,
        ReminderStanding,
        ReminderState,
    )
    from workflows.contracts.tools import NoticeColour

SILENCE = timedelta(hours=1)
"""How long an attempt may go unheard of: a channel may be busy, and a turn long."""

DATABASE_POLICY = Policy(
    start_to_close=timedelta(seconds=30),
    retry=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=1)),
)
"""Tried until the database is back. As plain activities, for an attempt of theirs costs the
history nothing, and a reminder is in no hurry."""

CHECK_POLICY = Policy(
    start_to_close=timedelta(seconds=30),
    retry=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=6),
)
"""It waits for a bot as long as it takes; one that is there has these attempts."""

TOLD_THAT_IT_GOES = "told-that-it-goes"
"""2026-12-01: also whoever has been told before that it waits."""

DONE = (InvocationEnd.ANSWERED, InvocationEnd.STOPPED)

MAX_QUOTE = 1_500
"""Code points of the purpose in the plain notice."""


@workflow.defn(name=REMINDER_WORKFLOW)
class ReminderWorkflow:
    @workflow.init
    def __init__(self, reminder: ReminderInput) -> None:
        self._id = reminder.reminder_id
        self._changed = False
        self._ends: dict[str, InvocationEnd] = {}
        """By message id, of this occurrence."""
        self._occurrence: datetime | None = None
        self._attempt = 0
        """Of the occurrence that was delivered last. It may come back, where an edit is taken
        back, and an attempt that was heard of has used up its message id."""
        self._is_held_back = reminder.is_held_back

    @workflow.run
    async def run(self, reminder: ReminderInput) -> None:
        try:
            await self._serve(reminder)
        except (asyncio.CancelledError, ActivityError) as error:
            if workflow.cancellation_reason() is None or not is_cancelled_exception(error):
                raise  # no cancel: the worker drops this workflow from its cache
            workflow.set_current_details("Cancelled.")
            await self._remove()
            raise asyncio.CancelledError from None

    async def _serve(self, reminder: ReminderInput) -> None:
        occurrences = 0
        state = await self._load()
        while state.due is not None:
            if await self._is_due(state.due) and await self._deliver(state, state.due):
                state = await self._advance(state.due)
                occurrences += 1
            else:
                state = await self._load()
            _go_on()
            if 0 < reminder.continue_after <= occurrences or (
                workflow.info().is_continue_as_new_suggested()
            ):
                workflow.continue_as_new(
                    reminder.model_copy(update={"is_held_back": self._is_held_back})
                )

    @workflow.signal(name=REMINDER_CHANGED_SIGNAL)
    def changed(self) -> None:
        """The row was edited or removed."""
        self._changed = True

    @workflow.signal(name=OUTCOME_SIGNAL)
    def outcome(self, outcome: InvocationOutcome) -> None:
        """How an attempt came out, after its turn has closed (C027)."""
        self._ends[outcome.message_id] = outcome.end

    async def _is_due(self, due: datetime) -> bool:
        """Wait for the time; False when the row has changed meanwhile."""
        workflow.set_current_details(f"Due at **{due:%Y-%m-%d %H:%M}** UTC.")
        left = due - workflow.now()
        if left > timedelta(0):
            await self._wait(left, f"due at {due:%Y-%m-%d %H:%M} UTC")
        return not self._changed

    async def _deliver(self, state: ReminderState, due: datetime) -> bool:
        """See one occurrence through, to an answer or to the plain notice. False when its row has
        changed, and it is to be looked at again."""
        self._ends.clear()
        if due != self._occurrence:
            self._occurrence, self._attempt = due, 0
        delivery = ReminderDelivery()
        for number in range(1, max(1, state.deliveries) + 1):
            workflow.set_current_details(f"Due. Delivery {number} of {state.deliveries}.")
            standing = await self._standing(state, due)
            if not standing.allowed:
                return await self._hold_back(state, standing, due)
            self._is_held_back = False
            _go_on()
            delivery = await start(
                DELIVER_REMINDER,
                ReminderKey(reminder_id=self._id, due=due, attempt=self._attempt),
                summary=f"delivery {number}",
                policy=DATABASE_POLICY,
            )
            if not delivery.message_id:
                return False
            end = await self._end_of(delivery.message_id)
            if end in DONE:
                return True
            pause = timedelta(0)
            if end is not None:
                self._attempt += 1
                pause = timedelta(seconds=state.retry_delay_seconds)
            if number < state.deliveries and not await self._stands_for(pause, due):
                return False
        if not await self._still_due(due):
            return False
        await self._say_plainly(delivery, due)
        return True

    async def _standing(self, state: ReminderState, due: datetime) -> ReminderStanding:
        """Whether it may be said. Where Discord does not say, the delivery is what fails: the bot
        cannot speak either in a place that it does not see."""
        if not state.application_id:
            return ReminderStanding()
        _go_on()
        try:
            return await start(
                CHECK_REMINDER,
                ReminderKey(reminder_id=self._id, due=due),
                summary="may its maker write there?",
                task_queue=discord_queue(state.application_id),
                policy=CHECK_POLICY,
            )
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("reminder %d is not checked: %s", self._id, error.cause)
            return ReminderStanding()

    async def _hold_back(
        self, state: ReminderState, standing: ReminderStanding, due: datetime
    ) -> bool:
        """Nothing is said in the channel; its maker is told in person, once that it waits and once
        that it goes. As `_deliver`: True
        passes the occurrence over."""
        _go_on()
        if standing.is_over:
            left = await start(
                REMOVE_REMINDER,
                ReminderKey(reminder_id=self._id, due=due),
                summary="its maker may not have it said any more",
                policy=DATABASE_POLICY,
            )
            if left.due is not None:
                return False  # edited meanwhile
        waits = standing.recurs and not standing.is_over
        goes = standing.is_over and workflow.patched(TOLD_THAT_IT_GOES)
        if goes or not self._is_held_back:
            self._is_held_back = waits
            fate = "It is said again once you may." if waits else "It is deleted."
            told = f"Not said in <#{standing.channel_id}>: {standing.why} {fate}"
            await self._say(
                _notice("Reminder", standing.purpose, due, told),
                application_id=state.application_id,
                channel_id=standing.channel_id,
                due=due,
                direct_to=standing.user_id,
            )
        return not standing.is_over

    async def _end_of(self, message_id: str) -> InvocationEnd | None:
        """How an attempt came out; None when nobody has said within SILENCE."""
        give_up_at = workflow.now() + SILENCE
        while message_id not in self._ends:
            _go_on()
            left = give_up_at - workflow.now()
            if left <= timedelta(0):
                workflow.logger.warning("nothing is heard of message %s", message_id)
                return None
            try:
                await workflow.wait_condition(
                    lambda: message_id in self._ends,
                    timeout=left,
                    timeout_summary="until its turn has closed",
                )
            except TimeoutError:
                continue
        return self._ends[message_id]

    async def _stands_for(self, pause: timedelta, due: datetime) -> bool:
        """Pause between two deliveries; False as soon as an edit has moved the occurrence."""
        end = workflow.now() + pause
        while True:
            left = end - workflow.now()
            if left > timedelta(0):
                await self._wait(left, "until the next delivery")
            if not self._changed:
                return True
            if not await self._still_due(due):
                return False

    async def _wait(self, time: timedelta, summary: str) -> None:
        """Wait for a time, or until the row has changed."""
        _go_on()
        try:
            await workflow.wait_condition(
                lambda: self._changed, timeout=time, timeout_summary=summary
            )
        except TimeoutError:
            return

    async def _still_due(self, due: datetime) -> bool:
        """Whether the row is there, and due when it was."""
        return (await self._load()).due == due

    async def _load(self) -> ReminderState:
        _go_on()
        self._changed = False
        return await start(
            LOAD_REMINDER,
            ReminderKey(reminder_id=self._id),
            summary="when it is due",
            policy=DATABASE_POLICY,
        )

    async def _advance(self, due: datetime) -> ReminderState:
        _go_on()
        return await start(
            ADVANCE_REMINDER,
            ReminderKey(reminder_id=self._id, due=due),
            summary="what comes after it",
            policy=DATABASE_POLICY,
        )

    async def _remove(self) -> None:
        """Whoever cancels it wants it gone; while the row is there, a worker starts it again."""
        await start(
            REMOVE_REMINDER,
            ReminderKey(reminder_id=self._id),
            summary="nobody wants it any more",
            policy=DATABASE_POLICY,
        )

    async def _say_plainly(self, delivery: ReminderDelivery, due: datetime) -> None:
        """The notice in place of an answer that could not be had. Best effort, and bounded."""
        _go_on()
        workflow.logger.error("reminder %d could not be delivered by its persona", self._id)
        what = "Reminder" if delivery.recipient_id else "Task"
        await self._say(
            _notice(what, delivery.purpose, due, mention=delivery.recipient_id),
            application_id=delivery.application_id,
            channel_id=delivery.channel_id,
            due=due,
        )

    async def _say(
        self,
        notice: Outgoing,
        *,
        application_id: str,
        channel_id: str,
        due: datetime,
        direct_to: str | None = None,
    ) -> None:
        request = SendRequest(
            turn_id=workflow.info().workflow_id,
            channel_id=channel_id,
            trigger_message_id=synthetic_message_id(
                "reminder notice", str(self._id), due.isoformat()
            ),
            persona_id=0,
            outgoing=[notice],
            direct_to=direct_to,
            last=True,
        )
        _go_on()
        try:
            await start(
                SEND_SEGMENTS,
                request,
                summary="a plain notice",
                task_queue=discord_queue(application_id),
            )
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.error("reminder %d is lost: %s", self._id, error.cause)


def _notice(
    what: str, purpose: str, due: datetime, more: str = "", mention: str | None = None
) -> Outgoing:
    # Discord shows the time to everybody in their own zone.
    told = f"{purpose[:MAX_QUOTE]}\n\nDue <t:{int(due.timestamp())}:f>."
    return Outgoing(
        ordinal=0,
        kind=OutgoingKind.NOTICE,
        title=what,
        text=f"{told} {more}".strip(),
        colour=NoticeColour.AMBER,
        mention_user_id=mention,
    )


def _go_on() -> None:
    """Raises CancelledError after a cancel. To be called before anything new is begun: a cancel
    that arrives together with the end of what was waited for is not heard there."""
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError
