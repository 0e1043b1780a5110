"""Who asked for a turn hears how it came out, after it has closed (behaviour 3 and 12)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tests.workflows.conftest import Channel, open_channel, until
from tests.workflows.fakes import ModelCall, script_of
from workflows.contracts.base import synthetic_message_id
from workflows.contracts.generation import ModelResult, StreamStatus
from workflows.contracts.invocation import (
    OUTCOME_SIGNAL,
    Boomerang,
    ChatIncoming,
    InvocationEnd,
    InvocationOutcome,
    Origin,
    ReminderDue,
    Source,
)


@workflow.defn(name="Waits")
class Waits:
    """Stands for a reminder that waits for its turn."""

    def __init__(self) -> None:
        self._outcome: InvocationOutcome | None = None

    @workflow.run
    async def run(self) -> InvocationOutcome:
        await workflow.wait_condition(lambda: self._outcome is not None)
        assert self._outcome is not None
        return self._outcome

    @workflow.signal(name=OUTCOME_SIGNAL)
    def outcome(self, outcome: InvocationOutcome) -> None:
        self._outcome = outcome


@asynccontextmanager
async def waiting(
    client: Client, name: str
) -> AsyncIterator[WorkflowHandle[Waits, InvocationOutcome]]:
    queue = f"waits-{name}"
    async with Worker(client, task_queue=queue, workflows=[Waits]):
        yield await client.start_workflow(Waits.run, id=queue, task_queue=queue)


def due(channel: Channel, answer_to: str) -> ChatIncoming:
    return channel.message(
        "stretch",
        message_id=synthetic_message_id("reminder", "1", channel.id),
        origin=Origin.REMINDER,
        reminder=ReminderDue(reminder_id=1, recipient_id="7"),
        answer_to=answer_to,
    )


def away(channel: Channel, number: str = "1") -> ChatIncoming:
    return channel.message(
        "ask them",
        message_id=synthetic_message_id("task", number, channel.id),
        origin=Origin.CROSS_CHANNEL,
        boomerang=Boomerang(channel_id="55", message_id="66", persona_id=1),
    )


async def shows_and_waits(call: ModelCall) -> ModelResult:
    await call.say("shown")
    return await call.until_cancelled()


async def test_a_reminder_hears_that_it_was_answered(channel: Channel) -> None:
    async with waiting(channel.client, channel.id) as reminder:
        message = await channel.post(due(channel, reminder.id))
        outcome = await reminder.result()
        assert outcome == InvocationOutcome(
            message_id=message.message_id, end=InvocationEnd.ANSWERED
        )
        (request,) = channel.worker.built
        assert (request.invocation.origin, request.is_queued) == (Origin.REMINDER, False)


async def test_a_queued_reminder_hears_of_it_only_after_its_turn(channel: Channel) -> None:
    """C027: not at admission. C010: it waits with all that belongs to it."""
    channel.worker.script = shows_and_waits
    async with waiting(channel.client, channel.id) as reminder:
        first = await channel.post()
        await until(lambda: channel.discord.texts == ["shown"])
        message = due(channel, reminder.id)
        await channel.post(message)
        await until(lambda: len(channel.worker.built) == 1)
        assert (await reminder.describe()).status is not None
        channel.worker.script = script_of(lambda call: call.result("Stretch!"))
        await channel.turn(first).cancel()
        outcome = await reminder.result()
        assert outcome.end is InvocationEnd.ANSWERED
        assert channel.worker.built[-1].invocation == message
        assert channel.discord.texts == ["shown", "Stretch!"]


async def test_a_turn_that_fails_is_told_as_failed(channel: Channel) -> None:
    channel.worker.script = script_of(lambda call: call.result(status=StreamStatus.ERROR))
    async with waiting(channel.client, channel.id) as reminder:
        await channel.post(due(channel, reminder.id))
        assert (await reminder.result()).end is InvocationEnd.FAILED


async def test_a_cleared_queue_tells_those_who_wait(channel: Channel) -> None:
    """`/kill` drops a queued reminder: it hears of it, and tries again by itself."""
    channel.worker.script = shows_and_waits
    async with waiting(channel.client, channel.id) as reminder:
        await channel.post()
        await until(lambda: channel.discord.texts == ["shown"])
        await channel.post(due(channel, reminder.id))
        await channel.post(away(channel))
        assert (await channel.kill()).cleared == 2
        assert (await reminder.result()).end is InvocationEnd.DISCARDED
        await until(lambda: len(channel.discord.reports) == 1)
        assert channel.discord.reports[0].end is InvocationEnd.DISCARDED


async def test_nobody_to_answer_is_told_as_discarded(channel: Channel) -> None:
    channel.worker.personas = []
    async with waiting(channel.client, channel.id) as reminder:
        await channel.post(due(channel, reminder.id))
        assert (await reminder.result()).end is InvocationEnd.DISCARDED


async def test_a_reminder_that_is_gone_holds_nothing_up(channel: Channel) -> None:
    await channel.post(due(channel, "reminder/nobody"))
    second = await channel.post()
    await channel.answered(second)
    assert len(channel.worker.finished) == 2


async def test_a_task_from_another_channel_is_reported_once(channel: Channel) -> None:
    """C115: after the turn here has closed."""
    message = await channel.post(away(channel))
    await channel.post(message)  # a repeated signal
    await until(lambda: len(channel.discord.reports) == 1)
    (report,) = channel.discord.reports
    assert (report.end, report.task, report.channel_id) == (
        InvocationEnd.ANSWERED,
        "ask them",
        channel.id,
    )
    assert report.boomerang.channel_id == "55"
    await channel.answered(await channel.post())
    assert len(channel.discord.reports) == 1


async def test_those_who_wait_survive_continue_as_new(environment: WorkflowEnvironment) -> None:
    """What was dropped before a continue-as-new is reported after it."""
    async with open_channel(environment.client) as channel:
        channel.continue_after_turns = 1
        channel.worker.script = shows_and_waits
        await channel.post()
        await until(lambda: channel.discord.texts == ["shown"])
        for number in range(5):
            await channel.post(away(channel, str(number)))
        await channel.kill()
        await until(lambda: len(channel.discord.reports) == 5)


async def test_what_has_no_message_is_not_replied_to(channel: Channel) -> None:
    """A queued task from elsewhere has no message here that an answer could reply to."""
    go_on = asyncio.Event()

    async def script(call: ModelCall) -> ModelResult:
        await go_on.wait()
        return call.result("said")

    channel.worker.script = script
    await channel.post()
    second = await channel.post(away(channel))
    go_on.set()
    await channel.answered(second)
    assert [request.reply_to for request in channel.discord.requests] == [None, None]
    turn = await channel.turn(second).describe()
    assert Source.MANUAL.value in str(turn.typed_search_attributes)
