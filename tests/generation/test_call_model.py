"""The model call from request to result: text, segments, thoughts, calls, usage."""

from __future__ import annotations

import asyncio
import json

import pytest
from structlog.testing import capture_logs

from activities.generation import visible
from tests.generation.conftest import Desk, until
from tests.generation.fakes import GoneSignaller
from tests.support.model_server import (
    Cut,
    EndWithout,
    Finish,
    Hold,
    Stall,
    Text,
    Thinking,
    ToolCall,
)
from workflows.contracts.context import ToolSet
from workflows.contracts.generation import ErrorType, Segment, StreamStatus, Usage


async def test_a_short_answer_travels_in_the_result_alone(desk: Desk) -> None:
    """No signal for what is not out when the stream ends: it would be a round trip more."""
    desk.server.script(Text("Hello, "), Text("Ada."), Finish(usage=(11, 4)))
    result = await desk.call("Ada: hello")
    assert result.status is StreamStatus.COMPLETED
    assert [segment.sequence for segment in result.tail] == [0]
    assert desk.whole_text(result).strip() == "Hello, Ada."
    assert result.segments_signalled == 0
    assert desk.turn.batches == []
    assert (result.provider, result.model) == ("custom", "test-model")
    assert result.finish_reason == "stop"
    assert result.error is None
    assert result.response_id is None
    assert result.visible_chars == len(result.tail[0].text)
    assert result.first_chunk_ms is not None
    assert 0 < result.first_chunk_ms <= result.duration_ms
    assert result.usage == Usage(input_tokens=11, output_tokens=4)


async def test_the_request_carries_system_prompt_dialogue_tools_and_limits(desk: Desk) -> None:
    desk.use(max_output_tokens=77)
    await desk.call("Ada: hi", "Hello Ada.", "Ada: roll 2d6")
    body = desk.server.requests[0].body
    assert [(message["role"], message["content"]) for message in body["messages"]] == [
        ("system", "You are Nova."),
        ("user", "Ada: hi"),
        ("assistant", "Hello Ada."),
        ("user", "Ada: roll 2d6"),
    ]
    assert body["max_tokens"] == 77
    assert "roll_dice" in [tool["function"]["name"] for tool in body["tools"]]
    assert body["model"] == "test-model"


async def test_an_empty_allowed_set_declares_no_tools(desk: Desk) -> None:
    """C101: empty means none, never all."""
    await desk.call("Ada: hi", tools=ToolSet(deliberate=True))
    assert "tools" not in desk.server.requests[0].body


async def test_paragraphs_are_signalled_while_the_model_still_talks(desk: Desk) -> None:
    """T24: what is complete does not wait for the end."""
    more = asyncio.Event()
    desk.server.script(Text("One.\n\nTwo.\n\nTh"), Hold(more), Text("ree."))
    task = desk.start(await desk.request("Ada: count"))
    await until(lambda: len(desk.turn.segments) >= 2)
    more.set()
    result = await task
    assert result.segments_signalled == len(desk.turn.segments)
    assert desk.whole_text(result).split() == ["One.", "Two.", "Three."]
    assert all(batch.call_index == 0 and batch.attempt == 1 for batch in desk.turn.batches)


async def test_one_signal_at_a_time_and_the_rest_as_one_batch(desk: Desk) -> None:
    """Reading goes on while a signal is under way; what came meanwhile is one batch."""
    end = asyncio.Event()
    desk.turn.gate.clear()
    desk.server.script(*[Text(f"Paragraph {n}.\n\n", pause=0.002) for n in range(20)], Hold(end))
    task = desk.start(await desk.request("Ada: go"))
    (request,) = await desk.server.wait_for_requests(1)
    await until(lambda: request.steps_done == 20)
    await until(lambda: desk.turn.tries == 1)
    desk.turn.gate.set()
    await until(lambda: len(desk.turn.segments) >= 19)
    end.set()
    result = await task
    assert desk.turn.most_under_way == 1
    assert [s.sequence for s in desk.turn.segments] == list(range(len(desk.turn.segments)))
    assert len(desk.turn.batches) <= 6, "19 segments went as batches"
    assert desk.whole_text(result).count("Paragraph") == 20


