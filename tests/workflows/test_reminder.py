"""ReminderWorkflow: with its activities replaced, and then with the real ones, a real database and
a real channel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from inspect import isawaitable
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment, WorkflowEnvironment
from temporalio.worker import Worker

from activities.reminders import deliver
from activities.reminders.calendar import at_wall_time
from activities.reminders.deliver import RedeliverySettings, ReminderActivities, invocation
from activities.reminders.schedule import restore_reminders, start_reminder, tell_changes
from activities.reminders.standing import still_stands
from activities.reminders.timing import zone_named
from storage import Storage, open_storage
from storage.config import ToolsConfig
from storage.reminders import Reminder
from tests.workflows.conftest import until
from tests.workflows.fakes import FakeDiscord, FakeWorker, ModelCall
from tests.workflows.test_turn import failed
from workflows.channel import ChannelWorkflow
from workflows.contracts.base import (
    channel_workflow_id,
    discord_queue,
    reminder_workflow_id,
    synthetic_message_id,
)
from workflows.contracts.delivery import OutgoingKind, SendRequest
from workflows.contracts.generation import ModelResult, StreamStatus
from workflows.contracts.invocation import (
    ENQUEUE_SIGNAL,
    OUTCOME_SIGNAL,
    InvocationEnd,
    InvocationOutcome,
    Origin,
    Source,
)
from workflows.contracts.planning import PLAN_TURNS, PlanRequest, TurnPlan
from workflows.contracts.reminders import (
    ADVANCE_REMINDER,
    DELIVER_REMINDER,
    LOAD_REMINDER,
    REMINDER_CHANGED_SIGNAL,
    REMOVE_REMINDER,
    ReminderDelivery,
    ReminderInput,
    ReminderKey,
    ReminderStanding,
    ReminderState,
)
from workflows.contracts.tools import CREATE_TASK
from workflows.contracts.turn import LOCK_RULES, ChannelInput, ChannelState, QueueEntry
from workflows.queue import ChannelQueue
from workflows.reminder import ReminderWorkflow
from workflows.turn import TurnWorkflow

DAY = timedelta(days=1)
ANSWERED, STOPPED = InvocationEnd.ANSWERED, InvocationEnd.STOPPED
FAILED, DISCARDED = InvocationEnd.FAILED, InvocationEnd.DISCARDED

End = InvocationEnd | None
Script = Callable[[ReminderKey], "End | Awaitable[End]"]


@dataclass
class FakeReminders:
    """One reminder. `script` says how each delivery comes out; None: nothing is ever heard."""

    client: Client
    due: datetime | None
    repeats: int = 0
    recipient_id: str | None = "7"
    script: Script = lambda key: ANSWERED
    queue: str = ""
    in_server: bool = False
    """Whether the bot is asked for its maker's rights."""
    deliveries: int = 5
    loads: int = 0
    states: Iterator[ReminderState] = field(default_factory=lambda: iter(()))
    """What is loaded first; then what is so."""
    load_failures: int = 0
    delivered: list[ReminderKey] = field(default_factory=list)
    message_ids: list[str] = field(default_factory=list)
    advanced: list[datetime] = field(default_factory=list)
    removed: int = 0

    @activity.defn(name=LOAD_REMINDER.name)
    async def load(self, key: ReminderKey) -> ReminderState:
        self.loads += 1
        if self.load_failures:
            self.load_failures -= 1
            raise RuntimeError("the database is away")
        return next(self.states, self.state())

    def state(self) -> ReminderState:
        bot = self.queue if self.in_server else ""
        return ReminderState(due=self.due, deliveries=self.deliveries, application_id=bot)

    @activity.defn(name=DELIVER_REMINDER.name)
    async def deliver(self, key: ReminderKey) -> ReminderDelivery:
        if key.due is None or key.due != self.due:
            return ReminderDelivery()
        self.delivered.append(key)
        message_id = synthetic_message_id(
            str(key.reminder_id), key.due.isoformat(), str(key.attempt)
        )
        self.message_ids.append(message_id)
        found = self.script(key)
        end = await found if isawaitable(found) else found
        if end is not None:
            handle = self.client.get_workflow_handle(reminder_workflow_id(key.reminder_id))
            await handle.signal(OUTCOME_SIGNAL, InvocationOutcome(message_id=message_id, end=end))
        return ReminderDelivery(
            message_id=message_id,
            application_id=self.queue,
            channel_id="42",
            purpose="water the plants",
            recipient_id=self.recipient_id,
        )

    @activity.defn(name=ADVANCE_REMINDER.name)
    async def advance(self, key: ReminderKey) -> ReminderState:
        assert key.due is not None
        self.advanced.append(key.due)
        if key.due == self.due:
            self.due = key.due + DAY if len(self.advanced) <= self.repeats else None
        return self.state()

    @activity.defn(name=REMOVE_REMINDER.name)
    async def remove(self, key: ReminderKey) -> ReminderState:
        self.removed += 1
        if key.due in (None, self.due):
            self.due = None
        return self.state()


