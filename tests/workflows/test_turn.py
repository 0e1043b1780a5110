"""TurnWorkflow: streaming, tools, stops, and what happens when something dies."""

from __future__ import annotations

import asyncio
import random

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tests.workflows.conftest import Channel, open_channel, until
from tests.workflows.fakes import ModelCall, tool_success
from workflows.contracts.delivery import OutgoingKind, Refusal, SendRequest
from workflows.contracts.generation import (
    ErrorType,
    ModelError,
    ModelResult,
    Segment,
    StreamStatus,
)
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.tools import ToolRequest, ToolResult
from workflows.contracts.turn import TurnLimits


def plain(channel: Channel) -> list[str]:
    return [m.text for m in channel.discord.messages if m.kind is OutgoingKind.TEXT]


def notices(channel: Channel) -> list[str]:
    return [m.text for m in channel.discord.messages if m.kind is OutgoingKind.NOTICE]


async def test_segments_arrive_in_order_though_signals_repeat_and_overtake(
    channel: Channel,
) -> None:
    async def script(call: ModelCall) -> ModelResult:
        segments = [Segment(sequence=number, text=f"part {number}") for number in range(6)]
        await call.signal([segments[1], segments[2]])
        await call.signal([segments[0]])
        await call.signal([segments[1]])
        await call.signal([segments[4]])
        await call.signal([segments[3], segments[4]])
        call.sequence = 5
        return call.result("part 5")

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    assert plain(channel) == [f"part {number}" for number in range(6)]


async def test_typing_ends_with_the_last_message(channel: Channel) -> None:
    """D52: the send that empties the turn says so, and then no further call is needed. D21, D22:
    the outbox is the only way out, for streamed and for final text alike."""

    async def script(call: ModelCall) -> ModelResult:
        await call.say("first")
        await until(lambda: plain(channel) == ["first"])
        return call.result("last")

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    assert [request.last for request in channel.discord.requests] == [False, True]
    assert channel.discord.typing_ended == []


async def test_an_attempt_that_died_leaves_nothing_behind(channel: Channel) -> None:
    """T14: the channel shows attempt 2 only; what attempt 1 had sent is gone, nothing twice."""

    async def script(call: ModelCall) -> ModelResult:
        if call.attempt == 1:
            await call.say("old one")
            await until(lambda: plain(channel) == ["old one"])
            await call.say("old two", "old three")
            raise ApplicationError("the worker is going away")
        await call.say("new one")
        return call.result("new two")

    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert plain(channel) == ["new one", "new two"]
    assert result.messages_sent == 2
    assert len(channel.discord.deleted) in (1, 2, 3)


async def test_late_words_of_a_dead_attempt_are_dropped(channel: Channel) -> None:
    async def script(call: ModelCall) -> ModelResult:
        if call.attempt == 1:
            await call.say("old")
            raise ApplicationError("the worker is going away")
        await call.say("new")
        old = ModelCall(call.request, 1, call.client, sequence=1)
        await old.say("late")
        return call.result("end")

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    assert plain(channel) == ["new", "end"]


async def test_an_attempt_that_fails_at_once_keeps_what_was_shown(channel: Channel) -> None:
    """D35: a partial answer is better than none; the notice follows it."""

    async def script(call: ModelCall) -> ModelResult:
        if call.attempt == 1:
            await call.say("half an answer")
            await until(lambda: plain(channel) == ["half an answer"])
            raise ApplicationError("the worker is going away")
        return failed(call)

    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.ERROR
    assert channel.discord.texts == ["half an answer", "The provider is down."]


def failed(call: ModelCall, *tail: str) -> ModelResult:
    error = ModelError(
        type=ErrorType.API_ERROR,
        message="503 from the provider",
        member_message="The provider is down.",
    )
    result = call.result(*tail, status=StreamStatus.ERROR)
    return result.model_copy(update={"error": error})


@pytest.mark.parametrize("surface", [True, False])
async def test_errors_are_shown_only_to_those_who_asked(channel: Channel, surface: bool) -> None:
    """C025, C056, C059: one notice after a direct message, silence on a passive one; the
    operator's record has the reason either way."""

    async def script(call: ModelCall) -> ModelResult:
        return failed(call, "So far so")

    channel.worker.script = script
    message = await channel.post(channel.message(surface_errors=surface))
    await channel.answered(message)
    assert plain(channel) == ["So far so"]
    assert notices(channel) == (["The provider is down."] if surface else [])
    assert channel.worker.finished[0].error == "503 from the provider"


