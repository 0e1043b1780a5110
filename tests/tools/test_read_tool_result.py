"""`read_tool_result`: a long result page by page, and nobody else's."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.testing import ActivityEnvironment

from activities.tools.registry import ToolRegistry
from activities.tools.resources import ToolResources
from activities.tools.results import beginning_json, fit, readable, success_json, window_json
from activities.tools.run_tool import ToolActivities
from activities.tools.tool import Tool, ToolArguments
from storage import Storage, open_storage
from workflows.contracts.tools import (
    INLINE_RESULT_LIMIT,
    ToolContext,
    ToolRequest,
    ToolResult,
    TranscriptEntry,
)

TURN, OTHER_TURN = "turn/1/2/3", "turn/1/9/3"
LONG = "".join(f'line {number} says "tea" \\ 🍵\n' for number in range(2000))


class Turns:
    """Turns whose tools run, and whose entries are stored, as in a worker."""

    def __init__(self, storage: Storage) -> None:
        async def page(arguments: Any, context: Any, resources: Any) -> dict[str, str]:
            return {"title": "Tea", "text": LONG}

        registry = ToolRegistry.builtin()
        registry.add(Tool("long_page", "A long page.", ToolArguments, page), "this test")
        self.storage = storage
        self._iterations = itertools.count()
        self.resources = ToolResources(storage=storage)
        self.activities = ToolActivities(registry, storage, self.resources)

    async def call(self, name: str, arguments: dict[str, Any], turn: str = TURN) -> ToolResult:
        context = ToolContext(
            turn_id=turn, user_id="10", provider="demo", iteration=next(self._iterations)
        )
        request = ToolRequest(
            call_id="c", name=name, arguments=json.dumps(arguments), context=context
        )
        return await ActivityEnvironment().run(self.activities.run_tool, request)

    async def keep(self, result: ToolResult, turn: str = TURN) -> None:
        entry = TranscriptEntry(response_id="r", results=[result])
        await self.storage.transcript.append(turn, 0, [entry])


@pytest.fixture
async def turns(tmp_path: Path) -> AsyncIterator[Turns]:
    storage = await open_storage(f"sqlite:///{tmp_path / 'everturn.db'}")
    made = Turns(storage)
    yield made
    await made.resources.aclose()
    await storage.close()


async def test_a_long_result_can_be_read_to_its_end(turns: Turns):
    """Nothing is missing and nothing is said twice; each window fits in a history."""
    first = await turns.call("long_page", {})
    await turns.keep(first)
    window = json.loads(first.content)
    whole = f"title: Tea\ntext: {LONG}"
    said = window["text"]
    while "next_offset" in window:
        result = await turns.call(
            "read_tool_result",
            {"result_id": window["result_id"], "offset": window["next_offset"]},
        )
        assert (result.success, result.content_id) == (True, None)
        assert len(result.content) <= INLINE_RESULT_LIMIT
        window = json.loads(result.content)
        said += window["text"]
    assert said == whole
    assert window["total_length"] == len(whole)


async def test_a_result_of_another_turn_is_not_found(turns: Turns):
    """Whatever id a page talks the model into, and although it is in storage."""
    first = await turns.call("long_page", {})
    await turns.keep(first, OTHER_TURN)
    arguments = {"result_id": json.loads(first.content)["result_id"], "offset": 0}
    refused = await turns.call("read_tool_result", arguments)
    assert "no cut result with that result_id" in refused.content
    assert (await turns.call("read_tool_result", arguments, OTHER_TURN)).success


async def test_blobs_that_are_no_results_are_not_found(turns: Turns):
    blob_id = await turns.storage.blobs.put("context", b"somebody's words " * 1000)
    result = await turns.call("read_tool_result", {"result_id": blob_id[:12], "offset": 0})
    assert result.success is False


@pytest.mark.parametrize(
    "result_id", ["", "a" * 11, "a" * 13, "A" * 12, "%" * 12, "a" * 12 + "\n", "' OR '1'='1"]
)
async def test_an_id_that_is_none_is_refused(turns: Turns, result_id: str):
    result = await turns.call("read_tool_result", {"result_id": result_id, "offset": 0})
    assert result.success is False


async def test_an_offset_behind_the_end_says_where_the_end_is(turns: Turns):
    first = await turns.call("long_page", {})
    await turns.keep(first)
    window = json.loads(first.content)
    result = await turns.call(
        "read_tool_result", {"result_id": window["result_id"], "offset": 10_000_000}
    )
    assert str(window["total_length"]) in json.loads(result.content)["reason"]


@given(text=st.text(max_size=400), room=st.integers(min_value=0, max_value=500))
def test_fit_takes_as_much_as_there_is_room_for(text: str, room: int):
    """The longest beginning whose JSON form fits."""
    taken = fit(text, room)
    assert text.startswith(taken)
    assert _inside(taken) <= room
    if taken != text:
        assert _inside(text[: len(taken) + 1]) > room


def _inside(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False)) - 2


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60).map(lambda t: t * 300),
    offset=st.integers(min_value=0, max_value=20_000),
)
def test_a_window_is_json_that_fits_and_goes_on(text: str, offset: int):
    """For every text and offset: valid, bounded, exact, and it always gets further."""
    content = window_json(text, "0123456789ab", offset)
    assert len(content) <= INLINE_RESULT_LIMIT
    window = json.loads(content)
    assert window["text"] == text[offset : offset + len(window["text"])]
    if "next_offset" in window:
        assert offset < window["next_offset"] == offset + len(window["text"])
    else:
        assert offset + len(window["text"]) >= len(text)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("two\nlines", "two\nlines"),
        ([1, "a"], '[1, "a"]'),
        ({"a": "x\ny", "b": {"c": 1}}, 'a: x\ny\nb: {"c": 1}'),
    ],
)
def test_the_readable_form(output: object, expected: str):
    assert readable(success_json(output)) == expected


def test_a_result_that_was_cut_in_the_middle_is_readable():
    assert readable('{"text": "half') == '{"text": "half'
    assert json.loads(beginning_json('{"text": "half', "f" * 64))["text"] == '{"text": "half'
