"""ChannelWorkflow: the lock, the queue, and what survives."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from tests.workflows.conftest import Channel, open_channel, until
from tests.workflows.fakes import ModelCall, shows_and_goes_on
from workflows.contracts.delivery import OutgoingKind
from workflows.contracts.generation import ModelResult, StreamStatus
from workflows.contracts.invocation import KILL_SIGNAL, KillRequest
from workflows.contracts.planning import PlannedTurn
from workflows.queue import ENVELOPE, MAX_BYTES, MAX_WAITING


async def test_a_message_gets_an_answer(channel: Channel) -> None:
    message = await channel.post()
    result = await channel.answered(message)
    assert (result.status, result.messages_sent) == (StreamStatus.COMPLETED, 1)
    assert channel.discord.texts == ["Hello."]
    assert channel.discord.messages[0].reply_to is None
    assert channel.worker.finished[0].status is StreamStatus.COMPLETED


async def test_turns_never_overlap_and_follow_arrival(channel: Channel) -> None:
    """C028: one turn at a time, replies in the order of arrival; a queued one is a reply."""

    async def script(call: ModelCall) -> ModelResult:
        await call.say("first part")
        return call.result(f"for {call.request.turn_id.split('/')[2]}")

    channel.worker.script = script
    posted = [await channel.post() for _ in range(5)]
    await channel.finished(5)
    assert channel.worker.most_running == 1
    assert channel.worker.triggers == [message.message_id for message in posted]
    expected: list[str] = []
    for message in posted:
        expected += ["first part", f"for {message.message_id}"]
    assert channel.discord.texts == expected
    replies = [message.reply_to for message in channel.discord.messages]
    queued = [message.message_id for message in posted[1:]]
    assert [reply for reply in replies if reply] == queued


async def test_a_repeated_event_is_answered_once(channel: Channel) -> None:
    """D23: the message's id is the idempotency key of its turn."""
    message = await channel.post()
    await channel.post(message)
    await channel.finished(1)
    await channel.post(message)
    second = await channel.post()
    await channel.answered(second)
    assert len(channel.discord.messages) == 2


async def test_a_repeat_after_the_channel_closed_is_answered_once(channel: Channel) -> None:
    """D23, for a repeat that comes when the channel has forgotten the message. What its plan took
    is given back."""
    message = await channel.post()
    await channel.answered(message)
    await channel.handle.terminate("as if it had closed when idle")
    await channel.post(message)
    second = await channel.post()
    await channel.answered(second)
    assert channel.discord.texts == ["Hello.", "Hello."]
    assert channel.worker.triggers == [message.message_id, second.message_id]
    assert [plan.invocation.message_id for plan in channel.worker.given_up] == [message.message_id]


async def test_continue_as_new_loses_nothing(environment: WorkflowEnvironment) -> None:
    """T10: 100 messages, continued as new every 5 turns: each answered once, in order."""
    async with open_channel(environment.client) as channel:
        channel.continue_after_turns = 5
        posted = [channel.message() for _ in range(100)]
        for message in posted:
            await channel.post(message)
        await channel.finished(100, seconds=100)
        assert channel.worker.triggers == [message.message_id for message in posted]
        assert len(channel.discord.messages) == 100
        assert channel.worker.most_running == 1
        query = f"WorkflowId = 'channel/{channel.id}' AND ExecutionStatus = 'ContinuedAsNew'"
        async with asyncio.timeout(10):
            while (await channel.client.count_workflows(query)).count < 10:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def test_an_idle_channel_closes_and_opens_again(channel: Channel) -> None:
    channel.idle_seconds = 0.05
    for number in range(10):
        message = await channel.post()
        await channel.answered(message)
        await asyncio.sleep(0.03 if number % 2 else 0)
    assert len(channel.discord.messages) == 10
    await channel.handle.result()
    described = await channel.handle.describe()
    assert described.status is WorkflowExecutionStatus.COMPLETED


async def test_kill_clears_the_queue_and_the_next_message_is_answered(channel: Channel) -> None:
    """C032 for the queue: `/kill` stops the turn, drops what waits, and frees the channel."""

    async def script(call: ModelCall) -> ModelResult:
        if len(channel.worker.model_calls) > 1:
            return call.result("after")
        await call.say("shown")
        return await call.until_cancelled()

    channel.worker.script = script
    first = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    for _ in range(3):
        await channel.post()
    outcome = await channel.kill()
    assert (outcome.stopped, outcome.cleared) == (True, 3)
    await channel.stopped(first)
    assert channel.worker.cancelled == ["call_model"]
    after = await channel.post()
    await channel.answered(after)
    assert channel.discord.texts == ["shown", "after"]