@dataclass
class Bench:
    client: Client
    reminders: FakeReminders
    discord: FakeDiscord
    queue: str
    id: int

    async def start(self, **more: Any) -> WorkflowHandle[ReminderWorkflow, None]:
        return await self.client.start_workflow(
            ReminderWorkflow.run,
            ReminderInput(reminder_id=self.id, **more),
            id=reminder_workflow_id(self.id),
            task_queue=self.queue,
        )

    async def timers(self) -> list[timedelta]:
        """How long it waited, each time, over all its history."""
        handle = self.client.get_workflow_handle(reminder_workflow_id(self.id))
        return [
            event.timer_started_event_attributes.start_to_fire_timeout.ToTimedelta()
            async for event in handle.fetch_history_events()
            if event.HasField("timer_started_event_attributes")
        ]


_ids = iter(range(1, 1_000_000))


@asynccontextmanager
async def open_bench(client: Client, due: datetime) -> AsyncIterator[Bench]:
    number = next(_ids)
    queue = f"reminders-{number}"
    reminders = FakeReminders(client, due, queue=queue)
    discord = FakeDiscord()
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[ReminderWorkflow],
        activities=[reminders.load, reminders.deliver, reminders.advance, reminders.remove],
        max_cached_workflows=0,  # every task replays all, so that determinism faults show
    )
    bot = Worker(client, task_queue=discord_queue(queue), activities=discord.activities())
    async with worker, bot:
        yield Bench(client, reminders, discord, queue, number)


@pytest_asyncio.fixture(loop_scope="session")
async def bench(environment: WorkflowEnvironment) -> AsyncIterator[Bench]:
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    async with open_bench(environment.client, due) as bench:
        yield bench


async def finished(bench: Bench, **more: Any) -> None:
    """Run it to its end; its own clock skips what it waits for."""
    handle = await bench.start(**more)
    await asyncio.wait_for(handle.result(), 30)


async def test_a_reminder_years_ahead_is_delivered_once(bench):
    due = bench.reminders.due = bench.reminders.due + timedelta(days=4 * 365)
    await finished(bench)
    assert [(key.due, key.attempt) for key in bench.reminders.delivered] == [(due, 0)]
    assert bench.reminders.advanced == [due]
    assert bench.discord.messages == []
    (wait,) = await bench.timers()
    assert wait > timedelta(days=4 * 365)


async def test_one_that_came_due_while_everything_was_down_is_delivered_at_once(bench):
    due = bench.reminders.due = bench.reminders.due - DAY
    await finished(bench)
    assert bench.reminders.advanced == [due]
    assert await bench.timers() == []


async def test_a_repeated_one_goes_on_from_when_it_was_due(bench):
    """C026: five deliveries, sixty seconds apart, do not move the next occurrence."""
    due = bench.reminders.due
    bench.reminders.repeats = 1
    bench.reminders.script = lambda key: FAILED if key.due == due and key.attempt < 4 else ANSWERED
    await finished(bench)
    keys = [(key.due, key.attempt) for key in bench.reminders.delivered]
    assert keys == [(due, attempt) for attempt in range(5)] + [(due + DAY, 0)]
    assert len(set(bench.reminders.message_ids)) == 6
    assert bench.reminders.advanced == [due, due + DAY]
    pauses = [wait for wait in await bench.timers() if wait < timedelta(minutes=30)]
    assert pauses == [timedelta(seconds=60)] * 4
    assert bench.discord.messages == []


@pytest.mark.parametrize("recipient_id", ["7", None])
async def test_after_the_last_failure_a_plain_notice(bench, recipient_id):
    """Behaviour 3: with a mention for a person's reminder, without one for the persona's own."""
    due = bench.reminders.due
    bench.reminders.deliveries = 2
    bench.reminders.recipient_id = recipient_id
    bench.reminders.script = lambda key: FAILED
    await finished(bench)
    assert len(bench.reminders.delivered) == 2
    assert bench.reminders.advanced == [due]
    (message,) = bench.discord.messages
    assert message.kind is OutgoingKind.NOTICE
    assert message.text == f"water the plants\n\nDue <t:{int(due.timestamp())}:f>."
    (request,) = bench.discord.requests
    assert request.outgoing[0].mention_user_id == recipient_id
    assert request.trigger_message_id not in bench.reminders.message_ids


async def test_a_notice_that_cannot_be_sent_holds_up_nothing(bench):
    bench.reminders.repeats = 1
    bench.reminders.deliveries = 1
    bench.reminders.script = lambda key: FAILED if len(bench.reminders.advanced) == 0 else ANSWERED

    async def gone(request: SendRequest) -> None:
        raise ApplicationError("no bot will ever send this", non_retryable=True)

    bench.discord.on_send = gone
    await finished(bench)
    assert len(bench.reminders.advanced) == 2
    assert bench.discord.messages == []


