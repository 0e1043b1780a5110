from __future__ import annotations

import json

import pytest

from activities.tools.builtin.select_sticker_for_response import TOOL
from storage.config import ServerConfig, ToolsConfig
from tests.tools.fake_discord import DiscordTurn, refused, told
from workflows.contracts.history import StickerInfo
from workflows.contracts.tools import Situation, StickerChoice

WITH_STICKERS = Situation(has_stickers=True)


@pytest.fixture
def turn() -> DiscordTurn:
    made = DiscordTurn(situation=WITH_STICKERS)
    made.stickers = [
        StickerInfo(id="1", name="Wave"),
        StickerInfo(id="2", name="Happy Cat"),
        StickerInfo(id="3", name="wave"),
        StickerInfo(id="4", name="猫"),
    ]
    return made


@pytest.mark.parametrize(
    ("name", "sticker_id"),
    [
        ("Wave", "1"),
        ("wAVE", "1"),
        (":wave:", "1"),
        ("happy  cat", "2"),
        ("猫", "4"),
        ("ＷＡＶＥ", "1"),
    ],
)
async def test_a_name_is_found_without_regard_to_case(turn, name, sticker_id):
    """Of two with one name, the oldest."""
    result = await turn.call(TOOL, {"sticker_name": name})
    assert result.success
    assert result.sticker is not None
    assert result.sticker.sticker_id == sticker_id
    assert turn.discord.asked == []


async def test_a_miss_names_what_is_near_and_voids_an_earlier_choice(turn):
    result = await turn.call(TOOL, {"sticker_name": "hapy cat"})
    assert not result.success
    assert result.sticker == StickerChoice()
    assert "Happy Cat" in json.dumps(told(result))


@pytest.mark.parametrize("name", ["x" * 60, "\u202e", "{{if tool:x}}", "\x00\x01"])
async def test_hostile_names_are_only_not_found(turn, name):
    result = await turn.call(TOOL, {"sticker_name": name})
    assert "no such sticker" in refused(result)


async def test_a_name_without_end_is_refused_before_it_is_compared(turn):
    assert "at most 60" in refused(await turn.call(TOOL, {"sticker_name": "x" * 100_000}))


async def test_a_flag_turned_off_after_declaration_refuses_the_call(turn):
    """C130."""
    turn.configure(ServerConfig(tools=ToolsConfig(sticker_usage=False)))
    result = await turn.call(TOOL, {"sticker_name": "Wave"})
    assert "not available for the current turn" in refused(result)
    assert result.sticker is None


@pytest.mark.parametrize(
    "situation",
    [
        Situation(),
        Situation(has_stickers=True, is_dm=True),
        Situation(has_stickers=True, impersonated=True),
    ],
)
def test_it_is_offered_only_where_stickers_are_shown(situation):
    assert not TOOL.is_available_for_context(situation, ServerConfig())
    assert TOOL.is_available_for_context(WITH_STICKERS, ServerConfig())
