"""tool ──► reminder ──► bot, channel: reminders, and tasks of a persona's own, as durable timers.

The row in the database says what is due and when; the workflow only waits for it. So an edit is a
changed row and a signal, and a new worker can start the workflow of every row that has none.
"""

from __future__ import annotations

from pydantic import AwareDatetime

from workflows.contracts.base import ActivityStub, Contract


class ReminderInput(Contract):
    reminder_id: int
    is_held_back: bool = False
    """Its maker knows that it is not said for the time being."""
    continue_after: int = 0
    """For tests: continue as new after so many occurrences. 0: when the server suggests it."""


class ReminderKey(Contract):
    """One attempt at one occurrence of a reminder."""

    reminder_id: int
    due: AwareDatetime | None = None
    """The canonical time of the occurrence, never moved by retries (behaviour 3)."""
    attempt: int = 0
    """0, 1, … of its deliveries."""


class ReminderState(Contract):
    due: AwareDatetime | None = None
    """When it is next due; None: the reminder is gone, or done."""
    deliveries: int = 5
    """Attempts at one occurrence."""
    retry_delay_seconds: float = 60
    """From one attempt to the next."""
    application_id: str = ""
    """Of the bot that can say whether its maker may still write there. Empty: nobody needs to be
    asked, in a direct message."""


class ReminderStanding(Contract):
    """Whether a reminder may be said for its maker; the rest is for the one who may not."""

    allowed: bool = True
    why: str = ""
    """One sentence for its maker."""
    is_over: bool = False
    """They will not be allowed again: it goes. Else it waits for its next occurrence."""
    recurs: bool = False
    user_id: str = ""
    channel_id: str = ""
    purpose: str = ""


class ReminderDelivery(Contract):
    """What a delivery attempt left behind."""

    message_id: str = ""
    """Of the synthetic invocation; its `InvocationOutcome` names it. Empty: the reminder is
    gone."""
    application_id: str = ""
    channel_id: str = ""
    purpose: str = ""
    recipient_id: str | None = None


LOAD_REMINDER = ActivityStub("load_reminder", ReminderKey, ReminderState)
CHECK_REMINDER = ActivityStub("check_reminder", ReminderKey, ReminderStanding)
"""On the Discord queue: may its maker still write where it is due?"""
DELIVER_REMINDER = ActivityStub("deliver_reminder", ReminderKey, ReminderDelivery)
"""Signals the channel with an `Origin.REMINDER` invocation that answers to this reminder."""
ADVANCE_REMINDER = ActivityStub("advance_reminder", ReminderKey, ReminderState)
"""The occurrence `due` is over: a one-shot row goes, a recurring one moves on from `due`."""
REMOVE_REMINDER = ActivityStub("remove_reminder", ReminderKey, ReminderState)
"""The row goes; with `due` only while it is due then. What is returned is what is left."""

REMINDER_CHANGED_SIGNAL = "changed"
"""Signal of `ReminderWorkflow`: its row was edited or removed."""
