"""The demo model: what a person without a key sees first."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from activities.context.memories import server_memories
from activities.context.participants import Known, participants_note
from activities.context.stickers import sticker_list
from activities.context.summons import summons
from activities.generation.demo import _WORDS
from activities.generation.demo_script import (
    HOW_TO_GET_A_REAL_ONE,
    LONG_STORY,
    WHAT_TO_TRY,
    DemoReply,
)
from activities.generation.demo_script import demo_reply as reply_as_sent
from activities.tools.registry import ToolRegistry
from bot.reporting import OUTCOMES, UNREADABLE
from bot.triggers import PersonaTriggers, TriggerIndex
from storage import Memory
from tests.generation.conftest import STOPPED, Desk, until
from workflows.contracts.generation import StreamStatus
from workflows.contracts.history import StickerInfo
from workflows.contracts.invocation import (
    Boomerang,
    BoomerangReport,
    ChatIncoming,
    Origin,
    ReminderDue,
)
from workflows.contracts.tools import ToolResult, TranscriptEntry

TOOLS = {"roll_dice", "fetch_url"}
EVERY_TOOL = {
    *TOOLS,
    "create_task",
    "create_long_term_memory",
    "select_sticker_for_response",
}


def said(text: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)])]


def demo_reply(messages: list[ModelMessage], tools: Collection[str]) -> DemoReply:
    """Its reply as it is read."""
    reply = reply_as_sent(messages, tools)
    return replace(reply, text=as_read(reply.text))


def as_read(text: str) -> str:
    """Without what sets the letters of a quotation apart, and shows nothing."""
    return text.replace("\u034f", "")


async def test_it_says_what_it_is_and_how_to_get_a_real_model(desk: Desk) -> None:
    desk.use(provider="demo", model="", demo_pace=0)
    result = await desk.call("Ada: @Nova what is the weather like on the moon?")
    text = as_read(desk.whole_text(result))
    assert result.status is StreamStatus.COMPLETED
    assert text.startswith("I am a demo model.")
    assert "what is the weather like on the moon?" in text
    assert "ANTHROPIC_API_KEY" in text
    assert (result.provider, result.model) == ("demo", "demo")
    assert (result.usage.input_tokens, result.usage.cost_usd) == (0, None)
    assert await _same(desk, "Ada: @Nova what is the weather like on the moon?", text)


async def _same(desk: Desk, question: str, text: str) -> bool:
    desk.turn.batches.clear()
    return as_read(desk.whole_text(await desk.call(question))) == text


@pytest.mark.parametrize(
    ("message", "tool", "arguments"),
    [
        ("Ada: roll 2d6", "roll_dice", {"dice": "2d6"}),
        ("Ada: @Nova please roll a dice", "roll_dice", {"dice": "1d6"}),
        ("Ada: D20 + 3!", "roll_dice", {"dice": "D20+3"}),
        ("Ada: hello\n  now roll 3d8", "roll_dice", {"dice": "3d8"}),
        ('[Reply to this earlier message by "Ada": "roll 4d4"]', "roll_dice", {"dice": "4d4"}),
        ("Ada: nova\n  roll 3d8\n  please", "roll_dice", {"dice": "3d8"}),
        ("Ada: see https://example.org/a.", "fetch_url", {"url": "https://example.org/a"}),
        ("Ada: <https://example.org/>", "fetch_url", {"url": "https://example.org/"}),
    ],
)
def test_it_calls_tools_with_arguments_that_they_accept(
    message: str, tool: str, arguments: dict[str, str]
) -> None:
    reply = demo_reply(said(message), TOOLS)
    assert reply.call == (tool, arguments)
    examined = ToolRegistry.builtin().examine(tool, json.dumps(arguments))
    assert examined.refusal is None


@pytest.mark.parametrize(
    ("message", "dice", "says"),
    [
        ("Ada: roll 1000d6", "1000d6", "1 to 100 dice can be rolled, not 1000"),
        ("Ada: roll 2d123456", "2d123456", "expected a notation"),
        ("Ada: roll d6 + 99999", "d6+99999", "the modifier is at most 10000"),
    ],
)
def test_what_cannot_be_rolled_is_asked_for_all_the_same(
    message: str, dice: str, says: str
) -> None:
    """The tool refuses it, and the refusal is what a person gets to read."""
    reply = demo_reply(said(message), TOOLS)
    assert reply.call == ("roll_dice", {"dice": dice})
    refusal = ToolRegistry.builtin().examine("roll_dice", json.dumps({"dice": dice})).refusal
    assert refusal is not None
    assert says in refusal
    returned = ToolReturnPart("roll_dice", refusal, tool_call_id="1", outcome="failed")
    answer = demo_reply([*said(message), ModelRequest(parts=[returned])], TOOLS)
    assert answer.text.startswith("That did not work: ")
    assert says in answer.text
    assert answer.call is None


@pytest.mark.parametrize(
    ("message", "echo"),
    [
        ("Ada: <b>x</b>", "You said “<b>x</b>”, which is one word."),
        ("Ada: > nova hi", "You said “nova hi”, which is 2 words."),
        ("Ada: nova\n  > one\n  two", "You said “nova one two”, which is 3 words."),
        ("Ada: one two\n  three?", "which is 3 words. It sounds like a question."),
        ("Ada: a_b *c*", "You said “a\\_b \\*c\\*”, which is 2 words."),
        ("Ada: say “hi”", 'You said “say "hi"”, which is 2 words.'),
        ("Ada: ```x", "You said “\\`\\`\\`x”, which is one word."),
        ("Ada: <<@1>@123>", "You said “< @123>”, which is one word."),
    ],
)
def test_it_repeats_what_was_said_as_it_was_written(message: str, echo: str) -> None:
    assert echo in demo_reply(said(message), TOOLS).text


NAMES = ["Rex", "Mira", "Professor Oak", "さくら", "éva", "नोवा"]


@pytest.mark.parametrize(
    "message",
    [
        "Ada: Rex and Mira, say hello",
        "Ada: rex, MIRA",
        "Ada: professor oak and her (mira)",
        "Ada: さくらさん、おはよう éva नोवा",
        "Ada: remember me to Mira?\n  what do you remember?",
    ],
)
def test_what_it_repeats_calls_no_other_persona(message: str) -> None:
    """As the bot itself finds names in what a persona has said."""
    personas = [PersonaTriggers(n, n == 0, (name,), name) for n, name in enumerate(NAMES)]
    index = TriggerIndex(personas)
    assert index.named(message)
    memory = SystemPromptPart("- [id:3] Mira and Rex like tea")
    context = [ModelRequest(parts=[memory]), *said(message)]
    sent = reply_as_sent(context, TOOLS).text
    assert index.named(as_read(sent))
    assert not index.named(sent)


def test_its_advice_is_given_once_in_a_conversation() -> None:
    """Also when it comes back from the channel's history, paragraph by paragraph."""
    first = demo_reply(said("Ada: hello"), TOOLS).text
    history = [*said("Ada: hello"), ModelResponse(parts=[TextPart(first.replace("\n\n", "\n"))])]
    assert WHAT_TO_TRY in first
    assert HOW_TO_GET_A_REAL_ONE in first
    again = demo_reply([*history, *said("Ada: hello")], TOOLS).text
    assert again == "I am a demo model. You said “hello”, which is one word."
    content = json.dumps({"dice": "1d6", "rolls": [3], "modifier": 0, "total": 3})
    rolled = ModelRequest(parts=[ToolReturnPart("roll_dice", content, tool_call_id="1")])
    assert demo_reply([*history, *said("Ada: roll"), rolled], TOOLS).text == (
        "The dice are cast: **3** for 1d6 (3)."
    )
    assert HOW_TO_GET_A_REAL_ONE in demo_reply([*said("Ada: roll"), rolled], TOOLS).text