async def test_a_second_attempt_numbers_its_segments_from_zero_again(desk: Desk) -> None:
    """T14: (attempt, sequence) tells the turn which text replaces which."""
    hold = asyncio.Event()
    desk.server.script(Text("One.\n\nTwo.\n\nThree."), Hold(hold))
    task = desk.start(await desk.request("Ada: go", call_index=3), desk.environment(attempt=2))
    await until(lambda: desk.turn.batches)
    hold.set()
    result = await task
    assert result.attempt == 2
    first = desk.turn.batches[0]
    assert (first.call_index, first.attempt, first.segments[0].sequence) == (3, 2, 0)
    assert [key[1:] for key in desk.storage.usage.rows] == [(3, 2)]


async def test_when_temporal_is_away_segments_are_signalled_again(desk: Desk) -> None:
    end = asyncio.Event()
    desk.turn.faults = [ConnectionError("no server"), ConnectionError("no server")]
    desk.server.script(Text("One.\n\nTwo.\n\nThree"), Hold(end))
    task = desk.start(await desk.request("Ada: go"))
    await until(lambda: desk.turn.batches)
    end.set()
    result = await task
    assert desk.turn.tries >= 3
    assert desk.whole_text(result).split() == ["One.", "Two.", "Three"]


async def test_what_was_never_confirmed_comes_back_in_the_result(desk: Desk) -> None:
    """Also when signals fail to the last, no text is lost."""
    end = asyncio.Event()
    desk.turn.faults = [ConnectionError("no server")] * 100
    desk.server.script(Text("One.\n\nTwo.\n\nThree."), Hold(end))
    task = desk.start(await desk.request("Ada: go"))
    await until(lambda: desk.turn.tries >= 1)
    end.set()
    result = await task
    assert result.segments_signalled == 0
    assert desk.whole_text(result).split() == ["One.", "Two.", "Three."]


async def test_when_the_turn_is_gone_signalling_ends_quietly(desk: Desk) -> None:
    desk.turn = GoneSignaller()
    desk.server.script(Text("One.\n\nTwo.\n\n"), Text("Three.\n\nFour.", pause=0.05))
    result = await desk.call("Ada: go")
    assert desk.turn.tries == 1
    assert result.status is StreamStatus.COMPLETED


async def test_thinking_never_becomes_text(desk: Desk) -> None:
    """D65, C088: tags split over chunks, a closing tag in pieces, and reasoning fields."""
    desk.server.script(
        Thinking("first secret"),
        Text("<think>"),
        Text("second sec"),
        Text("ret</thi"),
        Text("nk>Visible. <th"),
        Text("inking>third secret</thinking>Also visible."),
    )
    result = await desk.call("Ada: think")
    text = desk.whole_text(result)
    assert "secret" not in text
    assert "think" not in text
    assert text.split() == ["Visible.", "Also", "visible."]


async def test_a_stop_string_ends_visible_text_but_not_thoughts(desk: Desk) -> None:
    """D65: `Ada:` among the thoughts is passed over; in the text it ends the answer."""
    desk.server.script(
        Text("<think>Ada: wants an answer</think>Hello"),
        Text(" there.\nAd"),
        Text("a: and then I said"),
        Stall(),
    )
    result = await desk.call("Ada: hi", stop_strings=("Ada:",))
    assert result.status is StreamStatus.COMPLETED
    assert result.finish_reason == "stop"
    assert desk.whole_text(result).strip() == "Hello there."
    await desk.server.requests[0].wait_closed_early()


async def test_only_thoughts_are_an_empty_response(desk: Desk) -> None:
    desk.server.script(Thinking("hm"), Text("<think>hm</think> \n"))
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.EMPTY_RESPONSE
    assert result.error is None
    assert result.tail == []


async def test_an_empty_response_tells_that_it_was_cut_by_length(desk: Desk) -> None:
    desk.server.script(Finish("length"))
    result = await desk.call("Ada: hi")
    assert (result.status, result.finish_reason) == (StreamStatus.EMPTY_RESPONSE, "length")


