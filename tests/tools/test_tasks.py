"""Reminders and tasks: their times over daylight-saving changes, and the two tools that keep
them, over a real database and a small Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.service import RPCError, RPCStatusCode

from activities.reminders import timing
from activities.reminders.calendar import (
    Occurrence,
    add_months,
    at_instant,
    at_wall_time,
    from_now,
    instant,
    next_occurrence,
    wall_time,
    zone_named,
)
from activities.tools.builtin import create_task, update_task
from storage import Storage
from storage.config import CrossChannelConfig, ServerConfig, ToolsConfig
from storage.reminders import Reminder
from tests.tools.fake_discord import (
    BOT,
    CATEGORY,
    CHANNEL,
    GUILD,
    MEMBER,
    OTHER,
    STRANGER,
    THREAD,
)
from tests.tools.stored import StoredTurn, empty_storage, stored_turn
from workflows.contracts.tools import NoticeColour, ToolResult

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [
    ZoneInfo(name)
    for name in (
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",  # changes by half an hour
        "Pacific/Apia",  # once left out a whole day
        "America/Sao_Paulo",  # changed at midnight
        "Africa/Casablanca",
        "Asia/Kathmandu",
        "UTC",
    )
]
zones = st.sampled_from(ZONES)
walls = st.datetimes(datetime(2005, 1, 1), datetime(2030, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)


# The calendar


@given(wall=walls, zone=zones)
def test_a_wall_time_is_the_first_instant_at_which_the_clock_shows_it_or_a_later_one(wall, zone):
    moment = instant(wall, zone)
    shown = wall_time(moment, zone)
    before = wall_time(moment - timedelta(seconds=1), zone)
    assert shown >= wall
    if shown > wall:  # the clock skips it, and goes on at exactly this instant
        assert before < wall
        assert before + timedelta(seconds=1) < shown
    else:
        # the first of two: an hour earlier the clock did not show the same
        for minutes in (30, 60, 90, 120):
            assert wall_time(moment - timedelta(minutes=minutes), zone) != wall


@given(first=walls, later=st.timedeltas(timedelta(0), timedelta(days=400)), zone=zones)
def test_a_later_wall_time_is_never_an_earlier_instant(first, later, zone):
    assert instant(first + later, zone) >= instant(first, zone)


@pytest.mark.parametrize(
    ("wall", "zone", "expected"),
    [
        ("2026-03-29 02:30", "Europe/Berlin", "2026-03-29 01:00"),  # skipped: 03:00 summer time
        ("2026-10-25 02:30", "Europe/Berlin", "2026-10-25 00:30"),  # twice: the first
        ("2026-03-08 02:30", "America/New_York", "2026-03-08 07:00"),
        ("2026-11-01 01:30", "America/New_York", "2026-11-01 05:30"),
        ("2026-10-04 02:15", "Australia/Lord_Howe", "2026-10-03 15:30"),
        ("2011-12-30 12:00", "Pacific/Apia", "2011-12-30 10:00"),  # a day that never was
    ],
)
def test_times_that_a_clock_skips_or_shows_twice(wall, zone, expected):
    found = instant(datetime.fromisoformat(wall), ZoneInfo(zone))
    assert found == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@given(
    wall=walls,
    zone=zones,
    days=st.integers(1, 30),
    late=st.timedeltas(timedelta(0), timedelta(days=400)),
)
def test_a_repetition_by_days_keeps_its_wall_time(wall, zone, days, late):
    latest = at_wall_time(wall, zone)
    after = latest.due_at + late
    found = next_occurrence(latest, zone, 24 * days, after)
    count, rest = divmod(found.wall_time - wall, timedelta(days=days))
    assert rest == timedelta(0)
    assert count >= 1
    assert found == at_wall_time(found.wall_time, zone)
    assert found.due_at > after
    if count > 1:  # it is the first one
        assert instant(found.wall_time - timedelta(days=days), zone) <= after


@given(
    wall=walls,
    zone=zones,
    hours=st.integers(1, 1000).filter(lambda hours: hours % 24),
    late=st.timedeltas(timedelta(0), timedelta(days=400)),
)
def test_any_other_repetition_keeps_its_distance(wall, zone, hours, late):
    latest = at_wall_time(wall, zone)
    after = latest.due_at + late
    found = next_occurrence(latest, zone, hours, after)
    count, rest = divmod(found.due_at - latest.due_at, timedelta(hours=hours))
    assert rest == timedelta(0)
    assert count >= 1
    assert after < found.due_at <= max(after, latest.due_at) + timedelta(hours=hours)
    assert found.wall_time == wall_time(found.due_at, zone)


def test_ten_o_clock_every_day_is_ten_o_clock_after_the_change():
    """C026: also when the one before was delivered four minutes late."""
    latest = at_wall_time(datetime(2026, 3, 28, 10), BERLIN)
    found = next_occurrence(latest, BERLIN, 24, latest.due_at + timedelta(minutes=4))
    assert found.wall_time == datetime(2026, 3, 29, 10)
    assert found.due_at - latest.due_at == timedelta(hours=23)


def test_a_day_whose_time_is_skipped_does_not_move_the_days_after_it():
    latest = at_wall_time(datetime(2026, 3, 28, 2, 30), BERLIN)
    skipped = next_occurrence(latest, BERLIN, 24, latest.due_at)
    assert wall_time(skipped.due_at, BERLIN) == datetime(2026, 3, 29, 3)
    after_it = next_occurrence(skipped, BERLIN, 24, skipped.due_at)
    assert wall_time(after_it.due_at, BERLIN) == datetime(2026, 3, 30, 2, 30)


@given(wall=walls, months=st.integers(0, 60))
def test_months_end_where_they_end(wall, months):
    later = add_months(wall, months)
    assert (later.year * 12 + later.month) - (wall.year * 12 + wall.month) == months
    assert later.day == wall.day or (later + timedelta(days=1)).day == 1
    assert later.time() == wall.time()


def test_days_are_the_calendar_s_and_hours_pass():
    now = datetime(2026, 3, 28, 9, tzinfo=UTC)  # 10:00, the day before the change
    assert from_now(now, BERLIN, days=1, minutes=0).wall_time == datetime(2026, 3, 29, 10)
    assert from_now(now, BERLIN, hours=24, minutes=0).wall_time == datetime(2026, 3, 29, 11)
    assert from_now(datetime(2026, 1, 31, tzinfo=UTC), ZoneInfo("UTC"), months=1, minutes=5) == (
        Occurrence(datetime(2026, 2, 28, 0, 5), datetime(2026, 2, 28, 0, 5, tzinfo=UTC))
    )


@pytest.mark.parametrize(
    "name",
    ["", "../../etc/passwd", "/etc/localtime", "localtime", "Factory", "Berlin", "UTC+2\x00"],
)
def test_no_zone_but_those_of_the_list(name):
    assert zone_named(name) is None


def test_an_instant_has_no_part_of_a_second():
    found = at_instant(datetime(2026, 1, 1, 1, 2, 3, 999, tzinfo=UTC), BERLIN)
    assert found.due_at.microsecond == found.wall_time.microsecond == 0


# The tools


class Temporal:
    """What becomes of the workflows; `down` is a Temporal that does not answer."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.told: list[str] = []
        self.down = False
        self.hangs = False
        self.lost_answers = 0
        """How many more times a call arrives, and its answer does not."""

    async def start_workflow(self, name: str, argument: Any, **options: Any) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.lost_answers:
            self.lost_answers -= 1
            self.told.append(options["id"])
            raise RPCError("deadline exceeded", RPCStatusCode.DEADLINE_EXCEEDED, b"")
        if self.down:
            raise RPCError("unavailable", RPCStatusCode.UNAVAILABLE, b"")
        (self.told if options["start_signal"] else self.started).append(options["id"])


