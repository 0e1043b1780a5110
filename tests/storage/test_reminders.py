"""Reminders: both clocks of one, the limit, and changes that meet each other."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage import Reminder, ReminderLimitReached, Storage, tables
from storage.reminders import NewReminder

DUE = datetime(2030, 3, 31, 7, 30, tzinfo=UTC)


def reminder(**fields: Any) -> NewReminder:
    values: Any = {
        "server_key": "1",
        "guild_id": "1",
        "guild_name": "Tea house",
        "application_id": "10",
        "bot_user_id": "11",
        "channel_id": "20",
        "channel_name": "general",
        "persona_id": 1,
        "user_id": "5",
        "user_name": "Ann",
        "recipient_id": "6",
        "purpose": "water the plants",
        "wall_time": datetime(2030, 3, 31, 9, 30),
        "zone": "Europe/Berlin",
        "due_at": DUE,
    }
    return values | fields


async def test_a_reminder_comes_back_whole(storage: Storage) -> None:
    kept = await storage.reminders.add(**reminder(interval_hours=24))
    assert await storage.reminders.get(kept.id) == kept
    assert kept.wall_time == datetime(2030, 3, 31, 9, 30)
    assert kept.wall_time.tzinfo is None
    assert (kept.due_at, kept.zone, kept.interval_hours) == (DUE, "Europe/Berlin", 24)
    assert (kept.is_dm, kept.is_thread, kept.recipient_id) == (False, False, "6")
    assert not kept.is_private
    expected = reminder()
    assert {name: getattr(kept, name) for name in expected} == expected


async def test_what_was_said_in_private_is_shown_in_its_own_channel(storage: Storage) -> None:
    kept = await storage.reminders.add(**reminder(is_private=True))
    assert await storage.reminders.get(kept.id) == kept
    assert [kept.is_shown_in("20"), kept.is_shown_in("21")] == [True, False]
    opened = await storage.reminders.replace(kept.id, is_private=False)
    assert opened is not None
    assert opened.is_shown_in("21")


async def test_a_servers_are_listed_by_when_they_are_due(storage: Storage) -> None:
    late = await storage.reminders.add(**reminder(due_at=DUE + timedelta(days=1)))
    soon = await storage.reminders.add(**reminder())
    other = await storage.reminders.add(**reminder(server_key="dm5", guild_id=None, is_dm=True))
    assert await storage.reminders.pending("1") == [soon, late]
    assert await storage.reminders.pending("dm5") == [other]
    assert await storage.reminders.pending("9") == []
    assert await storage.reminders.ids() == [late.id, soon.id, other.id]


async def test_the_limit_is_each_servers_and_holds_at_once(storage: Storage) -> None:
    answers = await asyncio.gather(
        *(storage.reminders.add(limit=3, **reminder()) for _ in range(7)), return_exceptions=True
    )
    assert sum(isinstance(answer, Reminder) for answer in answers) == 3
    refused = [answer for answer in answers if isinstance(answer, ReminderLimitReached)]
    assert [error.limit for error in refused] == [3] * 4
    await storage.reminders.add(limit=3, **reminder(server_key="2"))
    await storage.reminders.remove((await storage.reminders.ids())[0])
    await storage.reminders.add(limit=3, **reminder())


async def test_there_may_be_a_hundred(storage: Storage) -> None:
    rows = [
        {
            **reminder(),
            "token": str(n),
            "is_dm": False,
            "is_thread": False,
            "is_private": False,
            "interval_hours": 0,
            "created_at": DUE,
        }
        for n in range(99)
    ]
    async with storage.database.engine.begin() as connection:
        await connection.execute(tables.reminders.insert(), rows)
    await storage.reminders.add(**reminder())
    with pytest.raises(ReminderLimitReached, match="100"):
        await storage.reminders.add(**reminder())


async def test_replaced_and_removed(storage: Storage) -> None:
    kept = await storage.reminders.add(**reminder())
    later = DUE + timedelta(hours=1)
    changed = await storage.reminders.replace(kept.id, due_at=later, recipient_id=None)
    assert changed == kept.model_copy(update={"due_at": later, "recipient_id": None})
    assert await storage.reminders.get(kept.id) == changed
    assert await storage.reminders.replace(kept.id) == changed
    assert await storage.reminders.remove(kept.id)
    assert not await storage.reminders.remove(kept.id)
    assert await storage.reminders.replace(kept.id, purpose="again") is None
    assert await storage.reminders.ids() == []
    assert (await storage.reminders.add(**reminder())).id > kept.id  # it names a workflow


async def test_an_edit_stands_against_the_end_of_an_occurrence(storage: Storage) -> None:
    """C026: what moves on from an occurrence does so only while the row still means it."""
    kept = await storage.reminders.add(**reminder())
    edited = DUE + timedelta(days=3)
    await storage.reminders.replace(kept.id, due_at=edited)
    found = await storage.reminders.replace(
        kept.id, only_if_due_at=DUE, due_at=DUE + timedelta(days=1)
    )
    assert found is not None
    assert found.due_at == edited
    assert not await storage.reminders.remove(kept.id, only_if_due_at=DUE)
    assert await storage.reminders.remove(kept.id, only_if_due_at=edited)


async def test_a_change_is_untold_until_somebody_says_otherwise(storage: Storage) -> None:
    """Whoever made it may have died before they could tell its workflow."""
    kept = await storage.reminders.add(**reminder())
    other = await storage.reminders.add(**reminder())
    new, new_other = await storage.reminders.untold()
    assert [new.reminder_id, new_other.reminder_id] == [kept.id, other.id]
    await storage.reminders.told(new)
    assert await storage.reminders.untold() == [new_other]

    await storage.reminders.replace(kept.id, purpose="again")
    (first,) = [each for each in await storage.reminders.untold() if each.reminder_id == kept.id]
    await storage.reminders.replace(kept.id, due_at=DUE + timedelta(days=1))
    await storage.reminders.told(first)  # too late: it was changed once more
    assert kept.id in {each.reminder_id for each in await storage.reminders.untold()}

    await storage.reminders.remove(kept.id)
    await storage.reminders.told(new_other)
    assert await storage.reminders.untold() == []


async def test_what_its_workflow_changes_needs_not_be_told(storage: Storage) -> None:
    kept = await storage.reminders.add(**reminder())
    await storage.reminders.told((await storage.reminders.untold())[0])
    later = DUE + timedelta(days=1)
    await storage.reminders.replace(kept.id, only_if_due_at=DUE, is_told=True, due_at=later)
    assert await storage.reminders.untold() == []
    edited = await storage.reminders.replace(kept.id, only_if_due_at=DUE, purpose="nothing")
    assert edited is not None
    assert edited.purpose == kept.purpose
    assert await storage.reminders.untold() == []


async def test_what_makes_no_reminder_is_refused(storage: Storage) -> None:
    kept = await storage.reminders.add(**reminder())
    with pytest.raises(ValueError, match="interval_hours"):
        await storage.reminders.replace(kept.id, interval_hours=-1)
    with pytest.raises(ValueError, match="due_at"):
        await storage.reminders.replace(kept.id, due_at=DUE.replace(tzinfo=None))
    with pytest.raises(ValueError, match="server_key"):
        await storage.reminders.replace(kept.id, server_key="2")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="wall_time"):
        await storage.reminders.add(**reminder(wall_time=DUE))
    assert await storage.reminders.pending("1") == [kept]


async def test_hostile_text_is_cut_and_kept(storage: Storage) -> None:
    kept = await storage.reminders.add(
        **reminder(purpose="a\0\ud800" + "x" * 9000, user_name="n" * 500)
    )
    assert kept.purpose.startswith("a\ufffdx")
    assert len(kept.purpose) <= 4000
    assert len(kept.user_name) == 100
    changed = await storage.reminders.replace(kept.id, channel_name="c\0" * 500)
    assert changed is not None
    assert changed.channel_name == "c" * 50


async def test_a_write_that_is_repeated_adds_and_removes_once(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = storage.database.write

    async def twice(work: Any) -> Any:
        await write(work)
        return await write(work)

    monkeypatch.setattr(storage.database, "write", twice)
    kept = await storage.reminders.add(limit=1, **reminder())
    assert await storage.reminders.pending("1") == [kept]
    assert await storage.reminders.remove(kept.id)


async def test_counters_count_a_turn_once(storage: Storage) -> None:
    counters = storage.counters
    for _ in range(2):
        await counters.tools_used("turn/1", "1", ["roll_dice", "roll_dice", "fetch_url"])
    await counters.tools_used("turn/2", "1", ["roll_dice"])
    await counters.tools_used("turn/3", "2", ["roll_dice", "\0x\ud800" + "y" * 200])
    assert await counters.totals("1") == {"fetch_url": 1, "roll_dice": 3}
    assert sum((await counters.totals("2")).values()) == 2
    await counters.tools_used("turn/1", "1", ["fetch_url"])  # reset, and ended differently
    assert await counters.totals("1") == {"fetch_url": 1, "roll_dice": 1}
    await counters.tools_used("turn/1", "1", [])
    assert await counters.totals("1") == {"roll_dice": 1}