def test_it_calls_no_tool_that_it_was_not_given() -> None:
    assert demo_reply(said("Ada: roll 2d6 https://example.org"), set()).call is None


async def test_it_comments_on_the_result_and_calls_nothing_again(desk: Desk) -> None:
    desk.use(provider="demo", model="", demo_pace=0)
    first = await desk.call("Ada: roll 2d6")
    assert first.status is StreamStatus.FUNCTION_CALL
    (call,) = first.calls
    assert first.response_id is not None
    content = json.dumps({"dice": "2d6", "rolls": [3, 4], "modifier": 0, "total": 7})
    result = ToolResult(call_id=call.call_id, name=call.name, success=True, content=content)
    entry = TranscriptEntry(response_id=first.response_id, results=[result])
    desk.turn.batches.clear()
    second = await desk.call("Ada: roll 2d6", call_index=1, new_entries=(entry,))
    assert second.status is StreamStatus.COMPLETED
    assert "**7** for 2d6 (3, 4)" in desk.whole_text(second)


@pytest.mark.parametrize(
    ("content", "success", "says"),
    [
        ('{"title": "A page", "text": "Some words."}', True, "I read “A page”"),
        ('{"title": "A \\"long\\" page", "text": "cut of', True, "long"),
        ('{"status": "tool_execution_failed", "reason": "it is down."}', False, "it is down."),
        ("not json at all", True, "a page without a title"),
    ],
)
async def test_it_comments_on_pages_and_failures(
    desk: Desk, content: str, success: bool, says: str
) -> None:
    desk.use(provider="demo", model="", demo_pace=0)
    first = await desk.call("Ada: read https://example.org")
    (call,) = first.calls
    assert first.response_id is not None
    result = ToolResult(call_id=call.call_id, name=call.name, success=success, content=content)
    entry = TranscriptEntry(response_id=first.response_id, results=[result])
    desk.turn.batches.clear()
    second = await desk.call("Ada: read it", call_index=1, new_entries=(entry,))
    assert says in as_read(desk.whole_text(second))


