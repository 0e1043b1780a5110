"""Who is being answered, as the requests of turns tell it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from bot.active_turns import (
    ENDED_COUNTS,
    EXPECTED_WITHIN,
    GRACE,
    LONGEST,
    MEMBERS_KEPT,
    ActiveTurns,
    RunningTurn,
    WatchedTurns,
)
from workflows.contracts.delivery import EndTyping, SendRequest, message_nonce, spoken_in
from workflows.contracts.history import HistoryRequest
from workflows.contracts.invocation import Addressed, ChatIncoming


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def reads(turn: str = "t1", owner: str = "u1", persona: int = 2) -> HistoryRequest:
    return HistoryRequest(
        turn_id=turn, channel_id="c", trigger_message_id="1", owner_id=owner, persona_id=persona
    )


def sends(turn: str = "t1", *, last: bool = False, persona: int = 2) -> SendRequest:
    return SendRequest(
        turn_id=turn,
        channel_id="c",
        trigger_message_id="1",
        persona_id=persona,
        outgoing=[],
        last=last,
    )


def ends(turn: str = "t1") -> EndTyping:
    return EndTyping(turn_id=turn, channel_id="c")


def carry_out(turns: ActiveTurns, *requests: object) -> None:
    for request in requests:
        turns.heard(request)
        turns.carried_out(request)


def asks(
    message_id: str = "1", member: str = "u1", addressed: Addressed = Addressed.MENTION, **more: Any
) -> ChatIncoming:
    return ChatIncoming(
        application_id="a",
        channel_id="c",
        message_id=message_id,
        author_id=member,
        author_name="Mina",
        addressed=addressed,
        **more,
    )


def test_a_turn_answers_its_owner_until_its_last_message_is_out() -> None:
    """And a moment longer: an empty answer may be asked for again, and of the personas that a
    message names the next one has to be planned."""
    clock = Clock()
    turns = ActiveTurns(clock)
    assert not turns.is_answered("c", "u1")
    carry_out(turns, reads(), sends())
    assert turns.is_answered("c", "u1")
    assert not turns.is_answered("c", "u2")
    assert not turns.is_answered("d", "u1")
    turns.heard(sends(last=True))
    assert turns.is_answered("c", "u1")
    turns.carried_out(sends(last=True))
    assert turns.active("c") is None
    clock.now = GRACE - 0.1
    assert turns.is_answered("c", "u1")
    assert not turns.is_answered("c", "u2")
    clock.now = GRACE
    assert not turns.is_answered("c", "u1")


def test_typing_that_ends_late_does_not_end_the_next_turn() -> None:
    turns = ActiveTurns()
    carry_out(turns, reads(), reads("t2", "u2", 3), ends())
    assert turns.active("c") is not None
    assert turns.is_answered("c", "u2")
    assert not turns.is_answered("c", "u1")
    carry_out(turns, ends("t2"))
    assert turns.active("c") is None


def test_who_has_asked_is_answered_before_the_turn_is_heard_of() -> None:
    """Behaviour 2.4: "stop", a moment after asking. Only for a while: it may get no turn."""
    clock = Clock()
    turns = ActiveTurns(clock)
    turns.asked(asks())
    assert turns.is_answered("c", "u1")
    assert not turns.is_answered("c", "u2")
    assert not turns.is_answered("d", "u1")
    assert turns.active("c") is None
    clock.now = EXPECTED_WITHIN
    assert not turns.is_answered("c", "u1")


def test_who_waits_for_anothers_turn_is_answered_when_it_has_ended() -> None:
    clock = Clock()
    turns = ActiveTurns(clock)
    carry_out(turns, reads(owner="u2"))
    turns.asked(asks())
    assert not turns.is_answered("c", "u1"), "while another member is"
    clock.now = EXPECTED_WITHIN + 1
    carry_out(turns, ends())
    assert turns.is_answered("c", "u1")
    clock.now += EXPECTED_WITHIN
    assert not turns.is_answered("c", "u1")


def test_who_has_had_their_turn_waits_no_more() -> None:
    """But for what they have asked since."""
    clock = Clock()
    turns = ActiveTurns(clock)
    turns.asked(asks("1"))
    carry_out(turns, reads(), ends())
    clock.now = GRACE
    assert not turns.is_answered("c", "u1")
    turns.asked(asks("1"))
    turns.asked(asks("2"))
    carry_out(turns, reads("t2"), ends("t2"))
    clock.now += GRACE
    assert turns.is_answered("c", "u1")


def test_what_asks_for_no_answer_of_its_own_keeps_nobody_waiting() -> None:
    """Else somebody who talks on would be heard for ever."""
    turns = ActiveTurns()
    turns.asked(asks(addressed=Addressed.NOT))
    turns.asked(asks(is_persona_job=True))
    assert not turns.is_answered("c", "u1")


def test_what_is_remembered_of_who_asked_is_bounded() -> None:
    turns = ActiveTurns()
    for number in range(MEMBERS_KEPT + 1):
        turns.asked(asks(member=str(number)))
    assert not turns.is_answered("c", "0")
    assert turns.is_answered("c", "1")


# Turns of another process, as Temporal lists them

LISTED = RunningTurn("c", "t1", 2)


def test_a_listed_turn_may_answer_anybody_until_it_is_listed_no_more() -> None:
    """A bot that has just started: the turn's model thinks, so that nothing else tells of it."""
    clock = Clock()
    turns = ActiveTurns(clock)
    turns.listed([LISTED])
    assert turns.is_answered("c", "u1")
    assert not turns.is_answered("d", "u1")
    assert turns.owners_unknown
    clock.now = LONGEST - 1
    turns.listed([LISTED])
    clock.now += LONGEST - 1
    assert turns.is_answered("c", "u2")
    turns.listed([])
    assert turns.active("c") is None
    assert not turns.owners_unknown
    turns.listed([LISTED])  # what ended here was listed before
    assert turns.active("c") is None