NOW = datetime(2026, 3, 28, 9, 0, 30, tzinfo=UTC)
"""10:00 in Berlin, the day before the clocks change."""


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (timing, create_task, update_task):
        monkeypatch.setattr(module, "utc_now", lambda: NOW)


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await empty_storage(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
def temporal() -> Temporal:
    return Temporal()


@pytest.fixture
async def turn(storage: Storage, temporal: Temporal) -> StoredTurn:
    turn = await stored_turn(storage, temporal)
    await turn.configure(ServerConfig(timezone="Europe/Berlin"))
    return turn


Ask = Callable[..., Any]


@pytest.fixture
def create(turn: StoredTurn) -> Ask:
    async def call(**arguments: Any) -> ToolResult:
        given = {"reminder_purpose": "water the plants", "repetition_interval_hours": 0}
        if not any(key in arguments for key in WHEN):
            given["minutes_from_now"] = 5
        return await turn.call(create_task.TOOL, {**given, **arguments})

    return call


WHEN = (
    "reminder_time",
    "minutes_from_now",
    "hours_from_now",
    "days_from_now",
    "months_from_now",
)


async def only(storage: Storage, key: str = GUILD) -> Reminder:
    (reminder,) = await storage.reminders.pending(key)
    return reminder


async def test_a_reminder_is_a_row_and_its_workflow(create, turn, storage, temporal):
    result = await create(reminder_time="2026-03-29 10:00", repetition_interval_hours=24)
    reminder = await only(storage)
    assert turn.told(result) == {
        "status": "task_created",
        "task_id": reminder.id,
        "purpose": "water the plants",
        "due": "2026-03-29 10:00",
        "timezone": "Europe/Berlin",
        "repetition_interval_hours": 24,
        "channel": "#general",
        "reminds_user_id": MEMBER,
    }
    assert reminder.due_at == datetime(2026, 3, 29, 8, tzinfo=UTC)
    assert (reminder.channel_id, reminder.persona_id, reminder.user_id) == (CHANNEL, 7, MEMBER)
    assert (reminder.application_id, reminder.bot_user_id) == ("900", BOT)
    assert temporal.started == [f"reminder/{reminder.id}"]
    (notice,) = result.notices
    assert notice.title == "Reminder for Mia: 2026-03-29 10:00 (Europe/Berlin), every day"
    assert (notice.text, notice.colour) == ("water the plants", NoticeColour.SUCCESS)


@pytest.mark.parametrize(
    ("arguments", "due"),
    [
        ({"minutes_from_now": 5}, "2026-03-28 09:05:30"),
        ({"hours_from_now": 24}, "2026-03-29 09:00:30"),
        ({"days_from_now": 1}, "2026-03-29 08:00:30"),
        ({"days_from_now": 1, "hours_from_now": 2}, "2026-03-29 10:00:30"),
        ({"months_from_now": 1}, "2026-04-28 08:00:30"),
        ({"reminder_time": "2026-03-29 02:30"}, "2026-03-29 01:00:00"),
        ({"reminder_time": "2026-03-28T18:00", "timezone": "Asia/Tokyo"}, "2026-03-28 09:00:00"),
        ({"reminder_time": "2026-03-28 18:01", "timezone": "Asia/Tokyo"}, "2026-03-28 09:01:00"),
    ],
)
async def test_when(create, storage, arguments, due):
    result = await create(**arguments)
    expected = datetime.fromisoformat(due).replace(tzinfo=UTC)
    if expected <= NOW:
        assert not result.success
        assert "not in the future. It is now 2026-03-28 18:00 in Asia/Tokyo" in result.content
        assert await storage.reminders.ids() == []
    else:
        assert (await only(storage)).due_at == expected


async def test_a_member_s_own_zone_comes_before_the_server_s(create, turn, storage):
    await turn.configure_user(MEMBER, timezone="America/New_York")
    await create(reminder_time="2026-03-28 12:00")
    assert (await only(storage)).zone == "America/New_York"
    assert (await only(storage)).due_at == datetime(2026, 3, 28, 16, tzinfo=UTC)


async def test_a_zone_that_is_gone_falls_back(create, turn, storage):
    await turn.configure_user(MEMBER, timezone="Nowhere/Land")
    await create(reminder_time="2026-03-28 12:00")
    assert (await only(storage)).zone == "Europe/Berlin"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"reminder_time": "2026-03-27 10:00"}, "not in the future"),
        ({"reminder_time": "tomorrow"}, "not of the form YYYY-MM-DD HH:MM"),
        ({"reminder_time": "2026-02-30 10:00"}, "There is no 2026-02-30 10:00 in the calendar"),
        ({"reminder_time": "２０２６-03-29 10:00"}, "not of the form"),
        ({"reminder_time": "9999-12-31 23:59"}, "at most five years ahead"),
        ({"reminder_time": "0001-01-01 00:00"}, "outside of the calendar"),
        ({"minutes_from_now": 0}, "not in the future"),
        ({"minutes_from_now": -5}, "greater than or equal to 0"),
        ({"minutes_from_now": 10**12}, "less than or equal"),
        ({"months_from_now": 60, "days_from_now": 1830}, "at most five years ahead"),
        ({"reminder_time": "2026-03-29 10:00", "hours_from_now": 1}, "not both"),
        ({"minutes_from_now": 5, "timezone": "../../etc/passwd"}, "is no time zone"),
        ({"repetition_interval_hours": -1}, "greater than or equal to 0"),
        ({"repetition_interval_hours": 10**9}, "less than or equal"),
        ({"reminder_purpose": " \x00"}, "say what it is about"),
        ({"reminder_purpose": "x" * 1001}, "at most 1000"),
        ({"self_reminder": True, "target_user": "Mia"}, "not both"),
        ({"target_user": "nobody of that name"}, "nobody of that name here"),
        ({"target_user": BOT}, "A bot cannot be reminded"),
        ({"target_channel": "nowhere"}, "no channel 'nowhere'"),
        ({"attachment": "x"}, "attachment"),
    ],
)
async def test_what_makes_no_task_is_said_and_leaves_nothing(
    create, storage, temporal, arguments, words
):
    result = await create(**arguments)
    assert not result.success
    assert words in result.content
    assert await storage.reminders.ids() == []
    assert temporal.started == []