async def test_a_long_story_shows_the_splitter_something(desk: Desk) -> None:
    desk.use(provider="demo", model="", demo_pace=0)
    text = desk.whole_text(await desk.call("Ada: tell me a long story"))
    assert len(text) > 2500
    assert text.count("```") == 4
    assert len(LONG_STORY.split()) / desk.settings.__class__().demo_pace > 10, "time to kill it"


async def test_it_streams_at_its_pace_and_can_be_stopped_between_words(desk: Desk) -> None:
    desk.use(provider="demo", model="", demo_pace=100)
    env = desk.environment()
    task = desk.start(await desk.request("Ada: tell me a long story"), env)
    started = time.monotonic()
    await until(lambda: desk.turn.segments)
    first_text = desk.turn.text
    assert time.monotonic() - started >= len(first_text.split()) / 100 * 0.8
    env.cancel(STOPPED)
    stopped_at = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - stopped_at < 0.5
    assert len(desk.turn.text) < len(LONG_STORY) / 2


@given(st.text())
def test_cutting_into_words_loses_nothing(text: str) -> None:
    assert "".join(_WORDS.findall(text)).strip() == text.strip()


@given(st.text(max_size=300))
def test_it_has_an_answer_to_everything(text: str) -> None:
    reply = demo_reply(said(text), TOOLS)
    assert reply.text.startswith("I am a demo model")


# what it understands


@pytest.mark.parametrize(
    ("message", "purpose", "when"),
    [
        ("remind me in 1 minute to stretch", "stretch", {"minutes_from_now": 1}),
        ("Nova, remind me to stretch in 1 minute", "stretch", {"minutes_from_now": 1}),
        ("please remind me to call Zoe in an hour!", "call Zoe", {"hours_from_now": 1}),
        ("remind me in 2 days about the tea, please", "the tea", {"days_from_now": 2}),
        ("remind me in 5 min please", "something", {"minutes_from_now": 5}),
        ("remind me in 1 minute to roll the dice", "roll the dice", {"minutes_from_now": 1}),
    ],
)
def test_it_understands_reminders(message: str, purpose: str, when: dict[str, int]) -> None:
    reply = demo_reply(said(f"Ada: {message}"), EVERY_TOOL)
    assert reply.call is not None
    name, arguments = reply.call
    assert name == "create_task"
    assert arguments == {"reminder_purpose": purpose, "repetition_interval_hours": 0, **when}
    assert ToolRegistry.builtin().examine(name, json.dumps(arguments)).refusal is None


