"""What an operator reads in the Temporal UI: who does what, and for whom."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from activities.reminders.telling import summary_of
from storage.reminders import Reminder
from workflows import summaries
from workflows.contracts.invocation import ChatIncoming, Origin, ReminderDue
from workflows.contracts.turn import TurnInput


def turn_for(origin: Origin, **more: Any) -> TurnInput:
    message = ChatIncoming(
        application_id="1", channel_id="2", message_id="3", author_id="7", author_name="Ada",
        channel_name="general", content="a secret", bot_user_id="9", origin=origin, **more,
    )  # fmt: skip
    return TurnInput(invocation=message, persona_id=1, persona_name="Nova")


@pytest.mark.parametrize(
    ("origin", "recipient_id", "deed"),
    [
        (Origin.MESSAGE, None, "answers Ada"),
        (Origin.REMINDER, "7", "reminds Ada"),
        (Origin.REMINDER, "8", "reminds user 8 for Ada"),
        (Origin.REMINDER, None, "does a task of its own"),
        (Origin.CROSS_CHANNEL, None, "does a task for Ada"),
        (Origin.BOOMERANG, None, "reports back to Ada"),
    ],
)
def test_a_turn_is_named_by_what_it_does(
    origin: Origin, recipient_id: str | None, deed: str
) -> None:
    due = ReminderDue(reminder_id=4, recipient_id=recipient_id)
    turn = turn_for(origin, reminder=due if origin is Origin.REMINDER else None)
    assert summaries.turn(turn) == f"Nova {deed} in #general"
    assert summaries.plan(turn.invocation) == f"who {deed} in #general"


@pytest.mark.parametrize(
    ("more", "summary"),
    [
        ({"recipient_id": "7"}, "Reminder 4 for Ada in #general"),
        ({"recipient_id": "7", "is_dm": True}, "Reminder 4 for Ada in a direct message"),
        ({"recipient_id": "8"}, "Reminder 4 for user 8 in #general"),
        ({}, "Task 4 of the persona's own in #general"),
    ],
)
def test_a_reminder_is_named_by_whom_it_is_for(more: dict[str, Any], summary: str) -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    reminder = Reminder(
        id=4, server_key="1", application_id="1", bot_user_id="9", channel_id="2",
        channel_name="general", persona_id=1, user_id="7", user_name="Ada", purpose="a secret",
        wall_time=moment.replace(tzinfo=None), zone="UTC", due_at=moment, created_at=moment, **more,
    )  # fmt: skip
    assert summary_of(reminder) == summary
