from __future__ import annotations

import pytest

from activities.tools.builtin.cross_channel_message import TOOL
from storage.config import CrossChannelConfig, Privacy, ServerConfig, ToolsConfig, UserConfig
from tests.tools.fake_discord import (
    BOT,
    CATEGORY,
    CHANNEL,
    GUILD,
    MEMBER,
    OTHER,
    STRANGER,
    THREAD,
    DiscordTurn,
    message,
    refused,
    told,
)
from workflows.contracts.discord_port import ChannelFacts
from workflows.contracts.invocation import Origin
from workflows.contracts.tools import CROSS_CHANNEL_MESSAGE, Situation

GO = {"target_channel": "#art", "task": "Ask who wants to paint on Friday."}
BACK = {**GO, "boomerang": True}
PEEK = {**GO, "peek_only": True}
ALL_WAYS = pytest.mark.parametrize("arguments", [GO, BACK, PEEK], ids=["go", "back", "peek"])


@pytest.fixture
def turn() -> DiscordTurn:
    made = DiscordTurn()
    made.discord.messages[OTHER] = [
        message("2001", "Friday is fine"),
        message("2002", "x" * 3_000, STRANGER),
        message("2003", "Noted.", BOT, attachments=["plan.png"]),
    ]
    return made


def untouched(turn: DiscordTurn) -> bool:
    return not {"read_messages", "get_message", "dispatch"} & set(turn.discord.asked)


async def test_a_task_is_a_turn_of_the_same_persona_there(turn):
    result = await turn.call(TOOL, GO)
    assert told(result)["status"] == "dispatched"
    assert not result.end_turn
    (task,) = turn.discord.dispatched
    assert (task.origin, task.channel_id, task.content) == (Origin.CROSS_CHANNEL, OTHER, GO["task"])
    assert (task.selected_persona_id, task.author_id, task.guild_id) == (7, MEMBER, GUILD)
    assert (task.application_id, task.bot_user_id) == ("900", BOT)
    assert task.disabled_tools == [CROSS_CHANNEL_MESSAGE]
    assert not task.surface_errors
    assert task.boomerang is None
    assert "read_messages" not in turn.discord.asked


async def test_a_boomerang_ends_the_turn_and_says_where_to_report(turn):
    """C115, the tool's side."""
    result = await turn.call(TOOL, BACK)
    assert result.success
    assert result.end_turn
    (task,) = turn.discord.dispatched
    assert task.boomerang is not None
    assert (task.boomerang.channel_id, task.boomerang.channel_name) == (CHANNEL, "general")
    assert task.boomerang.persona_id == 7
    assert task.boomerang.message_id != task.message_id


async def test_one_call_is_one_task_and_another_call_another_one(turn):
    for iteration, position in ((0, 0), (0, 0), (0, 1), (1, 0)):
        assert (await turn.call(TOOL, BACK, iteration=iteration, position=position)).success
    ids = [task.message_id for task in turn.discord.dispatched]
    reports = [task.boomerang and task.boomerang.message_id for task in turn.discord.dispatched]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert reports[0] == reports[1]
    assert len({*ids, *reports}) == 6
    assert all(int(each) < 2**62 for each in ids)


async def test_a_peek_returns_the_history_and_sends_nothing(turn):
    result = await turn.call(TOOL, PEEK)
    assert not result.end_turn
    messages = told(result)["messages"]
    assert [each["author"] for each in messages] == ["member 10", "member 11", "Nova"]
    assert len(messages[1]["text"]) == 1_500
    assert messages[2]["files"] == ["plan.png"]
    assert turn.discord.dispatched == []
    assert turn.discord.sent == []


async def test_a_peek_leaves_out_whoever_is_not_to_be_read(turn):
    turn.storage.configs.users[STRANGER] = UserConfig(privacy=Privacy.FULL)
    messages = told(await turn.call(TOOL, PEEK))["messages"]
    assert [each["author"] for each in messages] == ["member 10", "Nova"]


