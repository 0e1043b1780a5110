"""What a provider may send, and a history cannot hold: halves of characters, controls, sizes."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_core import to_json

from activities.generation import segments, sizes, visible
from activities.generation.calls import MOST_ARGUMENTS, function_calls
from activities.generation.prompt import response_to_bytes
from activities.generation.received import LONGEST_CALL_ID, ChunkedText, fit, well_formed
from activities.generation.stream import MOST_CALLS
from activities.tools.registry import ToolRegistry
from tests.generation.conftest import Desk, until
from tests.support.model_server import Hold, Stall, Text, Thinking, ToolCall
from workflows.contracts.generation import ErrorType, ModelResult, Segment, StreamStatus
from workflows.contracts.tools import TranscriptEntry

HALVES = "\ud83e", "\udd9e"
LOBSTER = "\U0001f99e"

any_text = st.text(
    st.characters(categories=("Cs", "Cc", "Lu", "So", "Zs"))
    | st.sampled_from([*HALVES, "\r", "\n"])
)


def error_of(result: ModelResult) -> tuple[ErrorType, str]:
    assert result.status is StreamStatus.ERROR
    assert result.error is not None
    assert result.error.member_message
    return result.error.type, result.error.message


def size_of(result: ModelResult) -> int:
    """Bytes, as the data converter encodes it. Raises when it cannot."""
    return len(to_json(result))


@given(any_text)
def test_any_text_becomes_one_that_can_be_encoded(text: str) -> None:
    assert well_formed(text).encode().decode() == well_formed(text)
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert well_formed(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("".join(HALVES), LOBSTER),
        ("a\ud83eb", "a\ufffdb"),
        ("x\udd9ey", "x\ufffdy"),
        ("\udd9e\ud83e", "\ufffd\ufffd"),
        ("\ud83e\ud83e\udd9e", "\ufffd" + LOBSTER),
        ("a\ud83e", "a\ufffd"),
    ],
)
def test_halves_are_joined_and_lone_ones_replaced(text: str, expected: str) -> None:
    assert well_formed(text) == expected


@given(any_text, st.lists(st.integers(0, 40)))
def test_visible_text_does_not_depend_on_the_chunks(text: str, cuts: list[int]) -> None:
    def shown(chunks: list[str]) -> str:
        reader = ChunkedText()
        return "".join(map(reader.feed, chunks)) + reader.finish()

    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    whole = shown([text])
    assert shown(pieces) == whole
    assert whole.encode().decode() == whole
    assert not set(whole) & {chr(code) for code in (*range(9), 11, 12, 13, *range(14, 32), 127)}


async def test_a_character_that_is_cut_in_two_arrives_whole(desk: Desk) -> None:
    """Signalled and in the tail, in text and next to thoughts."""
    end = asyncio.Event()
    desk.server.script(
        Thinking(HALVES[0]),
        Thinking(HALVES[1]),
        Text("A " + HALVES[0]),
        Text(HALVES[1] + " lobster.\n\nNext " + HALVES[0]),
        Hold(end),
        Text(HALVES[1] + " and \ud83e lone, \udd9e too, at the end \ud83e"),
    )
    task = desk.start(await desk.request("Ada: draw"))
    await until(lambda: desk.turn.segments)
    end.set()
    result = await task
    assert result.status is StreamStatus.COMPLETED
    assert desk.whole_text(result) == (
        f"A {LOBSTER} lobster.\nNext {LOBSTER} and \ufffd lone, \ufffd too, at the end \ufffd"
    )
    assert size_of(result)
    assert all(to_json(batch) for batch in desk.turn.batches)


async def test_half_a_character_before_a_call_is_out_before_it(desk: Desk) -> None:
    desk.server.script(Text("Look \ud83e"), ToolCall("roll_dice"))
    result = await desk.call("Ada: draw")
    assert desk.whole_text(result) == "Look \ufffd"


async def test_halves_in_calls_and_thoughts_are_replayed(desk: Desk) -> None:
    """Names, ids and arguments: the result, the stored response and the next request."""
    arguments = json.dumps({"url": "http://127.0.0.1/"}).replace(
        "0.0.1/", "0.0.1/\ud83e\udd9e\ud83e"
    )
    desk.server.script(
        Thinking("hm \ud83e"),
        Text("Text \ud83e"),
        ToolCall("fo\ud83eo", arguments, "call-\udd9e"),
    )
    result = await desk.call("Ada: read")
    (call,) = result.calls
    assert size_of(result)
    assert (call.name, call.call_id) == ("fo\ufffdo", "call-\ufffd")
    assert json.loads(call.arguments) == {"url": f"http://127.0.0.1/{LOBSTER}\ufffd"}
    assert result.response_id is not None
    entry = TranscriptEntry(response_id=result.response_id, results=[])
    assert (await desk.call("Ada: read", call_index=1, new_entries=(entry,))).error is None
    (replayed,) = [m for m in desk.server.requests[1].messages if m.get("tool_calls")]
    assert replayed["tool_calls"][0]["id"] == call.call_id
    assert json.loads(replayed["tool_calls"][0]["function"]["arguments"]) == {
        "url": f"http://127.0.0.1/{LOBSTER}\ufffd"
    }


def test_a_response_is_made_fit_at_any_depth() -> None:
    lone = "\ud83e"
    response = ModelResponse(
        parts=[
            TextPart(lone, id=lone),
            ThinkingPart(lone, signature=lone),
            ToolCallPart("t", {lone: [{"deep": lone}]}, "c"),
        ],
        provider_details={"x": [lone]},
        provider_response_id=lone,
    )
    data = response_to_bytes(fit(response))
    assert "\ufffd" in data.decode()
    assert fit(response).parts[2] == ToolCallPart("t", {"\ufffd": [{"deep": "\ufffd"}]}, "c")


async def test_control_characters_are_not_shown(desk: Desk) -> None:
    desk.server.script(Text("A\x00B\x1b[1mC\x07\tD\r"), Text("\nE\rF\x7f"))
    result = await desk.call("Ada: hi")
    assert desk.whole_text(result) == "AB[1mC\tD\nE\nF"


async def test_nothing_but_control_characters_is_an_empty_response(desk: Desk) -> None:
    desk.server.script(Text("\x01" * 300_000))
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.EMPTY_RESPONSE


# Sizes


async def test_a_single_event_of_any_size_shows_no_more_than_is_taken(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible, "MOST_CHARACTERS", 4_000)
    desk.server.script(Text("word " * 20_000), Stall())
    result = await desk.call("Ada: hi")
    assert error_of(result)[0] is ErrorType.MODEL_ERROR
    assert 3_900 <= len(desk.whole_text(result)) <= 4_000


@pytest.mark.parametrize(
    "step",
    [
        ToolCall("n" * 5_000),
        ToolCall("roll_dice", "{}", "c" * 5_000),
        ToolCall("roll_dice", '{"sides": "' + "6" * 5_000 + '"}'),
        Thinking("hm " * 2_000),
    ],
    ids=["name", "id", "arguments", "thoughts"],
)
async def test_everything_that_arrives_counts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, step: ToolCall | Thinking
) -> None:
    monkeypatch.setattr(visible, "MOST_CHARACTERS", 4_000)
    desk.server.script(step, Stall())
    assert "without coming to an end" in error_of(await desk.call("Ada: hi"))[1]


async def test_arguments_that_come_as_an_object_count(monkeypatch: pytest.MonkeyPatch) -> None:
    from pydantic_ai.messages import PartStartEvent

    monkeypatch.setattr(visible, "MOST_CHARACTERS", 4_000)
    text = visible.VisibleText(lambda _: None, [])
    text.accept(PartStartEvent(index=0, part=ToolCallPart("t", {"a": "x" * 5_000})))
    assert text.ran_on


async def test_a_call_with_too_long_arguments_is_refused_and_the_others_are_not(
    desk: Desk,
) -> None:
    long = '{"sides": "' + "\x01" * MOST_ARGUMENTS + '"}'
    desk.server.script(
        ToolCall("roll_dice", long, "a", index=0, pieces=20),
        ToolCall("roll_dice", '{"sides": 6}', "b", index=1),
    )
    result = await desk.call("Ada: roll")
    assert result.status is StreamStatus.FUNCTION_CALL
    refused, good = result.calls
    assert (refused.arguments, refused.truncated) == ("{}", True)
    assert refused.refusal is not None
    reason = json.loads(refused.refusal)["reason"]
    assert f"{len(long)} characters, at most {MOST_ARGUMENTS}" in reason
    assert (good.arguments, good.truncated, good.refusal) == ('{"sides": 6}', False, None)
    assert size_of(result) < 10_000


def test_the_arguments_of_all_calls_share_one_limit() -> None:
    """Many calls, each with as many characters that have to be escaped as are allowed."""
    bad = '{"a": "' + "\x01" * (MOST_ARGUMENTS // 4) + '"}'
    response = ModelResponse(parts=[ToolCallPart("t", bad, f"c{n}") for n in range(MOST_CALLS)])
    calls = function_calls(response, ToolRegistry.builtin())
    assert [call.truncated for call in calls[:4]] == [False, False, False, True]
    assert len(to_json(calls)) < sizes.LARGEST_RESULT


@pytest.mark.parametrize(
    "arguments", ["[" * 50_000, '{"a": ' * 20_000, '{"sides": ' + "1" * 5_000 + "}"]
)
def test_arguments_that_no_parser_takes_are_refused(arguments: str) -> None:
    (call,) = function_calls(
        ModelResponse(parts=[ToolCallPart("roll_dice", arguments, "c")]), ToolRegistry.builtin()
    )
    assert call.refusal is not None


async def test_names_and_ids_are_bounded_alike_in_result_and_replay(desk: Desk) -> None:
    ids = ["c" * 3_000 + end for end in "xy"]
    desk.server.script(*[ToolCall("n" * 300, "{}", one, index=at) for at, one in enumerate(ids)])
    result = await desk.call("Ada: hi")
    first, second = result.calls
    assert len(first.name) == 64
    assert len(first.call_id) == len(second.call_id) == LONGEST_CALL_ID
    assert first.call_id != second.call_id
    assert result.response_id is not None
    entry = TranscriptEntry(response_id=result.response_id, results=[])
    await desk.call("Ada: hi", call_index=1, new_entries=(entry,))
    (replayed,) = [m for m in desk.server.requests[1].messages if m.get("tool_calls")]
    assert [call["id"] for call in replayed["tool_calls"]] == [first.call_id, second.call_id]
    assert replayed["tool_calls"][0]["function"]["name"] == first.name


def test_a_longer_name_never_becomes_that_of_a_tool() -> None:
    part = fit(ModelResponse(parts=[ToolCallPart("t" * 65, "{}", "c")])).parts[0]
    assert isinstance(part, ToolCallPart)
    assert part.tool_name != "t" * 64


async def test_a_response_of_too_many_calls_is_left_when_one_too_many_begins(desk: Desk) -> None:
    desk.server.script(
        Text("Here goes."),
        *[ToolCall("roll_dice", "{}", f"c{n}", index=n, pieces=1) for n in range(MOST_CALLS + 1)],
        Stall(),
    )
    result = await desk.call("Ada: roll")
    kind, message = error_of(result)
    assert kind is ErrorType.MODEL_ERROR
    assert f"more than {MOST_CALLS} tool calls" in message
    assert result.calls == []
    assert desk.whole_text(result) == "Here goes."
    await desk.server.requests[0].wait_closed_early()


async def test_as_many_calls_as_are_allowed_take_no_time(desk: Desk) -> None:
    desk.server.script(
        *[ToolCall("no_such", "{}", f"c{n}", index=n, pieces=1) for n in range(MOST_CALLS)]
    )
    started = time.thread_time()
    result = await desk.call("Ada: roll")
    assert len(result.calls) == MOST_CALLS
    assert time.thread_time() - started < 3


async def test_much_text_at_the_end_is_signalled_and_not_in_the_result(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal is under way when the stream ends; 0.4 MB wait behind it."""
    at_the_end = asyncio.Event()
    close = segments.SegmentSender.close

    async def closing(sender: segments.SegmentSender) -> list[Segment]:
        at_the_end.set()
        return await close(sender)

    monkeypatch.setattr(segments.SegmentSender, "close", closing)
    desk.turn.gate.clear()
    text = "".join(f"Paragraph {n} " + LOBSTER * 900 + ".\n\n" for n in range(110))
    desk.server.script(Text("First.\n\n"), Text(text))
    task = desk.start(await desk.request("Ada: go"))
    await at_the_end.wait()
    desk.turn.gate.set()
    result = await task
    assert result.status is StreamStatus.COMPLETED
    assert size_of(result) < segments.LARGEST_TAIL + 20_000
    assert all(len(to_json(batch)) < segments.LARGEST_BATCH + 50_000 for batch in desk.turn.batches)
    assert desk.whole_text(result).count("Paragraph") == 110


