"""The whole bot against the loopback Discord and a real Temporal dev server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.common import RetryPolicy
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from bot.config import BotConfig
from bot.errors import BotStartError
from bot.run import ToolActivities, no_tools, run_bot
from storage import Storage
from tests.bot.interactions import COMMAND, command, interaction
from tests.bot.loopback import (
    APPLICATION_ID,
    CHANNEL_ID,
    GUILD_ID,
    ME,
    TRIGGER_ID,
    LoopbackDiscord,
    guild,
    message,
    user,
)
from tests.bot.waiting import until
from worker.dev_server import temporal_binary
from workflows.contracts.attributes import SEARCH_ATTRIBUTES
from workflows.contracts.base import channel_workflow_id, discord_queue, turn_workflow_id
from workflows.contracts.delivery import SEND_SEGMENTS, Outgoing, SendRequest, SendResult
from workflows.contracts.discord_port import DiscordPort
from workflows.contracts.invocation import ENQUEUE_SIGNAL, TURN_WORKFLOW
from workflows.contracts.tools import RUN_TOOL, ToolContext, ToolRequest, ToolResult


@workflow.defn
class Deliver:
    """One batch, as a turn sends it."""

    @workflow.run
    async def run(self, request: SendRequest) -> SendResult:
        return await workflow.execute_activity(
            SEND_SEGMENTS.name,
            request,
            result_type=SendResult,
            task_queue=discord_queue(APPLICATION_ID),
            schedule_to_close_timeout=timedelta(minutes=2),
            heartbeat_timeout=timedelta(seconds=5),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=100)),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )


@workflow.defn
class CallTool:
    """One call of a tool that needs Discord, as a turn makes it."""

    @workflow.run
    async def run(self, request: ToolRequest) -> ToolResult:
        return await workflow.execute_activity(
            RUN_TOOL.name,
            request,
            result_type=ToolResult,
            task_queue=discord_queue(APPLICATION_ID),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )


class Personas:
    """None at first: the worker that brings them starts beside the bot."""

    def __init__(self) -> None:
        self.asked = 0

    async def everywhere(self) -> dict[str | None, list[Any]]:
        self.asked += 1
        nova = SimpleNamespace(id=1, name="Nova", is_main=True, triggers=[])
        return {None: [nova]} if self.asked > 2 else {}


class Configs:
    async def servers(self, server_keys: Collection[str]) -> dict[str, Any]:
        return {}

    async def users_since(self, moment: datetime | None) -> tuple[dict[str, Any], None]:
        return {}, None


class Marks:
    """In memory."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}

    async def seen(self) -> dict[str, str]:
        return dict(self.notes)

    async def note(self, newest: Mapping[str, str]) -> None:
        self.notes.update(newest)


class Stored:
    def __init__(self) -> None:
        self.personas = Personas()
        self.configs = Configs()
        self.marks = Marks()
        self.short_term = None
        self.short_term = None


class Running:
    """A bot that runs, and the switch to stop it."""

    def __init__(
        self, config: BotConfig, temporal: Client, tool_activities: ToolActivities = no_tools
    ) -> None:
        self.stop = asyncio.Event()
        self.ready = 0
        self.stored = Stored()
        self.task = asyncio.create_task(
            run_bot(
                config,
                temporal,
                cast(Storage, self.stored),
                self.stop,
                self._on_ready,
                tool_activities,
            )
        )

    def _on_ready(self) -> None:
        self.ready += 1

    async def end(self) -> None:
        self.stop.set()
        async with asyncio.timeout(15):
            await self.task


@pytest.fixture
async def temporal() -> AsyncIterator[Client]:
    environment = await WorkflowEnvironment.start_local(
        dev_server_existing_path=temporal_binary(),
        data_converter=pydantic_data_converter,
        search_attributes=list(SEARCH_ATTRIBUTES),
    )
    async with environment:
        yield environment.client


async def enqueued(handle: WorkflowHandle[Any, Any]) -> list[str]:
    """The ids of the messages that were signalled."""
    try:
        history = await handle.fetch_history()
    except RPCError:
        return []
    signals = [
        event.workflow_execution_signaled_event_attributes
        for event in history.events
        if event.HasField("workflow_execution_signaled_event_attributes")
    ]
    return [
        json.loads(signal.input.payloads[0].data)["message_id"]
        for signal in signals
        if signal.signal_name == ENQUEUE_SIGNAL
    ]


