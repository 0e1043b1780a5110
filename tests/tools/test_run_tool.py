"""The activity: whatever a tool does, the model gets an answer, or nobody does."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import structlog
from pydantic import BaseModel

from activities.tools import run_tool as run_tool_module
from activities.tools.registry import ToolRegistry
from activities.tools.results import MAX_RESULT, clean, success_json
from activities.tools.tool import Tool, ToolArguments, ToolFailure
from workflows.contracts.tools import INLINE_RESULT_LIMIT, RUN_TOOL, ToolResult


def registry_of(run: Callable[..., Awaitable[Any]], **options: Any) -> ToolRegistry:
    return ToolRegistry([("here", Tool("probe", "A probe.", ToolArguments, run, **options))])


def returning(output: Any) -> ToolRegistry:
    async def run(arguments, context, resources):
        return output

    return registry_of(run)


def raising(error: BaseException) -> ToolRegistry:
    async def run(arguments, context, resources):
        raise error

    return registry_of(run)


def reason(result: ToolResult) -> str:
    assert result.success is False
    failure = json.loads(result.content)
    assert set(failure) == {"status", "tool_name", "reason"}
    assert failure["status"] == "tool_execution_failed"
    return failure["reason"]


async def test_a_result_is_json_with_its_duration(bench):
    result = await bench().call("roll_dice", {"dice": "1d2"})
    assert (result.call_id, result.name, result.success) == ("call-1", "roll_dice", True)
    assert json.loads(result.content)["total"] in (1, 2)
    assert result.content_id is None
    assert result.duration_ms >= 0


def test_the_activity_is_the_one_the_workflow_calls():
    defined = run_tool_module.ToolActivities.run_tool.__temporal_activity_definition  # type: ignore[attr-defined]
    assert defined.name == RUN_TOOL.name


class Shape(BaseModel):
    text: str = "tea"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (Shape(), {"text": "tea"}),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        ("tea", {"result": "tea"}),
        ({"x": float("nan")}, {"x": None}),
        ({1: "one"}, {"1": "one"}),
        ({"t": "a\x00b\x1b[31mc\u0085d\r\ne\tf"}, {"t": "ab[31mcd\ne\tf"}),
        ({"k\x00ey": "\ud800lone"}, {"key": "lone"}),
    ],
)
async def test_outputs_become_clean_json(bench, output, expected):
    result = await bench(registry=returning(output)).call("probe", {})
    assert result.success
    assert json.loads(result.content) == expected
    result.content.encode()


@pytest.mark.parametrize("output", [{"x": object()}, {"b": b"\xff"}, lambda: 1])
async def test_an_output_without_json_form_is_a_failure(bench, output):
    result = await bench(registry=returning(output)).call("probe", {})
    assert "internal error" in reason(result)


async def test_an_output_that_contains_itself_is_a_failure(bench):
    loop: dict[str, Any] = {}
    loop["again"] = loop
    result = await bench(registry=returning(loop)).call("probe", {})
    assert "internal error" in reason(result)


@pytest.mark.parametrize(
    ("length", "stored"), [(INLINE_RESULT_LIMIT, False), (INLINE_RESULT_LIMIT + 1, True)]
)
async def test_the_inline_limit(bench, length, stored):
    empty = len(success_json({"t": ""}))
    made = bench(registry=returning({"t": "🍵" * (length - empty)}))
    result = await made.call("probe", {})
    assert (result.content_id is not None) is stored
    assert len(result.content) <= INLINE_RESULT_LIMIT
    assert len(json.dumps(made.whole(result), ensure_ascii=False)) == length


async def test_a_3_mb_result_does_not_enter_the_history(bench):
    """T09: it is stored, and what the workflow gets is small."""
    made = bench(registry=returning({"t": "x" * 3_000_000}))
    result = await made.call("probe", {})
    assert result.success
    assert len(made.whole(result)["t"]) == 3_000_000
    assert len(result.model_dump_json()) < 10_000


async def test_an_endless_result_is_cut(bench):
    made = bench(registry=returning({"t": "x" * (MAX_RESULT * 2)}))
    result = await made.call("probe", {})
    assert len(made.store.blobs.stored[result.content_id]) == MAX_RESULT


async def test_a_store_that_fails_is_a_failure_that_warns_of_repeating(bench):
    made = bench(registry=returning({"t": "x" * 10_000}))

    async def full(kind: str, data: bytes) -> str:
        raise OSError("disk full at /secret/place")

    made.store.blobs.put = full
    said = reason(await made.call("probe", {}))
    assert "could not be stored" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "error",
    [ValueError("planted"), KeyError("planted"), RecursionError("planted"), SystemExit("planted")],
)
async def test_an_exception_is_a_failure_without_our_insides(bench, error):
    said = reason(await bench(registry=raising(error)).call("probe", {}))
    assert said == f"The tool failed with an internal error ({type(error).__name__})."


async def test_a_tool_failure_says_its_reason(bench):
    result = await bench(registry=raising(ToolFailure("The shop\x00 is closed."))).call("probe", {})
    assert reason(result) == "The shop is closed."


async def test_a_reason_is_bounded(bench):
    result = await bench(registry=raising(ToolFailure("x" * 1_000_000))).call("probe", {})
    assert len(result.content) < INLINE_RESULT_LIMIT


async def test_a_failure_and_its_duration_are_logged_for_the_operator(bench):
    with structlog.testing.capture_logs() as events:
        await bench(registry=raising(ValueError("planted"))).call("probe", {})
    failed, finished = events
    assert (failed["log_level"], failed["exc_info"]) == ("error", True)
    assert (finished["log_level"], finished["success"]) == ("info", False)
    assert finished["duration_ms"] >= 0
    for event in events:
        assert (event["tool"], event["turn_id"]) == ("probe", "turn/1/2/3")


async def test_calls_are_judged_again_before_they_run(bench):
    """The registry may have changed since the call was examined."""
    ran = []

    async def run(arguments, context, resources):
        ran.append(arguments)
        return {}

    made = bench(registry=registry_of(run))
    assert "There is no tool named 'gone'" in reason(await made.call("gone", {}))
    assert "`x` is not a parameter" in reason(await made.call("probe", {"x": 1}))
    assert "not valid JSON" in reason(await made.call("probe", '{"cut": "of'))
    assert ran == []


async def test_the_provider_gate_is_checked_at_execution(bench):
    """C130, for the gate that exists so far; its words name the provider."""
    ran = []

    async def run(arguments, context, resources):
        ran.append(arguments)
        return {}

    registry = registry_of(run, is_available_for=lambda provider: provider != "novelai")
    made = bench(registry=registry)
    assert reason(await made.call("probe", {}, provider="novelai")) == (
        "probe is not available for provider novelai."
    )
    assert ran == []
    assert (await made.call("probe", {}, provider="openai")).success


async def test_a_tool_receives_its_turn(bench):
    async def run(arguments, context, resources):
        return {"turn": context.turn_id, "http": hasattr(resources, "http")}

    made = bench(registry=registry_of(run))
    assert made.whole(await made.call("probe", {})) == {"turn": "turn/1/2/3", "http": True}


# Cancelling


async def cancel_while_running(bench, run_after_cancel: Callable[[], Any]) -> Any:
    """Cancel a tool that waits, and answers the cancel with `run_after_cancel`."""
    started = asyncio.Event()

    async def run(arguments, context, resources):
        try:
            started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return run_after_cancel()

    made = bench(registry=registry_of(run))
    call = asyncio.create_task(made.call("probe", {}))
    await asyncio.wait_for(started.wait(), 5)
    made.environment.cancel()
    return await asyncio.wait_for(call, 5)


async def test_a_tool_that_swallows_the_cancel_has_not_succeeded(bench):
    """T07: it returns a result as if nothing had happened."""
    with pytest.raises(asyncio.CancelledError):
        await cancel_while_running(bench, lambda: {"fine": True})


async def test_a_tool_that_turns_the_cancel_into_an_error_is_cancelled(bench):
    def fail() -> None:
        raise ValueError("while cleaning up")

    with pytest.raises(asyncio.CancelledError):
        await cancel_while_running(bench, fail)


async def test_a_tool_cleans_up_before_the_cancel_is_reported(bench):
    cleaned = []
    started = asyncio.Event()

    async def run(arguments, context, resources):
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    made = bench(registry=registry_of(run))
    call = asyncio.create_task(made.call("probe", {}))
    await asyncio.wait_for(started.wait(), 5)
    made.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert cleaned == [True]


async def test_a_tool_that_cancels_itself_has_failed(bench):
    """A stray CancelledError from inside is not a kill, and must not look like one."""
    result = await bench(registry=raising(asyncio.CancelledError())).call("probe", {})
    assert "stopped by itself" in reason(result)


async def test_a_silent_tool_keeps_beating(bench):
    """T04: the beats come from beside the tool, so a kill can reach it."""
    beats = []
    enough = asyncio.Event()

    async def run(arguments, context, resources):
        await asyncio.wait_for(enough.wait(), 5)
        return {}

    def on_heartbeat(*details: Any) -> None:
        beats.append(details)
        if len(beats) == 3:
            enough.set()

    made = bench(registry=registry_of(run))
    made.environment.on_heartbeat = on_heartbeat
    assert (await made.call("probe", {})).success
    assert len(beats) >= 3


@pytest.mark.parametrize("character", [chr(code) for code in (*range(32), 127, *range(128, 160))])
def test_clean_takes_every_control_character(character):
    kept = "\n" if character == "\r" else character if character in "\n\t" else ""
    assert clean(f"a{character}b") == f"a{kept}b"


def test_clean_leaves_text_alone():
    text = "".join(
        chr(code) for code in range(160, sys.maxunicode, 97) if not 0xD800 <= code < 0xE000
    )
    assert clean(text) == text
