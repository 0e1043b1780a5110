"""One dev server that skips time, and for each test a worker with the boundary replaced."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, Worker

from tests.workflows.fakes import FakeDiscord, FakeWorker
from worker.dev_server import DYNAMIC_CONFIG, temporal_binary
from workflows.channel import ChannelWorkflow
from workflows.contracts.attributes import SEARCH_ATTRIBUTES
from workflows.contracts.base import channel_workflow_id, discord_queue, turn_workflow_id
from workflows.contracts.generation import StreamStatus
from workflows.contracts.invocation import (
    ENQUEUE_SIGNAL,
    KILL_UPDATE,
    ChatIncoming,
    KillOutcome,
    KillRequest,
)
from workflows.contracts.planning import PlannedTurn
from workflows.contracts.turn import LOCK_RULES, ChannelInput, TurnResult
from workflows.turn import TurnWorkflow

CACHED = 100
"""More than any test runs at once."""

_snowflakes = itertools.count(1_300_000_000_000_000_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All workflow tests share the server, and so its event loop."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and isinstance(
            item, pytest_asyncio.plugin.PytestAsyncioFunction
        ):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def environment() -> AsyncIterator[WorkflowEnvironment]:
    extra = ["--dynamic-config-value", "frontend.WorkflowTimeSkippingEnabled=true"]
    for name, value in DYNAMIC_CONFIG.items():
        extra += ["--dynamic-config-value", f"{name}={value}"]
    for key in SEARCH_ATTRIBUTES:
        extra += ["--search-attribute", f"{key.name}=Keyword"]
    environment = await WorkflowEnvironment.start_time_skipping_v2(
        dev_server_existing_path=temporal_binary(),
        dev_server_extra_args=extra,
        data_converter=pydantic_data_converter,
    )
    async with environment:
        yield environment


@dataclass
class Channel:
    """A channel of its own, driven as the bot drives one."""

    client: Client
    discord: FakeDiscord
    worker: FakeWorker
    application_id: str
    queue: str
    id: str
    continue_after_turns: int = 0
    idle_seconds: float = 3600

    def message(self, text: str = "Nova, hello", **fields: object) -> ChatIncoming:
        return ChatIncoming.model_validate(
            {
                "application_id": self.application_id,
                "channel_id": self.id,
                "channel_name": "general",
                "message_id": str(next(_snowflakes)),
                "author_id": "7",
                "author_name": "Ada",
                "guild_id": "1",
                "content": text,
                **fields,
            }
        )

    async def post(self, message: ChatIncoming | None = None) -> ChatIncoming:
        message = message or self.message()
        await self.client.start_workflow(
            "ChannelWorkflow",
            ChannelInput(
                channel_id=self.id,
                rules=LOCK_RULES,
                continue_after_turns=self.continue_after_turns,
                idle_seconds=self.idle_seconds,
            ),
            id=channel_workflow_id(self.id),
            task_queue=self.queue,
            start_signal=ENQUEUE_SIGNAL,
            start_signal_args=[message],
        )
        return message

    def make_worker(self) -> Worker:
        """One worker at a time: a second one for the same queue is refused.

        Its cache is larger than what it runs. In a smaller one a channel and its turn drive each
        other out, also in the middle of a local activity: the SDK then never answers that task,
        and it is repeated after its timeout, again and again.
        """
        return Worker(
            self.client,
            task_queue=self.queue,
            workflows=[ChannelWorkflow, TurnWorkflow],
            activities=self.worker.activities(),
            max_cached_workflows=CACHED,
            max_heartbeat_throttle_interval=timedelta(milliseconds=200),
            default_heartbeat_throttle_interval=timedelta(milliseconds=100),
        )

    @property
    def handle(self) -> WorkflowHandle[ChannelWorkflow, None]:
        return self.client.get_workflow_handle(channel_workflow_id(self.id))

    def turn(
        self, message: ChatIncoming, persona_id: int = 1
    ) -> WorkflowHandle[TurnWorkflow, TurnResult]:
        return self.client.get_workflow_handle(
            turn_workflow_id(self.id, message.message_id, persona_id), result_type=TurnResult
        )

    async def answered(self, message: ChatIncoming) -> TurnResult:
        """The result of the message's turn, once it has started and ended."""
        return await self._result(self.turn(message))

    async def _result(self, turn: WorkflowHandle[TurnWorkflow, TurnResult]) -> TurnResult:
        async with asyncio.timeout(90):
            while True:
                try:
                    return await turn.result()
                except RPCError as error:
                    if error.status is not RPCStatusCode.NOT_FOUND:
                        raise
                await asyncio.sleep(0.01)

    async def answered_by(
        self, message: ChatIncoming, persona: PlannedTurn, generation: int = 0
    ) -> TurnResult:
        """The same, of one persona's turn, or of one try of it."""
        turn_id = turn_workflow_id(self.id, message.message_id, persona.persona_id, generation)
        turn: WorkflowHandle[TurnWorkflow, TurnResult] = self.client.get_workflow_handle(
            turn_id, result_type=TurnResult
        )
        return await self._result(turn)

    async def stopped(self, message: ChatIncoming) -> None:
        """Wait until the message's turn has ended, and hold it to having ended as stopped."""
        with pytest.raises(WorkflowFailureError):
            await self.answered(message)
        described = await self.turn(message).describe()
        assert described.status is WorkflowExecutionStatus.CANCELED
        assert self.worker.finished[-1].status is StreamStatus.STOPPED_BY_USER

    async def idle(self) -> None:
        """Until the channel itself has heard that its turn has ended."""
        async with asyncio.timeout(90):
            while True:
                metadata = await self.handle.query("__temporal_workflow_metadata")
                if "A turn is running" not in str(metadata):
                    return
                await asyncio.sleep(0.01)

    async def kill(self, command_id: str = "") -> KillOutcome:
        """`/kill`. A channel that has closed, as it does when idle, has nothing to stop."""
        try:
            return await self.handle.execute_update(
                KILL_UPDATE,
                KillRequest(user_id="7", command_id=command_id),
                result_type=KillOutcome,
            )
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return KillOutcome()

    async def replay(self) -> None:
        """Run the histories of the channel and its turns again: they must take the same path."""
        replayer = Replayer(
            workflows=[ChannelWorkflow, TurnWorkflow], data_converter=pydantic_data_converter
        )
        waiting: list[tuple[str, str | None]] = [(channel_workflow_id(self.id), None)]
        while waiting:
            workflow_id, run_id = waiting.pop()
            handle = self.client.get_workflow_handle(workflow_id, run_id=run_id)
            try:
                history = await handle.fetch_history()
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                continue  # never started
            await replayer.replay_workflow(history)
            before = history.events[0].workflow_execution_started_event_attributes
            if before.continued_execution_run_id:
                waiting.append((workflow_id, before.continued_execution_run_id))
            for event in history.events:
                turn = event.child_workflow_execution_started_event_attributes.workflow_execution
                if turn.workflow_id:
                    waiting.append((turn.workflow_id, turn.run_id))

    async def finished(self, count: int, seconds: float = 30) -> None:
        await until(lambda: len(self.worker.finished) >= count, seconds)


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition, with a deadline."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110, what is waited for is elsewhere
            await asyncio.sleep(0.01)


@pytest_asyncio.fixture(loop_scope="session")
async def channel(environment: WorkflowEnvironment) -> AsyncIterator[Channel]:
    async with open_channel(environment.client) as channel:
        yield channel


@asynccontextmanager
async def open_channel(client: Client, *, workflows: bool = True) -> AsyncIterator[Channel]:
    """A worker and a bot of their own on queues of their own. In the end all that ran is replayed,
    so that code which is not deterministic fails. Without `workflows` the test brings the worker.
    """
    number = str(next(_snowflakes))
    discord, worker = FakeDiscord(), FakeWorker(client)
    queue = f"turns-{number}"
    bot = Worker(
        client,
        task_queue=discord_queue(number),
        activities=discord.activities(),
        max_heartbeat_throttle_interval=timedelta(milliseconds=200),
        default_heartbeat_throttle_interval=timedelta(milliseconds=100),
    )
    channel = Channel(client, discord, worker, number, queue, number)
    async with channel.make_worker() if workflows else nullcontext(), bot:
        yield channel
    await channel.replay()