async def test_from_login_to_stop(
    discord_api: LoopbackDiscord, config: BotConfig, temporal: Client
) -> None:
    """D23, D27, D32, D74, T25: an addressed message is a signal, an unaddressed one nothing; a
    batch is sent; a stop waits for the message in flight."""
    discord_api.guilds = [guild()]
    bot = Running(config, temporal)
    await until(lambda: bot.ready, seconds=15)
    assert bot.stored.personas.asked > 2, "ready only when a persona can be called by name"
    await until(lambda: discord_api.commands)

    for message_id, mentions in (("11", []), ("12", [ME]), ("12", [ME])):
        heard = message(f"10000000000000000{message_id}", "hi", guild_id=GUILD_ID)
        await discord_api.emit("MESSAGE_CREATE", {**heard, "mentions": mentions})
    for _ in range(2):  # members wait between commands as they do by default (behaviour 17)
        data = command("personal show")
        await discord_api.emit("INTERACTION_CREATE", interaction(COMMAND, data))
    await until(lambda: any("again in" in str(each.body) for each in discord_api.requests))
    channel = temporal.get_workflow_handle(channel_workflow_id(CHANNEL_ID))
    async with asyncio.timeout(10):
        while len(await enqueued(channel)) < 2:  # noqa: ASYNC110 (the history is the server's)
            await asyncio.sleep(0.05)
    assert len(await enqueued(channel)) == 2

    discord_api.hold.clear()
    discord_api.hold_content = "two"
    async with Worker(
        temporal,
        task_queue="deliver",
        workflows=[Deliver],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        request = SendRequest(
            turn_id="t1",
            channel_id=CHANNEL_ID,
            trigger_message_id=TRIGGER_ID,
            persona_id=1,
            outgoing=[Outgoing(ordinal=0, text="one"), Outgoing(ordinal=1, text="two")],
        )
        delivery = await temporal.start_workflow(
            Deliver.run, request, id="deliver", task_queue="deliver"
        )
        await until(lambda: len(discord_api.sent()) == 2, seconds=15)
        bot.stop.set()
        await asyncio.sleep(0.1)
        assert not bot.task.done()
        discord_api.hold.set()
        result = await delivery.result()
        await bot.end()
    assert discord_api.contents() == ["one", "two"]
    assert len(result.sent) == 2
    assert bot.ready == 1


async def test_words_to_a_turn_that_was_begun_before(
    discord_api: LoopbackDiscord,
    config: BotConfig,
    temporal: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behaviour 2.4: a bot that has just started hears a stop of an answer that tells it nothing,
    and after it has asked; but nobody's words once the turn is over."""
    monkeypatch.setattr("bot.running_turns.LOOK_EVERY", 0.1)
    monkeypatch.setattr("bot.running_turns.LISTED_WITHIN", timedelta(seconds=30))
    monkeypatch.setattr("bot.active_turns.GRACE", 0.0)
    turn_id = turn_workflow_id(CHANNEL_ID, TRIGGER_ID, 1)
    turn = await temporal.start_workflow(TURN_WORKFLOW, id=turn_id, task_queue="nobody's")
    async with asyncio.timeout(10):
        while not [each async for each in temporal.list_workflows()]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    discord_api.guilds = [guild()]
    bot = Running(config, temporal)
    await until(lambda: bot.ready, seconds=15)
    channel = temporal.get_workflow_handle(channel_workflow_id(CHANNEL_ID))
    said = 0

    async def is_heard(content: str, **more: Any) -> bool:
        """Whether it is signalled before what somebody else says to Nova after it."""
        nonlocal said
        said += 2
        first, second = (f"10000000000000001{said + number:02}" for number in range(2))
        heard = message(first, content, guild_id=GUILD_ID)
        await discord_api.emit("MESSAGE_CREATE", {**heard, **more})
        heard = message(second, "nova?", guild_id=GUILD_ID, author=user("71"))
        await discord_api.emit("MESSAGE_CREATE", heard)
        async with asyncio.timeout(10):
            while second not in (ids := await enqueued(channel)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return first in ids

    try:
        assert await is_heard("please stop")
        await turn.terminate()
        async with asyncio.timeout(10):
            while await is_heard("good morning"):
                pass
        assert await is_heard("hello", mentions=[ME])
        assert await is_heard("please stop")
    finally:
        await bot.end()


async def test_tools_run_on_the_discord_queue_and_end_before_it(
    discord_api: LoopbackDiscord, config: BotConfig, temporal: Client
) -> None:
    """Behaviour 16, T25: the bot runs what needs Discord, and a stop waits for it."""
    discord_api.guilds = [guild()]
    begun, go_on = asyncio.Event(), asyncio.Event()

    def tool_activities(port: DiscordPort) -> list[Any]:
        @activity.defn(name=RUN_TOOL.name)
        async def run_tool(request: ToolRequest) -> ToolResult:
            (channel,) = await port.find_channels(GUILD_ID, "general")
            begun.set()
            await go_on.wait()
            return ToolResult(call_id=request.call_id, name=request.name, success=True).model_copy(
                update={"content": channel.id}
            )

        return [run_tool]

    bot = Running(config, temporal, tool_activities)
    await until(lambda: bot.ready, seconds=15)
    async with Worker(
        temporal,
        task_queue="calls",
        workflows=[CallTool],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        context = ToolContext(turn_id="t1")
        request = ToolRequest(call_id="1", name="probe", arguments="{}", context=context)
        call = await temporal.start_workflow(CallTool.run, request, id="call", task_queue="calls")
        await asyncio.wait_for(begun.wait(), 15)
        bot.stop.set()
        await asyncio.sleep(0.1)
        assert not bot.task.done()
        go_on.set()
        result = await call.result()
        await bot.end()
    assert (result.success, result.content) == (True, CHANNEL_ID)


async def test_a_refusal_for_good_ends_the_run(
    discord_api: LoopbackDiscord, config: BotConfig, temporal: Client
) -> None:
    """D38, D39."""
    discord_api.close_code = 4014
    bot = Running(config, temporal)
    with pytest.raises(BotStartError):
        await asyncio.wait_for(bot.task, 15)
    assert bot.ready == 0


async def test_a_stop_ends_a_login_that_waits(
    discord_api: LoopbackDiscord, config: BotConfig
) -> None:
    """D32."""
    discord_api.fail("GET", "users", 503, times=1000)
    bot = Running(config, cast(Client, None))
    await until(lambda: discord_api.requests)
    await bot.end()
    assert bot.ready == 0
