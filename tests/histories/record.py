"""Record the histories that `test_replay.py` replays: `python -m tests.histories.record [name …]`.

Real workflows on a dev server, synthetic content, the boundary replaced. Record a history when a
new kind of turn exists; never record one again to make a change pass: an old history that no
longer replays is a turn in flight that the change would break.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from tests.workflows.conftest import Channel, open_channel, until
from tests.workflows.fakes import ModelCall, script_of, shows_and_goes_on, tool_success
from tests.workflows.test_locked_channel import dies_after
from tests.workflows.test_reminder import open_bench
from worker.dev_server import temporal_binary
from workflows.contracts.attributes import SEARCH_ATTRIBUTES
from workflows.contracts.base import synthetic_message_id
from workflows.contracts.context import ContextRef, ToolSet
from workflows.contracts.generation import ErrorType, ModelError, ModelResult, StreamStatus
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import (
    Addressed,
    Boomerang,
    ChatIncoming,
    InvocationEnd,
    Origin,
)
from workflows.contracts.planning import PlannedTurn, PlanRequest, TurnPlan
from workflows.contracts.reminders import ReminderStanding
from workflows.contracts.tools import (
    REVEAL_MESSAGE_METADATA,
    SELECT_STICKER,
    ContextRestart,
    RestartKind,
    StickerChoice,
    ToolNotice,
    ToolRequest,
    ToolResult,
)
from workflows.contracts.turn import TurnLimits

HERE = Path(__file__).parent

_PROCESS = re.compile(r"\b\d+@[\w.-]+")
"""How the SDK names a process: its number and its machine."""


def without_traces(part: Any) -> Any:
    """The same without stack traces, which name the folders of the recording machine."""
    if isinstance(part, dict):
        return {
            key: "" if key == "stackTrace" else without_traces(value) for key, value in part.items()
        }
    if isinstance(part, list):
        return [without_traces(value) for value in part]
    return part


Scenario = Callable[[Channel], Awaitable[dict[str, WorkflowHandle]]]


async def plain(channel: Channel) -> dict[str, WorkflowHandle]:
    message = await channel.post()
    await channel.answered(message)
    return {"turn": channel.turn(message), "channel": channel.handle}


async def streamed(channel: Channel) -> dict[str, WorkflowHandle]:
    async def script(call: ModelCall) -> ModelResult:
        for number in range(5):
            await call.say(f"Paragraph {number}.")
        return call.result("The end.")

    channel.worker.script = script
    first, second = await channel.post(), await channel.post()
    await channel.answered(first)
    await channel.answered(second)
    return {"turn": channel.turn(second), "channel": channel.handle}


async def tools(channel: Channel) -> dict[str, WorkflowHandle]:
    async def tool(request: ToolRequest) -> ToolResult:
        if len(channel.worker.tools_run) == 2:
            raise RuntimeError("no luck")
        return tool_success(request, total=7)

    async def script(call: ModelCall) -> ModelResult:
        match call.request.call_index:
            case 0:
                return call.tool("roll_dice", '{"dice":"2d6"}', "Let me roll.")
            case 1:
                return call.tool("roll_dice", '{"dice":"1d6"}')
            case 2:
                return call.tool("fetch_url", '{"url":"htt', truncated=True)
            case _:
                return call.result("Seven.")

    channel.worker.tool = tool
    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    return {"turn": channel.turn(message)}


async def killed(channel: Channel) -> dict[str, WorkflowHandle]:
    async def script(call: ModelCall) -> ModelResult:
        await call.say("Shown.")
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    await channel.post()
    await until(lambda: channel.discord.texts == ["Shown."])
    await channel.kill()
    await ended(channel, message)
    return {"turn": channel.turn(message), "channel": channel.handle}


async def killed_in_a_tool(channel: Channel) -> dict[str, WorkflowHandle]:
    async def tool(request: ToolRequest) -> ToolResult:
        await ModelCall(channel.worker.model_calls[0], 1, channel.client).until_cancelled()
        raise AssertionError("it is cancelled")

    async def script(call: ModelCall) -> ModelResult:
        return call.tool("fetch_url")

    channel.worker.tool = tool
    channel.worker.script = script
    message = await channel.post()
    await until(lambda: len(channel.worker.tools_run) == 1)
    await channel.kill()
    await ended(channel, message)
    return {"turn": channel.turn(message)}


async def retried(channel: Channel) -> dict[str, WorkflowHandle]:
    async def script(call: ModelCall) -> ModelResult:
        if call.attempt == 1:
            await call.say("Old.")
            await until(lambda: channel.discord.texts == ["Old."])
            raise ApplicationError("the worker is going away")
        await call.say("New.")
        return call.result("The end.")

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    return {"turn": channel.turn(message)}


async def failed(channel: Channel) -> dict[str, WorkflowHandle]:
    async def script(call: ModelCall) -> ModelResult:
        error = ModelError(
            type=ErrorType.API_ERROR, message="503", member_message="The provider is down."
        )
        result = call.result("So far.", status=StreamStatus.ERROR)
        return result.model_copy(update={"error": error})

    channel.worker.script = script
    message = await channel.post()
    await channel.answered(message)
    return {"turn": channel.turn(message)}


async def continued(channel: Channel) -> dict[str, WorkflowHandle]:
    channel.continue_after_turns = 2
    posted = [await channel.post() for _ in range(6)]
    await channel.answered(posted[-1])
    return {"channel": channel.handle}


async def long(channel: Channel) -> dict[str, WorkflowHandle]:
    """More calls than a turn has without a word in between, from before there was that word."""
    dice = [lambda call: call.tool("roll_dice", '{"dice":"1d6"}')] * 25
    channel.worker.script = script_of(*dice, lambda call: call.result("The end."))
    message = await channel.post()
    await channel.answered(message)
    return {"turn": channel.turn(message)}


async def long_killed(channel: Channel) -> dict[str, WorkflowHandle]:
    async def script(call: ModelCall) -> ModelResult:
        if call.request.call_index < 23:
            return call.tool("roll_dice", '{"dice":"1d6"}')
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    await until(lambda: len(channel.worker.model_calls) == 24)
    await channel.kill()
    await ended(channel, message)
    return {"turn": channel.turn(message)}


async def tool_stage(channel: Channel) -> dict[str, WorkflowHandle]:
    """A restart, a sticker, cards, a word in between, a blocked call; killed in the end."""
    channel.worker.limits = TurnLimits(warn_at_iteration=2)
    channel.worker.context = ContextRef(
        context_id="",
        retain_for=4,
        log_channel_id="99",
        tools=ToolSet(
            deliberate=True, allowed=[REVEAL_MESSAGE_METADATA, SELECT_STICKER, "create_task"]
        ),
    )
    restart = ContextRestart(kind=RestartKind.MESSAGE_METADATA, context_id="richer")

    async def tool(request: ToolRequest) -> ToolResult:
        extra: dict[str, object] = {"notices": [ToolNotice(title="Done", text="It is done.")]}
        if request.name == REVEAL_MESSAGE_METADATA:
            extra = {"restart": restart}
        if request.name == SELECT_STICKER:
            extra = {"sticker": StickerChoice(sticker_id="11", name="wave")}
        return tool_success(request).model_copy(update=extra)

    async def script(call: ModelCall) -> ModelResult:
        names = [REVEAL_MESSAGE_METADATA, SELECT_STICKER, "create_task", "not_allowed"]
        if call.request.call_index < len(names):
            return call.tool(names[call.request.call_index], "{}", "A word.")
        await call.say("Shown.")
        return await call.until_cancelled()

    channel.worker.tool = tool
    channel.worker.script = script
    message = await channel.post()
    await until(lambda: "Shown." in channel.discord.texts)
    await channel.kill()
    await ended(channel, message)
    channel.worker.script = script_of(
        lambda call: call.tool(SELECT_STICKER, requires_follow_up=False),
        lambda call: call.result("Hello."),
    )
    second = await channel.post()
    await channel.answered(second)
    return {
        "killed_turn": channel.turn(message),
        "turn": channel.turn(second),
        "channel": channel.handle,
    }


async def said_stop(channel: Channel) -> dict[str, WorkflowHandle]:
    """From before words could stop an answer: what the member says waits for its turn."""
    channel.worker.script = shows_and_goes_on
    first = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    second = await channel.post(channel.message("Nova, wait, one more thing"))
    channel.worker.script = script_of(lambda call: call.result("Hello."))
    await channel.turn(first).cancel()
    await channel.answered(second)
    return {"channel": channel.handle}


async def after_kill(channel: Channel) -> dict[str, WorkflowHandle]:
    """From before the same rules: said while a killed turn still unwinds, and answered."""

    async def unwinds(call: ModelCall) -> ModelResult:
        await call.say("shown")
        try:
            return await call.until_cancelled()
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            raise

    channel.worker.script = unwinds
    first = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    await channel.kill()
    channel.worker.script = script_of(lambda call: call.result("Hello."))
    second = await channel.post()
    await ended(channel, first)
    await channel.answered(second)
    return {"channel": channel.handle}


def eligible(request: PlanRequest, plan: TurnPlan) -> TurnPlan:
    update = {"follow_up_eligible": not request.invocation.is_stop_response, "empty_retries": 2}
    return plan.model_copy(update=update)


async def interrupted(channel: Channel) -> dict[str, WorkflowHandle]:
    """A follow-up takes an answer's place, a stop in words ends the next one."""
    channel.worker.plan = eligible
    channel.worker.script = shows_and_goes_on
    first = await channel.post()
    await until(lambda: len(channel.discord.texts) == 1)
    second = await channel.post(channel.message("and cats", addressed=Addressed.NOT))
    await until(lambda: len(channel.discord.texts) == 2)
    channel.worker.script = script_of(lambda call: call.result("All right."))
    stop = await channel.post(channel.message("please stop", addressed=Addressed.NOT))
    await channel.answered(stop)
    return {
        "first_turn": channel.turn(first),
        "second_turn": channel.turn(second),
        "channel": channel.handle,
    }


