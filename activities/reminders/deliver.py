"""The activities of `ReminderWorkflow`: when a reminder is due, its delivery, and what comes then.

Each may run again at any time. What always holds: an occurrence is named by the time at which
it was due, so whatever happened to the row meanwhile, nothing is delivered or moved on twice; one
attempt at one occurrence has one message id, so the channel answers it once; where tasks are
switched off nothing is delivered, and the occurrence is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from temporalio import activity
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes

from activities.reminders.calendar import Occurrence, next_occurrence, zone_named
from activities.reminders.schedule import RPC_TIMEOUT
from activities.reminders.timing import utc_now
from storage import Storage
from storage.reminders import Reminder
from workflows.contracts import attributes
from workflows.contracts.base import (
    TURNS_QUEUE,
    channel_workflow_id,
    reminder_workflow_id,
    synthetic_message_id,
)
from workflows.contracts.invocation import (
    CHANNEL_WORKFLOW,
    ENQUEUE_SIGNAL,
    ChatIncoming,
    Origin,
    ReminderDue,
)
from workflows.contracts.reminders import (
    ADVANCE_REMINDER,
    DELIVER_REMINDER,
    LOAD_REMINDER,
    REMOVE_REMINDER,
    ReminderDelivery,
    ReminderKey,
    ReminderState,
)
from workflows.contracts.tools import CREATE_TASK
from workflows.contracts.turn import LOCK_RULES, ChannelInput


@dataclass(frozen=True)
class RedeliverySettings:
    """Behaviour 18: REMINDER_DELIVERY_MAX_RETRIES and REMINDER_DELIVERY_RETRY_DELAY_MS."""

    deliveries: int = 5
    delay_seconds: float = 60


class ReminderActivities:
    def __init__(
        self,
        storage: Storage,
        temporal: Client,
        settings: RedeliverySettings | None = None,
        channel_queue: str = TURNS_QUEUE,
    ) -> None:
        self._storage = storage
        self._temporal = temporal
        self._settings = settings or RedeliverySettings()
        self._channel_queue = channel_queue

    @activity.defn(name=LOAD_REMINDER.name)
    async def load_reminder(self, key: ReminderKey) -> ReminderState:
        return self._state(await self._storage.reminders.get(key.reminder_id))

    @activity.defn(name=DELIVER_REMINDER.name)
    async def deliver_reminder(self, key: ReminderKey) -> ReminderDelivery:
        """Hand one attempt to the channel. Empty when the row is gone, or due at another time,
        which it is after an occurrence that was passed over."""
        reminder = await self._storage.reminders.get(key.reminder_id)
        if reminder is None or reminder.due_at != key.due:
            return ReminderDelivery()
        config = await self._storage.configs.server(reminder.server_key)
        if not config.tools.tasks:
            activity.logger.warning(
                "reminder %d is not delivered: reminders and tasks are switched off in server %s",
                reminder.id,
                reminder.server_key,
            )
            await self._move_on(reminder)
            return ReminderDelivery()
        incoming = invocation(reminder, key.attempt)
        await self._signal(incoming)
        return ReminderDelivery(
            message_id=incoming.message_id,
            application_id=reminder.application_id,
            channel_id=reminder.channel_id,
            purpose=reminder.purpose,
            recipient_id=reminder.recipient_id,
        )

    @activity.defn(name=ADVANCE_REMINDER.name)
    async def advance_reminder(self, key: ReminderKey) -> ReminderState:
        """The next occurrence is counted from the one that was due, never from its delivery
        (C026); those that nobody was there for are passed over."""
        reminder = await self._storage.reminders.get(key.reminder_id)
        if reminder is None or reminder.due_at != key.due:
            return self._state(reminder)  # edited meanwhile, or moved on by an earlier attempt
        return self._state(await self._move_on(reminder))

    async def _move_on(self, reminder: Reminder) -> Reminder | None:
        """From the occurrence it is due at to the next one, unless it was edited meanwhile."""
        reminders = self._storage.reminders
        if reminder.interval_hours == 0:
            await reminders.remove(reminder.id, only_if_due_at=reminder.due_at)
            return await reminders.get(reminder.id)
        zone = zone_named(reminder.zone) or ZoneInfo("UTC")
        latest = Occurrence(reminder.wall_time, reminder.due_at)
        following = next_occurrence(latest, zone, reminder.interval_hours, utc_now())
        return await reminders.replace(
            reminder.id,
            only_if_due_at=reminder.due_at,
            is_told=True,
            wall_time=following.wall_time,
            due_at=following.due_at,
        )

    @activity.defn(name=REMOVE_REMINDER.name)
    async def remove_reminder(self, key: ReminderKey) -> ReminderState:
        await self._storage.reminders.remove(key.reminder_id, only_if_due_at=key.due)
        if key.due is None:
            return self._state(None)
        return self._state(await self._storage.reminders.get(key.reminder_id))

    def _state(self, reminder: Reminder | None) -> ReminderState:
        return ReminderState(
            due=None if reminder is None else reminder.due_at,
            deliveries=self._settings.deliveries,
            retry_delay_seconds=self._settings.delay_seconds,
            application_id=_asked_of(reminder),
        )

    async def _signal(self, incoming: ChatIncoming) -> None:
        """Raises RPCError; the channel drops what it has accepted before."""
        place = "Direct messages" if incoming.is_dm else f"#{incoming.channel_name}"
        await self._temporal.start_workflow(
            CHANNEL_WORKFLOW,
            ChannelInput(channel_id=incoming.channel_id, rules=LOCK_RULES),
            id=channel_workflow_id(incoming.channel_id),
            task_queue=self._channel_queue,
            start_signal=ENQUEUE_SIGNAL,
            start_signal_args=[incoming],
            static_summary=f"{place} in {incoming.guild_name}" if incoming.guild_name else place,
            search_attributes=TypedSearchAttributes(
                [
                    SearchAttributePair(
                        attributes.GUILD, incoming.guild_id or attributes.DIRECT_MESSAGE_GUILD
                    ),
                    SearchAttributePair(attributes.CHANNEL, incoming.channel_id),
                ]
            ),
            rpc_timeout=RPC_TIMEOUT,
        )


def _asked_of(reminder: Reminder | None) -> str:
    """Whose bot knows what its maker may do there."""
    return reminder.application_id if reminder is not None and reminder.guild_id else ""


def invocation(reminder: Reminder, attempt: int) -> ChatIncoming:
    """What the channel is asked to answer. The author is whoever asked for the reminder, so that
    in a direct message the settings are that person's, never the bot's (C003); no task is made
    out of a task (C010)."""
    return ChatIncoming(
        application_id=reminder.application_id,
        channel_id=reminder.channel_id,
        message_id=message_id(reminder.id, reminder.due_at, attempt),
        author_id=reminder.user_id,
        author_name=reminder.user_name,
        content=reminder.purpose,
        guild_id=reminder.guild_id,
        guild_name=reminder.guild_name,
        channel_name=reminder.channel_name,
        is_dm=reminder.is_dm,
        is_thread=reminder.is_thread,
        bot_user_id=reminder.bot_user_id,
        persona_ids=[reminder.persona_id],
        selected_persona_id=reminder.persona_id,
        surface_errors=True,
        tries_again=True,
        origin=Origin.REMINDER,
        disabled_tools=[CREATE_TASK],
        reminder=ReminderDue(
            reminder_id=reminder.id, recipient_id=reminder.recipient_id, due=reminder.due_at
        ),
        answer_to=reminder_workflow_id(reminder.id),
    )


def message_id(reminder_id: int, due: datetime, attempt: int) -> str:
    return synthetic_message_id(
        "reminder", str(reminder_id), due.astimezone(UTC).isoformat(), str(attempt)
    )