def refused(*, is_over: bool, recurs: bool = True) -> ReminderStanding:
    return ReminderStanding(
        allowed=False,
        why="You may not.",
        is_over=is_over,
        recurs=recurs,
        user_id="7",
        channel_id="42",
        purpose="water the plants",
    )


@pytest.mark.parametrize("recurs", [True, False])
async def test_of_a_maker_who_is_gone_for_good_nothing_is_said(bench, recurs):
    """They have left, or the server wants nobody to answer them: the reminder goes, and they are
    told in person, whatever its next occurrences would have been."""
    bench.reminders.in_server, bench.reminders.repeats = True, 3
    bench.discord.on_check = lambda key: refused(is_over=True, recurs=recurs)
    await finished(bench)
    assert bench.reminders.delivered == bench.reminders.advanced == []
    assert bench.reminders.removed == 1
    (request,) = bench.discord.requests
    assert request.direct_to == "7"
    (notice,) = request.outgoing
    assert notice.kind is OutgoingKind.NOTICE
    assert notice.mention_user_id is None
    assert notice.text.endswith("Not said in <#42>: You may not. It is deleted.")


@pytest.mark.parametrize("continue_after", [0, 1])
async def test_one_that_is_held_back_is_told_of_once_and_comes_back(bench, continue_after):
    """Its maker may not write there for three days, and may again on the fourth."""
    bench.reminders.in_server, bench.reminders.repeats = True, 4
    first = bench.reminders.due
    bench.discord.on_check = lambda key: (
        ReminderStanding() if key.due == first + 3 * DAY else refused(is_over=False)
    )
    await finished(bench, continue_after=continue_after)
    assert [key.due for key in bench.reminders.delivered] == [first + 3 * DAY]
    assert bench.reminders.advanced == [first + day * DAY for day in range(5)]
    told = [request.outgoing[0].text for request in bench.discord.requests]
    assert len(told) == 2  # and again when it is held back anew
    assert all(text.endswith("It is said again once you may.") for text in told)
    assert {request.direct_to for request in bench.discord.requests} == {"7"}


async def test_one_that_would_be_said_once_is_deleted_where_its_maker_may_not_write(bench):
    bench.reminders.in_server = True
    bench.discord.on_check = lambda key: refused(is_over=False, recurs=False)
    await finished(bench)
    assert bench.reminders.delivered == []
    assert len(bench.reminders.advanced) == 1
    assert [text.rpartition(". ")[2] for text in bench.discord.texts] == ["It is deleted."]


async def test_rights_that_are_lost_between_two_deliveries_count(bench):
    bench.reminders.in_server = True
    bench.reminders.script = lambda key: FAILED
    standings = iter([ReminderStanding(), refused(is_over=True)])
    bench.discord.on_check = lambda key: next(standings)
    await finished(bench)
    assert len(bench.reminders.delivered) == 1
    assert [request.direct_to for request in bench.discord.requests] == ["7"]


async def test_where_discord_does_not_say_the_delivery_goes_on(bench):
    bench.reminders.in_server = True

    def unknown(key: ReminderKey) -> ReminderStanding:
        raise RuntimeError("the server is not described yet")

    bench.discord.on_check = unknown
    await finished(bench)
    assert len(bench.reminders.delivered) == 1
    assert len(bench.discord.checked) == 6


async def test_an_edit_while_its_maker_is_judged_stands(bench):
    """What was refused is no longer there: nobody is told, and the new occurrence is judged."""
    bench.reminders.in_server = True
    due = bench.reminders.due

    def moved(key: ReminderKey) -> ReminderStanding:
        bench.reminders.due = due + DAY
        return refused(is_over=True) if key.due == due else ReminderStanding()

    bench.discord.on_check = moved
    await finished(bench)
    assert [key.due for key in bench.reminders.delivered] == [due + DAY]
    assert bench.discord.messages == []


@pytest.mark.parametrize(("end", "deliveries"), [(ANSWERED, 1), (STOPPED, 1), (DISCARDED, 2)])
async def test_what_counts_as_delivered(bench, end, deliveries):
    """Behaviour 3: done, or tried again later."""
    bench.reminders.script = lambda key: end if key.attempt == 0 else ANSWERED
    await finished(bench)
    assert len(bench.reminders.delivered) == deliveries
    assert bench.discord.messages == []


async def test_an_attempt_that_is_not_heard_of_is_asked_for_under_its_own_id(bench):
    outcomes = iter([None, None, FAILED, ANSWERED])
    bench.reminders.script = lambda key: next(outcomes)
    await finished(bench)
    assert [key.attempt for key in bench.reminders.delivered] == [0, 0, 0, 1]
    first = bench.reminders.message_ids[0]
    assert bench.reminders.message_ids[:3] == [first] * 3
    assert bench.reminders.message_ids[3] != first


async def test_silence_ends_in_a_plain_notice_too(bench):
    bench.reminders.script = lambda key: None
    bench.reminders.deliveries = 2
    await finished(bench)
    assert [key.attempt for key in bench.reminders.delivered] == [0] * 2
    assert len(bench.discord.messages) == 1