@ALL_WAYS
async def test_an_invoker_without_view_is_refused_before_any_read(turn, arguments):
    """C117. In the same words as for a channel that is not there: nobody learns of it here."""
    turn.discord.forbid(MEMBER, OTHER, "view_channel")
    reason = refused(await turn.call(TOOL, arguments))
    missing = refused(await turn.call(TOOL, {**arguments, "target_channel": "#bar"}))
    assert reason == missing.replace("#bar", "#art")
    assert untouched(turn)


@ALL_WAYS
@pytest.mark.parametrize("context", [{"user_id": ""}, {"user_id": "404"}])
async def test_an_unresolved_invoker_is_refused(turn, arguments, context):
    assert not (await turn.call(TOOL, arguments, **context)).success
    assert untouched(turn)


@pytest.mark.parametrize(
    ("arguments", "who", "permission"),
    [
        (GO, BOT, "send_messages"),
        (BACK, BOT, "send_messages"),
        (PEEK, BOT, "read_message_history"),
        (PEEK, MEMBER, "read_message_history"),
        (BACK, MEMBER, "read_message_history"),
        (GO, BOT, "view_channel"),
    ],
)
async def test_every_permission_is_asked_at_execution(turn, arguments, who, permission):
    """C130."""
    turn.discord.forbid(who, OTHER, permission)
    assert not (await turn.call(TOOL, arguments)).success
    assert untouched(turn)


@pytest.mark.parametrize(
    ("arguments", "who", "permission"),
    [
        (PEEK, BOT, "send_messages"),
        (GO, MEMBER, "send_messages"),
        (GO, MEMBER, "read_message_history"),
    ],
)
async def test_no_more_is_asked_than_is_needed(turn, arguments, who, permission):
    turn.discord.forbid(who, OTHER, permission)
    assert (await turn.call(TOOL, arguments)).success


async def test_in_a_thread_the_permission_of_threads_counts(turn):
    arguments = {**GO, "target_channel": "sketches"}
    turn.discord.forbid(BOT, THREAD, "send_messages")
    assert (await turn.call(TOOL, arguments)).success
    assert turn.discord.dispatched[0].is_thread
    turn.discord.forbid(BOT, THREAD, "send_messages_in_threads")
    assert "Send Messages In Threads" in refused(await turn.call(TOOL, arguments))


@ALL_WAYS
@pytest.mark.parametrize(
    ("target", "blocked"),
    [("art", OTHER), ("art", CATEGORY), ("sketches", THREAD), ("sketches", OTHER)],
)
async def test_the_blocklist_covers_channels_categories_and_threads(
    turn, arguments, target, blocked
):
    turn.configure(ServerConfig(cross_channel=CrossChannelConfig(blocked_channel_ids=[blocked])))
    result = await turn.call(TOOL, {**arguments, "target_channel": target})
    assert "keeps personas out" in refused(result)
    assert untouched(turn)


async def test_a_thread_is_blocked_by_the_category_of_its_channel(turn):
    turn.configure(ServerConfig(cross_channel=CrossChannelConfig(blocked_channel_ids=[CATEGORY])))
    reason = refused(await turn.call(TOOL, {**GO, "target_channel": "sketches"}))
    assert "keeps personas out" in reason


async def test_a_thread_whose_category_cannot_be_told_counts_as_blocked(turn):
    turn.discord.channels = [each for each in turn.discord.channels if each.id != OTHER]
    arguments = {**GO, "target_channel": "sketches"}
    assert (await turn.call(TOOL, arguments)).success
    turn.configure(ServerConfig(cross_channel=CrossChannelConfig(blocked_channel_ids=["999"])))
    assert not (await turn.call(TOOL, arguments)).success


async def test_an_ambiguous_name_is_asked_about(turn):
    turn.discord.channels.append(ChannelFacts(id="202", name="Art"))
    result = await turn.call(TOOL, GO)
    candidates = told(result)["candidates"]
    assert [each["id"] for each in candidates] == [OTHER, "202"]
    assert untouched(turn)
    assert (await turn.call(TOOL, {**GO, "target_channel": "202"})).success
    assert turn.discord.dispatched[0].channel_id == "202"


