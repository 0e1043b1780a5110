"""The demo model: what a person without a key sees first."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from activities.generation.demo import _WORDS
from activities.generation.demo_script import LONG_STORY, demo_reply
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
