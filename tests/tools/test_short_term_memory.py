"""`update_short_term_memory`, over a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from activities.tools.builtin import create_long_term_memory, update_short_term_memory
from activities.tools.registry import ToolRegistry
from storage import Storage
from storage.config import (
    MemoryConfig,
    Privacy,
    ServerConfig,
    ShortTermMemoryConfig,
    StmCategory,
)
from storage.short_term import StmEntry
from tests.tools.fake_discord import CHANNEL, GUILD, MEMBER
from tests.tools.stored import SAM, StoredTurn, empty_storage, stored_turn
from workflows.contracts.invocation import Origin
from workflows.contracts.tools import Situation, ToolResult

TOOL = update_short_term_memory.TOOL

CATEGORIES = ServerConfig(
    memory=MemoryConfig(
        short_term=ShortTermMemoryConfig(
            categories=[
                StmCategory(slug="mood", description="How everybody feels"),
                StmCategory(slug="plans"),
            ]
        )
    )
)


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await empty_storage(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def turn(storage: Storage) -> StoredTurn:
    return await stored_turn(storage)


async def remembered(turn: StoredTurn, user_id: str = MEMBER) -> dict[str, str]:
    own, _ = await turn.storage.short_term.load(
        server_key=GUILD, user_id=user_id, persona_id=7, channel_id=CHANNEL, other_servers=False
    )
    return own.summary if own else {}


async def update(turn: StoredTurn, **arguments: Any) -> ToolResult:
    return await turn.call(TOOL, arguments)


async def test_a_summary_is_kept_for_the_member_and_for_the_server_in_silence(turn):
    result = await update(turn, summary="They plan a trip.")
    assert turn.told(result) == {"status": "short_term_memory_updated", "updated": ["summary"]}
    assert result.notices == []
    assert await remembered(turn) == {"summary": "They plan a trip."}
    assert await remembered(turn, SAM) == {"summary": "They plan a trip."}


async def test_a_summary_is_cut_silently(turn):
    assert (await update(turn, summary="🦞" * 1501)).success
    assert await remembered(turn) == {"summary": "🦞" * 1500}


async def test_an_update_begins_the_count_anew(turn):
    place = {
        "server_key": GUILD,
        "user_id": MEMBER,
        "persona_id": 7,
        "channel_id": CHANNEL,
        "channel_name": "general",
        "is_private": False,
    }
    entry = StmEntry(author="Mia", text="hello", at=datetime.now(UTC))
    await turn.storage.short_term.capture(turn_id="turn/1", entries=[entry], **place)
    await update(turn, summary="x")
    own, _ = await turn.storage.short_term.load(
        server_key=GUILD, user_id=MEMBER, persona_id=7, channel_id=CHANNEL, other_servers=False
    )
    assert own is not None
    assert own.turns_since_update == 0
    assert [each.text for each in own.entries] == ["hello"]


async def test_categories_change_one_by_one(turn):
    await turn.configure(CATEGORIES)
    await update(turn, categories={"mood": "merry", "plans": "a trip"})
    await update(turn, categories={"plans": "x" * 1600})
    assert await remembered(turn) == {"mood": "merry", "plans": "x" * 1500}
    await update(turn, categories={"mood": ""})
    assert await remembered(turn) == {"plans": "x" * 1500}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"categories": {"mood": "sad", "weather": "rain"}}, "There is no category weather"),
        ({"categories": {"Mood": "sad"}}, "There is no category Mood"),
        ({"categories": {"x" * 5000: "sad"}}, "There is no category xxx"),
        ({"summary": "sad"}, "Give `categories`"),
        ({"summary": "sad", "categories": {"mood": "sad"}}, "either `summary` or `categories`"),
        ({"categories": {}}, "categories"),
        ({"categories": {"mood": 1}}, "string"),
        ({"categories": {"mood": "x" * 50_001}}, "50000"),
        ({"categories": {str(number): "x" for number in range(21)}}, "20"),
        ({"mood": "sad"}, "mood"),
        ({}, "either `summary` or `categories`"),
    ],
)
async def test_an_update_is_all_or_nothing(turn, arguments, words):
    """C069: what does not fit changes nothing, not even the part that would."""
    await turn.configure(CATEGORIES)
    await update(turn, categories={"mood": "merry"})
    result = await update(turn, **arguments)
    assert not result.success
    assert words in result.content
    assert await remembered(turn) == {"mood": "merry"}


@pytest.mark.parametrize(
    "cut", ['{"categories": {"mood": "sa', '{"categories": {"mood": "sad"}', ""]
)
async def test_arguments_that_were_cut_change_nothing(turn, cut):
    """C069: should one ever get this far."""
    await turn.configure(CATEGORIES)
    await update(turn, categories={"mood": "merry"})
    assert not (await turn.call(TOOL, cut)).success
    assert await remembered(turn) == {"mood": "merry"}


async def test_nothing_is_no_summary(turn):
    await update(turn, summary="They plan a trip.")
    for nothing in ("", " \n", "\x00"):
        assert not (await update(turn, summary=nothing)).success
    assert await remembered(turn) == {"summary": "They plan a trip."}


async def test_a_server_without_categories_says_so(turn):
    result = await update(turn, categories={"mood": "merry"})
    assert "Give `summary`" in result.content
    assert await remembered(turn) == {}


async def test_explicit_intent_is_for_the_other_memory(turn):
    """C094: absent in the turn, and refused at execution all the same."""
    situation = Situation(memory_intent=True)
    config = ServerConfig()
    registry = ToolRegistry([("here", TOOL), ("here", create_long_term_memory.TOOL)])
    assert [tool.name for tool in registry.available("demo", situation, config)] == [
        "create_long_term_memory"
    ]
    turn.situate(memory_intent=True)
    assert not (await update(turn, summary="likes tea")).success
    assert await remembered(turn) == {}


async def test_where_short_term_memory_is_off_it_refuses(turn):
    """C130: also when it was switched off after the declaration."""
    off = ShortTermMemoryConfig(enabled=False)
    await turn.configure(ServerConfig(memory=MemoryConfig(short_term=off)))
    assert not (await update(turn, summary="x")).success
    assert await remembered(turn) == {}


async def test_it_is_not_for_novelai(turn):
    turn.context = turn.context.model_copy(update={"provider": "novelai"})
    result = await update(turn, summary="x")
    assert "not available for provider novelai" in result.content
    assert await remembered(turn) == {}


async def test_who_wants_full_privacy_is_not_remembered(turn):
    await turn.configure_user(MEMBER, privacy=Privacy.FULL)
    assert not (await update(turn, summary="x")).success
    assert await remembered(turn) == {}


async def test_what_was_cleared_does_not_come_back_through_a_late_update(turn):
    """D78: the turn's message is older than the clear; one that is nobody's message is not."""
    await turn.storage.short_term.clear_channel(GUILD, CHANNEL)
    result = await update(turn, summary="old")
    assert "cleared meanwhile" in result.content
    assert await remembered(turn) == {}
    turn.situate(origin=Origin.REMINDER)
    assert (await update(turn, summary="new")).success


def test_it_ends_the_turn():
    """C065: on every provider, after visible text."""
    assert TOOL.ends_turn
    assert not TOOL.requires_follow_up
