"""Turns and channels at their limits: what is too large, too odd, or lost on the way."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest
from temporalio import activity
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType
from temporalio.testing import WorkflowEnvironment

from tests.workflows.conftest import Channel, open_channel, until
from tests.workflows.fakes import (
    FakeDiscord,
    Message,
    ModelCall,
    script_of,
    shows_and_goes_on,
    tool_success,
)
from tests.workflows.test_outcomes import away
from workflows.activity_calls import POLICIES, TOOL_PATIENCE
from workflows.contracts.context import ContextRef, ToolSet
from workflows.contracts.delivery import (
    DELETE_MESSAGES,
    DeleteRequest,
    DeleteResult,
    OutgoingKind,
    Refusal,
    SendRequest,
    message_nonce,
)
from workflows.contracts.generation import FunctionCall, ModelResult, StreamStatus
from workflows.contracts.tools import ToolNotice, ToolRequest, ToolResult
from workflows.contracts.turn import FOLLOW_UP_SIGNAL, TurnLimits
from workflows.execute_tool_call import reason_for


async def test_half_a_surrogate_pair_in_arguments_fails_the_call_not_the_turn(
    channel: Channel,
) -> None:
    channel.worker.context = ContextRef(context_id="", log_channel_id="99")
    channel.worker.script = script_of(
        lambda call: call.tool(
            "create_thread",
            r'{"thread_name": "\ud83d"}',
            refusal=json.dumps({"status": "tool_execution_failed", "reason": "not valid JSON"}),
        ),
        lambda call: call.result("I see."),
    )
    message = await channel.post()
    await channel.answered(message)
    assert channel.discord.texts == ["I see."]


async def test_half_a_surrogate_pair_in_a_failed_tools_arguments(channel: Channel) -> None:
    async def tool(request: ToolRequest) -> ToolResult:
        return tool_success(request).model_copy(update={"success": False, "content": "{}"})

    channel.worker.tool = tool
    channel.worker.context = ContextRef(context_id="", log_channel_id="99")
    channel.worker.script = script_of(
        lambda call: call.tool("x", r'{"thread_name": "\ud83d"}'),
        lambda call: call.result("I see."),
    )
    message = await channel.post()
    await channel.answered(message)
    assert channel.discord.texts == ["I see."]


async def test_a_stopped_turn_ticks_retention(channel: Channel) -> None:
    """C102: every context build in the channel ticks."""
    channel.worker.context = ContextRef(
        context_id="", retain_for=1, tools=ToolSet(deliberate=True, allowed=["create_task"])
    )
    channel.worker.script = script_of(
        lambda call: call.tool("create_task"), lambda call: call.result("ok")
    )
    await channel.answered(await channel.post())

    async def stream(call: ModelCall) -> ModelResult:
        await call.say("shown")
        return await call.until_cancelled()

    channel.worker.script = stream
    second = await channel.post()
    await until(lambda: "shown" in channel.discord.texts)
    assert channel.worker.built[-1].retained_tools == ["create_task"]
    await channel.kill()
    await channel.stopped(second)
    channel.worker.script = script_of(lambda call: call.result("ok"))
    await channel.answered(await channel.post())
    assert channel.worker.built[-1].retained_tools == []


async def test_what_a_follow_up_discards_is_not_recorded_as_said(channel: Channel) -> None:
    """Unsent text was never seen: it must not be in short-term memory."""
    has_said_all = asyncio.Event()

    async def on_send(request: SendRequest) -> None:
        """The message that is under way is finished, as the bot does, when it is cancelled."""
        try:
            while True:
                activity.heartbeat()
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            return

    channel.discord.on_send = on_send

    async def script(call: ModelCall) -> ModelResult:
        await call.say("one")
        await until(lambda: len(channel.discord.requests) == 1)
        await call.say("never shown")
        has_said_all.set()
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    await has_said_all.wait()
    await channel.turn(message).signal(FOLLOW_UP_SIGNAL)
    result = await channel.answered(message)
    assert result.status is StreamStatus.FOLLOW_UP_INTERRUPT
    assert channel.discord.texts == ["one"]
    assert channel.worker.finished[-1].reply_text == "one"


async def test_what_discord_refused_is_not_recorded_as_said(channel: Channel) -> None:

    channel.discord.refusal = Refusal(code=50013, message="Missing Permissions")
    message = await channel.post()
    result = await channel.answered(message)
    assert result.status is StreamStatus.ERROR
    assert channel.discord.texts == []
    assert channel.worker.finished[-1].reply_text == ""


async def test_a_cancelled_channel_tells_those_who_wait(channel: Channel) -> None:
    async def shows(call: ModelCall) -> ModelResult:
        await call.say("shown")
        return await call.until_cancelled()

    channel.worker.script = shows
    await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    await channel.post(away(channel))
    await channel.handle.cancel()
    with pytest.raises(WorkflowFailureError):
        await channel.handle.result()
    assert len(channel.discord.reports) == 1


@pytest.mark.parametrize("letter", ["🦞", "\x1b"], ids=["in UTF-8", "escaped in JSON"])
async def test_full_queue_and_dismissed_fit_a_continue_as_new(
    environment: WorkflowEnvironment, letter: str
) -> None:
    """What waits, and who has to be told of a loss, stay below the size of a payload, whatever
    their authors write and however many roles they have."""
    async with open_channel(environment.client) as channel:
        channel.continue_after_turns = 1
        go = asyncio.Event()

        async def script(call: ModelCall) -> ModelResult:
            await go.wait()
            return call.result("ok")

        channel.worker.script = script
        await channel.post()
        await until(lambda: len(channel.worker.model_calls) == 1)
        for number in range(150):
            base = away(channel, str(number))
            update = {"content": letter * 4000, "role_ids": [str(2**63 + n) for n in range(250)]}
            await channel.post(base.model_copy(update=update))
        go.set()
        await channel.finished(3, 60)


async def test_thirty_two_calls_with_maximal_everything(environment: WorkflowEnvironment) -> None:
    """Results and notices at their maximum in one response."""
    async with open_channel(environment.client) as channel:
        await thirty_two_calls(channel)


async def thirty_two_calls(channel: Channel) -> None:
    channel.worker.context = ContextRef(context_id="", log_channel_id="99")

    async def tool(request: ToolRequest) -> ToolResult:
        return tool_success(request).model_copy(
            update={
                "content": json.dumps({"t": "🦞" * 3980}, ensure_ascii=False),
                "notices": [ToolNotice(title="🦞" * 200, text="🦞" * 1800)] * 3,
                "success": False,
            }
        )

    channel.worker.tool = tool
    calls = [
        FunctionCall(call_id=f"c{n}", name="x" * 64, arguments=json.dumps({"a": '"' * 1500}))
        for n in range(32)
    ]
    channel.worker.script = script_of(
        lambda call: call.tools(*calls), lambda call: call.result("end")
    )
    message = await channel.post()
    await channel.answered(message)
    assert channel.discord.hidden


async def test_a_notice_that_cannot_be_deleted_does_not_hold_the_channel(
    environment: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    @activity.defn(name=DELETE_MESSAGES.name)
    async def refuses(self, request: DeleteRequest) -> DeleteResult:
        raise ApplicationError("Discord answers 500")

    monkeypatch.setattr(FakeDiscord, "delete_messages", refuses)
    async with open_channel(environment.client) as channel:
        channel.worker.limits = TurnLimits(warn_at_iteration=2)
        channel.worker.script = script_of(
            lambda call: call.tool("x"), lambda call: call.tool("x"), lambda call: call.result("ok")
        )
        message = await channel.post()
        await channel.answered(message)
        described = await channel.turn(message).describe()
        took = (described.close_time - described.start_time).total_seconds()
        assert took < 60, took


async def test_the_working_notice_goes_although_its_sender_died(channel: Channel) -> None:
    """kill -9 of the bot when Discord has the notice, and /kill: the ledger does not know it."""
    channel.worker.limits = TurnLimits(warn_at_iteration=1)
    channel.worker.script = shows_and_goes_on
    dead = asyncio.Event()

    async def stores_and_dies(request: SendRequest) -> None:
        for outgoing in request.outgoing:
            if outgoing.kind is OutgoingKind.WORKING:
                nonce = message_nonce(request.trigger_message_id, 1, 0, outgoing.ordinal, 0)
                stored = Message("999", nonce, outgoing.text, outgoing.kind, None)
                channel.discord.messages.append(stored)
                dead.set()
                await asyncio.Event().wait()  # without a beat

    channel.discord.on_send = stores_and_dies
    message = await channel.post()
    await asyncio.wait_for(dead.wait(), 20)
    await channel.kill()
    await channel.stopped(message)
    assert [m for m in channel.discord.messages if m.kind is OutgoingKind.WORKING] == []


def test_a_tool_that_nobody_runs_is_told_as_not_begun() -> None:
    timeout = TimeoutError(
        "too late", type=TimeoutType.SCHEDULE_TO_START, last_heartbeat_details=[]
    )
    error = ActivityError(
        "timed out",
        scheduled_event_id=1,
        started_event_id=0,
        identity="",
        activity_type="run_tool",
        activity_id="1",
        retry_state=None,
    )
    error.__cause__ = timeout
    assert "has not begun" in reason_for(error, timedelta(seconds=10))
    assert POLICIES["run_tool"].schedule_to_start == TOOL_PATIENCE