@pytest.mark.parametrize("moved", [None, DAY])
async def test_nothing_is_said_of_a_row_that_has_gone_or_moved(bench, moved):
    """Also when the signal that should have told of it was lost."""
    due = bench.reminders.due
    later = [due + moved] if moved else []
    bench.reminders.deliveries = 1

    def script(key: ReminderKey) -> InvocationEnd:
        if key.due != due:
            return ANSWERED
        bench.reminders.due = later[0] if later else None
        return DISCARDED

    bench.reminders.script = script
    await finished(bench)
    assert bench.discord.messages == []
    assert [key.due for key in bench.reminders.delivered] == [due, *later]


async def test_an_occurrence_that_comes_back_is_asked_for_under_a_new_id(bench):
    """An edit was taken back while the channel looked: the first message was not answered, and
    the channel drops whatever has its id."""
    due = bench.reminders.due
    states = iter([ReminderState(due=due), ReminderState(due=due + DAY), ReminderState(due=due)])

    async def script(key: ReminderKey) -> InvocationEnd:
        if key.attempt:
            return ANSWERED
        await change(bench, due)
        return DISCARDED

    bench.reminders.states = states
    bench.reminders.script = script
    await finished(bench)
    assert [(key.due, key.attempt) for key in bench.reminders.delivered] == [(due, 0), (due, 1)]
    assert len(set(bench.reminders.message_ids)) == 2


async def test_the_outcome_of_another_message_is_not_this_one_s(bench):
    handle = bench.client.get_workflow_handle(reminder_workflow_id(bench.id))

    async def ends_other(key: ReminderKey) -> None:
        await handle.signal(OUTCOME_SIGNAL, InvocationOutcome(message_id="1", end=ANSWERED))

    original = bench.reminders.script
    tasks: list[asyncio.Task[None]] = []

    def script(key: ReminderKey) -> InvocationEnd | None:
        if not tasks:
            tasks.append(asyncio.create_task(ends_other(key)))
            return None
        return original(key)

    bench.reminders.script = script
    await finished(bench)
    await asyncio.gather(*tasks)
    assert len(bench.reminders.delivered) == 2


async def test_a_database_that_is_away_for_a_while(bench):
    bench.reminders.load_failures = 2
    await finished(bench)
    assert bench.reminders.loads == 3
    assert len(bench.reminders.advanced) == 1


async def test_a_row_that_is_gone_ends_it(bench):
    bench.reminders.due = None
    await finished(bench)
    assert bench.reminders.delivered == []
    assert bench.reminders.advanced == []


async def test_it_continues_as_new_and_loses_nothing(bench):
    bench.reminders.repeats = 3
    await finished(bench, continue_after=1)
    assert len(bench.reminders.delivered) == 4
    described = await bench.client.get_workflow_handle(reminder_workflow_id(bench.id)).describe()
    assert described.history_length < 40


# What changes while it waits: on a clock that does not skip


@pytest_asyncio.fixture(loop_scope="session")
async def waiting(environment: WorkflowEnvironment) -> AsyncIterator[Bench]:
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)
    with environment.with_time_skipping_disabled():
        async with open_bench(environment.client, due) as bench:
            await bench.start()
            await until(lambda: bench.reminders.loads == 1)
            yield bench


async def change(bench: Bench, due: datetime | None) -> WorkflowHandle[Any, Any]:
    bench.reminders.due = due
    handle = bench.client.get_workflow_handle(reminder_workflow_id(bench.id))
    await handle.signal(REMINDER_CHANGED_SIGNAL)
    return handle


async def test_an_edit_to_an_earlier_time(waiting):
    earlier = datetime.now(UTC) - timedelta(seconds=1)
    handle = await change(waiting, earlier)
    await asyncio.wait_for(handle.result(), 30)
    assert [key.due for key in waiting.reminders.delivered] == [earlier]


async def test_an_edit_to_a_later_time_and_then_a_removal(waiting):
    await change(waiting, datetime.now(UTC) + timedelta(days=60))
    await until(lambda: waiting.reminders.loads == 2)
    handle = await change(waiting, None)
    await asyncio.wait_for(handle.result(), 30)
    assert waiting.reminders.delivered == []
    assert waiting.discord.messages == []


@pytest.mark.parametrize("later", [None, timedelta(days=1)])
async def test_an_edit_between_two_deliveries_ends_the_old_occurrence(waiting, later):
    bench = waiting
    bench.reminders.script = lambda key: FAILED
    due = datetime.now(UTC) - timedelta(seconds=1)
    handle = await change(bench, due)
    await until(lambda: len(bench.reminders.delivered) == 1)
    loads = bench.reminders.loads
    await change(bench, None if later is None else due + later)
    if later is None:
        await asyncio.wait_for(handle.result(), 30)
    else:
        await until(lambda: bench.reminders.loads > loads)
        await handle.terminate()
    assert len(bench.reminders.delivered) == 1
    assert bench.reminders.advanced == []
    assert bench.discord.messages == []