async def test_a_task_of_the_persona_s_own_reminds_nobody(create, storage):
    result = await create(self_reminder=True)
    assert (await only(storage)).recipient_id is None
    assert result.notices[0].title.startswith("Task: ")


async def test_somebody_else_is_found_in_the_conversation_and_then_in_the_server(
    create, turn, storage
):
    await create(target_user="  sAM ")
    assert (await only(storage)).recipient_id == "21"
    await storage.reminders.remove((await only(storage)).id)
    assert "find_members" not in turn.discord.asked
    await create(target_user=STRANGER)
    assert (await only(storage)).recipient_id == STRANGER


async def test_of_two_with_one_name_neither_is_guessed(create, turn, storage):
    result = await create(target_user="Alex")
    assert {each["id"] for each in turn.told(result)["candidates"]} == {"22", "23"}
    assert await storage.reminders.ids() == []


async def test_nobody_is_pinged_where_they_cannot_see_it(create, turn, storage):
    turn.discord.forbid("21", CHANNEL, "view_channel")
    result = await create(target_user="Sam")
    assert "Sam cannot see the channel" in result.content
    assert await storage.reminders.ids() == []


@pytest.mark.parametrize(("who", "what"), [(MEMBER, "view_channel"), (MEMBER, "send_messages")])
@pytest.mark.parametrize("target", [None, "general", f"<#{OTHER}>"])
async def test_who_asks_must_be_able_to_write_there(create, turn, storage, who, what, target):
    """C130: as it is at the moment of the call."""
    turn.discord.forbid(who, OTHER if target and "#" in target else CHANNEL, what)
    result = await create(target_channel=target)
    assert not result.success
    assert await storage.reminders.ids() == []


