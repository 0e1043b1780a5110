"""How a turn's end is recorded (behaviour 6.9)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.effects import EffectsActivities
from storage import ServerConfig, StmRecord, Storage, StorageError, UserConfig, open_storage
from storage.config import Privacy, QuotaConfig
from workflows.contracts.delivery import Nothing
from workflows.contracts.effects import FinishRequest
from workflows.contracts.generation import StreamStatus
from workflows.contracts.invocation import Origin


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    yield opened
    await opened.close()


def ended(**more: Any) -> FinishRequest:
    fields: dict[str, Any] = {
        "turn_id": "turn/7/1/1", "guild_id": "6", "channel_id": "7", "persona_id": 1,
        "trigger_message_id": "1", "user_id": "2", "status": StreamStatus.COMPLETED,
        "iterations": 1, "messages_sent": 1, "channel_name": "general", "persona_name": "Nova",
        "user_name": "Mia", "user_text": "hello nova", "reply_text": "Hi!",
    }  # fmt: skip
    return FinishRequest(**{**fields, **more})


async def finish(storage: Storage, request: FinishRequest) -> None:
    activities = EffectsActivities(storage)
    assert await ActivityEnvironment().run(activities.finish_turn, request) == Nothing()


async def remembered(
    storage: Storage, *, server_key: str = "6", user_id: str = "2"
) -> StmRecord | None:
    here, _ = await storage.short_term.load(
        server_key=server_key, user_id=user_id, persona_id=1, channel_id="7", other_servers=False
    )
    return here


async def test_the_end_of_a_turn_is_recorded_once(storage: Storage) -> None:
    request = ended(status=StreamStatus.ERROR, iterations=3, messages_sent=2, tools_succeeded=["a"])
    for _ in range(2):
        await finish(storage, request)
    record = await storage.turns.get("turn/7/1/1")
    assert record is not None
    assert (record.status, record.iterations, record.messages_sent) == (StreamStatus.ERROR, 3, 2)
    here = await remembered(storage)
    assert here is not None
    assert here.turns_since_update == 1
    assert [(e.author, e.text, e.is_persona, e.user_id) for e in here.entries] == [
        ("Mia", "hello nova", False, "2"),
        ("Nova", "Hi!", True, "2"),
    ]
    assert await storage.counters.totals("6") == {"a": 1}


@pytest.mark.parametrize(
    "silent",
    [
        {"reply_text": " \n"},
        {"status": StreamStatus.STOPPED_BY_USER},
        {"status": StreamStatus.EMPTY_RESPONSE, "reply_text": ""},
    ],
)
async def test_a_turn_without_an_answer_is_not_remembered(
    storage: Storage, silent: dict[str, Any]
) -> None:
    """C114: nothing is invented for a turn that said nothing."""
    await finish(storage, ended(**silent))
    assert await remembered(storage) is None


@pytest.mark.parametrize(
    ("said", "remembered_as"),
    [
        ("Hi!", "Hi!\n\n[Scene Metadata]\nIt rains."),
        ("", "[Scene Metadata]\nIt rains."),
    ],
)
async def test_details_are_remembered(storage: Storage, said: str, remembered_as: str) -> None:
    """C080: what no channel shows is in short-term memory."""
    await finish(storage, ended(reply_text=said, details_text=" It rains. "))
    here = await remembered(storage)
    assert here is not None
    assert here.entries[-1].text == remembered_as


async def test_what_a_persona_said_is_not_put_into_a_members_mouth(storage: Storage) -> None:
    """Personas that call each other do it in the name of the member who began it."""
    luna = await storage.personas.create("6", "Luna", "You are Luna.")
    await finish(storage, ended(author_persona_id=luna.id))
    here = await remembered(storage)
    assert here is not None
    assert [(entry.author, entry.is_persona) for entry in here.entries] == [
        ("Luna", False),
        ("Nova", True),
    ]


async def test_full_privacy_is_not_remembered(storage: Storage) -> None:
    for privacy, kept in ((Privacy.FULL, False), (Privacy.PARTIAL, True)):
        await storage.configs.change_user("2", lambda _, p=privacy: UserConfig(privacy=p))
        await finish(storage, ended())
        assert (await remembered(storage) is not None) is kept


@pytest.mark.parametrize("origin", [o for o in Origin if o is not Origin.MESSAGE])
async def test_of_a_synthetic_turn_only_the_persona_is_remembered(
    storage: Storage, origin: Origin
) -> None:
    await finish(storage, ended(origin=origin, user_text="water the plants"))
    here = await remembered(storage)
    assert here is not None
    assert [entry.text for entry in here.entries] == ["Hi!"]


def written(ago: timedelta) -> str:
    """The id of a message that was written so long ago."""
    age = datetime.now(UTC) - ago - datetime(2015, 1, 1, tzinfo=UTC)
    return str(int(age.total_seconds() * 1000) << 22)


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"trigger_message_id": written(timedelta(seconds=30))}, False),
        ({"trigger_message_id": written(-timedelta(days=1))}, True),
        ({"trigger_message_id": "1", "origin": Origin.REMINDER}, True),
    ],
)
async def test_d78_a_turn_that_began_before_a_clear_does_not_come_back(
    storage: Storage, more: dict[str, Any], kept: bool
) -> None:
    """It ends after it, so the time of what it says does not tell."""
    await storage.short_term.clear_channel("6", "7")
    await finish(storage, ended(**more))
    assert (await remembered(storage) is not None) is kept


@pytest.mark.parametrize(
    ("where", "is_private"),
    [({}, False), ({"is_private": True}, True), ({"is_dm": True, "guild_id": None}, True)],
)
async def test_private_places_are_marked(
    storage: Storage, where: dict[str, Any], is_private: bool
) -> None:
    """D78: what was said there is not shown elsewhere."""
    await finish(storage, ended(**where))
    here = await remembered(storage, server_key="dm2" if "is_dm" in where else "6")
    assert here is not None
    assert here.is_private is is_private


async def test_tools_are_counted_outside_direct_messages(storage: Storage) -> None:
    """Behaviour 6.5: successful calls count as `tool_used`, not in DMs."""
    await finish(storage, ended(tools_succeeded=["web_search", "roll_dice", "web_search"]))
    direct = ended(turn_id="turn/7/2/1", is_dm=True, guild_id=None, tools_succeeded=["roll_dice"])
    await finish(storage, direct)
    assert await storage.counters.totals("6") == {"web_search": 2, "roll_dice": 1}
    assert await storage.counters.totals("dm2") == {}


async def test_an_effect_that_fails_stops_nothing_and_tells_nothing(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Behaviour 6.9: failures are logged, never propagate; and what was said is in no log."""

    async def broken(**fields: Any) -> None:
        raise RuntimeError(f"cannot store {fields}")

    monkeypatch.setattr(storage.short_term, "capture", broken)
    with caplog.at_level(logging.WARNING):
        await finish(storage, ended(tools_succeeded=["roll_dice"]))
    assert await storage.counters.totals("6") == {"roll_dice": 1}
    assert await storage.turns.get("turn/7/1/1") is not None
    assert "short-term memory" in caplog.text
    assert "hello nova" not in caplog.text


