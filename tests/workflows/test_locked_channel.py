"""What becomes of a message that finds its channel locked (behaviour 2.2 to 2.4, 4, 5.2, 6.9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio import activity
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError

from tests.workflows.conftest import Channel, until
from tests.workflows.fakes import ModelCall, ModelScript, script_of, tool_success
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.delivery import SendRequest
from workflows.contracts.generation import FunctionCall, ModelResult, StreamStatus
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import Addressed, ChatIncoming, Origin, QuotaSource
from workflows.contracts.planning import (
    PlannedTurn,
    PlanReason,
    PlanRefusal,
    PlanRequest,
    TurnPlan,
)
from workflows.contracts.tools import ToolRequest, ToolResult
from workflows.disposition import Disposition, Lock, dispose
from workflows.natural_stop import asks_to_stop

NOVA, LUNA, ORION = (
    PlannedTurn(persona_id=1, persona_name="Nova"),
    PlannedTurn(persona_id=2, persona_name="Luna", voice=Voice(name="Luna", is_main=False)),
    PlannedTurn(persona_id=3, persona_name="Orion", voice=Voice(name="Orion", is_main=False)),
)


def incoming(text: str = "hi", **fields: object) -> ChatIncoming:
    return ChatIncoming.model_validate(
        {
            "application_id": "1",
            "channel_id": "2",
            "message_id": "3",
            "author_id": "7",
            "author_name": "Ada",
            "content": text,
            "addressed": Addressed.NOT,
            **fields,
        }
    )


BUSY = Lock(owner_id="7", persona_id=1, follow_up_eligible=True)


# The tree, row by row


@pytest.mark.parametrize(
    ("message", "lock", "expected"),
    [
        (incoming(), None, Disposition.NON_TRIGGER_PRE_LOCK),
        (incoming(addressed=Addressed.MENTION), None, Disposition.ACCEPTED),
        (incoming(is_manual=True), None, Disposition.ACCEPTED),
        # C008: a real stop is pending
        (
            incoming(addressed=Addressed.MENTION),
            Lock(stop_pending=True),
            Disposition.STOP_REQUESTED,
        ),
        # natural stop: its own answer's owner, in words
        (incoming("please stop"), BUSY, Disposition.NATURAL_STOP),
        (incoming("please stop", author_id="8"), BUSY, Disposition.NON_TRIGGER),
        (incoming("please stop", is_manual=True), BUSY, Disposition.QUEUED),
        (incoming("please stop", author_persona_id=2), BUSY, Disposition.NON_TRIGGER),
        (incoming("stop"), Lock(owner_id="7", is_stop_response=True), Disposition.NON_TRIGGER),
        # follow-up
        (incoming("and another thing"), BUSY, Disposition.FOLLOW_UP),
        (incoming("and another thing", author_id="8"), BUSY, Disposition.NON_TRIGGER),
        (incoming(addressed=Addressed.MENTION, mentions_us=True), BUSY, Disposition.FOLLOW_UP),
        (incoming("x"), Lock(owner_id="7", persona_id=1), Disposition.NON_TRIGGER),
        # a sticker or a file alone
        (incoming(" ", addressed=Addressed.ALWAYS_REPLY), BUSY, Disposition.QUEUED),
        # C011, C020: a command, a direct message
        (incoming(addressed=Addressed.COMMAND, is_manual=True), BUSY, Disposition.QUEUED),
        (incoming(addressed=Addressed.DIRECT_MESSAGE, is_manual=True), BUSY, Disposition.QUEUED),
        # C016: another persona's word
        (
            incoming(addressed=Addressed.TRIGGER_WORD, persona_ids=[2], persona_named=True),
            BUSY,
            Disposition.QUEUED,
        ),
        (incoming(addressed=Addressed.REPLY, reply_persona_id=2), BUSY, Disposition.QUEUED),
        (
            incoming(addressed=Addressed.MENTION, mentions_us=True),
            Lock(owner_id="7", persona_id=2, is_main=False, follow_up_eligible=True),
            Disposition.QUEUED,
        ),
        # C009: a message of a counting channel
        (incoming(addressed=Addressed.AUTOCHAT, author_id="8"), BUSY, Disposition.NON_TRIGGER),
        (incoming(addressed=Addressed.ALWAYS_REPLY, author_id="8"), BUSY, Disposition.QUEUED),
        (incoming(addressed=Addressed.MENTION, author_id="8"), BUSY, Disposition.QUEUED),
    ],
)
def test_the_decision_tree(message: ChatIncoming, lock: Lock | None, expected: Disposition) -> None:
    assert dispose(message, lock) is expected


def test_a_fourth_follow_up_takes_the_ordinary_way() -> None:
    """C015."""
    lock = Lock(owner_id="7", persona_id=1, follow_up_eligible=True, follow_ups=3)
    named = incoming(addressed=Addressed.MENTION)
    assert dispose(named, lock) is Disposition.QUEUED
    assert dispose(incoming(), lock) is Disposition.NON_TRIGGER


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("stop", True),
        ("Please STOP!", True),
        ("ok, never   mind", True),
        ("that’s enough", True),
        ("もうやめて", True),
        ("ｓｔｏｐ", True),
        ("unstoppable", False),
        ("the bus stopped", False),
        ("a waiter came", False),
        ("chilly today", False),
        ("", False),
    ],
)
def test_words_that_ask_to_stop(text: str, stops: bool) -> None:
    assert asks_to_stop(text) is stops
    assert asks_to_stop(text, as_shown=True) is stops


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("_stop_", True),
        ("__please__ _knock it off_!", True),
        ("**stop** ~~now~~ ||wait||", True),
        ("<:stop:123> stop", True),
        ("see https://example.org/stop, and wait", True),
        ("[stop](https://example.org)", True),
        ("<:stop:123>", False),
        ("<a:Stop:123> </config wait:45>", False),
        ("https://example.org/stop", False),
        ("<HTTPS://example.org/please/wait?pause#halt>", False),
        ("asyncio.wait_for and quit_it", False),
    ],
)
def test_a_stop_is_read_as_discord_shows_it(text: str, stops: bool) -> None:
    assert asks_to_stop(text, as_shown=True) is stops


@given(st.text(max_size=200) | st.text(st.sampled_from("<a:/_>stop 1https://"), max_size=200))
def test_asking_never_fails(text: str) -> None:
    assert asks_to_stop(text) in (True, False)
    assert asks_to_stop(text, as_shown=True) in (True, False)


# In a channel


def eligible(request: PlanRequest, plan: TurnPlan) -> TurnPlan:
    manual = request.invocation.addressed is Addressed.COMMAND
    return plan.model_copy(update={"follow_up_eligible": not manual})


async def streams(call: ModelCall) -> ModelResult:
    await call.say("shown")
    return await call.until_cancelled()


def dies_after(release: asyncio.Event) -> ModelScript:
    """Streams, and when it is stopped takes until `release` to end."""

    async def script(call: ModelCall) -> ModelResult:
        await call.say("shown")
        try:
            return await call.until_cancelled()
        except asyncio.CancelledError:
            await release.wait()
            raise

    return script


def after(first: ModelScript, then: str = "next") -> ModelScript:
    """The first model call of the test plays `first`, all others answer."""
    calls = 0

    async def script(call: ModelCall) -> ModelResult:
        nonlocal calls
        calls += 1
        return await first(call) if calls == 1 else call.result(then)

    return script


async def test_a_follow_up_runs_next_ahead_of_older_messages(channel: Channel) -> None:
    """C012: the stream gives way, what was shown stays, the follow-up goes before Ben's."""
    channel.worker.plan = eligible
    channel.worker.script = after(streams)
    first = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    other = await channel.post(channel.message("Nova?", author_id="8"))
    follow_up = await channel.post(channel.message("and cats", addressed=Addressed.NOT))
    result = await channel.answered(first)
    assert result.status is StreamStatus.FOLLOW_UP_INTERRUPT
    await channel.answered(other)
    order = [request.invocation.message_id for request in channel.worker.built]
    assert order == [first.message_id, follow_up.message_id, other.message_id]
    job = channel.worker.built[1].invocation
    assert (job.is_manual, job.selected_persona_id) == (True, 1)
    assert "interact_with_recent_message" in job.disabled_tools
    assert channel.discord.texts == ["shown", "next", "next"]


