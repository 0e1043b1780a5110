"""A channel under whatever members, operators and dying workers do to it, in any order.

Hypothesis writes the story; after every step of it, and in the end, these hold: one turn at a time;
no message is answered twice; what was accepted is answered, or was dropped by a kill, a stop in
words or a newer follow-up; within its class everything keeps its order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from temporalio import activity
from temporalio.testing import WorkflowEnvironment

from tests.workflows.conftest import Channel, open_channel, until
from tests.workflows.fakes import ModelCall
from workflows.contracts.generation import ModelResult
from workflows.contracts.invocation import Addressed, ChatIncoming
from workflows.contracts.planning import PlanRequest, TurnPlan

USERS = ("7", "8", "9")

Step = tuple[str, str]

steps = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(USERS)),
    st.tuples(st.just("chat"), st.sampled_from(USERS)),
    st.tuples(st.just("please stop"), st.sampled_from(USERS)),
    st.tuples(st.just("repeat"), st.sampled_from(USERS)),
    st.tuples(st.just("kill"), st.just("")),
    st.tuples(st.just("finish"), st.just("")),
)

STEP_DEADLINE = 60
"""Seconds. After a worker has gone, a task that it took with it comes back after ten."""


@dataclass
class Story:
    """The channel, and what has happened to it so far."""

    channel: Channel
    posted: list[ChatIncoming] = field(default_factory=list)
    excused: set[str] = field(default_factory=set)
    """Messages that need no answer: dropped, or replaced by what their author wrote next."""
    open_calls: list[asyncio.Event] = field(default_factory=list)

    @property
    def built(self) -> list[ChatIncoming]:
        return [request.invocation for request in self.channel.worker.built]

    @property
    def answering(self) -> ChatIncoming | None:
        return self.built[-1] if self.channel.worker.running else None

    async def script(self, call: ModelCall) -> ModelResult:
        end = asyncio.Event()
        self.open_calls.append(end)
        try:
            while not end.is_set():
                activity.heartbeat()
                await asyncio.sleep(0.01)
        finally:
            self.open_calls.remove(end)
        return call.result("answer")

    async def play(self, step: Step) -> None:
        kind, user = step
        match kind:
            case "ask":
                await self.say(user, "Nova?", Addressed.MENTION)
            case "chat":
                await self.say(user, "and then", Addressed.NOT)
            case "please stop":
                await self.say(user, "please stop", Addressed.NOT)
            case "repeat":
                if self.posted:
                    await self.channel.post(self.posted[-1])
            case "kill":
                waiting = [m.message_id for m in self.posted]
                await self.channel.kill()
                self.excused.update(waiting)
                await self.idle()
            case _:
                for end in list(self.open_calls):
                    end.set()
                await self.quiet()
        self.check()

    async def say(self, user: str, text: str, addressed: Addressed) -> None:
        answering = self.answering
        owner = answering is not None and answering.author_id == user
        message = self.channel.message(text, author_id=user, addressed=addressed)
        immune = answering is not None and answering.is_stop_response
        if addressed is Addressed.NOT and (not owner or immune):
            self.excused.add(message.message_id)  # nobody was spoken to
        if owner and "stop" not in text:
            # It may take the place of what its author has written before and still waits.
            self.excused.update(m.message_id for m in self.posted if m.author_id == user)
        self.posted.append(message)
        await self.channel.post(message)
        if owner and not immune:  # what runs gives way, and this message comes next
            await until(lambda: self.built[-1].message_id == message.message_id, STEP_DEADLINE)
        await self.quiet()

    async def quiet(self) -> None:
        """Until the channel has taken in what was said: a model call runs, or nothing waits."""
        await until(lambda: self.channel.worker.running > 0 or self.settled(), STEP_DEADLINE)

    async def idle(self) -> None:
        """Until the channel itself says that nothing runs. What arrives while a stop is under way
        is ignored (C008), and only the channel knows how long that is."""
        async with asyncio.timeout(60):
            while self.posted:
                metadata = await self.channel.handle.query("__temporal_workflow_metadata")
                if "A turn is running" not in str(metadata):
                    return
                await asyncio.sleep(0.02)

    def settled(self) -> bool:
        seen = {m.message_id for m in self.built} | self.excused
        ended = len(self.channel.worker.finished) >= len(self.channel.worker.built)
        return ended and all(m.message_id in seen for m in self.posted)

    def start_worker(self) -> None:
        self.worker = self.channel.make_worker()
        self.running = asyncio.create_task(self.worker.run())

    async def stop_worker(self) -> None:
        await self.worker.shutdown()
        await self.running

    async def restart(self) -> None:
        """The process that runs the workflows goes, and another one comes."""
        await self.stop_worker()
        self.start_worker()
        await self.quiet()

    async def until_all_is_answered(self) -> None:
        async with asyncio.timeout(60):
            while not self.settled():
                for end in list(self.open_calls):
                    end.set()
                await asyncio.sleep(0.02)
        self.check()

    def check(self) -> None:
        worker = self.channel.worker
        assert worker.most_running <= 1, "one turn at a time"
        turns = [(m.message_id, m.retry_count) for m in self.built]
        assert len(turns) == len(set(turns)), "nothing is answered twice"
        ordinary = [m for m in self.built if not (m.is_manual or m.is_stop_response)]
        arrived = [m.message_id for m in self.posted]
        order = [arrived.index(m.message_id) for m in ordinary]
        assert order == sorted(order), "first in, first out within the class"


@asynccontextmanager
async def story(environment: WorkflowEnvironment) -> AsyncIterator[Story]:
    async with open_channel(environment.client, workflows=False) as channel:
        channel.continue_after_turns = 2
        tale = Story(channel)
        channel.worker.script = tale.script
        channel.worker.plan = eligible
        tale.start_worker()
        try:
            yield tale
        finally:
            await tale.stop_worker()


def eligible(request: PlanRequest, plan: TurnPlan) -> TurnPlan:
    stop = request.invocation.is_stop_response
    return plan.model_copy(update={"follow_up_eligible": not stop, "max_follow_ups": 1_000})


@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    tale=st.lists(steps, min_size=3, max_size=9),
    dies_after=st.integers(min_value=0, max_value=3),
)
async def test_a_channel_keeps_its_promises(
    environment: WorkflowEnvironment, tale: list[Step], dies_after: int
) -> None:
    """`dies_after`: the step after which the worker is replaced."""
    async with story(environment) as told:
        for number, step in enumerate(tale):
            await told.play(step)
            if number == dies_after:
                await told.restart()
        await told.until_all_is_answered()
        answered = {m.message_id for m in told.built}
        lost = [m for m in told.posted if m.message_id not in answered | told.excused]
        assert lost == [], "nothing accepted is lost"