async def test_the_bot_must_be_able_to_write_there(create, turn, storage):
    turn.discord.forbid(BOT, THREAD, "send_messages_in_threads")
    assert not (await create(target_channel="sketches")).success
    turn.discord.forbid(BOT, OTHER, "send_messages")
    assert not (await create(target_channel="art")).success
    assert await storage.reminders.ids() == []


async def test_another_channel(create, storage):
    await create(target_channel="#Sketches")
    reminder = await only(storage)
    assert (reminder.channel_id, reminder.channel_name, reminder.is_thread) == (
        THREAD,
        "sketches",
        True,
    )


@pytest.mark.parametrize("blocked", [OTHER, THREAD, CATEGORY])
async def test_no_channel_that_personas_are_kept_out_of(create, turn, storage, blocked):
    await turn.configure(
        ServerConfig(cross_channel=CrossChannelConfig(blocked_channel_ids=[blocked]))
    )
    assert "keeps personas out" in (await create(target_channel="sketches")).content
    assert await storage.reminders.ids() == []


async def test_a_direct_message_stays_there(turn, create, storage):
    turn.context = turn.context.model_copy(update={"guild_id": None, "guild_name": ""})
    turn.discord.forbid(MEMBER, CHANNEL, "send_messages")
    assert not (await create(target_channel="art")).success
    assert not (await create(target_user="Sam")).success
    assert (await create(target_user=MEMBER)).success
    reminder = await only(storage, f"dm{MEMBER}")
    assert (reminder.is_dm, reminder.recipient_id, reminder.guild_id) == (True, MEMBER, None)
    assert turn.discord.asked == []


