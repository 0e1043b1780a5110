"""What the model is told of this turn so far."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from activities.generation.calls import arrived, is_incomplete
from activities.generation.prompt import response_from_bytes, response_to_bytes
from activities.generation.stops import StopStrings
from tests.generation.conftest import Desk
from tests.support.model_server import Text, Thinking, ToolCall
from workflows.contracts.generation import ModelResult
from workflows.contracts.tools import ToolResult, TranscriptEntry


def result_of(call_id: str, content: str = '{"total": 7}', **changes: Any) -> ToolResult:
    return ToolResult(call_id=call_id, name="roll_dice", success=True, content=content, **changes)


async def first_call(desk: Desk, *steps: Any) -> ModelResult:
    desk.server.script(*steps)
    return await desk.call("Ada: roll")


async def replayed(desk: Desk, *entries: TranscriptEntry, stored: int = 0) -> list[dict[str, Any]]:
    """The messages of the next request after the user's."""
    await desk.call(
        "Ada: roll", call_index=1, transcript_length=stored, new_entries=tuple(entries[stored:])
    )
    messages = desk.server.requests[-1].messages
    return messages[[message["role"] for message in messages].index("user") + 1 :]


async def test_a_call_and_its_result_are_replayed_with_the_text_once(desk: Desk) -> None:
    """C074: "Let me look." stands in the assistant's message and nowhere else."""
    first = await first_call(
        desk, Text("Let me look."), ToolCall("roll_dice", '{"dice": "2d6"}', "c1")
    )
    assert first.response_id is not None
    entry = TranscriptEntry(response_id=first.response_id, results=[result_of("c1")])
    assistant, tool = await replayed(desk, entry)
    assert assistant["role"] == "assistant"
    assert assistant["content"] == "Let me look."
    function = assistant["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("roll_dice", {"dice": "2d6"})
    assert (tool["role"], tool["tool_call_id"], tool["content"]) == ("tool", "c1", '{"total": 7}')
    assert json.dumps(desk.server.requests[-1].body).count("Let me look.") == 1


async def test_entries_are_stored_once_and_read_back_by_length(desk: Desk) -> None:
    first = await first_call(desk, ToolCall("roll_dice", '{"dice": "2d6"}', "c1"))
    second = await first_call(desk, ToolCall("roll_dice", '{"dice": "3d6"}', "c2"))
    assert first.response_id is not None
    assert second.response_id is not None
    entries = [
        TranscriptEntry(response_id=first.response_id, results=[result_of("c1")]),
        TranscriptEntry(response_id=second.response_id, results=[result_of("c2")]),
    ]
    assert len(await replayed(desk, entries[0])) == 2
    messages = await replayed(desk, *entries, stored=1)
    assert [message["role"] for message in messages] == ["assistant", "tool"] * 2
    again = await replayed(desk, *entries, stored=1)
    assert again == messages, "a retried attempt appends the same entries at the same place"


async def test_cleared_calls_are_replayed_without_arguments(desk: Desk) -> None:
    """C069, D68: what was cut off is not shown to the model as if it had said it."""
    first = await first_call(desk, ToolCall("roll_dice", '{"dice": "2d', "c1"))
    assert first.response_id is not None
    entry = TranscriptEntry(
        response_id=first.response_id,
        results=[result_of("c1", '{"status": "tool_execution_failed"}')],
        cleared_call_ids=["c1"],
    )
    assistant, _ = await replayed(desk, entry)
    assert assistant["tool_calls"][0]["function"]["arguments"] == "{}"


async def test_a_call_that_restarted_the_context_is_not_replayed(desk: Desk) -> None:
    """C078: no tool response; the text that came before it stands once, and not at the end,
    where it would be taken for a beginning to go on from."""
    first = await first_call(
        desk, Thinking("hm"), Text("Let me see."), ToolCall("roll_dice", "{}", "c1")
    )
    assert first.response_id is not None
    entry = TranscriptEntry(response_id=first.response_id, dropped_call_ids=["c1"])
    assistant, note = await replayed(desk, entry)
    assert (assistant["role"], assistant["content"]) == ("assistant", "Let me see.")
    assert not assistant.get("tool_calls")
    assert note["role"] == "user"


async def test_other_calls_of_a_response_that_restarted_are_replayed(desk: Desk) -> None:
    first = await first_call(
        desk,
        ToolCall("roll_dice", '{"dice": "2d6"}', "c1"),
        ToolCall("roll_dice", '{"dice": "3d6"}', "c2"),
    )
    assert first.response_id is not None
    entry = TranscriptEntry(
        response_id=first.response_id, results=[result_of("c2")], dropped_call_ids=["c1"]
    )
    assistant, tool = await replayed(desk, entry)
    assert [call["id"] for call in assistant["tool_calls"]] == ["c2"]
    assert tool["tool_call_id"] == "c2"


async def test_a_response_of_which_nothing_is_left_is_left_out(desk: Desk) -> None:
    first = await first_call(desk, ToolCall("roll_dice", "{}", "c1"))
    assert first.response_id is not None
    entry = TranscriptEntry(response_id=first.response_id, dropped_call_ids=["c1"])
    assert await replayed(desk, entry) == []


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ('{"dice": "2d6", "label": "cut of', ["dice"]),
        ('{"dice": 12', []),  # a number at the end may have had more digits
        ('{"dice": "2d6", "invented": 1, "label', ["dice"]),
        ('{"label": "a", "dice": {"x": [1, 2', ["label"]),
        ("[1, 2", []),
        ("", []),
    ],
)
def test_which_arguments_arrived_of_a_call_that_was_cut_off(
    arguments: str, names: list[str]
) -> None:
    """Only whole values count, and only the tool's own parameters."""
    assert arrived(arguments, frozenset({"dice", "label"})) == names