async def test_a_tool_is_run_and_the_model_called_again(channel: Channel) -> None:
    """C081: the text before the call is posted before the tool runs. Each later call of the
    model carries one entry, and the number of those before it."""
    seen_by_tool: list[str] = []

    async def tool(request: ToolRequest) -> ToolResult:
        seen_by_tool.extend(plain(channel))
        return tool_success(request, total=7)

    async def script(call: ModelCall) -> ModelResult:
        match call.request.call_index:
            case 0:
                return call.tool("roll_dice", '{"dice":"2d6"}', "Let me roll.")
            case 1:
                return call.tool("roll_dice", '{"dice":"1d6"}')
            case _:
                return call.result("Seven.")

    channel.worker.tool = tool
    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert seen_by_tool == ["Let me roll.", "Let me roll."]
    assert plain(channel) == ["Let me roll.", "Seven."]
    calls = channel.worker.model_calls
    assert [call.transcript_length for call in calls] == [0, 0, 1]
    assert [len(call.new_entries) for call in calls] == [0, 1, 1]
    assert calls[1].new_entries[0].results[0].content == '{"total": 7}'
    assert result.iterations == 3


async def test_several_calls_of_one_response_run_in_order(channel: Channel) -> None:
    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index:
            return call.result("done")
        first, second = call.tool("a").calls[0], call.tool("b").calls[0]
        return call.tool("a").model_copy(
            update={"calls": [first, second.model_copy(update={"call_id": "call-b"})]}
        )

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    assert [request.name for request in channel.worker.tools_run] == ["a", "b"]
    entry = channel.worker.model_calls[1].new_entries[0]
    assert [result.call_id for result in entry.results] == ["call-0", "call-b"]


async def test_a_truncated_call_is_never_dispatched(channel: Channel) -> None:
    """D68, C069: the model is told, and the call is replayed without arguments."""

    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index:
            return call.result("Shorter, then.")
        return call.tool("fetch_url", '{"url":"https://exam', truncated=True)

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    assert channel.worker.tools_run == []
    entry = channel.worker.model_calls[1].new_entries[0]
    assert entry.cleared_call_ids == ["call-0"]
    assert "cut off" in entry.results[0].content
    assert "exam" not in entry.results[0].content


async def test_a_refused_call_is_never_dispatched(channel: Channel) -> None:
    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index:
            return call.result("Then not.")
        return call.tool("no_such", refusal='{"status":"tool_execution_failed"}')

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    assert channel.worker.tools_run == []
    result = channel.worker.model_calls[1].new_entries[0].results[0]
    assert (result.success, result.content) == (False, '{"status":"tool_execution_failed"}')


async def test_a_tool_that_fails_is_not_run_again(channel: Channel) -> None:
    """C077 at the boundary: one attempt; the model gets a failure and decides."""

    async def tool(request: ToolRequest) -> ToolResult:
        raise RuntimeError("secret detail")

    async def script(call: ModelCall) -> ModelResult:
        return call.result("Sorry.") if call.request.call_index else call.tool("roll_dice")

    channel.worker.tool = tool
    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    assert len(channel.worker.tools_run) == 1
    result = channel.worker.model_calls[1].new_entries[0].results[0]
    assert not result.success
    assert "secret detail" not in result.content


async def test_a_tool_that_times_out_is_a_failure_the_model_sees(channel: Channel) -> None:
    """C071: start-to-close; the loop goes on."""
    channel.worker.limits = TurnLimits(tool_timeout_seconds=0.5)

    async def tool(request: ToolRequest) -> ToolResult:
        while True:
            activity.heartbeat()
            await asyncio.sleep(0.05)

    async def script(call: ModelCall) -> ModelResult:
        return call.result("Too slow.") if call.request.call_index else call.tool("fetch_url")

    channel.worker.tool = tool
    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    result = channel.worker.model_calls[1].new_entries[0].results[0]
    assert "timed out after 0.5 seconds" in result.content


async def test_tool_errors_in_a_row_end_the_turn_and_a_success_resets(channel: Channel) -> None:
    channel.worker.limits = TurnLimits(max_consecutive_errors=3)

    async def tool(request: ToolRequest) -> ToolResult:
        fine = len(channel.worker.tools_run) == 3
        return tool_success(request).model_copy(update={"success": fine})

    async def script(call: ModelCall) -> ModelResult:
        return call.tool("roll_dice")

    channel.worker.tool = tool
    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.ERROR
    assert len(channel.worker.tools_run) == 6, "2 errors, a success, 3 errors"
    assert len(notices(channel)) == 1