async def cut(channel: Channel) -> dict[str, WorkflowHandle]:
    """Discord has taken one of many segments: one answer is stopped in words, another one gives way
    to a follow-up."""
    turns: dict[str, WorkflowHandle] = {}
    channel.worker.plan = eligible
    for name, words in (("stopped", "please stop"), ("gave_way", "no, about cats")):

        async def writes_much(call: ModelCall) -> ModelResult:
            await call.say(*(f"part {number}" for number in range(12)))
            return await call.until_cancelled()

        begun = len(channel.discord.messages)
        channel.discord.takes = asyncio.Semaphore(1)
        channel.worker.script = writes_much
        message = await channel.post()
        await until(lambda count=begun + 1: len(channel.discord.messages) == count)
        channel.worker.script = script_of(lambda call: call.result("All right."))
        more = await channel.post(channel.message(words, addressed=Addressed.NOT))
        await channel.answered(message)
        channel.discord.takes = None
        await channel.answered(more)
        turns[f"{name}_turn"] = channel.turn(message)
    return {**turns, "channel": channel.handle}


async def asked_in_a_stop(channel: Channel) -> dict[str, WorkflowHandle]:
    """A command while a `/kill` is under way, and a message from before it that arrives late."""
    release = asyncio.Event()

    channel.worker.script = dies_after(release)
    message = await channel.post(channel.message("Nova", message_id="1000"))
    await until(lambda: channel.discord.texts == ["shown"])
    channel.worker.script = script_of(lambda call: call.result("Asked for."))
    await channel.kill(command_id="1002")
    await channel.post(channel.message("Nova, me too", message_id="1001"))
    asked = await channel.post(
        channel.message("", message_id="1003", addressed=Addressed.COMMAND, is_manual=True)
    )
    release.set()
    await channel.stopped(message)
    await channel.answered(asked)
    return {"channel": channel.handle}