async def test_a_call_without_a_result_is_answered_all_the_same(desk: Desk) -> None:
    """Providers reject a call that nothing answers."""
    first = await first_call(
        desk,
        ToolCall("roll_dice", '{"dice": "2d6"}', "c1", index=0),
        ToolCall("roll_dice", '{"dice": "3d6"}', "c2", index=1),
    )
    assert first.response_id is not None
    entry = TranscriptEntry(response_id=first.response_id, results=[result_of("c2")])
    _, one, two = await replayed(desk, entry)
    assert (one["tool_call_id"], two["tool_call_id"]) == ("c1", "c2")
    assert "not carried out" in one["content"]


async def test_thoughts_in_text_are_not_replayed_but_reasoning_fields_are(desk: Desk) -> None:
    """Some providers want their reasoning field back in the middle of a turn (behaviour 15)."""
    first = await first_call(
        desk,
        Thinking("field thought"),
        Text("<think>tag thought</think>Look."),
        ToolCall("roll_dice", '{"dice": "2d6"}', "c1"),
    )
    assert first.response_id is not None
    entry = TranscriptEntry(response_id=first.response_id, results=[result_of("c1")])
    assistant, _ = await replayed(desk, entry)
    assert "tag thought" not in json.dumps(assistant)
    assert assistant["content"] == "Look."
    assert assistant["reasoning_content"] == "field thought"


def test_a_stored_response_is_read_back_whole() -> None:
    response = ModelResponse(
        parts=[
            ThinkingPart("hm"),
            TextPart("<think>secret</think>"),
            ToolCallPart("roll_dice", '{"sides": 6}', "c1"),
        ]
    )
    back = response_from_bytes(response_to_bytes(response))
    assert back.parts == [response.parts[0], response.parts[2]]


@pytest.mark.parametrize("data", [b"[]", b"nonsense", b'[{"kind": "request", "parts": []}]'])
def test_a_blob_that_is_no_response_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's own is one too
        response_from_bytes(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=30)
@given(st.dictionaries(st.text(max_size=5), json_values, min_size=1), st.data())
def test_any_beginning_of_an_object_is_incomplete(value: dict[str, Any], data: Any) -> None:
    """D68: wherever the cut falls, it is seen; the whole is never taken for a part."""
    text = json.dumps(value, ensure_ascii=False)
    assert not is_incomplete(text)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert is_incomplete(text[:cut])


@pytest.mark.parametrize("text", ["{'a': 1}", '{"a": 1,}', "nonsense", '{"a": 1}}', "{a: 1}"])
def test_wrong_json_is_not_incomplete(text: str) -> None:
    """The registry refuses it with a reason that helps the model."""
    assert not is_incomplete(text)


@given(
    st.lists(st.text(alphabet="abST", max_size=6), max_size=8),
    st.lists(st.text(alphabet="abST", min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_stop_strings_cut_alike_however_the_text_arrives(
    chunks: list[str], strings: list[str]
) -> None:
    """Property: what comes out is the text up to the first place where a stop string begins,
    as far as it had arrived when the first one was complete."""
    stops = StopStrings(strings)
    shown, seen = "", ""
    for chunk in chunks:
        shown += stops.feed(chunk)
        seen += chunk
        if stops.hit:
            break
    shown += stops.finish()
    places = [seen.find(string) for string in strings if string in seen]
    assert stops.hit == bool(places)
    assert shown == (seen[: min(places)] if places else seen)