async def test_kill_with_nothing_to_stop(channel: Channel) -> None:
    message = await channel.post()
    await channel.answered(message)
    async with asyncio.timeout(10):
        while (await channel.kill()).stopped:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await channel.kill()).nothing_to_stop


async def test_a_turn_that_fails_does_not_hold_the_channel(channel: Channel) -> None:
    """A bug (here: an answer of the bot that the outbox cannot read) fails its turn, and no
    more."""
    channel.discord.alien_ordinal = True
    first = await channel.post()
    with pytest.raises(WorkflowFailureError):
        await channel.answered(first)
    assert channel.worker.finished[0].error == "a bug: KeyError"
    channel.discord.alien_ordinal = False
    second = await channel.post()
    await channel.answered(second)
    assert channel.discord.texts[-1] == "Hello."
    assert [plan.invocation.message_id for plan in channel.worker.given_up] == [first.message_id]


async def test_a_flood_is_bounded_and_said_once(environment: WorkflowEnvironment) -> None:
    """D30: what does not fit into the queue is refused with a word, and a full queue of the
    longest messages still continues as new."""
    release = asyncio.Event()

    async def script(call: ModelCall) -> ModelResult:
        await release.wait()
        return call.result("Hello.")

    async with open_channel(environment.client) as channel:
        channel.worker.script = script
        channel.continue_after_turns = 1
        await channel.post()
        await until(lambda: channel.worker.running == 1)
        long = "😀" * 4000
        for _ in range(MAX_WAITING + 3):
            await channel.post(channel.message(long))
        release.set()
        await channel.finished(4)
        kinds = [message.kind for message in channel.discord.messages]
        assert kinds.count(OutgoingKind.NOTICE) == 1
        longest = MAX_BYTES // (len(long.encode()) + ENVELOPE)
        assert (await channel.kill()).cleared > longest - 10, "they went along, all of them"


async def test_planning_waits_for_the_database(channel: Channel) -> None:
    """Nothing accepted is lost: the message is planned again until the database is back."""
    channel.worker.plan_failures = 3
    message = await channel.post()
    await channel.answered(message)
    assert channel.discord.texts == ["Hello."]


async def test_a_message_that_is_never_planned_is_told_so(
    environment: WorkflowEnvironment,
) -> None:
    async with open_channel(environment.client) as channel:
        channel.worker.plan_failures = 1000
        await channel.post()
        await until(lambda: len(channel.discord.messages) == 1, seconds=60)
        assert channel.discord.messages[0].kind is OutgoingKind.NOTICE
        channel.worker.plan_failures = 0
        second = await channel.post()
        await channel.answered(second)
        assert channel.discord.texts[-1] == "Hello."


async def test_kill_is_heard_while_planning_waits(
    channel: Channel, environment: WorkflowEnvironment
) -> None:
    channel.worker.plan_failures = 1_000_000
    with environment.with_time_skipping_disabled():
        await channel.post()
    await until(lambda: channel.worker.plan_failures < 1_000_000)
    async with asyncio.timeout(5):
        assert (await channel.kill()).stopped
    channel.worker.plan_failures = 0
    second = await channel.post()
    await channel.answered(second)
    assert channel.discord.texts == ["Hello."]


async def test_a_kill_by_signal_stops_too(channel: Channel) -> None:
    """What the bot sends when no worker answers: the server keeps a signal."""
    channel.worker.script = shows_and_goes_on
    message = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    await channel.handle.signal(KILL_SIGNAL, KillRequest(user_id="7"))
    await channel.stopped(message)


async def test_a_cancelled_channel_runs_no_further_persona(channel: Channel) -> None:
    channel.worker.personas.append(PlannedTurn(persona_id=2, persona_name="Luna"))
    channel.worker.script = shows_and_goes_on
    message = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    await channel.handle.cancel()
    await channel.stopped(message)
    with pytest.raises(WorkflowFailureError):
        await channel.handle.result()
    assert len(channel.worker.model_calls) == 1


async def test_a_cancelled_channel_stops_its_turn(channel: Channel) -> None:
    """An operator's cancel of the channel itself ends it, and its turn as stopped."""
    channel.worker.script = shows_and_goes_on
    message = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    await channel.handle.cancel()
    await channel.stopped(message)
    async with asyncio.timeout(10):
        running = WorkflowExecutionStatus.RUNNING
        while (await channel.handle.describe()).status is running:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert (await channel.handle.describe()).status is WorkflowExecutionStatus.CANCELED