async def test_what_a_dropped_answer_still_had_is_not_shown(channel: Channel) -> None:
    """C012: the unsent buffer goes, though a cancelled call tells it once more."""

    async def streams_more(call: ModelCall) -> ModelResult:
        await call.say("shown")
        try:
            return await call.until_cancelled()
        except asyncio.CancelledError:
            await call.say("the rest")
            raise

    channel.worker.plan = eligible
    channel.worker.script = after(streams_more)
    await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    follow_up = await channel.post(channel.message("and cats", addressed=Addressed.NOT))
    await channel.answered(follow_up)
    assert channel.discord.texts == ["shown", "next"]


async def test_a_newer_follow_up_replaces_one_that_waits(channel: Channel) -> None:
    """In a chain the answer goes on (C013), and only the last of several follow-ups is answered."""
    channel.worker.plan = eligible
    running, go_on = asyncio.Event(), asyncio.Event()

    async def tool(request: ToolRequest) -> ToolResult:
        running.set()
        while not go_on.is_set():
            activity.heartbeat()
            await asyncio.sleep(0.01)
        return tool_success(request)

    channel.worker.tool = tool
    channel.worker.script = after(script_of(lambda call: call.tool("slow")), then="done")
    first = await channel.post()
    await running.wait()
    for text in ("one", "two", "three"):
        last = await channel.post(channel.message(text, addressed=Addressed.NOT))
    go_on.set()
    await channel.answered(last)
    assert (await channel.answered(first)).status is StreamStatus.COMPLETED
    assert [request.invocation.content for request in channel.worker.built] == [
        first.content,
        "three",
    ]


