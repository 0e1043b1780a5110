from __future__ import annotations

import pytest

from activities.tools.builtin.interact_with_recent_message import TOOL
from activities.tools.messages import tool_nonce
from storage.config import ServerConfig, ToolsConfig
from tests.tools.fake_discord import (
    BOT,
    CHANNEL,
    EVERYTHING,
    OTHER,
    DiscordTurn,
    message,
    refused,
    told,
)
from workflows.contracts.invocation import Source
from workflows.contracts.tools import Situation

REACT = {"action": "react", "message_id": "ref_1", "content": "👍"}
REPLY = {"action": "reply", "message_id": "ref_2", "content": "Good idea."}


@pytest.fixture
def turn() -> DiscordTurn:
    made = DiscordTurn()
    made.discord.messages[CHANNEL] = [message("1001"), message("1002")]
    made.discord.messages[OTHER] = [message("1003")]
    return made


async def test_it_reacts_to_the_message_behind_a_ref(turn):
    assert (await turn.call(TOOL, REACT)).success
    assert turn.discord.reactions == [(CHANNEL, "1001", "👍")]


async def test_it_replies_once_under_a_nonce_of_its_own(turn):
    result = await turn.call(TOOL, REPLY, iteration=2)
    assert told(result)["message_ids"] == ["5000"]
    assert result.said == "Good idea."
    nonce = tool_nonce(turn.context.model_copy(update={"iteration": 2}))
    assert turn.discord.sent == [(CHANNEL, "Good idea.", "1002", nonce)]


async def test_a_real_id_of_the_conversation_is_taken_too(turn):
    assert (await turn.call(TOOL, {**REACT, "message_id": "1002"})).success
    assert turn.discord.reactions == [(CHANNEL, "1002", "👍")]


@pytest.mark.parametrize(
    "message_id", ["ref_9", "1003", "99", "ref_1; drop", "../1001", "١٠٠١", "\u202e1001"]
)
async def test_only_messages_of_the_conversation_can_be_meant(turn, message_id):
    result = await turn.call(TOOL, {**REPLY, "message_id": message_id})
    assert "no message" in refused(result)
    assert turn.discord.asked == []


@pytest.mark.parametrize(
    "context", [{"source": Source.QUEUE}, {"situation": Situation(is_queued=True)}]
)
async def test_a_queued_turn_reacts_and_does_not_reply(turn, context):
    situation = context.get("situation", Situation())
    own = situation.model_copy(update={"own_permissions": list(EVERYTHING)})
    context = {**context, "situation": own}
    assert "off in this turn" in refused(await turn.call(TOOL, REPLY, **context))
    assert (await turn.call(TOOL, REACT, **context)).success
    assert turn.discord.sent == []


@pytest.mark.parametrize(
    ("arguments", "permission", "named"),
    [
        (REACT, "add_reactions", "Add Reactions"),
        (REACT, "read_message_history", "Read Message History"),
        (REPLY, "send_messages", "Send Messages"),
    ],
)
async def test_permissions_are_asked_again_at_execution(turn, arguments, permission, named):
    """C130: the situation still says that the bot may."""
    turn.discord.forbid(BOT, CHANNEL, permission)
    assert named in refused(await turn.call(TOOL, arguments))
    assert turn.discord.reactions == []
    assert turn.discord.sent == []


async def test_a_reply_in_a_thread_needs_the_permission_of_threads(turn):
    turn.discord.forbid(BOT, CHANNEL, "send_messages")
    situation = Situation(is_thread=True, own_permissions=list(EVERYTHING))
    assert (await turn.call(TOOL, REPLY, situation=situation)).success


async def test_in_a_direct_message_no_server_is_asked(turn):
    result = await turn.call(TOOL, REACT, guild_id=None, situation=Situation(is_dm=True))
    assert result.success
    assert turn.discord.asked == ["react"]


@pytest.mark.parametrize("content", ["👍 👍", "a b", "x" * 61, "👍\n@everyone"])
async def test_a_reaction_is_one_emoji(turn, content):
    assert "one emoji" in refused(await turn.call(TOOL, {**REACT, "content": content}))
    assert turn.discord.reactions == []


async def test_what_discord_refuses_is_told_to_the_model(turn):
    turn.discord.refusals["react"] = "Discord does not know that emoji."
    assert refused(await turn.call(TOOL, REACT)) == "Discord does not know that emoji."


async def test_a_flag_turned_off_after_declaration_refuses_the_call(turn):
    """C130."""
    turn.configure(ServerConfig(tools=ToolsConfig(message_interaction=False)))
    assert "not available for the current turn" in refused(await turn.call(TOOL, REACT))
    assert turn.discord.asked == []


@pytest.mark.parametrize(
    ("situation", "offered"),
    [
        (Situation(is_dm=True), True),
        (Situation(), False),
        (Situation(own_permissions=["add_reactions"]), False),
        (Situation(own_permissions=["add_reactions", "read_message_history"]), True),
        (Situation(own_permissions=["send_messages", "read_message_history"]), True),
        (
            Situation(own_permissions=["send_messages", "read_message_history"], is_queued=True),
            False,
        ),
    ],
)
def test_it_is_offered_where_the_bot_may_do_one_of_both(situation, offered):
    assert TOOL.is_available_for_context(situation, ServerConfig()) is offered