def test_what_a_request_tells_of_a_turn_is_known_better() -> None:
    turns = ActiveTurns()
    turns.listed([LISTED])
    carry_out(turns, reads())
    turns.listed([LISTED, RunningTurn("c", "t0", 3)])
    assert not turns.is_answered("c", "u2")
    assert not turns.owners_unknown
    turns.listed([])  # a list may be older than the turn
    assert turns.is_answered("c", "u1")


def test_a_turn_begun_in_another_process_may_answer_anybody() -> None:
    """After a restart of the bot in the middle of an answer, its owner can still stop it."""
    turns = ActiveTurns()
    carry_out(turns, sends())
    assert turns.is_answered("c", "u1")
    assert turns.is_answered("c", "u2")


def test_what_the_channel_itself_tells_is_no_turn() -> None:
    turns = ActiveTurns()
    carry_out(turns, sends("channel/c", persona=0))
    assert turns.active("c") is None


def test_a_turn_that_is_not_heard_of_is_over() -> None:
    clock = Clock()
    turns = ActiveTurns(clock)
    carry_out(turns, reads())
    clock.now = LONGEST - 1
    carry_out(turns, sends())
    clock.now += LONGEST - 1
    assert turns.is_answered("c", "u1")
    clock.now += 2
    assert not turns.is_answered("c", "u1")
    assert turns.latest("c") is None


def test_whose_words_may_still_arrive() -> None:
    clock = Clock()
    turns = ActiveTurns(clock)
    carry_out(turns, reads(), ends())
    latest = turns.latest("c")
    assert latest is not None
    assert (latest.owner_id, latest.persona_id) == ("u1", 2)
    clock.now = ENDED_COUNTS + 1
    assert turns.latest("c") is None


@given(
    trigger=st.integers(0, 36**13 - 1),
    persona=st.integers(0, 36**4 - 1),
    generation=st.integers(0, 35),
    ordinal=st.integers(0, 36**3 - 1),
    part=st.integers(0, 36**2 - 1),
)
def test_a_nonce_tells_its_turn(
    trigger: int, persona: int, generation: int, ordinal: int, part: int
) -> None:
    """What `message_nonce` puts in comes out again."""
    nonce = message_nonce(str(trigger), persona, generation, ordinal, part)
    assert spoken_in(nonce) == (str(trigger), persona, generation)


@pytest.mark.parametrize(
    "nonce",
    [None, 17, "", "e" * 23, "e" * 25, "h" + "0" * 23, "e" + "_" * 23, "e" + "0" * 22 + "é"],
)
def test_a_nonce_of_another_make_tells_nothing(nonce: object) -> None:
    assert spoken_in(nonce) is None


class Carrying(ActivityInboundInterceptor):
    """The activity itself."""

    def __init__(self, turns: ActiveTurns, fault: Exception | None = None) -> None:
        self.turns, self.fault = turns, fault
        self.seen: list[bool] = []

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self.seen.append(self.turns.is_answered("c", "u1"))
        if self.fault is not None:
            raise self.fault
        return "done"


def execution(request: object) -> ExecuteActivityInput:
    return ExecuteActivityInput(lambda: None, [request], None, {})


async def test_every_request_of_the_queue_is_heard() -> None:
    """Known while it is carried out, and over after the last message; not when that failed."""
    turns = ActiveTurns()
    carrying = Carrying(turns)
    watching = WatchedTurns(turns).intercept_activity(carrying)
    assert await watching.execute_activity(execution(reads())) == "done"
    carrying.fault = RuntimeError("Discord is away")
    with pytest.raises(RuntimeError):
        await watching.execute_activity(execution(sends(last=True)))
    assert turns.is_answered("c", "u1")
    carrying.fault = None
    await watching.execute_activity(execution(sends(last=True)))
    assert carrying.seen == [True, True, True]
    assert turns.active("c") is None
