"""Bugs of ours inside the activity: a result, once, and never a reason for another attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_core import to_json
from structlog.testing import capture_logs

from activities.generation import call_model as module
from activities.generation import stream, visible
from tests.generation.conftest import SHUTDOWN, STOPPED, Desk, until
from tests.generation.fakes import ScriptedModel, ScriptedStream
from tests.support.model_server import Finish, Stall, Text, ToolCall
from workflows.contracts.generation import ErrorType, ModelResult, StreamStatus


def assert_internal(result: ModelResult) -> None:
    assert result.status is StreamStatus.ERROR
    assert result.error is not None
    assert result.error.type is ErrorType.MODEL_ERROR
    assert result.error.message.startswith("internal")
    assert not result.error.retryable
    assert result.error.member_message
    assert to_json(result)


def break_at(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("kaputt")

    monkeypatch.setattr(where, name, broken)


@pytest.mark.parametrize(
    ("where", "name", "kept"),
    [
        (module, "VisibleText", ""),
        (module, "ModelStream", ""),
        (module, "function_calls", "Text stays."),
        (module, "response_to_bytes", "Text stays."),
        (module, "usage_of", "Text stays."),
        (module, "fitting", None),
        (stream, "fit", "Text stays."),
        (visible.VisibleText, "accept", ""),
        (visible.VisibleText, "finish", "Text stays."),
        (module._Call, "_result", "Text stays."),
        (module._Call, "_generate", ""),
    ],
)
async def test_a_bug_anywhere_is_an_internal_error(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, kept: str | None
) -> None:
    break_at(monkeypatch, where, name)
    desk.server.script(Text("Text stays."), ToolCall("roll_dice"), Finish("tool_calls"))
    with capture_logs() as logged:
        result = await desk.call("Ada: hi")
    assert_internal(result)
    assert any("kaputt" in str(line.get("exc_info")) for line in logged)
    if kept is not None:  # a result that cannot be measured tells nothing
        assert desk.whole_text(result) == kept
    assert len(desk.storage.usage.rows) == 1
    assert len(desk.server.requests) <= 1


async def test_a_result_that_has_no_encoding_is_an_internal_error(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible.ChunkedText, "feed", lambda _self, chunk: chunk)
    desk.server.script(Text("Half a \ud83e"))
    assert_internal(await desk.call("Ada: hi"))


async def test_a_cancellation_that_nobody_asked_for_is_an_internal_error(desk: Desk) -> None:
    """A library's own; the SDK would report it as a failure, and Temporal try again."""

    async def events(stream: ScriptedStream) -> AsyncIterator[ModelResponseStreamEvent]:
        for event in stream.text("Half of it"):
            yield event
        raise asyncio.CancelledError

    desk.use(ScriptedModel(events))
    result = await desk.call("Ada: hi")
    assert_internal(result)
    assert desk.whole_text(result) == "Half of it"


@pytest.mark.parametrize("failing_beat", [1, 3])
async def test_heartbeats_that_fail_are_an_internal_error(desk: Desk, failing_beat: int) -> None:
    beats = 0

    def beat(*_: object) -> None:
        nonlocal beats
        beats += 1
        if beats >= failing_beat:
            raise RuntimeError("kaputt")

    env = desk.environment()
    env.on_heartbeat = beat
    desk.server.script(Text("Half"), Stall())
    result = await desk.start(await desk.request("Ada: hi"), env)
    assert_internal(result)


async def test_a_cancel_that_surfaces_as_another_exception_is_a_cancel(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()

    async def book(*_: Any) -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise RuntimeError("the connection is closed") from None

    monkeypatch.setattr(module._Call, "_result", book)
    env = desk.environment()
    task = desk.start(await desk.request("Ada: hi"), env)
    await reached.wait()
    env.cancel(SHUTDOWN)
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("details", [STOPPED, SHUTDOWN])
async def test_a_bug_in_the_clean_up_does_not_turn_a_cancel_into_a_result(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, details: Any
) -> None:
    """Another attempt follows a shutdown only if this one ends as cancelled."""
    desk.server.script(Text("First.\n\nSec"), Stall())
    env = desk.environment()
    task = desk.start(await desk.request("Ada: hi"), env)
    await until(lambda: desk.turn.segments)
    break_at(monkeypatch, module, "usage_of")
    env.cancel(details)
    with pytest.raises(asyncio.CancelledError):
        await task