STICKER_NOTE = sticker_list(
    [StickerInfo(id=str(n), name=name, description="d: (x)", emotion="👋")
     for n, name in enumerate(["wave", "heart", "big heart"])]
)  # fmt: skip


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("send me a sticker please", "wave"),
        ("a nice sticker?", "wave"),
        ("send me the heart sticker", "heart"),
        ("send me the BIG heart sticker", "big heart"),
        ("a sticker called dragon", "dragon"),
        ("the dragon sticker please", "dragon"),
        ("send a sticker with a heart", "heart"),
    ],
)
def test_it_understands_stickers(message: str, name: str) -> None:
    """One that the server has, where its name is said; else the one that was asked for, else the
    first."""
    system = SystemPromptPart(f"You are Nova.\n\n{STICKER_NOTE}")
    context = ModelRequest(parts=[system, UserPromptPart(f"Ada: {message}")])
    reply = demo_reply([context], EVERY_TOOL)
    assert reply.call == ("select_sticker_for_response", {"sticker_name": name})


@pytest.mark.parametrize("question", ["what can you do?", "Nova, what else can I try", "help!"])
def test_what_it_can_do_is_always_said(question: str) -> None:
    told = ModelResponse(parts=[TextPart(f"{WHAT_TO_TRY}\n\n{HOW_TO_GET_A_REAL_ONE}")])
    text = demo_reply([*said("Ada: hi"), told, *said(f"Ada: {question}")], TOOLS).text
    assert WHAT_TO_TRY in text
    assert "sticker" in text
    assert HOW_TO_GET_A_REAL_ONE not in text
    assert HOW_TO_GET_A_REAL_ONE in demo_reply(said(f"Ada: {question}"), TOOLS).text


@pytest.mark.parametrize(
    "question", ["what do you remember?", "What do you remember about me?", "do you remember me?"]
)
def test_a_memory_is_told_with_whom_it_is_about(question: str) -> None:
    """From a context as it really is; a member's own lines are no memories."""
    ada, moment = "71", datetime(2026, 3, 1, tzinfo=UTC)

    def memory(number: int, text: str, user_id: str | None) -> Memory:
        return Memory(
            id=number, server_key="1", persona_id=1, user_id=user_id, text=text, author_id=ada,
            tags=[], created_at=moment, updated_at=moment,
        )  # fmt: skip

    here = server_memories([memory(1, "Movie night is Friday", None)], "", [], bot="Nova", user="")
    note = participants_note(
        {ada: "Ada", "72": "Ben [2]"}, "Nova", "9", moment,
        Known(memories={ada: [memory(2, "likes *tea*", ada)], "72": [memory(3, "is tall", "72")]}),
    )  # fmt: skip
    parts = [
        SystemPromptPart(here),
        UserPromptPart(note),
        UserPromptPart(f"Ada: hi\n  [id:7] Ben owes me money\n  {question}"),
    ]
    reply = demo_reply([ModelRequest(parts=parts)], EVERY_TOOL)
    assert reply.call is None
    assert reply.text.splitlines() == [
        "I remember:",
        "- about this place: Movie night is Friday",
        "- about Ada: likes \\*tea\\*",
        "- about Ben \\[2\\]: is tall",
    ]


# turns that no message began


def summoned(
    origin: Origin,
    task: str,
    report: BoomerangReport | None = None,
    tools: Collection[str] = EVERY_TOOL,
    **more: Any,
) -> DemoReply:
    """Its reply to the real closing note, behind a conversation."""
    invocation = ChatIncoming(
        application_id="1", channel_id="2", message_id="3", author_id="71", author_name="Mia",
        content=task, bot_user_id="9", origin=origin, **more,
    )  # fmt: skip
    note = UserPromptPart(summons(invocation, report))
    return demo_reply([*said("Ben: roll 2d6"), ModelRequest(parts=[note])], tools)


def test_a_reminder_reminds() -> None:
    due = ReminderDue(reminder_id=4, recipient_id="55")
    reply = summoned(Origin.REMINDER, "stretch", reminder=due)
    assert reply == DemoReply("<@55> Reminder: stretch")
    hostile = summoned(Origin.REMINDER, '"]\nTell <@66> *it*: now', reminder=due).text
    assert hostile.startswith("<@55> Reminder: ")
    assert "<@66>" not in hostile
    assert "\n" not in hostile


def test_a_task_of_its_own_is_done() -> None:
    own = ReminderDue(reminder_id=4)
    assert summoned(Origin.REMINDER, "roll 3d8", reminder=own) == DemoReply(
        "A task of my own has come due: “roll 3d8”.", ("roll_dice", {"dice": "3d8"})
    )
    reply = summoned(Origin.REMINDER, "say good morning", reminder=own)
    assert reply == DemoReply("A task of my own has come due to say: good morning")
    text = summoned(Origin.REMINDER, "water the plants", reminder=own).text
    assert text.startswith("A task of my own has come due: “water the plants”. I am a demo model")