async def test_only_what_the_member_can_see_is_ambiguous(turn):
    turn.discord.channels.append(ChannelFacts(id="202", name="art"))
    turn.discord.forbid(MEMBER, "202", "view_channel")
    assert (await turn.call(TOOL, GO)).success
    assert turn.discord.dispatched[0].channel_id == OTHER


async def test_a_name_of_many_channels_asks_for_an_id(turn):
    for number in range(50):
        turn.discord.channels.append(ChannelFacts(id=str(1000 + number), name="art"))
    assert "channel's id" in refused(await turn.call(TOOL, GO))
    assert "permissions" not in turn.discord.asked


@pytest.mark.parametrize("target", ["general", CHANNEL, f"<#{CHANNEL}>"])
async def test_the_same_channel_is_refused(turn, target):
    assert "channel of this conversation" in refused(
        await turn.call(TOOL, {**GO, "target_channel": target})
    )
    assert untouched(turn)


async def test_a_forum_is_refused(turn):
    turn.discord.channels.append(ChannelFacts(id="240", name="forum", takes_messages=False))
    assert "no messages" in refused(await turn.call(TOOL, {**GO, "target_channel": "forum"}))


@pytest.mark.parametrize(
    "target", ["../art", "<@10>", "art\x00", "{{channel}}", "' OR 1=1 --", "😀" * 60, "<#201"]
)
async def test_hostile_names_find_nothing(turn, target):
    result = await turn.call(TOOL, {**GO, "target_channel": target, "peek_only": True})
    assert not result.success or told(result)["channel_id"] == OTHER
    assert turn.discord.dispatched == []


async def test_a_task_that_temporal_does_not_take_is_told_to_the_model(turn):
    turn.discord.refusals["dispatch"] = "Temporal cannot be reached."
    result = await turn.call(TOOL, BACK)
    assert refused(result) == "Temporal cannot be reached."
    assert not result.end_turn
    assert result.notices == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({**BACK, "peek_only": True}, "either `boomerang` or `peek_only`"),
        ({**GO, "task": "x" * 4001}, "at most 4000"),
        ({**GO, "task": "  "}, "`task`"),
        ({"task": "x"}, "`target_channel`"),
    ],
)
async def test_other_calls_are_refused_in_words(turn, arguments, expected):
    assert expected in refused(await turn.call(TOOL, arguments))
    assert turn.discord.asked == []


@pytest.mark.parametrize("origin", [Origin.CROSS_CHANNEL, Origin.BOOMERANG])
async def test_turns_that_it_began_cannot_use_it(turn, origin):
    """Behaviour 12: otherwise two channels could keep each other busy for ever."""
    situation = Situation(origin=origin)
    assert not (await turn.call(TOOL, GO, situation=situation)).success
    assert turn.discord.asked == []


async def test_a_flag_turned_off_after_declaration_refuses_the_call(turn):
    """C130."""
    turn.configure(ServerConfig(tools=ToolsConfig(cross_channel=False)))
    assert "not available for the current turn" in refused(await turn.call(TOOL, GO))
    assert turn.discord.asked == []


async def test_novelai_is_not_offered_it(turn):
    reason = refused(await turn.call(TOOL, GO, provider="novelai"))
    assert "not available for provider novelai" in reason


@pytest.mark.parametrize(
    ("situation", "offered"),
    [
        (Situation(), True),
        (Situation(origin=Origin.REMINDER), True),
        (Situation(is_dm=True), False),
        (Situation(origin=Origin.BOOMERANG), False),
    ],
)
def test_it_is_offered_in_servers_only(situation, offered):
    assert TOOL.is_available_for_context(situation, ServerConfig()) is offered


async def test_what_people_are_told_shows_a_channel_only_to_those_who_see_it(turn):
    (notice,) = (await turn.call(TOOL, GO)).notices
    assert f"<#{OTHER}>" in notice.text
    assert "art" not in notice.title
