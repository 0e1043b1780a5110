"""Cancelling a reminder in Temporal: it is gone for good, at whatever moment it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import CancelledError
from temporalio.testing import WorkflowEnvironment

from activities.reminders.schedule import restore_reminders, start_reminder
from tests.workflows.conftest import until
from tests.workflows.test_reminder import (
    ANSWERED,
    FAILED,
    Bench,
    Whole,
    now,
    open_bench,
    whole,
)
from workflows.contracts.base import reminder_workflow_id
from workflows.contracts.invocation import InvocationEnd
from workflows.contracts.reminders import ReminderKey
from workflows.reminder import ReminderWorkflow

__all__ = ["whole"]

Handle = WorkflowHandle[ReminderWorkflow, None]
MONTH, A_MOMENT_AGO = timedelta(days=30), timedelta(seconds=-1)


@asynccontextmanager
async def bench_due_in(environment: WorkflowEnvironment, time: timedelta) -> AsyncIterator[Bench]:
    with environment.with_time_skipping_disabled():
        async with open_bench(environment.client, datetime.now(UTC) + time) as bench:
            yield bench


@pytest_asyncio.fixture(loop_scope="session")
async def overdue(environment: WorkflowEnvironment) -> AsyncIterator[Bench]:
    async with bench_due_in(environment, A_MOMENT_AGO) as bench:
        yield bench


async def ends_cancelled(handle: Handle) -> None:
    with pytest.raises(WorkflowFailureError) as failure:
        await asyncio.wait_for(handle.result(), 20)
    assert isinstance(failure.value.cause, CancelledError)


async def test_one_that_waits_for_its_time(environment: WorkflowEnvironment) -> None:
    async with bench_due_in(environment, MONTH) as bench:
        handle = await bench.start()
        await until(lambda: bench.reminders.loads == 1)
        await handle.cancel()
        await ends_cancelled(handle)
        assert bench.reminders.removed == 1
        assert bench.reminders.delivered == []


async def test_one_that_waits_to_hear_of_its_turn(overdue: Bench) -> None:
    overdue.reminders.script = lambda key: None
    handle = await overdue.start()
    async with asyncio.timeout(20):
        while not await overdue.timers():  # noqa: ASYNC110, only the server knows
            await asyncio.sleep(0.02)
    await handle.cancel()
    await ends_cancelled(handle)
    assert (overdue.reminders.removed, overdue.reminders.advanced) == (1, [])
    assert overdue.discord.messages == []


@pytest.mark.parametrize("end", [ANSWERED, FAILED, None])
async def test_one_that_is_being_delivered(overdue: Bench, end: InvocationEnd | None) -> None:
    """The activity ends well all the same, and the cancel is not lost with it."""
    cancelled = asyncio.Event()

    async def script(key: ReminderKey) -> InvocationEnd | None:
        await cancelled.wait()
        return end

    overdue.reminders.script = script
    handle = await overdue.start()
    await until(lambda: len(overdue.reminders.delivered) == 1)
    await handle.cancel()
    cancelled.set()
    await ends_cancelled(handle)
    assert (overdue.reminders.removed, overdue.reminders.advanced) == (1, [])
    assert len(overdue.reminders.delivered) == 1


async def test_one_whose_database_is_away(overdue: Bench) -> None:
    overdue.reminders.load_failures = 1_000
    handle = await overdue.start()
    await until(lambda: overdue.reminders.loads >= 1)
    await handle.cancel()
    await ends_cancelled(handle)
    assert overdue.reminders.removed == 1
    assert overdue.reminders.delivered == []


async def test_a_reminder_of_a_real_worker_does_not_come_back(whole: Whole) -> None:
    """Neither its row nor its workflow, when the next worker starts what has none."""
    reminder = await whole.add(now() + MONTH)
    other = await whole.add(now() + MONTH)
    for each in (reminder, other):
        await start_reminder(whole.client, each, queue=whole.queue)
        await whole.waits(each)
    handle = whole.client.get_workflow_handle_for(
        ReminderWorkflow.run, reminder_workflow_id(reminder.id)
    )
    await handle.cancel()
    await ends_cancelled(handle)
    assert await whole.storage.reminders.ids() == [other.id]
    assert await restore_reminders(whole.client, whole.storage, queue=whole.queue) == 0
    described = await handle.describe()
    assert described.status is WorkflowExecutionStatus.CANCELED
    assert not await whole.is_running(reminder)
    assert await whole.is_running(other)
    await whole.stop(other)
    assert whole.discord.texts == []


async def test_a_worker_that_leaves_removes_nothing(environment: WorkflowEnvironment) -> None:
    """A workflow that is dropped from a cache sees the same exception as one that is cancelled."""
    async with bench_due_in(environment, MONTH) as bench:
        handle = await bench.start()
        await until(lambda: bench.reminders.loads == 1)
        for count in (2, 3):  # each signal is a task, and each task ends in an eviction
            await handle.signal(ReminderWorkflow.changed)
            await until(lambda count=count: bench.reminders.loads == count)
        assert bench.reminders.removed == 0
    described = await handle.describe()
    assert described.status is WorkflowExecutionStatus.RUNNING
    history = await handle.fetch_history()
    assert not any(
        event.activity_task_scheduled_event_attributes.activity_type.name == "remove_reminder"
        for event in history.events
    )
    await handle.terminate()