async def test_interrupts_are_counted_and_a_completed_answer_begins_anew(channel: Channel) -> None:
    """C015: three in a row, and the fourth message of the member finds no follow-up any more."""
    channel.worker.plan = eligible
    channel.worker.script = streams
    posted = [await channel.post()]
    for number in range(3):
        await until(lambda number=number: len(channel.discord.texts) == number + 1)
        posted.append(await channel.post(channel.message("more", addressed=Addressed.NOT)))
    await until(lambda: len(channel.discord.texts) == 4)
    fourth = await channel.post(channel.message("Nova, more", addressed=Addressed.MENTION))
    channel.worker.script = script_of(lambda call: call.result("fine"))
    await channel.turn(posted[-1]).cancel()
    await channel.answered(fourth)
    statuses = [request.status for request in channel.worker.finished]
    assert statuses[:3] == [StreamStatus.FOLLOW_UP_INTERRUPT] * 3
    assert statuses[3] is StreamStatus.STOPPED_BY_USER


async def test_please_stop(channel: Channel) -> None:
    """C018: queued persona work goes, the partial text stays, one stop response follows, and it
    comes before Ben's message (C034). The system pays for it."""
    channel.worker.plan = eligible
    channel.worker.personas = [NOVA, LUNA, ORION]
    channel.worker.script = after(streams, then="All right.")
    first = await channel.post(channel.message("Nova, Luna, Orion!"))
    await until(lambda: channel.discord.texts == ["shown"])
    other = await channel.post(channel.message("Nova?", author_id="8", selected_persona_id=1))
    stop = await channel.post(channel.message("please stop", addressed=Addressed.NOT))
    result = await channel.answered(first)
    assert result.status is StreamStatus.STOPPED_BY_USER
    await channel.answered(other)
    built = [request.invocation for request in channel.worker.built]
    assert [each.message_id for each in built] == [
        first.message_id,
        stop.message_id,
        other.message_id,
    ]
    response = built[1]
    assert (response.is_stop_response, response.selected_persona_id) == (True, 1)
    assert response.text_quota_source is QuotaSource.SYSTEM
    assert channel.discord.texts == ["shown", "All right.", "All right."]