async def test_a_signal_does_not_hurry_the_next_delivery(waiting):
    """C026: told once more of what it knows, it still pauses between two deliveries."""
    bench = waiting
    bench.reminders.script = lambda key: FAILED
    due = datetime.now(UTC) - timedelta(seconds=1)
    handle = await change(bench, due)

    async def pauses() -> list[timedelta]:
        return [wait for wait in await bench.timers() if wait <= timedelta(seconds=60)]

    for count in (1, 2, 3):  # it pauses, and goes on pausing after each signal
        async with asyncio.timeout(20):
            while len(await pauses()) < count:  # noqa: ASYNC110, only the server knows
                await asyncio.sleep(0.02)
        if count < 3:
            await change(bench, due)
    assert len(bench.reminders.delivered) == 1
    assert min(await pauses()) > timedelta(seconds=30)
    await handle.terminate()


async def test_a_late_outcome_counts(waiting):
    """The channel answers long after it was asked; until then nothing is asked again (C027)."""
    bench = waiting
    bench.reminders.script = lambda key: None
    handle = await change(bench, datetime.now(UTC) - timedelta(seconds=1))
    await until(lambda: len(bench.reminders.delivered) == 1)
    assert bench.reminders.advanced == []
    outcome = InvocationOutcome(message_id=bench.reminders.message_ids[0], end=ANSWERED)
    await handle.signal(OUTCOME_SIGNAL, outcome)
    await asyncio.wait_for(handle.result(), 30)
    assert len(bench.reminders.advanced) == 1


# With the real activities


class Planning(FakeWorker):
    """Plans as the real one does for what is no longer wanted."""

    storage: Storage

    @activity.defn(name=PLAN_TURNS.name)
    async def plan_turns(self, request: PlanRequest) -> TurnPlan:
        if not await still_stands(self.storage, request.invocation):
            return TurnPlan()
        return await FakeWorker.plan_turns(self, request)


@dataclass
class Whole:
    """A worker with channels, turns and reminders, over a database of its own."""

    client: Client
    storage: Storage
    discord: FakeDiscord
    worker: FakeWorker
    queue: str

    async def add(self, due: datetime, hours: int = 0, zone: str = "UTC") -> Reminder:
        found = zone_named(zone)
        assert found is not None
        wall = due.astimezone(found).replace(tzinfo=None, microsecond=0)
        when = at_wall_time(wall, found)
        return await self.storage.reminders.add(
            server_key="1",
            guild_id="1",
            guild_name="The Server",
            application_id=self.queue,
            bot_user_id="900",
            channel_id=self.channel_id,
            channel_name="general",
            persona_id=1,
            user_id="7",
            user_name="Ada",
            recipient_id="8",
            purpose="water the plants",
            wall_time=when.wall_time,
            zone=zone,
            interval_hours=hours,
            due_at=when.due_at,
        )

    @property
    def channel_id(self) -> str:
        return f"77{self.queue.rpartition('-')[2]}"

    async def ended(self, reminder: Reminder) -> None:
        handle = self.client.get_workflow_handle(reminder_workflow_id(reminder.id))
        await asyncio.wait_for(handle.result(), 30)

    async def history_length(self, reminder: Reminder) -> int:
        handle = self.client.get_workflow_handle(reminder_workflow_id(reminder.id))
        return (await handle.describe()).history_length

    async def waits(self, reminder: Reminder) -> None:
        """Until its workflow has read its row, and waits."""
        await self._has(reminder, EventType.EVENT_TYPE_TIMER_STARTED, 1)

    async def delivered(self, reminder: Reminder) -> None:
        """Until it has been handed to its channel."""
        await self._has(reminder, EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, 3)

    async def _has(self, reminder: Reminder, kind: EventType.ValueType, count: int) -> None:
        handle = self.client.get_workflow_handle(reminder_workflow_id(reminder.id))
        async with asyncio.timeout(20):
            while True:
                events = [event async for event in handle.fetch_history_events()]
                if sum(event.event_type == kind for event in events) >= count:
                    return
                await asyncio.sleep(0.05)

    async def is_running(self, reminder: Reminder) -> bool:
        handle = self.client.get_workflow_handle(reminder_workflow_id(reminder.id))
        try:
            return (await handle.describe()).close_time is None
        except RPCError:
            return False

    async def stop(self, *reminders: Reminder) -> None:
        for reminder in reminders:
            handle = self.client.get_workflow_handle(reminder_workflow_id(reminder.id))
            await handle.terminate()