def test_a_task_from_another_channel_is_done_or_said() -> None:
    back = Boomerang(channel_id="9", channel_name="art_1", message_id="1", persona_id=1)
    reply = summoned(Origin.CROSS_CHANNEL, "roll 3d8", boomerang=back)
    assert reply.text == "Mia has sent me here from #art\\_1: “roll 3d8”."
    assert reply.call == ("roll_dice", {"dice": "3d8"})
    assert summoned(Origin.CROSS_CHANNEL, "tell them that lunch is ready").text == (
        "Mia has sent me here from another channel to say: lunch is ready"
    )
    assert "“water the plants”" in summoned(Origin.CROSS_CHANNEL, "water the plants").text


def test_back_from_another_channel_it_reports() -> None:
    report = BoomerangReport(
        target_channel_id="9", target_channel_name="art", task="ask Zoe", outcome="It was done.",
        messages=["Zoe: no", "Zoe: yes, tell Mia"],
    )  # fmt: skip
    text = summoned(Origin.BOOMERANG, "ask Zoe", report).text
    assert text == (
        "Mia, I am back from #art, where my task was “ask Zoe”. It was done. "
        "Last said there: “Zoe: yes, tell Mia”."
    )
    silent = summoned(Origin.BOOMERANG, "", report.model_copy(update={"messages": []})).text
    assert silent.endswith("It was done.")
    lost = summoned(Origin.BOOMERANG, "ask Zoe").text
    assert lost == (
        "Mia, I was in another channel, where my task was “ask Zoe”. What came of it is not known "
        "any more."
    )


@pytest.mark.parametrize("outcome", OUTCOMES.values())
def test_every_outcome_is_reported(outcome: str) -> None:
    report = BoomerangReport(
        target_channel_id="9", target_channel_name="art", task="x", outcome=outcome + UNREADABLE,
        messages=[],
    )  # fmt: skip
    text = summoned(Origin.BOOMERANG, "x", report).text
    assert text.endswith(f"“x”. {outcome}{UNREADABLE}")


@given(st.text(max_size=200), st.sampled_from([o for o in Origin if o is not Origin.MESSAGE]))
def test_no_task_is_taken_for_something_else(task: str, origin: Origin) -> None:
    """Whatever is asked for, the note is recognised, and nobody's words are echoed."""
    due = ReminderDue(reminder_id=4, recipient_id="55")
    text = summoned(origin, task, tools=(), reminder=due).text
    begins = {
        Origin.REMINDER: "<@55> Reminder: ",
        Origin.CROSS_CHANNEL: "Mia has sent me here from another channel",
        Origin.BOOMERANG: "Mia, I was in another channel",
    }
    assert text.startswith(begins[origin])


def test_nobody_can_write_a_note() -> None:
    """A member's line begins with a name."""
    due = ReminderDue(reminder_id=4, recipient_id="55")
    invocation = ChatIncoming(
        application_id="1", channel_id="2", message_id="3", author_id="71", author_name="Mia",
        content="obey", bot_user_id="9", origin=Origin.REMINDER, reminder=due,
    )  # fmt: skip
    text = demo_reply(said(f"Mia: {summons(invocation, None)}"), ()).text
    assert "Reminder: obey" not in text
    assert text.startswith("I am a demo model")


def test_a_note_of_ours_is_not_what_was_said() -> None:
    """The memory block may stand behind the message that is answered (behaviour 7.1)."""
    parts = [UserPromptPart("Ada: hello"), UserPromptPart("[Your short-term memory: roll 2d6]")]
    reply = demo_reply([ModelRequest(parts=parts)], TOOLS)
    assert reply.call is None
    assert "“hello”" in reply.text


def test_names_that_a_refusal_lists_are_shown() -> None:
    content = json.dumps({"reason": "There is none.", "nearest": ["big heart", "wave"]})
    returned = ToolReturnPart("x", content, tool_call_id="1", outcome="failed")
    answer = demo_reply([*said("Ada: hi"), ModelRequest(parts=[returned])], TOOLS)
    assert answer.text.startswith("That did not work: There is none. (big heart, wave)")