async def quota(storage: Storage) -> tuple[int, int]:
    """What Mia has used today, and the server of its pool."""
    used = await storage.limits.usage("6", "2", pool_days=1, at=datetime.now(UTC))
    return used.user_today, used.pool


@pytest.fixture
async def charging(storage: Storage) -> Storage:
    config = ServerConfig(quota=QuotaConfig(user_daily=9, server_pool=9))
    await storage.configs.change_server("6", lambda _: config)
    return storage


async def test_three_personas_of_one_message_are_charged_once(charging: Storage) -> None:
    """C045"""
    for persona_id in (1, 2, 3):
        for _ in range(2):
            turn = f"turn/7/1/{persona_id}"
            await finish(charging, ended(turn_id=turn, persona_id=persona_id, quota_key="1"))
    assert await quota(charging) == (1, 1)
    await finish(charging, ended(turn_id="turn/7/2/1", quota_key="2"))
    assert await quota(charging) == (2, 2)


@pytest.mark.parametrize(
    "free",
    [
        {"status": StreamStatus.EMPTY_RESPONSE, "reply_text": ""},
        {"status": StreamStatus.ERROR, "reply_text": " \n"},
        {"quota_key": None},
        {"guild_id": None, "is_dm": True},
    ],
)
async def test_what_is_not_charged(charging: Storage, free: dict[str, Any]) -> None:
    """C046: an empty response; nor what is charged to nobody, nor direct messages."""
    await finish(charging, ended(**{"quota_key": "1", **free}))
    assert await quota(charging) == (0, 0)


async def test_a_charge_that_fails_changes_nothing_else(
    charging: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise StorageError("down")

    monkeypatch.setattr(charging.limits, "charge", broken)
    await finish(charging, ended(quota_key="1"))
    assert await charging.turns.get("turn/7/1/1") is not None
    assert await remembered(charging) is not None
