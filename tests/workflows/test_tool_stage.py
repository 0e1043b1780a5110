"""One tool call, stage by stage (behaviour 6.5 and 6.6), and the loop around it (6.4)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from temporalio import activity
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from tests.support.growth import around, iterations
from tests.workflows.conftest import Channel, open_channel, until
from tests.workflows.fakes import ModelCall, script_of, tool_success
from workflows.contracts.base import turn_workflow_id
from workflows.contracts.context import (
    ContextRef,
    Exposure,
    ExposureSource,
    NoticeStyle,
    ToolSet,
)
from workflows.contracts.delivery import OutgoingKind, SendRequest, stop_button_id
from workflows.contracts.generation import FunctionCall, ModelResult, StreamStatus
from workflows.contracts.tools import (
    DISCORD_TOOLS,
    REVEAL_MESSAGE_METADATA,
    SELECT_STICKER,
    UPDATE_SHORT_TERM_MEMORY,
    ContextRestart,
    RestartKind,
    StickerChoice,
    ToolNotice,
    ToolRequest,
    ToolResult,
)
from workflows.contracts.turn import FOLLOW_UP_SIGNAL, TurnLimits

LOGGED = ContextRef(context_id="", log_channel_id="99")


def shown(channel: Channel, kind: OutgoingKind) -> list[str]:
    return [m.title or m.text for m in channel.discord.messages if m.kind is kind]


def contents(channel: Channel, call_index: int = 1) -> list[dict[str, object]]:
    """What the model reads of its calls before `call_index`."""
    entry = channel.worker.model_calls[call_index].new_entries[0]
    return [json.loads(result.content) for result in entry.results]


def answers(**fields: object) -> Callable[[ToolRequest], Awaitable[ToolResult]]:
    async def tool(request: ToolRequest) -> ToolResult:
        return tool_success(request).model_copy(update=fields)

    return tool


def hidden(channel: Channel) -> list[ToolNotice]:
    return [notice for request in channel.discord.hidden for notice in request.notices]


async def silent_tool(request: ToolRequest) -> ToolResult:
    while True:
        activity.heartbeat()
        await asyncio.sleep(0.05)


# Step 4: truncated arguments


async def test_a_truncated_call_is_told_with_cause_and_outcome(channel: Channel) -> None:
    """D68: cause, what had arrived, and that nothing happened; a card in the log; arguments
    cleared."""
    channel.worker.context = LOGGED
    channel.worker.script = script_of(
        lambda call: call.tool(
            "create_thread",
            '{"thread_name":"x","first_message":"sec',
            truncated=True,
            arrived=["thread_name"],
            cut_by="the answer reached its length limit",
        ),
        lambda call: call.result("Shorter, then."),
    )
    await channel.answered(await channel.post())
    assert channel.worker.tools_run == []
    (content,) = contents(channel)
    assert (content["status"], content["tool_name"]) == ("tool_execution_failed", "create_thread")
    reason = str(content["reason"])
    assert "length limit" in reason
    assert "not run" in reason
    assert "`thread_name`" in reason
    assert "sec" not in reason.replace("second", "")
    assert channel.worker.model_calls[1].new_entries[0].cleared_call_ids == ["call-0"]
    (card,) = hidden(channel)
    assert "create_thread" in card.title
    assert "sec" not in card.text.replace("second", "")


async def test_truncation_comes_before_deliberate_mode(channel: Channel) -> None:
    """C068."""
    channel.worker.context = ContextRef(context_id="", tools=ToolSet(deliberate=True))
    channel.worker.script = script_of(
        lambda call: call.tool("web_search", '{"query": "ca', truncated=True),
        lambda call: call.result("Then not."),
    )
    await channel.answered(await channel.post())
    (content,) = contents(channel)
    assert content["status"] == "tool_execution_failed"
    assert channel.worker.tools_run == []


async def test_truncated_calls_in_a_row_end_the_turn(channel: Channel) -> None:
    """The visit counts as a tool error."""
    channel.worker.limits = TurnLimits(max_consecutive_errors=3)
    channel.worker.script = script_of(lambda call: call.tool("x", '{"a', truncated=True))
    result = await channel.answered(await channel.post())
    assert (result.status, result.iterations) == (StreamStatus.ERROR, 3)


# Step 5: deliberate tool mode


async def test_a_blocked_tool_is_not_entered(channel: Channel) -> None:
    """C070: the model gets the allowed list, and no embed appears."""
    channel.worker.context = ContextRef(
        context_id="", tools=ToolSet(deliberate=True, allowed=["fetch_url"])
    )
    channel.worker.script = script_of(
        lambda call: call.tool("web_search"), lambda call: call.result("Then not.")
    )
    result = await channel.answered(await channel.post())
    assert channel.worker.tools_run == []
    assert contents(channel) == [
        {
            "status": "blocked_by_deliberate_tool_mode",
            "functionName": "web_search",
            "allowedToolNames": ["fetch_url"],
        }
    ]
    assert channel.discord.texts == ["Then not."]
    assert result.status is StreamStatus.COMPLETED


async def test_an_empty_allowed_set_blocks_every_tool(channel: Channel) -> None:
    """C101: empty means none."""
    channel.worker.context = ContextRef(context_id="", tools=ToolSet(deliberate=True))
    channel.worker.script = script_of(
        lambda call: call.tool("roll_dice"), lambda call: call.result("Fine.")
    )
    await channel.answered(await channel.post())
    assert channel.worker.tools_run == []
    assert contents(channel)[0]["allowedToolNames"] == []


async def test_the_same_set_goes_to_the_declarations(channel: Channel) -> None:
    tools = ToolSet(
        deliberate=True,
        allowed=["roll_dice"],
        exposed=[Exposure(tool="roll_dice", source=ExposureSource.INTENT, phrase="roll")],
    )
    channel.worker.context = ContextRef(context_id="", tools=tools)
    await channel.answered(await channel.post())
    offered = channel.worker.model_calls[0].tools
    assert (offered.deliberate, offered.allowed) == (True, ["roll_dice"])
    assert offered.exposed == [], "why a tool is offered does not travel with every call"


# Step 6: gates, dispatch


async def test_a_tool_that_this_turn_withholds_is_refused_at_dispatch(channel: Channel) -> None:
    channel.worker.context = ContextRef(context_id="", tools=ToolSet(unavailable=["create_thread"]))
    channel.worker.script = script_of(
        lambda call: call.tool("create_thread"), lambda call: call.result("Then not.")
    )
    await channel.answered(await channel.post())
    assert channel.worker.tools_run == []
    assert "not available for the current turn" in str(contents(channel)[0]["reason"])


async def test_what_a_tool_receives(channel: Channel) -> None:
    """Step 3: ids instead of live objects; the quiet flag and the kill hint."""
    channel.worker.limits = TurnLimits(warn_at_iteration=2)
    channel.worker.script = script_of(
        lambda call: call.tool("a"), lambda call: call.tool("b"), lambda call: call.result("ok")
    )
    message = channel.message(surface_errors=False, guild_name="Home", locale="pt-BR")
    await channel.answered(await channel.post(message))
    first, second = (request.context for request in channel.worker.tools_run)
    assert (first.guild_id, first.guild_name, first.channel_name) == ("1", "Home", "general")
    assert (first.user_id, first.persona_name, first.locale) == ("7", "Nova", "pt-BR")
    assert first.context_id == f"context-{channel.turn(message).id}"
    assert first.suppress_progress_notices
    assert (first.show_kill_hint, second.show_kill_hint) == (False, True)
    assert (first.iteration, second.iteration) == (0, 1)


async def test_a_discord_tool_runs_on_the_queue_of_its_bot(channel: Channel) -> None:
    channel.worker.script = script_of(
        lambda call: call.tool("create_thread", task_queue=DISCORD_TOOLS),
        lambda call: call.result("done"),
    )
    message = await channel.post()
    await until(lambda: len(channel.worker.model_calls) == 1)
    queue = ""
    async with asyncio.timeout(20):
        while not queue:
            async for event in channel.turn(message).fetch_history_events():
                scheduled = event.activity_task_scheduled_event_attributes
                if scheduled.activity_type.name == "run_tool":
                    queue = scheduled.task_queue.name
            await asyncio.sleep(0.02)
    assert queue == f"everturn-discord-{channel.application_id}"
    await channel.kill()


async def test_timeout_means_success_false_and_the_model_decides(channel: Channel) -> None:
    """C071."""
    channel.worker.limits = TurnLimits(tool_timeout_seconds=0.5)
    channel.worker.tool = silent_tool
    channel.worker.script = script_of(
        lambda call: call.tool("slow"), lambda call: call.result("Too slow.")
    )
    result = await channel.answered(await channel.post())
    assert "timed out after 0.5 seconds" in str(contents(channel)[0]["reason"])
    assert result.status is StreamStatus.COMPLETED


async def test_kill_means_no_history_entry(channel: Channel) -> None:
    """C072: the failed result never reaches the model."""
    channel.worker.tool = silent_tool
    channel.worker.script = script_of(lambda call: call.tool("slow"))
    message = await channel.post()
    await until(lambda: len(channel.worker.tools_run) == 1)
    assert (await channel.kill()).stopped
    await channel.stopped(message)
    assert len(channel.worker.model_calls) == 1


async def test_a_kill_that_meets_the_tools_result_is_a_stop(channel: Channel) -> None:
    """The stop is looked at again after the tool ran: a result that arrives with it is dropped."""

    async def swallows(request: ToolRequest) -> ToolResult:
        try:
            return await silent_tool(request)
        except asyncio.CancelledError:
            return tool_success(request)

    channel.worker.tool = swallows
    channel.worker.script = script_of(lambda call: call.tool("slow"))
    message = await channel.post()
    await until(lambda: len(channel.worker.tools_run) == 1)
    await channel.kill()
    await channel.stopped(message)
    assert len(channel.worker.model_calls) == 1


async def test_a_kill_between_two_calls_of_one_response(channel: Channel) -> None:
    """Step 2: before any tool."""

    async def first_then_silent(request: ToolRequest) -> ToolResult:
        if request.name == "a":
            return tool_success(request)
        return await silent_tool(request)

    channel.worker.tool = first_then_silent
    calls = [FunctionCall(call_id=name, name=name) for name in ("a", "b", "c")]
    channel.worker.script = script_of(lambda call: call.tools(*calls))
    message = await channel.post()
    await until(lambda: len(channel.worker.tools_run) == 2)
    await channel.kill()
    await channel.stopped(message)
    assert [request.name for request in channel.worker.tools_run] == ["a", "b"]


async def test_at_most_one_dispatch_when_the_worker_dies(environment: WorkflowEnvironment) -> None:
    """C077: a heartbeat that stops is a failure the model sees, not a second run."""
    async with open_channel(environment.client) as channel:

        async def dies(request: ToolRequest) -> ToolResult:
            await asyncio.Event().wait()  # without a beat, as a process that is gone
            raise AssertionError

        channel.worker.tool = dies
        channel.worker.script = script_of(
            lambda call: call.tool("charge_card"), lambda call: call.result("I cannot tell.")
        )
        result = await channel.answered(await channel.post())
        assert len(channel.worker.tools_run) == 1
        assert "not run again" in str(contents(channel)[0]["reason"])
        assert result.status is StreamStatus.COMPLETED


# Step 2: follow-ups


async def follow_up(handle: WorkflowHandle[object, object]) -> None:
    await handle.signal(FOLLOW_UP_SIGNAL)


async def test_a_queued_follow_up_never_stops_a_running_chain(channel: Channel) -> None:
    """C013: inside a chain it is cleared, before the tool and after it, and the chain goes on."""
    running = asyncio.Event()
    go_on = asyncio.Event()

    async def tool(request: ToolRequest) -> ToolResult:
        running.set()
        while not go_on.is_set():
            activity.heartbeat()
            await asyncio.sleep(0.01)
        return tool_success(request)

    channel.worker.tool = tool
    channel.worker.script = script_of(
        lambda call: call.tool("slow"), lambda call: call.result("Finished.")
    )
    message = await channel.post()
    await running.wait()
    await follow_up(channel.turn(message))
    go_on.set()
    result = await channel.answered(message)
    assert result.status is StreamStatus.COMPLETED
    assert channel.discord.texts == ["Finished."]


async def test_a_follow_up_takes_the_place_of_a_first_answer(channel: Channel) -> None:
    """C012: what was shown stays, the rest is dropped; that is no stop by the user."""

    async def script(call: ModelCall) -> ModelResult:
        await call.say("shown")
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    await follow_up(channel.turn(message))
    result = await channel.answered(message)
    assert result.status is StreamStatus.FOLLOW_UP_INTERRUPT
    assert channel.discord.texts == ["shown"]
    assert channel.worker.finished[0].status is StreamStatus.FOLLOW_UP_INTERRUPT


# Steps 7 and 8: retention, and what triggers exposed


async def test_a_success_is_reported_to_the_channel(channel: Channel) -> None:
    """C102 at the boundary: the next turns are told, each success anew, for so many turns."""
    channel.worker.context = ContextRef(
        context_id="",
        retain_for=2,
        tools=ToolSet(deliberate=True, allowed=["create_task"]),
    )
    steps = [lambda call: call.tool("create_task"), lambda call: call.result("done")]
    channel.worker.script = script_of(*steps)
    await channel.answered(await channel.post())
    channel.worker.script = script_of(lambda call: call.result("hi"))
    for _ in range(3):
        await channel.answered(await channel.post())
    offered = [request.retained_tools for request in channel.worker.built]
    assert offered == [[], ["create_task"], ["create_task"], []]


async def test_a_killed_turn_keeps_what_its_tools_did_on_offer(channel: Channel) -> None:
    channel.worker.context = ContextRef(context_id="", retain_for=4)

    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index == 0:
            return call.tool("create_task")
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    await until(lambda: len(channel.worker.model_calls) == 2)
    await channel.kill()
    await channel.stopped(message)
    channel.worker.script = script_of(lambda call: call.result("hi"))
    await channel.answered(await channel.post())
    assert channel.worker.built[-1].retained_tools == ["create_task"]


async def test_with_the_mode_off_nothing_is_retained(channel: Channel) -> None:
    channel.worker.script = script_of(
        lambda call: call.tool("create_task"), lambda call: call.result("done")
    )
    first = await channel.answered(await channel.post())
    await channel.answered(await channel.post())
    assert first.tools.succeeded == []
    assert channel.worker.built[-1].retained_tools == []


async def test_a_triggered_tool_is_named_in_the_log_only(channel: Channel) -> None:
    """C106: tool, trigger and source; the channel shows nothing."""
    tools = ToolSet(
        deliberate=True,
        allowed=["create_task"],
        exposed=[Exposure(tool="create_task", source=ExposureSource.TRIGGER, phrase="ping me")],
    )
    channel.worker.context = LOGGED.model_copy(update={"tools": tools})
    channel.worker.script = script_of(
        lambda call: call.tool("create_task"), lambda call: call.result("done")
    )
    await channel.answered(await channel.post())
    (card,) = hidden(channel)
    assert "create_task" in card.title
    assert "ping me" in card.text
    assert "trigger" in card.text
    assert channel.discord.texts == ["done"]


# Step 9: restart


def reveals() -> Callable[[ToolRequest], Awaitable[ToolResult]]:
    restart = ContextRestart(kind=RestartKind.MESSAGE_METADATA, context_id="richer")
    return answers(restart=restart)


async def test_after_a_restart_there_is_no_history_entry(channel: Channel) -> None:
    """C078: the next call sees the new context, no tool response, and the tool withheld."""
    channel.worker.tool = reveals()
    channel.worker.script = script_of(
        lambda call: call.tool(REVEAL_MESSAGE_METADATA), lambda call: call.result("Seen.")
    )
    await channel.answered(await channel.post())
    second = channel.worker.model_calls[1]
    assert (second.context_id, second.new_entries, second.transcript_length) == ("richer", [], 0)
    assert second.withheld == [REVEAL_MESSAGE_METADATA]


async def test_text_before_a_restart_is_replayed_once_without_the_call(channel: Channel) -> None:
    channel.worker.tool = reveals()
    channel.worker.script = script_of(
        lambda call: call.tool(REVEAL_MESSAGE_METADATA, "{}", "Let me see."),
        lambda call: call.result("Seen."),
    )
    await channel.answered(await channel.post())
    (entry,) = channel.worker.model_calls[1].new_entries
    assert (entry.results, entry.dropped_call_ids) == ([], ["call-0"])
    assert channel.discord.texts == ["Let me see.", "Seen."]


async def test_a_second_reveal_is_refused(channel: Channel) -> None:
    """C078."""
    channel.worker.tool = reveals()
    channel.worker.script = script_of(
        lambda call: call.tool(REVEAL_MESSAGE_METADATA),
        lambda call: call.tool(REVEAL_MESSAGE_METADATA),
        lambda call: call.result("Fine."),
    )
    await channel.answered(await channel.post())
    assert len(channel.worker.tools_run) == 1
    assert "not available for the current turn" in str(contents(channel, 2)[0]["reason"])


async def test_success_and_restart_reset_the_error_counter(channel: Channel) -> None:
    channel.worker.limits = TurnLimits(max_consecutive_errors=2)

    async def tool(request: ToolRequest) -> ToolResult:
        if request.name == REVEAL_MESSAGE_METADATA:
            return await reveals()(request)
        return tool_success(request).model_copy(update={"success": request.name == "good"})

    channel.worker.tool = tool
    names = ["bad", REVEAL_MESSAGE_METADATA, "bad", "good", "bad", "bad", "never"]
    channel.worker.script = script_of(*[lambda call, name=name: call.tool(name) for name in names])
    result = await channel.answered(await channel.post())
    assert [request.name for request in channel.worker.tools_run] == names[:-1]
    assert result.status is StreamStatus.ERROR


# Step 10: short-term memory


async def test_a_second_memory_update_in_one_turn_is_refused(channel: Channel) -> None:
    """In the same response, where no new declaration can have told the model."""
    calls = [
        FunctionCall(call_id=name, name=UPDATE_SHORT_TERM_MEMORY, requires_follow_up=False)
        for name in ("one", "two")
    ]
    channel.worker.script = script_of(
        lambda call: call.tools(*calls), lambda call: call.result("Noted.")
    )
    await channel.answered(await channel.post())
    assert len(channel.worker.tools_run) == 1
    second = channel.worker.model_calls[1]
    assert [result.success for result in second.new_entries[0].results] == [True, False]
    assert second.withheld == [UPDATE_SHORT_TERM_MEMORY]


async def test_a_memory_update_that_failed_may_be_tried_again(channel: Channel) -> None:
    channel.worker.tool = answers(success=False)
    channel.worker.script = script_of(
        lambda call: call.tool(UPDATE_SHORT_TERM_MEMORY), lambda call: call.result("Well.")
    )
    await channel.answered(await channel.post())
    assert channel.worker.model_calls[1].withheld == []


@pytest.mark.parametrize(("text", "calls"), [("Noted!", 1), ("", 2)])
async def test_a_memory_update_after_text_ends_the_turn(
    channel: Channel, text: str, calls: int
) -> None:
    """C065: no second provider call. Without text the model has still to answer."""
    update = FunctionCall(
        call_id="c", name=UPDATE_SHORT_TERM_MEMORY, requires_follow_up=False, ends_turn=True
    )
    channel.worker.script = script_of(
        lambda call: call.tools(update, text=text), lambda call: call.result("Hello.")
    )
    result = await channel.answered(await channel.post())
    assert result.status is StreamStatus.COMPLETED
    assert len(channel.worker.model_calls) == calls
    assert channel.worker.finished[0].reply_text == (text or "Hello.")


async def test_a_call_that_needs_an_answer_keeps_the_turn_going(channel: Channel) -> None:
    update = FunctionCall(
        call_id="c", name=UPDATE_SHORT_TERM_MEMORY, requires_follow_up=False, ends_turn=True
    )
    search = FunctionCall(call_id="d", name="web_search")
    channel.worker.script = script_of(
        lambda call: call.tools(search, update, text="Let me look."),
        lambda call: call.result("Found."),
    )
    await channel.answered(await channel.post())
    assert channel.discord.texts == ["Let me look.", "Found."]


async def test_what_a_tool_says_is_part_of_the_answer(channel: Channel) -> None:
    """A reply that a tool made counts for the cascade, the quota and memory, as text does; the
    model does not read it twice."""

    async def replies(request: ToolRequest) -> ToolResult:
        return tool_success(request, done="replied").model_copy(update={"said": "Told you so."})

    channel.worker.tool = replies
    channel.worker.script = script_of(
        lambda call: call.tools(FunctionCall(call_id="c", name="interact")),
        lambda call: call.result(),
    )
    message = await channel.post()
    result = await channel.answered(message)
    assert result.produced_text
    assert channel.worker.finished[0].reply_text == "Told you so."
    assert channel.worker.model_calls[1].new_entries[0].results[0].said == ""


async def test_a_boomerang_ends_the_turn(channel: Channel) -> None:
    """C115: without another model call."""
    channel.worker.tool = answers(end_turn=True)
    channel.worker.script = script_of(lambda call: call.tool("cross_channel_message"))
    result = await channel.answered(await channel.post())
    assert (result.status, len(channel.worker.model_calls)) == (StreamStatus.COMPLETED, 1)


# Step 11: stickers


def picks(*choices: StickerChoice) -> Callable[[ToolRequest], Awaitable[ToolResult]]:
    async def tool(request: ToolRequest) -> ToolResult:
        choice = choices[request.context.iteration]
        result = tool_success(request)
        return result.model_copy(
            update={"sticker": choice, "success": choice.sticker_id is not None}
        )

    return tool


WAVE, HUG = StickerChoice(sticker_id="11", name="wave"), StickerChoice(sticker_id="12", name="hug")


@pytest.mark.parametrize(
    ("choices", "sent"),
    [([WAVE, HUG], ["12"]), ([WAVE, StickerChoice()], []), ([StickerChoice(), WAVE], ["11"])],
)
async def test_the_latest_sticker_call_wins_and_a_miss_clears(
    channel: Channel, choices: list[StickerChoice], sent: list[str]
) -> None:
    channel.worker.tool = picks(*choices)
    channel.worker.script = script_of(
        lambda call: call.tool(SELECT_STICKER, requires_follow_up=False),
        lambda call: call.tool(SELECT_STICKER, requires_follow_up=False),
        lambda call: call.result("Hi!"),
    )
    await channel.answered(await channel.post())
    stickers = [m.sticker_id for m in channel.discord.messages if m.sticker_id]
    assert stickers == sent
    assert channel.discord.messages[0].text == "Hi!", "the sticker follows the text"


async def test_a_sticker_alone_is_an_answer(channel: Channel) -> None:
    """C114: completed, and no invented text."""
    channel.worker.tool = picks(WAVE)
    channel.worker.script = script_of(
        lambda call: call.tool(SELECT_STICKER, requires_follow_up=False),
        lambda call: call.result(status=StreamStatus.EMPTY_RESPONSE),
    )
    result = await channel.answered(await channel.post())
    assert result.status is StreamStatus.COMPLETED
    assert [m.sticker_id for m in channel.discord.messages] == ["11"]
    assert channel.worker.finished[0].reply_text == ""


async def test_a_sticker_travels_only_with_a_completed_answer(channel: Channel) -> None:
    channel.worker.tool = picks(WAVE)
    channel.worker.script = script_of(
        lambda call: call.tool(SELECT_STICKER),
        lambda call: call.result(status=StreamStatus.ERROR),
    )
    await channel.answered(await channel.post())
    assert [m.sticker_id for m in channel.discord.messages if m.sticker_id] == []


# Step 12 and notices


@pytest.mark.parametrize(
    ("style", "in_channel", "in_log"),
    [
        (NoticeStyle.HIDDEN, [], 1),
        (NoticeStyle.MINIMAL, [("Memory saved", "")], 1),
        (NoticeStyle.VERBOSE, [("Memory saved", "likes tea")], 0),
    ],
)
async def test_where_a_tools_notice_is_shown(
    channel: Channel, style: NoticeStyle, in_channel: list[tuple[str, str]], in_log: int
) -> None:
    """Behaviour 10."""
    channel.worker.context = LOGGED.model_copy(update={"notices": style})
    channel.worker.tool = answers(notices=[ToolNotice(title="Memory saved", text="likes tea")])
    channel.worker.script = script_of(
        lambda call: call.tool("create_long_term_memory"), lambda call: call.result("ok")
    )
    await channel.answered(await channel.post())
    cards = [m for m in channel.discord.messages if m.kind is OutgoingKind.NOTICE]
    assert [(card.title, card.text) for card in cards] == in_channel
    assert len(hidden(channel)) == in_log
    assert "likes tea" not in channel.worker.model_calls[1].model_dump_json()


async def test_a_quiet_turn_shows_no_notice(channel: Channel) -> None:
    channel.worker.tool = answers(notices=[ToolNotice(title="Memory saved")])
    channel.worker.script = script_of(
        lambda call: call.tool("create_long_term_memory"), lambda call: call.result("ok")
    )
    await channel.answered(await channel.post(channel.message(surface_errors=False)))
    assert channel.discord.texts == ["ok"]


async def test_without_a_log_channel_hidden_notices_vanish(channel: Channel) -> None:
    """C112."""
    channel.worker.tool = answers(success=False)
    channel.worker.script = script_of(lambda call: call.tool("x"), lambda call: call.result("ok"))
    await channel.answered(await channel.post())
    assert channel.discord.hidden == []


async def test_a_failed_call_leaves_a_card_with_masked_arguments(channel: Channel) -> None:
    channel.worker.context = LOGGED
    channel.worker.tool = answers(success=False, content='{"reason": "no luck"}')
    arguments = '{"api_key": "hunter2", "url": "https://me:pw@example.org/", "q": "cats"}'
    channel.worker.script = script_of(
        lambda call: call.tool("x", arguments), lambda call: call.result("ok")
    )
    await channel.answered(await channel.post())
    (card,) = hidden(channel)
    assert "no luck" in card.text
    assert "cats" in card.text
    assert "hunter2" not in card.text
    assert "pw" not in card.text


# The loop


async def test_a_hundred_iterations_end_with_a_timeout_and_one_warning(
    environment: WorkflowEnvironment,
) -> None:
    """C063: stops after 100 iterations; "still working" was shown once, and is gone."""
    async with open_channel(environment.client) as channel:
        channel.worker.limits = TurnLimits(warn_at_iteration=20)
        seen: list[int] = []

        async def tool(request: ToolRequest) -> ToolResult:
            seen.append(len(shown(channel, OutgoingKind.WORKING)))
            return tool_success(request, text="x" * 2_000)

        channel.worker.tool = tool
        channel.worker.script = script_of(lambda call: call.tool("roll_dice"))
        message = await channel.post()
        async with asyncio.timeout(60):
            await until(lambda: len(channel.worker.finished) == 1, 60)
        result = await channel.answered(message)
        assert (result.status, result.iterations) == (StreamStatus.TIMEOUT, 100)
        assert seen[:18] == [0] * 18
        assert set(seen[20:]) == {1}
        assert shown(channel, OutgoingKind.WORKING) == [], "it goes away with the turn"
        assert len(channel.discord.deleted) == 1
        found = await iterations(channel.turn(message))
        early, late = around(found, 10), around(found, 99)
        assert late.events <= early.events
        assert late.bytes <= early.bytes * 1.2


async def test_the_warning_goes_away_with_a_killed_turn(channel: Channel) -> None:
    channel.worker.limits = TurnLimits(warn_at_iteration=2)

    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index == 0:
            return call.tool("a")
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    await until(lambda: len(shown(channel, OutgoingKind.WORKING)) == 1)
    await channel.kill()
    await channel.stopped(message)
    assert channel.discord.messages == []


async def test_a_warning_that_nobody_acknowledged_is_looked_for(channel: Channel) -> None:
    """The bot died after it had sent it, and the turn was stopped before another attempt."""
    channel.worker.limits = TurnLimits(warn_at_iteration=1)
    sending = asyncio.Event()

    async def dies(request: SendRequest) -> None:
        sending.set()
        while True:
            activity.heartbeat()
            await asyncio.sleep(0.05)

    async def script(call: ModelCall) -> ModelResult:
        return await call.until_cancelled()

    channel.discord.on_send = dies
    channel.worker.script = script
    message = await channel.post()
    await sending.wait()
    await channel.kill()
    await channel.stopped(message)
    (request,) = channel.discord.deletions
    assert request.message_ids == []
    assert request.stop_button_id == stop_button_id(channel.id, message.message_id, 1)


async def test_the_warning_of_a_retried_turn_is_looked_for_by_its_own_button(
    channel: Channel,
) -> None:
    """C089, C063: each try of an empty answer is a turn of its own, with a button of its own."""
    channel.worker.limits = TurnLimits(warn_at_iteration=1)
    channel.worker.plan = lambda request, plan: plan.model_copy(update={"empty_retries": 1})
    sending = asyncio.Event()

    async def dies(request: SendRequest) -> None:
        if request.generation == 1:
            sending.set()
            while True:
                activity.heartbeat()
                await asyncio.sleep(0.05)

    async def script(call: ModelCall) -> ModelResult:
        if call.request.turn_id == turn_workflow_id(channel.id, message.message_id, 1):
            return call.result(status=StreamStatus.EMPTY_RESPONSE)
        return await call.until_cancelled()

    channel.discord.on_send = dies
    channel.worker.script = script
    message = await channel.post()
    await sending.wait()
    await channel.kill()
    await channel.finished(2)
    await until(lambda: any(each.stop_button_id for each in channel.discord.deletions))
    looked_for = [each.stop_button_id for each in channel.discord.deletions if each.stop_button_id]
    assert looked_for == [stop_button_id(channel.id, message.message_id, 1, 1)]


async def test_a_quiet_turn_is_not_warned(channel: Channel) -> None:
    channel.worker.limits = TurnLimits(warn_at_iteration=1)
    await channel.answered(await channel.post(channel.message(surface_errors=False)))
    assert shown(channel, OutgoingKind.WORKING) == []
    assert channel.discord.deleted == []