async def test_a_hundred_are_all_there_is_room_for(create, storage, monkeypatch):
    monkeypatch.setattr(create_task, "MAX_PENDING", 3)
    results = [await create() for _ in range(4)]
    assert [result.success for result in results] == [True, True, True, False]
    assert "3 pending tasks" in results[-1].content
    assert len(await storage.reminders.ids()) == 3


def test_the_limit_is_the_one_of_the_rules():
    assert create_task.MAX_PENDING == 100


async def test_a_switch_turned_off_after_the_declaration_refuses(turn, create, storage):
    """C130: what is there already can still be taken away, and nothing else."""
    await create()
    before = await only(storage)
    await turn.configure(ServerConfig(tools=ToolsConfig(tasks=False)))
    assert not (await create()).success
    changed = await turn.call(update_task.TOOL, {"task_id": before.id, "days_from_now": 3})
    assert "can only be taken away" in changed.content
    assert await only(storage) == before
    assert (await turn.call(update_task.TOOL, {"task_id": before.id, "remove": True})).success
    assert await storage.reminders.ids() == []


async def test_without_a_workflow_there_is_no_row(create, storage, temporal):
    temporal.down = True
    result = await create()
    assert "could not be scheduled" in result.content
    assert await storage.reminders.ids() == []


async def test_a_kill_on_the_way_leaves_no_row(turn, create, storage, temporal):
    temporal.hangs = True
    call = asyncio.create_task(create())
    async with asyncio.timeout(10):
        while not await storage.reminders.ids():  # noqa: ASYNC110, the database tells nobody
            await asyncio.sleep(0.01)
    turn.environment.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(call, 10)
    assert await storage.reminders.ids() == []


@pytest.fixture
def update(turn: StoredTurn) -> Ask:
    async def call(task_id: int, **arguments: Any) -> ToolResult:
        return await turn.call(update_task.TOOL, {"task_id": task_id, **arguments})

    return call


async def test_what_is_not_given_stays(create, update, turn, storage, temporal):
    await create(reminder_time="2026-04-01 10:00", repetition_interval_hours=24)
    before = await only(storage)
    result = await update(before.id, reminder_purpose="water the cactus")
    assert await only(storage) == before.model_copy(update={"purpose": "water the cactus"})
    assert temporal.told == [f"reminder/{before.id}"]
    assert turn.told(result)["status"] == "task_updated"
    assert result.notices[0].colour is NoticeColour.AMBER


async def test_an_edit_of_everything(create, update, storage):
    await create(reminder_time="2026-04-01 10:00", timezone="Asia/Tokyo")
    task_id = (await only(storage)).id
    await update(
        task_id,
        reminder_time="2026-04-02 11:00",
        repetition_interval_hours=48,
        target_user="Sam",
        target_channel="art",
    )
    reminder = await only(storage)
    assert reminder.due_at == datetime(2026, 4, 2, 2, tzinfo=UTC)  # its own zone still
    assert (reminder.zone, reminder.interval_hours) == ("Asia/Tokyo", 48)
    assert (reminder.recipient_id, reminder.channel_id) == ("21", OTHER)
    await update(task_id, timezone="UTC")
    assert (await only(storage)).due_at == datetime(2026, 4, 2, 11, tzinfo=UTC)
    await update(task_id, self_reminder=True)
    assert (await only(storage)).recipient_id is None
    await update(task_id, self_reminder=False)
    assert (await only(storage)).recipient_id == MEMBER