async def test_text_cut_by_length_is_an_answer(desk: Desk) -> None:
    desk.server.script(Text("As far as it went"), Finish("length"))
    result = await desk.call("Ada: hi")
    assert (result.status, result.finish_reason) == (StreamStatus.COMPLETED, "length")


async def test_text_before_a_call_is_out_before_the_call_is_complete(desk: Desk) -> None:
    """C081: a chunk with "Hi" and a call: "Hi" is on its way before the tool can run."""
    end = asyncio.Event()
    desk.server.script(
        Text("Let me look."),
        ToolCall("roll_dice", '{"dice": "2d6"}', "call-7"),
        Hold(end),
    )
    task = desk.start(await desk.request("Ada: roll"))
    await until(lambda: desk.turn.text.strip() == "Let me look.")
    end.set()
    result = await task
    assert result.status is StreamStatus.FUNCTION_CALL
    (call,) = result.calls
    assert (call.call_id, call.name, call.arguments) == (
        "call-7",
        "roll_dice",
        '{"dice": "2d6"}',
    )
    assert not call.truncated
    assert call.refusal is None
    assert "roll_dice" in call.summary
    assert result.response_id in desk.storage.blobs.data


async def test_parallel_calls_keep_their_order(desk: Desk) -> None:
    desk.server.script(
        ToolCall("roll_dice", '{"sides": 6}', "a", index=0),
        ToolCall("roll_dice", '{"sides": 8}', "b", index=1),
    )
    result = await desk.call("Ada: roll")
    assert [(call.call_id, call.arguments) for call in result.calls] == [
        ("a", '{"sides": 6}'),
        ("b", '{"sides": 8}'),
    ]


async def test_a_call_without_arguments_has_an_empty_object(desk: Desk) -> None:
    desk.server.script(ToolCall("roll_dice", "", "a"))
    (call,) = (await desk.call("Ada: roll")).calls
    assert call.arguments == "{}"
    assert not call.truncated


async def test_unknown_tools_and_wrong_arguments_come_with_a_refusal(desk: Desk) -> None:
    desk.server.script(
        ToolCall("rol_dice", "{}", "a", index=0),
        ToolCall("roll_dice", '{"sides": "many"}', "b", index=1),
        ToolCall("roll_dice", "{'sides': 6}", "c", index=2),
    )
    calls = (await desk.call("Ada: roll")).calls
    assert [call.truncated for call in calls] == [False, False, False]
    for call in calls:
        assert call.refusal is not None
        assert json.loads(call.refusal)["status"] == "tool_execution_failed"


async def test_calls_of_a_response_cut_by_length_are_all_truncated(desk: Desk) -> None:
    """D68: complete or not, none of them may run."""
    desk.server.script(
        ToolCall("roll_dice", '{"sides": 6}', "a", index=0),
        ToolCall("fetch_url", '{"url": "https://exa', "b", index=1),
        Finish("length"),
    )
    result = await desk.call("Ada: roll")
    assert result.status is StreamStatus.FUNCTION_CALL
    assert result.finish_reason == "length"
    assert [call.truncated for call in result.calls] == [True, True]
    assert result.calls[1].arguments == '{"url": "https://exa'


async def test_incomplete_arguments_are_truncated_without_a_length_finish(desk: Desk) -> None:
    """D68: some servers say `tool_calls` although the arguments are cut."""
    desk.server.script(ToolCall("fetch_url", '{"url": "https://exa', "b"), Finish("tool_calls"))
    (call,) = (await desk.call("Ada: read")).calls
    assert call.truncated


async def test_a_cut_stream_is_an_error_that_keeps_what_was_said(desk: Desk) -> None:
    """D34, D35: cut in the middle of a word, never a finished answer, and nothing replaced."""
    desk.server.script(Text("The first paragraph.\n\n"), Text("The sec"), Cut())
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.ERROR
    assert result.error is not None
    assert result.error.type is ErrorType.API_ERROR
    assert result.error.retryable
    assert desk.whole_text(result).split() == ["The", "first", "paragraph.", "The", "sec"]