async def test_the_limit_of_iterations_ends_the_turn(channel: Channel) -> None:
    """C063, with a smaller limit: a model that always calls a tool is stopped with `timeout`."""
    channel.worker.limits = TurnLimits(max_iterations=4)

    async def script(call: ModelCall) -> ModelResult:
        return call.tool("roll_dice")

    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert (result.status, result.iterations) == (StreamStatus.TIMEOUT, 4)
    assert "4 steps" in notices(channel)[0]


async def test_cancel_in_temporal_ends_as_stopped_and_leaves_the_queue(channel: Channel) -> None:
    """`temporal workflow cancel` and the UI's Cancel: this turn only; the queue goes on."""

    async def script(call: ModelCall) -> ModelResult:
        if len(channel.worker.model_calls) > 1:
            return call.result("next")
        await call.say("shown")
        return await call.until_cancelled()

    channel.worker.script = script
    first = await channel.post()
    second = await channel.post()
    await until(lambda: plain(channel) == ["shown"])
    await channel.turn(first).cancel()
    await channel.stopped(first)
    await channel.answered(second)
    assert plain(channel) == ["shown", "next"]
    assert channel.discord.typing_ended == [channel.turn(first).id]


async def test_kill_during_a_tool(channel: Channel) -> None:
    """C032, C072: no history entry, no result reaches the model."""

    async def tool(request: ToolRequest) -> ToolResult:
        while True:
            activity.heartbeat()
            await asyncio.sleep(0.05)

    async def script(call: ModelCall) -> ModelResult:
        return call.tool("fetch_url")

    channel.worker.tool = tool
    channel.worker.script = script
    message = await channel.post()
    await until(lambda: len(channel.worker.tools_run) == 1)
    assert (await channel.kill()).stopped
    await channel.stopped(message)
    assert channel.worker.cancelled == ["run_tool"]
    assert len(channel.worker.model_calls) == 1
    assert channel.discord.messages == []


async def test_a_model_that_swallows_the_cancel_still_ends_stopped(channel: Channel) -> None:
    """T07: the stop meets a call that completes all the same."""

    async def script(call: ModelCall) -> ModelResult:
        await call.say("shown")
        try:
            return await call.until_cancelled()
        except asyncio.CancelledError:
            return call.result("never shown")

    channel.worker.script = script
    message = await channel.post()
    await until(lambda: plain(channel) == ["shown"])
    await channel.kill()
    await channel.stopped(message)
    assert plain(channel) == ["shown"]


async def test_kills_at_random_instants(environment: WorkflowEnvironment) -> None:
    """T05: whenever a kill lands, the turn it hit ends stopped, nothing is scheduled after it but
    the finaliser's own calls, and the channel goes on."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    async with open_channel(environment.client) as channel:

        async def script(call: ModelCall) -> ModelResult:
            activity.heartbeat()
            await call.say("one", "two")
            await asyncio.sleep(0.05)
            if call.request.call_index == 0:
                return call.tool("roll_dice", "{}", "three")
            return call.result("four")

        channel.worker.script = script
        hit = 0
        for _ in range(15):
            message = await channel.post()
            await asyncio.sleep(chance.uniform(0, 0.5))
            outcome = await channel.kill()
            hit += outcome.stopped
            await channel.idle()  # what is said while a stop is under way is ignored
            # When this one has its answer, the killed turn is over, or never began.
            await channel.answered(await channel.post())
            await check_nothing_after_the_cancel(channel, message)
        assert hit > 2, "most kills must meet a running turn"


async def check_nothing_after_the_cancel(channel: Channel, message: ChatIncoming) -> None:
    turn = channel.turn(message)
    try:
        status = (await turn.describe()).status
    except RPCError:
        return  # the kill came before the turn had begun
    scheduled_after: list[str] = []
    cancelled = False
    async for event in turn.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
            cancelled = True
        elif cancelled and event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            attributes = event.activity_task_scheduled_event_attributes
            scheduled_after.append(attributes.activity_type.name)
    if cancelled:
        assert status is WorkflowExecutionStatus.CANCELED, "a cancel was swallowed"
    assert set(scheduled_after) <= {"end_typing"}, scheduled_after


async def test_a_refusal_stops_the_model(channel: Channel) -> None:
    """D41: when Discord takes no messages here, nobody pays for the rest of the answer."""
    channel.discord.refusal = Refusal(code=50013, message="Missing Permissions")

    async def script(call: ModelCall) -> ModelResult:
        await call.say("nobody will see this")
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.ERROR
    assert channel.worker.cancelled == ["call_model"]
    assert "Missing Permissions" in (channel.worker.finished[0].error or "")


async def test_past_the_nonce_window_the_channel_is_read_first(channel: Channel) -> None:
    """D20: a send that did not succeed within two minutes is never repeated blindly."""
    forever = 10_000
    channel.discord.fail_sends = forever

    async def on_send(request: SendRequest) -> None:
        if request.reconcile:
            channel.discord.fail_sends = 0

    channel.discord.on_send = on_send
    message = await channel.post()
    await channel.answered(message)
    assert channel.discord.requests[-1].reconcile
    assert not any(request.reconcile for request in channel.discord.requests[:-1])
    assert plain(channel) == ["Hello."]


async def test_a_model_that_does_not_come_to_an_end_is_cut_off(channel: Channel) -> None:
    """MAX_FLUSH_COUNT: a stop of the delivery's own, with what was said until then."""
    channel.worker.limits = TurnLimits(max_segments=3)

    async def script(call: ModelCall) -> ModelResult:
        await call.say("one", "two")
        await call.say("three", "four")
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.COMPLETED
    assert plain(channel) == ["one", "two", "three"]
    assert "at most 3" in notices(channel)[0]
    assert channel.worker.cancelled == ["call_model"]