@pytest_asyncio.fixture(loop_scope="session")
async def whole(environment: WorkflowEnvironment, tmp_path: Path) -> AsyncIterator[Whole]:
    client = environment.client
    number = next(_ids)
    queue = f"whole-{number}"
    storage = await open_storage(f"sqlite:///{tmp_path / 'everturn.db'}")
    # ids that no other test's workflows have
    await storage.database.write(
        lambda connection: connection.exec_driver_sql(
            f"INSERT INTO sqlite_sequence (name, seq) VALUES ('reminders', {number}000000)"
        )
    )
    discord, fake = FakeDiscord(), Planning(client)
    fake.storage = storage
    settings = RedeliverySettings(delay_seconds=0.1)
    real = ReminderActivities(storage, client, settings, channel_queue=queue)
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[ChannelWorkflow, TurnWorkflow, ReminderWorkflow],
        activities=[
            *fake.activities(),
            real.load_reminder,
            real.deliver_reminder,
            real.advance_reminder,
            real.remove_reminder,
        ],
    )
    bot = Worker(client, task_queue=discord_queue(queue), activities=discord.activities())
    with environment.with_time_skipping_disabled():
        async with worker, bot:
            yield Whole(client, storage, discord, fake, queue)
            handle = client.get_workflow_handle(channel_workflow_id(f"77{number}"))
            with suppress(RPCError):  # where no channel was asked
                await handle.terminate()
    await storage.close()


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


async def test_a_due_reminder_becomes_a_turn_of_its_persona(whole):
    reminder = await whole.add(now() - timedelta(minutes=1))
    await start_reminder(whole.client, reminder, queue=whole.queue)
    await whole.ended(reminder)
    assert await whole.storage.reminders.get(reminder.id) is None
    assert whole.discord.texts == ["Hello."]
    (built,) = whole.worker.built
    incoming = built.invocation
    assert incoming.origin is Origin.REMINDER
    assert incoming.content == "water the plants"
    assert incoming.reminder is not None
    assert incoming.reminder.recipient_id == "8"
    assert incoming.selected_persona_id == 1
    assert incoming.disabled_tools == [CREATE_TASK]
    # a reminder is no message of the channel: nothing is replied to
    assert whole.discord.messages[0].reply_to is None


async def test_the_reminder_ends_after_its_turn_has_closed(whole):
    """C027: while the persona still speaks, the reminder is not over."""
    go_on = asyncio.Event()

    async def slow(call: ModelCall) -> ModelResult:
        await go_on.wait()
        return call.result("Hello.")

    whole.worker.script = slow
    reminder = await whole.add(now() - timedelta(minutes=1))
    await start_reminder(whole.client, reminder, queue=whole.queue)
    await until(lambda: len(whole.worker.model_calls) == 1)
    assert await whole.is_running(reminder)
    assert await whole.storage.reminders.get(reminder.id) is not None
    go_on.set()
    await whole.ended(reminder)
    assert [each.status for each in whole.worker.finished] == [StreamStatus.COMPLETED]


async def test_a_reminder_that_fails_is_told_of_once(whole):
    """Five turns that fail, and one notice in the end: the plain one."""

    async def fails(call: ModelCall) -> ModelResult:
        return failed(call)

    whole.worker.script = fails
    reminder = await whole.add(now() - timedelta(minutes=1))
    await start_reminder(whole.client, reminder, queue=whole.queue)
    await whole.ended(reminder)
    assert [each.status for each in whole.worker.finished] == [StreamStatus.ERROR] * 5
    assert [message.title for message in whole.discord.messages] == ["Reminder"]
    assert whole.discord.texts[0].startswith("water the plants")


async def test_a_reminder_that_missed_many_times_is_delivered_once(whole):
    """The overdue one is delivered; those after it that nobody was there for are passed over."""
    due = now() - timedelta(hours=73, minutes=30)
    reminder = await whole.add(due, hours=24, zone="Europe/Berlin")
    await start_reminder(whole.client, reminder, queue=whole.queue)
    await until(lambda: len(whole.worker.finished) == 1)
    async with asyncio.timeout(30):
        while (  # noqa: ASYNC110, the database tells nobody
            moved := await whole.storage.reminders.get(reminder.id)
        ) == reminder:
            await asyncio.sleep(0.02)
    assert moved is not None
    assert now() < moved.due_at <= now() + timedelta(hours=25)
    assert moved.wall_time.time() == reminder.wall_time.time()
    assert whole.discord.texts == ["Hello."]
    await whole.stop(reminder)


async def test_every_row_without_a_workflow_gets_one(whole):
    """A worker starts after a process died between row and workflow, or on another cluster."""
    rows = [await whole.add(now() + timedelta(days=1 + day)) for day in range(20)]
    await start_reminder(whole.client, rows[0], queue=whole.queue)
    first = whole.client.get_workflow_handle(reminder_workflow_id(rows[0].id))
    run_id = (await first.describe()).run_id
    for _ in range(2):
        assert await restore_reminders(whole.client, whole.storage, whole.queue) == 0
    assert all([await whole.is_running(row) for row in rows])
    assert (await first.describe()).run_id == run_id
    await whole.stop(*rows)
    assert await restore_reminders(whole.client, whole.storage, whole.queue) == 0
    assert await whole.is_running(rows[0])
    await whole.stop(*rows)


