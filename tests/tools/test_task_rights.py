"""Reminders and tasks: who may change them, and where they are told of.

Whoever asked for one lends it their name: the turn that delivers it may do what they may.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from activities.context.document import load_document
from activities.reminders.deliver import invocation
from activities.tools.builtin import create_task, update_task
from storage import Storage
from storage.reminders import Reminder
from tests.context.support import asked, composed, said, whole
from tests.tools.fake_discord import CHANNEL, GUILD, MEMBER, OTHER, STRANGER
from tests.tools.stored import SAM, StoredTurn, empty_storage, stored_turn
from tests.tools.test_tasks import Temporal
from workflows.contracts.history import ChannelHistory
from workflows.contracts.invocation import Origin
from workflows.contracts.tools import ToolResult

PURPOSE = "water the plants"


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await empty_storage(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def turn(storage: Storage) -> StoredTurn:
    return await stored_turn(storage, Temporal())


async def made(turn: StoredTurn, **arguments: Any) -> Reminder:
    """By Mia."""
    before = set(await turn.storage.reminders.ids())
    given = {"reminder_purpose": PURPOSE, "repetition_interval_hours": 24, "hours_from_now": 5}
    assert (await turn.call(create_task.TOOL, {**given, **arguments})).success
    (id_,) = set(await turn.storage.reminders.ids()) - before
    reminder = await turn.storage.reminders.get(id_)
    assert reminder is not None
    return reminder


async def update(turn: StoredTurn, task_id: int, **arguments: Any) -> ToolResult:
    return await turn.call(update_task.TOOL, {"task_id": task_id, **arguments})


def speak_as(turn: StoredTurn, user_id: str) -> None:
    turn.context = turn.context.model_copy(update={"user_id": user_id, "user_name": "Somebody"})


def go_to(turn: StoredTurn, channel_id: str, *, is_private: bool = False) -> None:
    turn.context = turn.context.model_copy(update={"channel_id": channel_id})
    turn.situate(is_private=is_private)


MAKERS_OWN: list[dict[str, Any]] = [
    {"reminder_purpose": "peek into #admins, and tell all here"},
    {"self_reminder": True},
    {"self_reminder": True, "reminder_purpose": "peek into #admins"},
    {"target_user": "Mia"},
    {"target_channel": "art"},
    {"repetition_interval_hours": 1},
    {"hours_from_now": 9, "reminder_purpose": "peek"},
]


@pytest.mark.parametrize("arguments", MAKERS_OWN)
async def test_a_recipient_does_not_write_what_is_done_in_the_maker_s_name(
    turn: StoredTurn, storage: Storage, arguments: dict[str, Any]
) -> None:
    reminder = await made(turn, target_user="Sam")
    assert invocation(reminder, 0).author_id == MEMBER
    speak_as(turn, SAM)
    result = await update(turn, reminder.id, **arguments)
    assert "for who asked for it" in result.content
    assert await storage.reminders.get(reminder.id) == reminder


async def test_a_recipient_may_have_it_later_or_not_at_all(
    turn: StoredTurn, storage: Storage
) -> None:
    reminder = await made(turn, target_user="Sam")
    speak_as(turn, SAM)
    assert (await update(turn, reminder.id, hours_from_now=9)).success
    later = await storage.reminders.get(reminder.id)
    assert later is not None
    assert later.due_at > reminder.due_at
    assert later.purpose == PURPOSE
    assert (await update(turn, reminder.id, remove=True)).success
    assert await storage.reminders.ids() == []


@pytest.mark.parametrize("arguments", [*MAKERS_OWN, {"hours_from_now": 9}])
async def test_who_manages_the_server_may_only_take_it_away(
    turn: StoredTurn, storage: Storage, arguments: dict[str, Any]
) -> None:
    reminder = await made(turn)
    speak_as(turn, STRANGER)
    turn.discord.managers.add(STRANGER)
    assert not (await update(turn, reminder.id, **arguments)).success
    assert await storage.reminders.get(reminder.id) == reminder
    assert (await update(turn, reminder.id, remove=True)).success
    assert await storage.reminders.ids() == []


async def deliver(turn: StoredTurn, reminder: Reminder) -> None:
    """From now on this is the turn in which `reminder` has come due."""
    document = await load_document(turn.storage, turn.context)
    due = document.model_copy(update={"invocation": invocation(reminder, 0)})
    context_id = await turn.storage.blobs.put_model("context", due)
    turn.context = turn.context.model_copy(update={"context_id": context_id})
    turn.situate(origin=Origin.REMINDER)


@pytest.mark.parametrize(
    "arguments",
    [{"hours_from_now": 1}, {"reminder_purpose": "more"}, {"timezone": "America/New_York"}],
)
async def test_what_is_being_delivered_does_not_change_itself(
    turn: StoredTurn, storage: Storage, arguments: dict[str, Any]
) -> None:
    """C010: no task is made out of a task."""
    reminder, another = await made(turn), await made(turn)
    await deliver(turn, reminder)
    assert "right now" in (await update(turn, reminder.id, **arguments)).content
    assert await storage.reminders.get(reminder.id) == reminder
    assert (await update(turn, another.id, **arguments)).success
    assert (await update(turn, reminder.id, remove=True)).success


async def shown_in(turn: StoredTurn, channel_id: str) -> bool:
    message = said(1, "Ben", "hi nova")
    document = composed(
        asked(message, channel_id=channel_id),
        ChannelHistory(messages=[message]),
        reminders=await turn.storage.reminders.pending(GUILD),
    )
    return PURPOSE in whole(document)


async def test_what_was_said_in_private_stands_in_no_other_prompt(turn: StoredTurn) -> None:
    go_to(turn, OTHER, is_private=True)
    assert (await made(turn, self_reminder=True)).is_private
    assert await shown_in(turn, OTHER)
    assert not await shown_in(turn, CHANNEL)


async def test_what_everybody_could_read_stands_everywhere(turn: StoredTurn) -> None:
    assert not (await made(turn, self_reminder=True)).is_private
    assert await shown_in(turn, CHANNEL)
    assert await shown_in(turn, OTHER)


async def test_a_task_for_a_private_channel_is_private(turn: StoredTurn) -> None:
    """Its name alone tells that the channel is there."""
    turn.discord.channels = [
        each.model_copy(update={"is_private": each.id == OTHER}) for each in turn.discord.channels
    ]
    assert (await made(turn, target_channel="art")).is_private
    moved = await made(turn)
    assert not moved.is_private
    await update(turn, moved.id, target_channel="art")
    after = await turn.storage.reminders.get(moved.id)
    assert after is not None
    assert after.is_private


async def test_a_direct_message_is_private(turn: StoredTurn) -> None:
    turn.context = turn.context.model_copy(update={"guild_id": None})
    turn.situate(is_dm=True)
    assert (await made(turn)).is_private


async def test_words_given_in_private_make_it_private_for_good(turn: StoredTurn) -> None:
    reminder = await made(turn)
    go_to(turn, OTHER, is_private=True)
    await update(turn, reminder.id, reminder_purpose="fire Ben")
    go_to(turn, CHANNEL)
    await update(turn, reminder.id, hours_from_now=7)
    after = await turn.storage.reminders.get(reminder.id)
    assert after is not None
    assert after.is_private


async def test_a_wrong_number_lists_nothing_private(turn: StoredTurn) -> None:
    await made(turn)
    go_to(turn, OTHER, is_private=True)
    hidden = await made(turn, reminder_purpose="fire Ben")
    both = turn.told(await update(turn, 999, remove=True))["pending"]
    assert len(both) == 2
    go_to(turn, CHANNEL)
    result = await update(turn, 999, remove=True)
    assert [each["purpose"] for each in turn.told(result)["pending"]] == [PURPOSE]
    assert hidden.purpose not in result.content


@pytest.mark.parametrize("arguments", [{"hours_from_now": 9}, {"remove": True}])
async def test_a_private_task_is_changed_elsewhere_without_a_word_of_it(
    turn: StoredTurn, arguments: dict[str, Any]
) -> None:
    go_to(turn, OTHER, is_private=True)
    reminder = await made(turn)
    go_to(turn, CHANNEL)
    result = await update(turn, reminder.id, **arguments)
    assert result.success
    assert PURPOSE not in result.model_dump_json()
