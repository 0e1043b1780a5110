"""The model call on a real server: signals of a real client, and a cancel by heartbeat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import cast

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import RetryPolicy
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.generation.call_model import GenerationActivities
from activities.generation.segments import TemporalSegmentSignaller
from storage import Storage
from tests.generation.conftest import Desk, until
from tests.support.model_server import Hold, Stall, Text
from worker.dev_server import temporal_binary
from workflows.contracts.generation import (
    CALL_MODEL,
    SEGMENTS_SIGNAL,
    ModelRequest,
    ModelResult,
    SegmentBatch,
    StreamStatus,
)

QUEUE = "generation-test"


@workflow.defn(name="SmallTurn")
class SmallTurn:
    """What a turn does with one model call, and nothing else."""

    def __init__(self) -> None:
        self._batches: list[SegmentBatch] = []

    @workflow.run
    async def run(self, request: ModelRequest) -> ModelResult:
        return await workflow.execute_activity(
            CALL_MODEL.name,
            request,
            result_type=ModelResult,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=timedelta(seconds=5),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            retry_policy=RetryPolicy(maximum_attempts=1),
        )

    @workflow.signal(name=SEGMENTS_SIGNAL)
    def segments(self, batch: SegmentBatch) -> None:
        self._batches.append(batch)

    @workflow.query
    def said(self) -> list[str]:
        return [segment.text for batch in self._batches for segment in batch.segments]


@asynccontextmanager
async def serving(desk: Desk) -> AsyncIterator[Client]:
    environment = await WorkflowEnvironment.start_local(
        data_converter=pydantic_data_converter,
        dev_server_existing_path=temporal_binary(),
    )
    async with environment:
        activities = GenerationActivities(
            cast(Storage, desk.storage),
            desk.models,
            desk.registry,
            TemporalSegmentSignaller(environment.client),
        )
        async with Worker(
            environment.client,
            task_queue=QUEUE,
            workflows=[SmallTurn],
            activities=[activities.call_model],
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_heartbeat_throttle_interval=timedelta(seconds=0.5),
        ):
            yield environment.client


async def test_signals_result_cancel_and_a_turn_that_is_gone(desk: Desk) -> None:
    """T04: one server for all of it, since starting one takes longer than the rest."""
    async with serving(desk) as client:
        await _a_whole_answer(desk, client)
        await _cancelled_mid_stream(desk, client)
        await _gone_mid_stream(desk, client)
        await _half_a_character(desk, client)


async def _start(desk: Desk, client: Client, name: str) -> WorkflowHandle[SmallTurn, ModelResult]:
    request = await desk.request("Ada: hi", call_index=len(desk.server.requests))
    return await client.start_workflow(SmallTurn.run, request, id=name, task_queue=QUEUE)


async def _said(turn: WorkflowHandle[SmallTurn, ModelResult], count: int) -> list[str]:
    async with asyncio.timeout(5):
        while len(said := await turn.query(SmallTurn.said)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return said


async def _a_whole_answer(desk: Desk, client: Client) -> None:
    end = asyncio.Event()
    desk.server.script(Text("One.\n\nTwo.\n\n"), Text("Three."), Hold(end))
    turn = await _start(desk, client, "whole")
    said = await _said(turn, 2)
    end.set()
    result = await turn.result()
    assert result.status is StreamStatus.COMPLETED
    assert result.segments_signalled == len(said)
    assert " ".join([*said, *(s.text for s in result.tail)]).split() == ["One.", "Two.", "Three."]


async def _cancelled_mid_stream(desk: Desk, client: Client) -> None:
    desk.server.script(Text("One.\n\nTwo.\n\nThr"), Stall())
    turn = await _start(desk, client, "cancelled")
    await _said(turn, 2)
    cancelled_at = time.monotonic()
    await turn.cancel()
    closed_at = await desk.server.requests[1].wait_closed_early()
    assert closed_at - cancelled_at < 2
    with pytest.raises(WorkflowFailureError):
        await turn.result()
    assert " ".join(await _said(turn, 3)).split() == ["One.", "Two.", "Thr"]
    assert desk.storage.usage.rows["turn/1/2/3", 1, 1].status == "stopped_by_user"


async def _gone_mid_stream(desk: Desk, client: Client) -> None:
    """A terminated turn: signalling ends, then the heartbeat says so and the call ends."""
    gone = asyncio.Event()
    desk.server.script(Text("One.\n\nTwo."), Hold(gone), Text("\n\nThree.\n\nFour."), Stall())
    turn = await _start(desk, client, "gone")
    await _said(turn, 1)
    await turn.terminate()
    gone.set()
    await desk.server.requests[2].wait_closed_early()
    await until(lambda: ("turn/1/2/3", 2, 1) in desk.storage.usage.rows)
    assert desk.storage.usage.rows["turn/1/2/3", 2, 1].status == "interrupted"


async def _half_a_character(desk: Desk, client: Client) -> None:
    """Through the real converter: in a signal, and in the result."""
    end = asyncio.Event()
    desk.server.script(Text("A \ud83e"), Text("\udd9e.\n\nB \ud83e"), Hold(end), Text("."))
    turn = await _start(desk, client, "half")
    said = await _said(turn, 1)
    end.set()
    result = await turn.result()
    assert result.status is StreamStatus.COMPLETED
    assert " ".join([*said, *(s.text for s in result.tail)]).split() == [
        "A",
        "\U0001f99e.",
        "B",
        "\ufffd.",
    ]
