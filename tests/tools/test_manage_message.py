from __future__ import annotations

import pytest

from activities.tools.builtin.manage_message import MAX_RANGE, TOOL
from storage.config import ServerConfig, ToolsConfig
from tests.tools.fake_discord import (
    BOT,
    CHANNEL,
    MEMBER,
    OTHER,
    STRANGER,
    DiscordTurn,
    message,
    refused,
    told,
)
from workflows.contracts.tools import Situation

MEMBERS, OWN, OTHERS_MEMBERS = "1001", "1002", "1003"


@pytest.fixture
def turn() -> DiscordTurn:
    made = DiscordTurn()
    made.discord.messages[CHANNEL] = [
        message(MEMBERS),
        message(OWN, "my answer", BOT),
        message(OTHERS_MEMBERS, author=STRANGER),
        message("1004", "more of mine", BOT),
    ]
    made.discord.messages[OTHER] = [message("1005", "mine, elsewhere", BOT)]
    return made


EDIT = {"action": "edit", "message_id": "ref_2", "content": "no rules"}
DELETE = {"action": "delete", "message_id": "ref_2"}


@pytest.mark.parametrize("arguments", [EDIT, DELETE, {**DELETE, "end_message_id": "ref_4"}])
@pytest.mark.parametrize(
    ("permission", "is_thread"),
    [
        ("send_messages", False),
        ("view_channel", False),
        ("send_messages_in_threads", True),
    ],
)
async def test_who_may_not_speak_does_not_edit_or_delete_through_the_persona(
    turn, arguments, permission, is_thread
):
    turn.discord.forbid(MEMBER, CHANNEL, permission)
    situation = Situation(is_thread=is_thread)
    reason = refused(await turn.call(TOOL, arguments, situation=situation))
    assert "The member who asked does not have" in reason
    assert permission.replace("_", " ").title() in reason
    assert turn.discord.text(OWN) == "my answer"


@pytest.mark.parametrize("arguments", [EDIT, DELETE])
@pytest.mark.parametrize("context", [{"user_id": ""}, {"user_id": "404"}])
async def test_nobody_known_changes_nothing(turn, arguments, context):
    assert not (await turn.call(TOOL, arguments, **context)).success
    assert turn.discord.text(OWN) == "my answer"


@pytest.mark.parametrize("arguments", [EDIT, DELETE])
async def test_in_a_direct_message_anybody_has_it_change_its_own(turn, arguments):
    direct = {"guild_id": None, "situation": Situation(is_dm=True)}
    assert (await turn.call(TOOL, arguments, **direct)).success


@pytest.mark.parametrize("name", ["ref_1", MEMBERS, "ref_3"])
async def test_a_members_message_is_neither_deleted_nor_edited(turn, name):
    """C132."""
    before = turn.discord.messages[CHANNEL]
    for arguments in (
        {"action": "delete", "message_id": name},
        {"action": "edit", "message_id": name, "content": "changed"},
    ):
        result = await turn.call(TOOL, arguments)
        assert "somebody else's" in refused(result)
    assert turn.discord.messages[CHANNEL] == before


async def test_it_deletes_its_own(turn):
    result = await turn.call(TOOL, {"action": "delete", "message_id": "ref_2"})
    assert told(result)["count"] == 1
    assert turn.discord.ids() == [MEMBERS, OTHERS_MEMBERS, "1004"]
    assert [notice.hidden for notice in result.notices] == [True]


@pytest.mark.parametrize(
    ("author", "said_by", "own"),
    [(STRANGER, 7, True), (BOT, 7, True), (BOT, 8, False), (STRANGER, 8, False), (BOT, None, True)],
)
async def test_its_own_is_what_its_persona_said(turn, author, said_by, own):
    """Several speak through one account, and one through a webhook (D61)."""
    said = message("1006", "words", author).model_copy(update={"persona_id": said_by})
    turn.discord.messages[CHANNEL].append(said)
    result = await turn.call(TOOL, {"action": "delete", "message_id": "1006"})
    assert result.success is own
    assert ("1006" in turn.discord.ids()) is not own


async def test_it_edits_its_own(turn):
    arguments = {"action": "edit", "message_id": "ref_2", "content": "a better answer"}
    assert (await turn.call(TOOL, arguments)).success
    assert turn.discord.text(OWN) == "a better answer"


async def test_what_this_very_turn_has_sent_is_found_by_its_id(turn):
    turn._remember_conversation()
    turn.discord.messages[CHANNEL].append(message("1011", "just now", BOT))
    assert (await turn.call(TOOL, {"action": "delete", "message_id": "1011"})).success
    assert "1011" not in turn.discord.ids()


@pytest.mark.parametrize("name", ["1012", "1005", "ref_77", "0x3EA", "-1", "1002.0", "١٠٠٢"])
@pytest.mark.parametrize("action", ["pin", "delete"])
async def test_nothing_outside_the_conversation_is_touched(turn, name, action):
    """Neither a newer message of a member's, nor another channel's, nor what is no id."""
    turn._remember_conversation()
    turn.discord.messages[CHANNEL].append(message("1012"))
    before = turn.discord.ids(), turn.discord.ids(OTHER)
    assert "conversation" in refused(await turn.call(TOOL, {"action": action, "message_id": name}))
    assert (turn.discord.ids(), turn.discord.ids(OTHER)) == before
    assert not turn.discord.pins


