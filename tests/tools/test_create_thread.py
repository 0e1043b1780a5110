from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.tools.builtin.create_thread import MAX_THREAD_NAME, TOOL, clean_thread_name
from activities.tools.messages import tool_nonce
from storage.config import CrossChannelConfig, ServerConfig, ToolsConfig
from tests.tools.fake_discord import (
    BOT,
    CATEGORY,
    CHANNEL,
    EVERYTHING,
    MEMBER,
    OTHER,
    DiscordTurn,
    refused,
    told,
)
from workflows.contracts.discord_port import ChannelFacts
from workflows.contracts.tools import Situation

HERE = {"thread_name": "Plans", "first_message": "Let us plan."}
THERE = {**HERE, "channel_name": "#art"}
FAMILY = "👨‍👩‍👧‍👦"


@pytest.fixture
def turn() -> DiscordTurn:
    return DiscordTurn()


@pytest.mark.parametrize(("arguments", "parent"), [(HERE, CHANNEL), (THERE, OTHER)])
async def test_a_thread_is_opened_with_its_first_message(turn, arguments, parent):
    answer = told(await turn.call(TOOL, arguments))
    made = turn.discord.channels[-1]
    assert (made.name, made.parent_id) == ("Plans", parent)
    assert answer == {"thread_id": made.id, "name": "Plans", "mention": f"<#{made.id}>"}
    assert turn.discord.sent == [(made.id, "Let us plan.", None, tool_nonce(turn.context))]


@pytest.mark.parametrize("who", [BOT, MEMBER])
@pytest.mark.parametrize("arguments", [HERE, THERE])
@pytest.mark.parametrize("permission", ["create_public_threads", "send_messages_in_threads"])
async def test_the_bot_and_the_member_both_must_be_able_to(turn, who, arguments, permission):
    """C130: asked at execution, whatever the situation said."""
    turn.discord.forbid(who, OTHER if arguments is THERE else CHANNEL, permission)
    reason = refused(await turn.call(TOOL, arguments))
    assert permission.replace("_", " ").title() in reason
    assert ("I do not" in reason) is (who == BOT)
    assert "create_thread" not in turn.discord.asked


async def test_a_channel_the_member_cannot_see_is_as_good_as_none(turn):
    turn.discord.forbid(MEMBER, OTHER, "view_channel")
    hidden = refused(await turn.call(TOOL, THERE))
    missing = refused(await turn.call(TOOL, {**THERE, "channel_name": "#bar"}))
    assert hidden == missing.replace("#bar", "#art")
    assert "create_thread" not in turn.discord.asked


@pytest.mark.parametrize("context", [{"user_id": ""}, {"user_id": "404"}])
async def test_nobody_known_opens_nothing(turn, context):
    assert not (await turn.call(TOOL, HERE, **context)).success
    assert "create_thread" not in turn.discord.asked


async def test_a_channel_kept_from_personas_is_kept_from_threads(turn):
    turn.configure(ServerConfig(cross_channel=CrossChannelConfig(blocked_channel_ids=[CATEGORY])))
    assert "keeps personas out" in refused(await turn.call(TOOL, THERE))
    assert (await turn.call(TOOL, HERE)).success


async def test_no_thread_in_a_thread_or_a_forum(turn):
    turn.discord.channels.append(ChannelFacts(id="240", name="forum", takes_messages=False))
    for name in ("sketches", "forum"):
        assert "text channel" in refused(await turn.call(TOOL, {**HERE, "channel_name": name}))
    assert "create_thread" not in turn.discord.asked


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("  a\n b\t\x00c ", "a b c"),
        ("\u202egnp.exe", "gnp.exe"),
        ("x" * 250, "x" * MAX_THREAD_NAME),
        ("x" * 97 + FAMILY, "x" * 97),
        ("\u200b\u200d ", ""),
        ("\u3164", ""),
        ("\u2800\u115f\u0301", ""),
        ("a\u2028b\u2800", "a b"),
        (FAMILY, FAMILY),
        ("", ""),
    ],
)
def test_names_are_cleaned(name, cleaned):
    assert clean_thread_name(name) == cleaned


@given(st.text(max_size=300))
def test_a_cleaned_name_is_one_line_in_the_limits_and_stays_as_it_is(name):
    cleaned = clean_thread_name(name)
    assert len(cleaned) <= MAX_THREAD_NAME
    assert cleaned == clean_thread_name(cleaned)
    assert cleaned == " ".join(cleaned.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({**HERE, "thread_name": "\u200b"}, "visible character"),
        ({**HERE, "thread_name": "\u3164\u3164"}, "visible character"),
        ({**HERE, "thread_name": "x" * 301}, "at most 300"),
        ({**HERE, "first_message": " "}, "`first_message`"),
        ({**HERE, "first_message": "x" * 2001}, "at most 2000"),
    ],
)
async def test_other_calls_are_refused_in_words(turn, arguments, expected):
    assert expected in refused(await turn.call(TOOL, arguments))
    assert turn.discord.asked == []


async def test_a_flag_turned_off_after_declaration_refuses_the_call(turn):
    """C130."""
    turn.configure(ServerConfig(tools=ToolsConfig(thread_creation=False)))
    assert "not available for the current turn" in refused(await turn.call(TOOL, HERE))
    assert turn.discord.asked == []


@pytest.mark.parametrize(
    ("situation", "offered"),
    [
        (Situation(own_permissions=list(EVERYTHING)), True),
        (Situation(own_permissions=list(EVERYTHING), is_dm=True), False),
        (Situation(own_permissions=list(EVERYTHING), is_thread=True), False),
        (Situation(own_permissions=["create_public_threads"]), False),
        (Situation(), False),
    ],
)
def test_it_is_offered_in_text_channels_where_the_bot_may(situation, offered):
    assert TOOL.is_available_for_context(situation, ServerConfig()) is offered