async def test_a_change_reaches_a_workflow_that_runs_and_one_that_does_not(whole):
    reminder = await whole.add(now() + timedelta(days=1))
    other = await whole.add(now() + timedelta(days=1))
    await start_reminder(whole.client, reminder, queue=whole.queue)
    for each in (reminder, other):
        changed = await whole.storage.reminders.replace(each.id, due_at=now())
        assert changed is not None
        await start_reminder(whole.client, changed, changed=True, queue=whole.queue)
        await whole.ended(each)
    assert await whole.storage.reminders.ids() == []


async def told_all(storage: Storage) -> None:
    for each in await storage.reminders.untold():
        await storage.reminders.told(each)


async def test_an_edit_whose_maker_died_is_told_by_a_worker(whole):
    """The bot is killed between the changed row and the signal: moved from next year to now."""
    reminder = await whole.add(now() + timedelta(days=300))
    await start_reminder(whole.client, reminder, queue=whole.queue)
    await whole.waits(reminder)
    await told_all(whole.storage)
    await whole.storage.reminders.replace(reminder.id, due_at=now())
    assert await tell_changes(whole.client, whole.storage, whole.queue) == 0
    await whole.ended(reminder)
    assert whole.discord.texts == ["Hello."]


async def test_a_worker_does_not_wake_those_that_know(whole):
    """It looks every minute; what is in order costs no workflow anything."""
    rows = [await whole.add(now() + timedelta(days=300)) for _ in range(3)]
    assert await tell_changes(whole.client, whole.storage, whole.queue) == 0
    for row in rows:
        await whole.waits(row)
    lengths = [await whole.history_length(row) for row in rows]
    for _ in range(3):
        assert await tell_changes(whole.client, whole.storage, whole.queue) == 0
        assert await restore_reminders(whole.client, whole.storage, whole.queue) == 0
    assert [await whole.history_length(row) for row in rows] == lengths
    await whole.stop(*rows)


async def test_a_change_that_cannot_be_told_stays_to_be_told(whole):
    class Down:
        async def start_workflow(self, *args: Any, **options: Any) -> None:
            raise RPCError("unavailable", RPCStatusCode.UNAVAILABLE, b"")

    reminder = await whole.add(now() + timedelta(days=300))
    assert await tell_changes(cast(Client, Down()), whole.storage, whole.queue) == 1
    assert await tell_changes(whole.client, whole.storage, whole.queue) == 0
    assert await whole.is_running(reminder)
    assert await whole.storage.reminders.untold() == []
    await whole.stop(reminder)


async def test_a_reminder_that_is_removed_while_it_waits_in_its_channel_is_not_said(whole):
    """The channel is busy with the very turn in which the user has it taken away."""
    go_on = asyncio.Event()

    async def removes(call: ModelCall) -> ModelResult:
        await go_on.wait()
        return call.result("I have taken it away.")

    whole.worker.script = removes
    reminder = await whole.add(now() - timedelta(minutes=1))
    asked = invocation(reminder, 0).model_copy(
        update={"message_id": "1", "answer_to": None, "reminder": None, "origin": Origin.MESSAGE}
    )
    await whole.client.start_workflow(
        ChannelWorkflow.run,
        ChannelInput(channel_id=asked.channel_id, rules=LOCK_RULES),
        id=channel_workflow_id(asked.channel_id),
        task_queue=whole.queue,
        start_signal=ENQUEUE_SIGNAL,
        start_signal_args=[asked],
    )
    await until(lambda: len(whole.worker.model_calls) == 1)
    await start_reminder(whole.client, reminder, queue=whole.queue)
    await whole.delivered(reminder)
    assert await whole.storage.reminders.remove(reminder.id)  # and nobody could tell
    go_on.set()
    await whole.ended(reminder)
    assert whole.discord.texts == ["I have taken it away."]
    assert [message.kind for message in whole.discord.messages] == [OutgoingKind.TEXT]


# The activities alone


def in_activity(work: Callable[..., Awaitable[Any]], key: ReminderKey) -> Awaitable[Any]:
    return ActivityEnvironment().run(work, key)


async def test_an_edit_in_the_meantime_stands(whole):
    """Neither delivered nor moved on is an occurrence that has been edited away."""
    reminder = await whole.add(now() - timedelta(hours=1), hours=24)
    activities = ReminderActivities(whole.storage, whole.client, channel_queue=whole.queue)
    later = now() + timedelta(days=3)
    await whole.storage.reminders.replace(reminder.id, due_at=later)
    old = ReminderKey(reminder_id=reminder.id, due=reminder.due_at)
    assert await in_activity(activities.deliver_reminder, old) == ReminderDelivery()
    assert (await in_activity(activities.advance_reminder, old)).due == later
    assert await in_activity(activities.deliver_reminder, ReminderKey(reminder_id=0)) == (
        ReminderDelivery()
    )


