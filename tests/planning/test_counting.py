"""What a channel counts: automatic answers (5.1), and answers among personas (5.3)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.planning.autochat import counted
from activities.planning.cascade import is_used_up, renewed
from storage import ServerConfig
from tests.planning.support import (
    ATLAS,
    NOVA,
    NOW,
    ZOE,
    answers,
    chosen,
    command,
    id_at,
    known,
    message,
    said_by,
    server,
    words,
)
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.invocation import Addressed, ChatIncoming, Origin
from workflows.contracts.planning import PlanReason


def counting(least: int, most: int | None = None) -> ServerConfig:
    channel = {"channel_id": "7", "least": least, "most": most, "persona_id": ZOE}
    return server(triggers={"autochat": [channel]})


def plain(number: int = 0, **more: Any) -> ChatIncoming:
    fields = {"message_id": id_at(NOW, number), "addressed": Addressed.AUTOCHAT, **more}
    return message(**fields)


def test_the_count_rises_in_planning_and_answers_at_its_target() -> None:
    """C023: target 5, counter 4, and the next message is answered."""
    before = ChannelCounters(autochat=4, autochat_target=5)
    assert answers(plain(), counting(5), counters=before) == [ZOE]
    early = chosen(plain(), counting(5), counters=ChannelCounters(autochat=3))
    assert early.refusal is not None
    assert early.refusal.reason is PlanReason.NON_TRIGGER
    assert early.counters.autochat == 4


def test_the_threshold_zero_answers_everything() -> None:
    assert answers(plain(), counting(0)) == [ZOE]


def test_a_thread_counts_for_itself_as_its_channel_does() -> None:
    thread = plain(channel_id="71", parent_channel_id="7")
    assert chosen(thread, counting(5)).counters.autochat == 1
    own = [{"channel_id": "7", "least": 5}, {"channel_id": "71", "least": 1, "persona_id": ATLAS}]
    assert answers(thread, server(triggers={"autochat": own})) == [ATLAS]


def test_what_is_answered_anyway_counts_too() -> None:
    choice = chosen(message(), counting(5))
    assert [persona.id for persona in choice.personas] == [NOVA]
    assert choice.counters.autochat == 1


@pytest.mark.parametrize(
    "other",
    [
        said_by(ZOE, ATLAS),
        command(),
        message(origin=Origin.REMINDER),
        message(is_stop_response=True),
        words(ATLAS, is_manual=True, is_persona_job=True, selected_persona_id=ATLAS),
        message(channel_id="70"),
        message(guild_id=None, is_dm=True),
    ],
)
def test_only_what_people_say_in_a_counting_channel_counts(other: ChatIncoming) -> None:
    assert chosen(other, counting(5)).counters == ChannelCounters()


def test_who_may_not_be_answered_does_not_count() -> None:
    blocked = counting(5).model_copy(
        update={"access": server(access={"blocked_user_ids": ["2"]}).access}
    )
    assert chosen(plain(), blocked).counters == ChannelCounters()


@given(st.integers(0, 60), st.none() | st.integers(1, 60), st.integers(0, 10_000))
def test_a_target_is_of_the_range_and_always_the_same(
    least: int, most: int | None, number: int
) -> None:
    here = known(counting(least, most))
    drawn = counted(plain(number), here, ChannelCounters()).counters.autochat_target
    assert drawn is not None
    assert max(1, least) <= drawn <= max(1, least, most or 0)
    again = counted(plain(number), here, ChannelCounters()).counters.autochat_target
    assert again == drawn


def test_targets_differ_from_message_to_message() -> None:
    here = known(counting(1, 20))
    drawn = {counted(plain(n), here, ChannelCounters()).counters.autochat_target for n in range(99)}
    assert len(drawn) > 10


def test_a_target_of_another_range_is_drawn_again() -> None:
    stale = ChannelCounters(autochat=9, autochat_target=500)
    assert counted(plain(), known(counting(10)), stale).reached
    assert counted(plain(), known(counting(0)), stale).reached


HUMAN = id_at(NOW - timedelta(minutes=5))
COUNTED = ChannelCounters(
    cascade=2, cascade_after_id=HUMAN, cascade_at=(NOW - timedelta(minutes=1)).isoformat()
)


def renewed_count(said: ChatIncoming, counters: ChannelCounters = COUNTED) -> int:
    return renewed(said, counters, NOW).cascade


def test_what_a_person_says_begins_the_cascade_anew() -> None:
    assert renewed_count(message()) == 0
    assert renewed_count(said_by(ZOE, ATLAS, newest_human_id=HUMAN)) == 2
    assert renewed_count(said_by(ZOE, ATLAS, newest_human_id=str(int(HUMAN) + 1))) == 0


def test_a_stop_and_further_personas_of_a_message_do_not() -> None:
    """Behaviour 2.4: the counter is not reset. C043: nor by the same message again."""
    assert renewed_count(message(is_stop_response=True)) == 2
    assert renewed_count(words(ATLAS, is_persona_job=True, is_manual=True)) == 2
    assert renewed_count(said_by(ZOE, ATLAS)) == 2


def test_thirty_idle_minutes_begin_the_cascade_anew() -> None:
    for minutes, count in ((29, 2), (30, 0)):
        at = (NOW - timedelta(minutes=minutes)).isoformat()
        counters = COUNTED.model_copy(update={"cascade_at": at})
        assert renewed_count(said_by(ZOE, ATLAS, newest_human_id=HUMAN), counters) == count
    for broken in ("yesterday", "", None):
        counters = COUNTED.model_copy(update={"cascade_at": broken})
        assert renewed_count(said_by(ZOE, ATLAS), counters) == 2


@given(
    limit=st.integers(0, 10),
    calls=st.lists(st.sampled_from(["person", "persona", "job"]), max_size=40),
)
def test_answers_since_a_person_spoke_never_exceed_the_limit_and_one(
    limit: int, calls: list[str]
) -> None:
    """Behaviour 5.3: the first is free, `limit` more; people are always answered."""
    counters = ChannelCounters()
    newest = ""
    since = 0
    for number, call in enumerate(calls):
        if call == "person":
            said = message(message_id=id_at(NOW, number))
            newest, since = said.message_id, 0
        elif call == "persona":
            said = said_by(ZOE, ATLAS, message_id=id_at(NOW, number), newest_human_id=newest)
        else:
            said = words(ATLAS, is_persona_job=True, is_manual=True, message_id=newest or "1")
        counters = renewed(said, counters, NOW)
        blocked = is_used_up(said, counters, limit)
        assert not (call == "person" and blocked)
        assert blocked is (since >= limit + 1)
        if not blocked:
            since += 1
            counters = counters.model_copy(
                update={
                    "cascade": counters.cascade + 1,
                    "cascade_after_id": said.message_id,
                    "cascade_at": NOW.isoformat(),
                }
            )


def test_what_is_begun_on_purpose_is_never_cut_off() -> None:
    used = ChannelCounters(cascade=99)
    for said in (command(), message(origin=Origin.REMINDER), message(is_stop_response=True)):
        assert not is_used_up(said, used, 3)
    assert is_used_up(said_by(ZOE, ATLAS), used, 3)