async def test_a_stream_that_ends_politely_but_unfinished_is_cut_too(desk: Desk) -> None:
    """D34: a proxy that closes in good order; no finish reason, no `[DONE]`."""
    desk.server.script(Text("Half an ans"), EndWithout())
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.ERROR
    assert result.finish_reason is None
    assert desk.whole_text(result).strip() == "Half an ans"


async def test_calls_of_a_cut_stream_are_not_reported(desk: Desk) -> None:
    desk.server.script(ToolCall("roll_dice", '{"sides": 6}'), Cut())
    result = await desk.call("Ada: roll")
    assert result.status is StreamStatus.ERROR
    assert result.calls == []


async def test_a_model_that_runs_on_is_cut_off(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that ignores the limit of output tokens must not fill a history."""
    monkeypatch.setattr(visible, "MOST_CHARACTERS", 4_000)
    desk.server.script(*[Text("word " * 20) for _ in range(60)], Stall())
    result = await desk.call("Ada: go")
    assert result.status is StreamStatus.ERROR
    assert result.error is not None
    assert result.error.type is ErrorType.MODEL_ERROR
    await desk.server.requests[0].wait_closed_early()
    assert 3_500 < len(desk.whole_text(result)) < 4_200


async def test_a_bug_inside_is_a_result_and_its_stack_is_in_the_log(desk: Desk) -> None:
    class Broken:
        def declarations(self, *args: object) -> list[object]:
            return []

        def examine(self, *args: object) -> object:
            raise RuntimeError("kaputt")

    desk.registry = Broken()
    desk.server.script(Text("Text stays."), ToolCall("roll_dice"))
    with capture_logs() as logged:
        result = await desk.call("Ada: hi")
    (entry,) = [line for line in logged if "exc_info" in line]
    assert "kaputt" in str(entry["exc_info"])
    assert result.status is StreamStatus.ERROR
    assert result.error is not None
    assert result.error.message.startswith("internal")
    assert "kaputt" not in result.error.message
    assert desk.whole_text(result).strip() == "Text stays."
    assert desk.storage.usage.rows


async def test_a_context_that_is_missing_is_a_result_and_no_call(desk: Desk) -> None:
    request = (await desk.request("Ada: hi")).model_copy(update={"context_id": "0" * 64})
    result = await desk.start(request)
    assert result.status is StreamStatus.ERROR
    assert result.error is not None
    assert result.error.message.startswith("internal")
    assert desk.server.requests == []


async def test_usage_is_booked_once_for_each_outcome(desk: Desk) -> None:
    """T15, for outcomes that return: answer, empty, error before and after text."""
    scripts = [
        ((Text("Hi."), Finish(usage=(10, 2))), "completed", (10, 2)),
        ((Finish(usage=(9, 0)),), "empty_response", (9, 0)),
        ((Text("Hi"), Cut()), "error", (0, 0)),
        ((ToolCall("roll_dice", '{"sides": 6}'), Finish(usage=(5, 5))), "function_call", (5, 5)),
    ]
    for index, (script, status, tokens) in enumerate(scripts):
        desk.server.script(*script)
        await desk.call("Ada: hi", call_index=index)
        row = desk.storage.usage.rows["turn/1/2/3", index, 1]
        assert row.status == status
        assert (row.usage.input_tokens, row.usage.output_tokens) == tokens
        assert (row.provider, row.model) == ("custom", "test-model")
    assert len(desk.storage.usage.rows) == len(scripts)


async def test_nothing_is_estimated_when_the_provider_reports_no_usage(desk: Desk) -> None:
    desk.server.script(Text("Hi."), Finish(usage=None))
    assert (await desk.call("Ada: hi")).usage == Usage()


async def test_an_answer_survives_a_usage_book_that_does_not(desk: Desk) -> None:
    desk.storage.usage.fails = True
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.COMPLETED


async def test_sequence_numbers_have_no_gap_across_signals_and_tail(desk: Desk) -> None:
    desk.server.script(*[Text(f"Line {n}.\n\n", pause=0.003) for n in range(12)])
    result = await desk.call("Ada: go")
    numbers = [s.sequence for s in [*desk.turn.segments, *result.tail]]
    assert numbers == list(range(len(numbers)))
    assert all(isinstance(segment, Segment) and segment.text.strip() for segment in result.tail)
