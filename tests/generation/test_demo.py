"""The demo model: what a person without a key sees first."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from activities.generation.demo import _WORDS
from activities.generation.demo_script import (
    HOW_TO_GET_A_REAL_ONE,
    LONG_STORY,
    WHAT_TO_TRY,
    demo_reply,
)
from activities.tools.registry import ToolRegistry
from tests.generation.conftest import STOPPED, Desk, until
from workflows.contracts.generation import StreamStatus
from workflows.contracts.tools import ToolResult, TranscriptEntry

TOOLS = {"roll_dice", "fetch_url"}


def said(text: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)])]


async def test_it_says_what_it_is_and_how_to_get_a_real_model(desk: Desk) -> None:
    desk.use(provider="demo", model="", demo_pace=0)
    result = await desk.call("Ada: @Nova what is the weather like on the moon?")
    text = desk.whole_text(result)
    assert result.status is StreamStatus.COMPLETED
    assert text.startswith("I am a demo model.")
    assert "what is the weather like on the moon?" in text
    assert "ANTHROPIC_API_KEY" in text
    assert (result.provider, result.model) == ("demo", "demo")
    assert (result.usage.input_tokens, result.usage.cost_usd) == (0, None)
    assert await _same(desk, "Ada: @Nova what is the weather like on the moon?", text)


async def _same(desk: Desk, question: str, text: str) -> bool:
    desk.turn.batches.clear()
    return desk.whole_text(await desk.call(question)) == text


@pytest.mark.parametrize(
    ("message", "tool", "arguments"),
    [
        ("Ada: roll 2d6", "roll_dice", {"dice": "2d6"}),
        ("Ada: @Nova please roll a dice", "roll_dice", {"dice": "1d6"}),
        ("Ada: D20 + 3!", "roll_dice", {"dice": "D20+3"}),
        ("Ada: hello\n  now roll 3d8", "roll_dice", {"dice": "3d8"}),
        ('[Reply to this earlier message by Ada: "roll 4d4"]', "roll_dice", {"dice": "4d4"}),
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
    assert says in desk.whole_text(second)


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