async def test_a_range_takes_only_its_own(turn):
    result = await turn.call(
        TOOL, {"action": "delete", "message_id": "1004", "end_message_id": "ref_2"}
    )
    assert told(result)["count"] == 2
    assert turn.discord.ids() == [MEMBERS, OTHERS_MEMBERS]


@pytest.mark.parametrize("ends", [("ref_1", "ref_4"), ("ref_2", "ref_3")])
async def test_a_range_that_begins_or_ends_with_a_members_message_is_refused(turn, ends):
    """C132."""
    result = await turn.call(
        TOOL, {"action": "delete", "message_id": ends[0], "end_message_id": ends[1]}
    )
    assert "somebody else's" in refused(result)
    assert len(turn.discord.ids()) == 4


async def test_a_range_is_bounded(turn):
    turn.discord.messages[CHANNEL] = [message(str(2000 + i), "x", BOT) for i in range(150)]
    ids = turn.discord.ids()
    too_many = {"action": "delete", "message_id": ids[-40], "end_message_id": ids[-1]}
    assert f"at most {MAX_RANGE}" in refused(await turn.call(TOOL, too_many))
    too_far = {"action": "delete", "message_id": ids[0], "end_message_id": ids[-1]}
    assert "before the newest 100" in refused(await turn.call(TOOL, too_far))
    assert turn.discord.ids() == ids
    just_right = {"action": "delete", "message_id": ids[-MAX_RANGE], "end_message_id": ids[-1]}
    assert (await turn.call(TOOL, just_right)).success
    assert turn.discord.ids() == ids[:-MAX_RANGE]


async def test_a_message_that_is_gone_is_said_to_be_gone(turn):
    turn._remember_conversation()
    turn.discord.messages[CHANNEL] = []
    result = await turn.call(TOOL, {"action": "delete", "message_id": "ref_2"})
    assert "has been deleted" in refused(result)


async def test_it_pins_and_unpins_what_anybody_wrote(turn):
    assert (await turn.call(TOOL, {"action": "pin", "message_id": "ref_1"})).success
    assert turn.discord.pins == {(CHANNEL, MEMBERS)}
    assert (await turn.call(TOOL, {"action": "unpin", "message_id": "ref_1"})).success
    assert turn.discord.pins == set()


@pytest.mark.parametrize(("who", "named"), [(BOT, "I do not"), (MEMBER, "The member who asked")])
async def test_pinning_takes_manage_messages_of_the_bot_and_of_the_member(turn, who, named):
    turn.discord.forbid(who, CHANNEL, "manage_messages", "pin_messages")
    reason = refused(await turn.call(TOOL, {"action": "pin", "message_id": "ref_1"}))
    assert named in reason
    assert "Manage Messages" in reason
    assert turn.discord.pins == set()


@pytest.mark.parametrize("context", [{"user_id": ""}, {"user_id": "404"}])
async def test_nobody_known_pins_nothing(turn, context):
    assert not (await turn.call(TOOL, {"action": "pin", "message_id": "ref_1"}, **context)).success
    assert turn.discord.pins == set()


async def test_in_a_direct_message_anybody_pins(turn):
    arguments = {"action": "pin", "message_id": "ref_1"}
    assert (
        await turn.call(TOOL, arguments, guild_id=None, situation=Situation(is_dm=True))
    ).success
    assert turn.discord.pins == {(CHANNEL, MEMBERS)}


async def test_a_notice_of_our_own_has_no_text_to_edit(turn):
    turn.discord.messages[CHANNEL].append(message("1009", "", BOT))
    arguments = {"action": "edit", "message_id": "1009", "content": "taken over"}
    assert "no text" in refused(await turn.call(TOOL, arguments))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"action": "edit", "message_id": "ref_2"}, "give the new text"),
        ({"action": "edit", "message_id": "ref_2", "content": "  "}, "give the new text"),
        ({"action": "pin", "message_id": "ref_2", "content": "x"}, "belongs to edit"),
        (
            {"action": "edit", "message_id": "ref_2", "content": "x", "end_message_id": "ref_4"},
            "end",
        ),
        ({"action": "purge", "message_id": "ref_2"}, "`action`"),
        ({"action": "edit", "message_id": "ref_2", "content": "x" * 2001}, "at most 2000"),
        ({"action": "delete", "message_id": "9" * 5000}, "at most 40"),
    ],
)
async def test_other_calls_are_refused_in_words(turn, arguments, expected):
    assert expected in refused(await turn.call(TOOL, arguments))
    assert turn.discord.asked == []


async def test_a_flag_turned_off_after_declaration_refuses_the_call(turn):
    """C130."""
    turn.configure(ServerConfig(tools=ToolsConfig(manage_message=False)))
    result = await turn.call(TOOL, {"action": "delete", "message_id": "ref_2"})
    assert "not available for the current turn" in refused(result)
    assert OWN in turn.discord.ids()