async def test_a_context_that_cannot_be_built_is_said_once(channel: Channel) -> None:
    channel.worker.cannot_build = ApplicationError("the history is gone", non_retryable=True)
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.ERROR
    assert len(notices(channel)) == 1
    assert "history is gone" in (channel.worker.finished[0].error or "")


async def test_a_call_without_a_name_ends_the_turn_with_a_word(channel: Channel) -> None:
    """6.5 step 1, D68: `abort/error`, and the member is told."""

    async def script(call: ModelCall) -> ModelResult:
        return call.tool("")

    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.ERROR
    assert len(notices(channel)) == 1
    assert channel.worker.finished[0].error == "a tool call without a name"


async def test_too_many_calls_in_one_response_are_refused(channel: Channel) -> None:
    """T09: what one response can put into a payload is bounded; every call has its result."""

    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index:
            return call.result("done")
        one = call.tool("roll_dice")
        calls = [
            one.calls[0].model_copy(update={"call_id": f"call-{number}"}) for number in range(34)
        ]
        return one.model_copy(update={"calls": calls})

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    assert len(channel.worker.tools_run) == 32
    results = channel.worker.model_calls[1].new_entries[0].results
    assert [result.call_id for result in results] == [f"call-{number}" for number in range(34)]
    assert [result.success for result in results] == [True] * 32 + [False] * 2


async def test_a_turn_that_cannot_be_recorded_still_ends(channel: Channel) -> None:
    """6.9: effects after a turn are logged when they fail, and hold nothing up."""
    channel.worker.cannot_finish = True
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.COMPLETED
    assert plain(channel) == ["Hello."]


async def test_an_empty_answer_says_so(channel: Channel) -> None:
    async def script(call: ModelCall) -> ModelResult:
        return call.result(status=StreamStatus.EMPTY_RESPONSE)

    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.EMPTY_RESPONSE
    assert len(notices(channel)) == 1


@pytest.mark.parametrize("follow_up", [False, True])
async def test_empty_after_a_tool_that_followed_text(channel: Channel, follow_up: bool) -> None:
    """6.4: an empty response counts as completed when something was delivered before, and the
    last tool needs no word after it."""

    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index:
            return call.result(status=StreamStatus.EMPTY_RESPONSE)
        return call.tool("react", "{}", "There.", requires_follow_up=follow_up)

    channel.worker.script = script
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is (StreamStatus.EMPTY_RESPONSE if follow_up else StreamStatus.COMPLETED)
    assert plain(channel) == ["There."]


async def test_a_reply_that_a_tool_sent_is_an_answer(channel: Channel) -> None:
    """6.4: something was delivered, though not by the outbox."""

    async def tool(request: ToolRequest) -> ToolResult:
        return tool_success(request).model_copy(update={"delivered": True})

    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index:
            return call.result(status=StreamStatus.EMPTY_RESPONSE)
        return call.tool("interact_with_recent_message", "{}", requires_follow_up=False)

    channel.worker.tool = tool
    channel.worker.script = script
    result = await channel.answered(await channel.post())
    assert result.status is StreamStatus.COMPLETED
    assert channel.discord.texts == []