async def test_text_that_was_on_its_way_is_delivered_at_a_stop_in_words(channel: Channel) -> None:
    """2.4: the stream stops after flushing its buffer."""

    async def streams_more(call: ModelCall) -> ModelResult:
        await call.say("shown")
        try:
            return await call.until_cancelled()
        except asyncio.CancelledError:
            await call.say("the rest")  # what the stream had in its buffer
            raise

    channel.worker.plan = eligible
    channel.worker.script = after(streams_more, then="Sorry.")
    await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    stop = await channel.post(channel.message("stop", addressed=Addressed.NOT))
    await channel.answered(stop)
    assert channel.discord.texts == ["shown", "the rest", "Sorry."]


async def long_answer(call: ModelCall) -> ModelResult:
    """Twelve paragraphs at once, of which Discord takes one; the model goes on."""
    await call.say(*(f"part {number}" for number in range(12)))
    return await call.until_cancelled()


async def whole_answer(call: ModelCall) -> ModelResult:
    """The same, and the model has ended."""
    await call.say(*(f"part {number}" for number in range(11)))
    return call.result("part 11")


@pytest.mark.parametrize("answer", [long_answer, whole_answer])
async def test_what_waits_for_discord_is_not_sent_after_a_stop_in_words(
    channel: Channel, answer: ModelScript
) -> None:
    """2.4: a stop ends the delivery too. It does not take as long as Discord would need for what
    the model has said already, and meanwhile for nobody else is anything dropped."""
    channel.worker.plan = eligible
    channel.worker.script = after(answer, then="All right.")
    channel.discord.takes = asyncio.Semaphore(1)
    first = await channel.post()
    await until(lambda: channel.discord.texts == ["part 0"])
    stop = await channel.post(channel.message("please stop", addressed=Addressed.NOT))
    result = await channel.answered(first)
    assert result.status is StreamStatus.STOPPED_BY_USER
    assert channel.worker.finished[0].reply_text == "part 0"
    channel.discord.takes = None
    await channel.answered(stop)
    assert channel.discord.texts == ["part 0", "All right."]


@pytest.mark.parametrize("answer", [long_answer, whole_answer])
async def test_what_waits_for_discord_gives_way_to_a_follow_up(
    channel: Channel, answer: ModelScript
) -> None:
    """C012: the unsent rest is dropped, also of an answer that the model has ended; it counts as
    interrupted."""
    channel.worker.plan = eligible
    channel.worker.script = after(answer, then="About cats.")
    channel.discord.takes = asyncio.Semaphore(1)
    first = await channel.post()
    await until(lambda: channel.discord.texts == ["part 0"])
    more = await channel.post(channel.message("no, about cats", addressed=Addressed.NOT))
    result = await channel.answered(first)
    assert result.status is StreamStatus.FOLLOW_UP_INTERRUPT
    channel.discord.takes = None
    await channel.answered(more)
    assert channel.discord.texts == ["part 0", "About cats."]


async def test_a_follow_up_meets_an_answer_that_starts_over(channel: Channel) -> None:
    """What the dead attempt had shown still goes."""
    channel.worker.plan = eligible
    again = asyncio.Event()

    async def dies_once(call: ModelCall) -> ModelResult:
        if call.attempt == 1:
            await call.say("shown")
            await until(lambda: channel.discord.texts == ["shown"])
            raise ApplicationError("the worker dies")
        again.set()
        try:
            return await call.until_cancelled()
        except asyncio.CancelledError:
            await call.say("the rest")  # a call that is cancelled still tells its rest
            raise

    async def script(call: ModelCall) -> ModelResult:
        return call.result("About cats.") if channel.worker.finished else await dies_once(call)

    channel.worker.script = script
    first = await channel.post()
    await again.wait()
    more = await channel.post(channel.message("no, about cats", addressed=Addressed.NOT))
    assert (await channel.answered(first)).status is StreamStatus.FOLLOW_UP_INTERRUPT
    await channel.answered(more)
    assert channel.discord.texts == ["About cats."]