async def test_text_that_fits_nowhere_is_cut_with_an_error(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "LARGEST_TAIL", 2_000)
    monkeypatch.setattr(segments, "DELIVERY_BUDGET", 0.2)
    monkeypatch.setattr(sizes, "LARGEST_RESULT", 6_000)
    desk.turn.faults = [ConnectionError("no server")] * 1_000
    desk.server.script(Text("".join(f"Paragraph {n}. " + "x" * 500 + "\n\n" for n in range(20))))
    result = await desk.call("Ada: go")
    kind, message = error_of(result)
    assert kind is ErrorType.MODEL_ERROR
    assert "too large" in message
    assert size_of(result) <= 6_000
    assert [segment.sequence for segment in result.tail] == list(range(len(result.tail)))
    assert len(result.tail) > 5
    assert result.duration_ms < 3_000
    assert desk.storage.usage.rows["turn/1/2/3", 0, 1].status == "error"


async def test_a_table_too_long_for_a_payload_is_cut_at_a_line(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "LARGEST_SEGMENT", 3_000)
    table = "| a | b |\n|---|---|\n" + "| c | d |\n" * 1_000
    desk.server.script(Text(table))
    result = await desk.call("Ada: go")
    pieces = [segment.text for segment in (*desk.turn.segments, *result.tail)]
    assert len(pieces) > 2
    assert all(len(piece) <= 3_000 for piece in pieces)
    assert "".join(pieces).split() == table.split()