async def test_a_recipient_must_see_the_new_channel_too(create, update, turn, storage):
    await create(target_user="Sam")
    turn.discord.forbid("21", OTHER, "view_channel")
    before = await only(storage)
    assert not (await update(before.id, target_channel="art")).success
    assert await only(storage) == before


async def test_a_task_is_taken_away(create, update, storage, temporal):
    await create()
    task_id = (await only(storage)).id
    result = await update(task_id, remove=True)
    assert await storage.reminders.ids() == []
    assert temporal.told == [f"reminder/{task_id}"]
    assert result.notices[0].colour is NoticeColour.RED
    assert "no pending task" in (await update(task_id, remove=True)).content


@pytest.mark.parametrize(
    "arguments",
    [{}, {"reminder_time": "2020-01-01 10:00"}, {"self_reminder": True, "target_user": "Sam"}],
)
async def test_an_edit_that_makes_no_sense_changes_nothing(create, update, storage, arguments):
    await create()
    before = await only(storage)
    assert not (await update(before.id, **arguments)).success
    assert await only(storage) == before


async def test_only_its_own_persona_and_its_own_people_change_a_task(create, update, turn, storage):
    await create(target_user="Sam")
    before = await only(storage)
    mine = turn.context
    for other in ({"persona_id": 8}, {"guild_id": "101"}, {"user_id": STRANGER}):
        turn.context = mine.model_copy(update=other)
        result = await update(before.id, remove=True)
        assert not result.success
        assert "plants" not in result.content
    assert await only(storage) == before


async def test_a_wrong_number_lists_those_there_are(create, update, turn, storage):
    await create()
    result = await update(999, remove=True)
    assert turn.told(result)["pending"][0]["task_id"] == (await only(storage)).id


async def test_an_edit_that_nobody_could_be_told_of_is_taken_back(
    create, update, storage, temporal
):
    await create()
    before = await only(storage)
    temporal.down = True
    result = await update(before.id, days_from_now=3, reminder_purpose="later")
    assert "is as it was" in result.content
    assert await only(storage) == before


async def marks(storage: Storage) -> list[int]:
    return [change.reminder_id for change in await storage.reminders.untold()]


async def told_all(storage: Storage) -> None:
    for change in await storage.reminders.untold():
        await storage.reminders.told(change)


async def test_an_edit_that_is_taken_back_is_told_as_well(create, update, storage, temporal):
    """The first telling may have arrived: the workflow would wait for a time that is not meant."""
    await create()
    before = await only(storage)
    temporal.lost_answers = 1
    result = await update(before.id, days_from_now=3)
    assert "is as it was" in result.content
    assert await only(storage) == before
    assert temporal.told == [f"reminder/{before.id}"] * 2


async def test_an_edit_that_cannot_be_told_of_is_left_for_a_worker_to_tell(
    create, update, storage, temporal
):
    await create()
    before = await only(storage)
    await told_all(storage)
    temporal.down = True
    await update(before.id, days_from_now=3)
    assert await marks(storage) == [before.id]


async def test_a_kill_while_it_is_told_takes_an_edit_back_and_ends_soon(
    create, update, turn, storage, temporal, monkeypatch
):
    """Also when Temporal does not answer at all; then a worker tells."""
    monkeypatch.setattr(update_task, "TELL_AGAIN", timedelta(seconds=0.05))
    await create()
    before = await only(storage)
    await told_all(storage)
    temporal.hangs = True
    call = asyncio.create_task(update(before.id, days_from_now=3))
    async with asyncio.timeout(10):
        while await only(storage) == before:  # noqa: ASYNC110, the database tells nobody
            await asyncio.sleep(0.01)
    turn.environment.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(call, 10)
    assert await only(storage) == before
    assert await marks(storage) == [before.id]