async def test_an_answer_of_which_all_is_said_is_not_interrupted(channel: Channel) -> None:
    """The follow-up comes while its last message is under way, which is finished."""
    channel.worker.plan = eligible
    under_way = asyncio.Event()

    async def finishes(request: SendRequest) -> None:
        try:
            while True:
                under_way.set()
                activity.heartbeat()
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            return

    channel.discord.on_send = finishes
    channel.worker.script = after(script_of(lambda call: call.result("All of it.")))
    first = await channel.post()
    await under_way.wait()
    more = await channel.post(channel.message("no, about cats", addressed=Addressed.NOT))
    assert (await channel.answered(first)).status is StreamStatus.COMPLETED
    channel.discord.on_send = None
    await channel.answered(more)
    assert channel.discord.texts == ["All of it.", "next"]


async def test_a_chain_of_tools_says_its_words_in_spite_of_a_follow_up(channel: Channel) -> None:
    """C013, for text that waits for Discord when the tool has been called already."""
    channel.worker.plan = eligible
    tool_runs, go_on = asyncio.Event(), asyncio.Event()

    async def waits(request: ToolRequest) -> ToolResult:
        tool_runs.set()
        while not go_on.is_set():
            activity.heartbeat()
            await asyncio.sleep(0.02)
        return tool_success(request)

    channel.worker.tool = waits
    channel.worker.script = script_of(
        lambda call: call.tools(FunctionCall(call_id="c", name="look"), text="Let me look."),
        lambda call: call.result("one", "two", "three"),
    )
    first = await channel.post()
    await tool_runs.wait()
    more = await channel.post(channel.message("no, about cats", addressed=Addressed.NOT))
    go_on.set()
    assert (await channel.answered(first)).status is StreamStatus.COMPLETED
    await channel.answered(more)
    assert channel.discord.texts == ["Let me look.", "one", "two", "three"] * 2


async def test_a_stop_response_is_immune_to_further_stops(channel: Channel) -> None:
    channel.worker.plan = eligible
    channel.worker.script = streams
    await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    stop = await channel.post(channel.message("stop", addressed=Addressed.NOT))
    await until(lambda: channel.discord.texts == ["shown", "shown"])
    await channel.post(channel.message("stop!", addressed=Addressed.NOT))
    channel.worker.script = script_of(lambda call: call.result("fine"))
    await channel.turn(stop).cancel()
    await until(lambda: len(channel.worker.finished) == 2)
    last = await channel.post()
    await channel.answered(last)
    assert len(channel.worker.built) == 3, "the second stop began nothing"


async def test_a_kill_while_a_stop_is_pending_leaves_nothing(channel: Channel) -> None:
    """C008: what comes before the turn has unwound is ignored, and the queue stays empty."""
    release = asyncio.Event()

    channel.worker.script = dies_after(release)
    message = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    assert (await channel.kill()).stopped
    await channel.post(channel.message("Nova, again"))
    assert (await channel.kill()).cleared == 0
    release.set()
    await channel.stopped(message)
    assert len(channel.worker.built) == 1


async def test_a_command_during_a_stop_is_answered_after_it(channel: Channel) -> None:
    """Its caller has been told that it is asked; what people only say is ignored until then."""
    release = asyncio.Event()

    channel.worker.script = after(dies_after(release), then="asked for")
    stopped = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    assert (await channel.kill()).stopped
    asked = await channel.post(channel.message("", addressed=Addressed.COMMAND, is_manual=True))
    release.set()
    await channel.stopped(stopped)
    await channel.answered(asked)
    assert channel.discord.texts == ["shown", "asked for"]


@pytest.mark.parametrize("continue_after", [0, 1], ids=["same run", "continued as new"])
async def test_what_was_said_before_a_kill_and_arrives_after_it_is_dropped(
    channel: Channel, continue_after: int
) -> None:
    """It was on its way to the channel, like what waited there; only Discord's ids tell which of
    the two came first."""
    channel.continue_after_turns = continue_after
    channel.worker.script = after(streams)
    running = await channel.post(channel.message("Nova", message_id="1000"))
    await until(lambda: channel.discord.texts == ["shown"])
    await channel.kill(command_id="1002")
    await channel.stopped(running)
    late = await channel.post(channel.message("Nova, me too", message_id="1001"))
    newer = await channel.post(channel.message("Nova, and now?", message_id="1003"))
    await channel.answered(newer)
    assert late.message_id not in channel.worker.triggers
    assert channel.discord.texts == ["shown", "next"]