async def several(channel: Channel) -> dict[str, WorkflowHandle]:
    """Two personas answer one message, the second after an empty answer."""
    luna = PlannedTurn(persona_id=2, persona_name="Luna", voice=Voice(name="Luna", is_main=False))
    channel.worker.personas.append(luna)
    channel.worker.plan = eligible
    calls = 0

    async def script(call: ModelCall) -> ModelResult:
        nonlocal calls
        calls += 1
        return call.result(status=StreamStatus.EMPTY_RESPONSE) if calls == 2 else call.result("Hi.")

    channel.worker.script = script
    message = await channel.post()
    await channel.answered_by(message, luna, generation=1)
    return {"turn": channel.turn(message, 2), "channel": channel.handle}


async def reported(channel: Channel) -> dict[str, WorkflowHandle]:
    """Somebody waits for what comes of it: answered, and dropped by a kill."""

    def task(number: str) -> ChatIncoming:
        return channel.message(
            "ask them",
            message_id=synthetic_message_id("task", number, channel.id),
            origin=Origin.CROSS_CHANNEL,
            answer_to="reminder/nobody",
            boomerang=Boomerang(channel_id="55", message_id="66", persona_id=1),
        )

    await channel.post(task("1"))
    await until(lambda: len(channel.discord.reports) == 1)
    channel.worker.script = shows_and_goes_on
    await channel.post()
    await until(lambda: channel.discord.texts == ["Hello.", "shown"])
    await channel.post(task("2"))
    await channel.kill()
    await until(lambda: len(channel.discord.reports) == 2)
    return {"channel": channel.handle}


