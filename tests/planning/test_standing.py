"""A reminder that waited in its channel's queue, and what became of its row meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.planning import PlanningActivities
from activities.reminders.deliver import invocation
from storage import Reminder, Storage, open_storage
from workflows.contracts.invocation import ChatIncoming, Origin
from workflows.contracts.planning import PlanRequest

DUE = datetime(2026, 4, 1, 8, tzinfo=UTC)


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    folder = tmp_path / "personas"
    folder.mkdir()
    (folder / "Nova.md").write_text('+++\nname = "Nova"\nmain = true\n+++\nYou are kind.')
    await opened.personas.seed(folder)
    yield opened
    await opened.close()


@pytest.fixture
async def reminder(storage: Storage) -> Reminder:
    return await storage.reminders.add(
        server_key="1",
        guild_id="1",
        application_id="900",
        bot_user_id="900",
        channel_id="42",
        persona_id=1,
        user_id="7",
        recipient_id="8",
        purpose="water the plants",
        wall_time=DUE.replace(tzinfo=None),
        zone="UTC",
        due_at=DUE,
    )


async def is_answered(storage: Storage, message: ChatIncoming) -> bool:
    request = PlanRequest(invocation=message)
    plan = await ActivityEnvironment().run(PlanningActivities(storage).plan_turns, request)
    return bool(plan.turns)


async def test_one_that_is_still_wanted_is_answered(storage: Storage, reminder: Reminder) -> None:
    assert await is_answered(storage, invocation(reminder, 0))
    assert await is_answered(storage, invocation(reminder, 3))


@pytest.mark.parametrize(
    "changes",
    [
        {"due_at": DUE + timedelta(days=1)},
        {"channel_id": "43"},
        {"recipient_id": None},
        {"purpose": "water the cactus"},
    ],
)
async def test_one_that_was_changed_while_it_waited_is_not(
    storage: Storage, reminder: Reminder, changes: Any
) -> None:
    """It is asked for again, by its row as it is then."""
    waiting = invocation(reminder, 0)
    changed = await storage.reminders.replace(reminder.id, **changes)
    assert changed is not None
    assert not await is_answered(storage, waiting)
    assert await is_answered(storage, invocation(changed, 1))


async def test_one_that_was_taken_away_is_not(storage: Storage, reminder: Reminder) -> None:
    await storage.reminders.remove(reminder.id)
    assert not await is_answered(storage, invocation(reminder, 0))


async def test_what_follows_from_it_is_answered_though_its_row_is_gone(
    storage: Storage, reminder: Reminder
) -> None:
    """Another persona's answer, and the answer to a stop: the reminder itself has been said."""
    await storage.reminders.remove(reminder.id)
    for more in ({"is_persona_job": True}, {"is_stop_response": True}, {"origin": Origin.MESSAGE}):
        assert await is_answered(storage, invocation(reminder, 0).model_copy(update=more))


async def test_one_that_was_asked_for_by_an_older_everturn(
    storage: Storage, reminder: Reminder
) -> None:
    """It does not say of which time it is, so only its row counts."""
    message = invocation(reminder, 0)
    assert message.reminder is not None
    old = message.reminder.model_copy(update={"due": None})
    message = message.model_copy(update={"reminder": old})
    assert await is_answered(storage, message)
    await storage.reminders.remove(reminder.id)
    assert not await is_answered(storage, message)