async def test_a_kill_drops_nothing_that_comes_due_after_it(channel: Channel) -> None:
    """A reminder, or a report from another channel: their ids tell no time."""
    channel.worker.script = after(streams)
    running = await channel.post(channel.message("Nova", message_id="1000"))
    await until(lambda: channel.discord.texts == ["shown"])
    await channel.kill(command_id="2000")
    await channel.stopped(running)
    due = await channel.post(channel.message("tea", message_id="1001", origin=Origin.REMINDER))
    await channel.answered(due)


async def test_a_kill_that_finds_nothing_drops_nothing(channel: Channel) -> None:
    first = await channel.post(channel.message("Nova", message_id="1000"))
    await channel.answered(first)
    await channel.idle()
    assert (await channel.kill(command_id="1002")).nothing_to_stop
    late = await channel.post(channel.message("Nova, me too", message_id="1001"))
    await channel.answered(late)


async def test_what_is_said_right_after_a_stop_is_answered(channel: Channel) -> None:
    """The turn has ended for all that its author can see; the channel hears of it a little later,
    and drops nothing that was said in between."""
    channel.worker.script = after(streams, then="here")
    message = await channel.post()
    await until(lambda: channel.discord.texts == ["shown"])
    await channel.kill()
    await channel.stopped(message)
    again = await channel.post(channel.message("Nova, again"))
    await channel.answered(again)
    assert channel.discord.texts == ["shown", "here"]


async def test_two_personas_answer_one_after_another(channel: Channel) -> None:
    """C040: each under its own turn, the second as a job that was planned anew."""
    channel.worker.personas = [LUNA, NOVA]
    message = await channel.post(channel.message("Luna and Nova!"))
    await channel.answered_by(message, NOVA)
    assert [request.persona_id for request in channel.worker.built] == [2, 1]
    first, second = (request.invocation for request in channel.worker.planned)
    assert (first.is_persona_job, second.is_persona_job) == (False, True)
    assert second.text_quota_key == message.message_id
    assert [m.voice for m in channel.discord.messages] == ["Luna", ""]


async def test_further_personas_go_before_what_waits(channel: Channel) -> None:
    channel.worker.personas = [NOVA, LUNA, ORION]
    go = asyncio.Event()

    async def script(call: ModelCall) -> ModelResult:
        await go.wait()
        return call.result("hi")

    channel.worker.script = script
    message = await channel.post()
    await until(lambda: len(channel.worker.model_calls) == 1)
    other = await channel.post(channel.message(author_id="8", selected_persona_id=1))
    go.set()
    await channel.answered(other)
    assert [request.persona_id for request in channel.worker.built] == [1, 2, 3, 1]
    assert channel.worker.built[-1].invocation.message_id == other.message_id
    assert message.message_id in channel.worker.built[0].invocation.message_id


# Counters, refusals, retries


def refuses(reason: PlanReason, notice: str = "", **more: bool) -> Callable[..., TurnPlan]:
    def plan(request: PlanRequest, plan: TurnPlan) -> TurnPlan:
        return TurnPlan(refusal=PlanRefusal(reason=reason, notice=notice, **more))

    return plan


async def test_a_refusal_is_told_to_its_author_alone(channel: Channel) -> None:
    channel.worker.plan = refuses(PlanReason.COOLDOWN, "Wait a moment.", by_direct_message=True)
    await channel.post()
    await until(lambda: len(channel.discord.requests) == 1)
    (request,) = channel.discord.requests
    assert (request.direct_to, request.outgoing[0].text) == ("7", "Wait a moment.")
    assert channel.worker.built == []


async def test_a_silent_refusal_says_nothing(channel: Channel) -> None:
    channel.worker.plan = refuses(PlanReason.NON_TRIGGER)
    await channel.post()
    await until(lambda: len(channel.worker.planned) == 1)
    channel.worker.plan = None
    await channel.answered(await channel.post())
    assert channel.discord.texts == ["Hello."]