async def reminded(channel: Channel) -> dict[str, WorkflowHandle]:
    """Twice: one that nobody answers, which becomes a plain notice, and one that is answered."""
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1, minutes=1)
    async with open_bench(channel.client, due) as bench:
        bench.reminders.repeats = bench.reminders.deliveries = 1
        bench.reminders.script = lambda key: (
            InvocationEnd.FAILED if key.due == due else InvocationEnd.ANSWERED
        )
        handle = await bench.start()
        await handle.result()
    return {"reminder": handle}


async def held_back(channel: Channel) -> dict[str, WorkflowHandle]:
    """Its maker may not write there, and then is gone for good."""
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3, minutes=1)
    async with open_bench(channel.client, due) as bench:
        bench.reminders.repeats, bench.reminders.in_server = 2, True
        bench.discord.on_check = lambda key: (
            ReminderStanding()
            if key.due == due
            else ReminderStanding(
                allowed=False,
                why="You may not.",
                is_over=key.due != due + timedelta(days=1),
                recurs=True,
                user_id="7",
                channel_id="42",
                purpose="water the plants",
            )
        )
        handle = await bench.start()
        await handle.result()
    return {"reminder": handle}


async def ended(channel: Channel, message: object) -> None:
    try:
        await channel.answered(message)  # pyright: ignore[reportArgumentType]
    except WorkflowFailureError:
        return


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        plain,
        streamed,
        tools,
        killed,
        killed_in_a_tool,
        retried,
        failed,
        continued,
        long,
        long_killed,
        tool_stage,
        said_stop,
        after_kill,
        interrupted,
        several,
        cut,
        asked_in_a_stop,
        reported,
        reminded,
        held_back,
    )
}


async def main(names: list[str]) -> None:
    extra: list[str] = []
    for key in SEARCH_ATTRIBUTES:
        extra += ["--search-attribute", f"{key.name}=Keyword"]
    environment = await WorkflowEnvironment.start_local(
        dev_server_existing_path=temporal_binary(),
        dev_server_extra_args=extra,
        data_converter=pydantic_data_converter,
    )
    async with environment:
        for name in names or list(SCENARIOS):
            async with open_channel(environment.client) as channel:
                for kind, handle in (await SCENARIOS[name](channel)).items():
                    history = await handle.fetch_history()
                    path = HERE / f"{name}.{kind}.json"
                    text = json.dumps(without_traces(history.to_json_dict()), indent=1)
                    path.write_text(_PROCESS.sub("recorder", text) + "\n")
                    print(f"{path.name}: {len(history.events)} events")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
