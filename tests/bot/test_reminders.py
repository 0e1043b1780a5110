"""Whether a reminder's maker may still have it said, asked of a real client (behaviour 2.1)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from bot.reminders import ReminderRights
from storage import Reminder, Storage, open_storage
from tests.bot.ports import Table, table
from workflows.contracts.base import server_key
from workflows.contracts.reminders import ReminderKey, ReminderStanding

DUE = datetime(2026, 3, 1, 10, tzinfo=UTC)
STRANGER = "123456789012345678"


class Case:
    def __init__(self, at: Table, storage: Storage) -> None:
        self.at, self.storage = at, storage
        self._rights = ReminderRights(at.port, storage)

    async def add(self, user_id: str, channel: str = "general", **more: Any) -> Reminder:
        fields: dict[str, Any] = {
            "server_key": self.at.guild,
            "guild_id": self.at.guild,
            "application_id": "1",
            "bot_user_id": self.at.bot_id,
            "channel_id": self.at.channel(channel),
            "persona_id": 1,
            "user_id": user_id,
            "purpose": "water the plants",
            "wall_time": DUE.replace(tzinfo=None),
            "zone": "UTC",
            "due_at": DUE,
        }
        return await self.storage.reminders.add(**{**fields, **more})

    async def standing(self, reminder: Reminder, due: datetime = DUE) -> ReminderStanding:
        key = ReminderKey(reminder_id=reminder.id, due=due)
        return await ActivityEnvironment().run(self._rights.check_reminder, key)


@pytest.fixture
async def case(tmp_path: Path) -> AsyncIterator[Case]:
    storage = await open_storage(f"sqlite:///{tmp_path / 'everturn.db'}")
    async with table(tmp_path / "playground") as laid:
        yield Case(laid, storage)
    await storage.close()


async def test_who_may_write_there_is_reminded(case: Case) -> None:
    for channel, is_thread in (("general", False), ("side talk", True)):
        reminder = await case.add(case.at.user("Ben"), channel, is_thread=is_thread)
        assert await case.standing(reminder) == ReminderStanding()


@pytest.mark.parametrize("lost", ["SEND_MESSAGES", "VIEW_CHANNEL"])
async def test_who_may_not_write_there_waits_until_they_may(case: Case, lost: str) -> None:
    ben = case.at.user("Ben")
    reminder = await case.add(ben, interval_hours=24)
    case.at.forbid("general", ben, lost)
    await case.at.settled("general")
    standing = await case.standing(reminder)
    assert (standing.allowed, standing.is_over, standing.recurs) == (False, False, True)
    assert (standing.user_id, standing.channel_id) == (ben, case.at.channel())
    assert standing.purpose == "water the plants"


async def test_in_a_thread_its_own_permission_counts(case: Case) -> None:
    ben = case.at.user("Ben")
    reminder = await case.add(ben, "side talk", is_thread=True)
    case.at.forbid("general", ben, "SEND_MESSAGES_IN_THREADS")
    await case.at.settled("general")
    assert not (await case.standing(reminder)).allowed


async def test_who_has_left_is_reminded_no_more(case: Case) -> None:
    standing = await case.standing(await case.add(STRANGER))
    assert (standing.allowed, standing.is_over, standing.recurs) == (False, True, False)
    assert "not a member" in standing.why


async def test_whom_nobody_answers_is_reminded_no_more(case: Case) -> None:
    """Behaviour 2.1, row 12."""
    ben = case.at.user("Ben")
    reminder = await case.add(ben)
    await case.storage.configs.change_server(
        case.at.guild,
        lambda config: config.model_copy(
            update={"access": config.access.model_copy(update={"blocked_user_ids": [ben]})}
        ),
    )
    standing = await case.standing(reminder)
    assert (standing.allowed, standing.is_over) == (False, True)


async def test_what_is_not_asked_here(case: Case) -> None:
    """Direct messages; what is gone, or due at another time."""
    direct = await case.add(STRANGER, server_key=server_key(None, STRANGER), guild_id=None)
    assert (await case.standing(direct)).allowed
    edited = await case.add(STRANGER)
    assert (await case.standing(edited, DUE + timedelta(hours=1))).allowed
    await case.storage.reminders.remove(edited.id)
    assert (await case.standing(edited)).allowed


async def test_a_server_that_is_not_described_is_asked_again(case: Case) -> None:
    reminder = await case.add(case.at.user("Ben"), guild_id="111111111111111111")
    with pytest.raises(ApplicationError, match="not in that server"):
        await case.standing(reminder)