async def test_the_cascade_is_counted_and_a_person_begins_it_anew(channel: Channel) -> None:
    """5.3, C043: answers that produced text count; a real user's message resets."""
    channel.worker.personas = [NOVA, LUNA]
    first = await channel.post()
    await channel.answered_by(first, LUNA)
    counted = [request.counters.cascade for request in channel.worker.planned]
    assert counted == [0, 1]
    assert channel.worker.planned[1].counters.last_persona_id == 1
    await channel.idle()
    third = await channel.post()
    await channel.answered(third)
    assert channel.worker.planned[2].counters.cascade == 0


async def test_the_planner_counts_and_the_channel_keeps(channel: Channel) -> None:
    def counts(request: PlanRequest, plan: TurnPlan) -> TurnPlan:
        autochat = request.counters.autochat + 1
        return TurnPlan(counters=ChannelCounters(autochat=autochat))

    channel.worker.plan = counts
    for _ in range(3):
        await channel.post(channel.message(addressed=Addressed.AUTOCHAT))
    await until(lambda: len(channel.worker.planned) == 3)
    assert [request.counters.autochat for request in channel.worker.planned] == [0, 1, 2]


async def test_an_empty_answer_is_asked_for_twice_more(channel: Channel) -> None:
    """C089: under the same lock, one warning in the end; each try a turn of its own."""
    channel.worker.plan = lambda request, plan: plan.model_copy(update={"empty_retries": 2})
    channel.worker.script = script_of(lambda call: call.result(status=StreamStatus.EMPTY_RESPONSE))
    message = await channel.post()
    await channel.finished(3)
    other = await channel.post()
    await until(lambda: len(channel.worker.built) == 4)
    retries = [request.invocation.retry_count for request in channel.worker.built]
    assert retries == [0, 1, 2, 0]
    assert len(channel.discord.texts) == 1, "told once"
    assert len(channel.worker.planned) == 2, "the lock was kept: it was not planned again"
    assert other.message_id != message.message_id


async def test_a_kill_ends_the_retries(channel: Channel) -> None:
    channel.worker.plan = lambda request, plan: plan.model_copy(update={"empty_retries": 2})
    tries = 0

    async def script(call: ModelCall) -> ModelResult:
        nonlocal tries
        tries += 1
        if tries == 1:
            return call.result(status=StreamStatus.EMPTY_RESPONSE)
        return await call.until_cancelled()

    channel.worker.script = script
    message = await channel.post()
    await until(lambda: len(channel.worker.model_calls) == 2)
    assert (await channel.kill()).stopped
    await channel.finished(2)
    with pytest.raises(WorkflowFailureError):
        await channel.answered_by(message, NOVA, generation=1)
    assert len(channel.worker.model_calls) == 2


async def test_stop_is_an_ordinary_word_when_nothing_runs(channel: Channel) -> None:
    """C021: it is answered like any other message, and begins the cascade anew."""
    first = await channel.post()
    await channel.answered(first)
    await channel.idle()
    second = await channel.post(channel.message("Nova, stop", addressed=Addressed.TRIGGER_WORD))
    await channel.answered(second)
    built = channel.worker.built[-1].invocation
    assert (built.message_id, built.is_stop_response) == (second.message_id, False)
    assert [request.counters.cascade for request in channel.worker.planned] == [0, 0]


async def test_a_tool_that_runs_long_keeps_the_lock(channel: Channel) -> None:
    """C030: what arrives meanwhile waits; a beating tool is no wedged turn."""
    running, go_on = asyncio.Event(), asyncio.Event()

    async def tool(request: ToolRequest) -> ToolResult:
        running.set()
        while not go_on.is_set():
            activity.heartbeat()
            await asyncio.sleep(0.01)
        return tool_success(request)

    channel.worker.tool = tool
    channel.worker.script = after(script_of(lambda call: call.tool("slow")), then="done")
    first = await channel.post()
    await running.wait()
    second = await channel.post(channel.message("Nova?", author_id="8"))
    described = await channel.handle.describe()
    assert len(described.raw_description.pending_children) == 1
    assert len(channel.worker.built) == 1
    go_on.set()
    await channel.answered(second)
    statuses = [request.status for request in channel.worker.finished]
    assert statuses == [StreamStatus.COMPLETED] * 2
    assert (await channel.answered(first)).status is StreamStatus.COMPLETED