@pytest.mark.parametrize("hours", [0, 24])
async def test_where_tasks_are_switched_off_nothing_is_delivered(whole, hours):
    """The occurrence is passed over: it does not come late when they are switched on again."""
    reminder = await whole.add(now() - timedelta(minutes=1), hours=hours)
    key = ReminderKey(reminder_id=reminder.id, due=reminder.due_at)
    waiting = invocation(reminder, 0)
    assert await still_stands(whole.storage, waiting)
    await whole.storage.configs.change_server(
        reminder.server_key,
        lambda config: config.model_copy(update={"tools": ToolsConfig(tasks=False)}),
    )
    assert not await still_stands(whole.storage, waiting)
    activities = ReminderActivities(whole.storage, whole.client, channel_queue=whole.queue)
    for _ in range(2):
        assert await in_activity(activities.deliver_reminder, key) == ReminderDelivery()
        state = await in_activity(activities.load_reminder, key)
        assert state.due == (reminder.due_at + DAY if hours else None)
    with pytest.raises(RPCError):  # its channel has heard of nothing
        await whole.client.get_workflow_handle(channel_workflow_id(reminder.channel_id)).describe()


async def test_the_operator_says_how_often_and_how_far_apart(whole):
    reminder = await whole.add(now())
    settings = RedeliverySettings(deliveries=2, delay_seconds=1.5)
    activities = ReminderActivities(whole.storage, whole.client, settings)
    state = await in_activity(activities.load_reminder, ReminderKey(reminder_id=reminder.id))
    assert (state.deliveries, state.retry_delay_seconds) == (2, 1.5)
    assert (ReminderState().deliveries, ReminderState().retry_delay_seconds) == (5, 60)
    assert RedeliverySettings() == RedeliverySettings(5, 60)


async def test_moving_on_twice_moves_on_once(whole, monkeypatch):
    """C026: from 10:00, though it is 10:04."""
    due = datetime(2026, 3, 28, 9, tzinfo=UTC)  # 10:00 in Berlin, the day before the change
    monkeypatch.setattr(deliver, "utc_now", lambda: due + timedelta(minutes=4))
    reminder = await whole.add(due, hours=24, zone="Europe/Berlin")
    activities = ReminderActivities(whole.storage, whole.client, channel_queue=whole.queue)
    key = ReminderKey(reminder_id=reminder.id, due=due)
    for _ in range(2):
        state = await in_activity(activities.advance_reminder, key)
        assert state.due == datetime(2026, 3, 29, 8, tzinfo=UTC)


def a_reminder(**fields: Any) -> Reminder:
    given = {
        "id": 5,
        "server_key": "dm7",
        "application_id": "900",
        "bot_user_id": "900",
        "channel_id": "42",
        "is_dm": True,
        "persona_id": 3,
        "user_id": "7",
        "user_name": "Ada",
        "recipient_id": "7",
        "purpose": "water the plants",
        "wall_time": datetime(2026, 1, 1, 10),
        "zone": "UTC",
        "due_at": datetime(2026, 1, 1, 10, tzinfo=UTC),
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return Reminder.model_validate({**given, **fields})


def test_in_a_direct_message_the_human_is_the_author():
    """C003: the settings are those of the person, and never the bot's."""
    incoming = invocation(a_reminder(), 0)
    assert (incoming.author_id, incoming.is_dm, incoming.guild_id) == ("7", True, None)


def test_a_queued_reminder_keeps_all_that_it_carries():
    """C010: also through continue-as-new of its channel."""
    incoming = invocation(a_reminder(), 2)
    queue = ChannelQueue(ChannelState())
    for message in (invocation(a_reminder(id=4), 0), incoming):
        assert queue.append(QueueEntry(invocation=message, source=Source.MANUAL))
    state = ChannelState.model_validate(json.loads(queue.state().model_dump_json()))
    replayed = ChannelQueue(state)
    replayed.take()
    found = replayed.take().invocation
    assert found == incoming
    assert found.disabled_tools == [CREATE_TASK]
    assert found.answer_to == reminder_workflow_id(5)


def test_each_attempt_at_each_occurrence_has_its_own_message_id():
    first = a_reminder()
    later = a_reminder(due_at=first.due_at + DAY)
    ids = [invocation(each, attempt).message_id for each in (first, later) for attempt in range(5)]
    assert len(set(ids)) == 10
    assert ids[0] == invocation(a_reminder(), 0).message_id
    assert all(identifier.isdigit() and int(identifier) < 2**62 for identifier in ids)


async def test_one_that_was_held_back_and_goes_for_good_is_told_twice(bench):
    bench.reminders.in_server, bench.reminders.repeats = True, 3
    first = bench.reminders.due
    bench.discord.on_check = lambda key: refused(is_over=key.due != first)
    await finished(bench)
    assert bench.reminders.removed == 1
    told = [request.outgoing[0].text.rpartition(". ")[2] for request in bench.discord.requests]
    assert told == ["It is said again once you may.", "It is deleted."]
