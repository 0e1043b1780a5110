"""Which personas answer, and in which order (behaviour 5.2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import UserConfig
from tests.planning.support import (
    ATLAS,
    ILSE,
    NAMES,
    NOVA,
    REMY,
    ZOE,
    answers,
    chosen,
    command,
    message,
    said_by,
    server,
    words,
)
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.invocation import DIRECT, Addressed, Origin
from workflows.contracts.planning import PlanReason

IDS = st.sampled_from([*NAMES, 404])


def test_matches_answer_in_the_order_of_their_names() -> None:
    """C040: B is named before A, so B is first."""
    assert answers(words(ZOE, ATLAS)) == [ZOE, ATLAS]
    assert answers(words(ATLAS, ZOE, ATLAS)) == [ATLAS, ZOE]


def test_no_more_than_match_limit_answer() -> None:
    """C041"""
    five = words(ZOE, ATLAS, NOVA, ILSE, REMY)
    assert answers(five) == [ZOE, ATLAS, NOVA]
    assert answers(five, server(triggers={"match_limit": 1})) == [ZOE]
    assert answers(five, server(triggers={"match_limit": 10})) == [ZOE, ATLAS, NOVA, ILSE, REMY]


def test_who_is_forced_stands_before_who_is_named() -> None:
    reply = {"addressed": Addressed.REPLY, "reply_persona_id": ATLAS}
    assert answers(message(**reply, persona_ids=[ZOE])) == [ATLAS, ZOE]
    assert answers(message(**reply, persona_ids=[ATLAS, ZOE])) == [ATLAS, ZOE]
    assert answers(message(**reply, mentions_us=True, persona_ids=[ZOE])) == [ATLAS, NOVA, ZOE]
    assert answers(message(persona_ids=[ZOE, NOVA])) == [NOVA, ZOE]


def test_the_main_persona_answers_when_none_is_named() -> None:
    for addressed in set(DIRECT) - {Addressed.COMMAND}:
        assert answers(message(addressed=addressed)) == [NOVA], addressed


def test_personas_that_have_been_removed_are_left_out() -> None:
    assert answers(words(404, ZOE)) == [ZOE]
    assert answers(words(404)) == PlanReason.NON_TRIGGER
    assert answers(message(addressed=Addressed.REPLY, reply_persona_id=404)) == [NOVA]


def test_a_selected_persona_answers_alone() -> None:
    assert answers(words(ATLAS, ZOE, selected_persona_id=ILSE, is_manual=True)) == [ILSE]
    assert answers(command(selected_persona_id=404)) == [NOVA]


def test_a_command_without_a_choice_goes_on_with_whoever_is_here() -> None:
    """`/respond`: who answered last, the member's spotlight, the channel's own, the main one."""
    auto = server(triggers={"autochat": [{"channel_id": "7", "persona_id": ILSE}]})
    spotlight = UserConfig(spotlights={"7": ATLAS})
    last = ChannelCounters(last_persona_id=ZOE)
    assert answers(command(), auto, spotlight, last) == [ZOE]
    assert answers(command(), auto, spotlight) == [ATLAS]
    assert answers(command(), auto) == [ILSE]
    assert answers(command()) == [NOVA]
    elsewhere = server(access={"persona_channels": {ZOE: ["70"]}})
    assert answers(command(), elsewhere, counters=last) == [NOVA]
    assert answers(command(selected_persona_id=ZOE), elsewhere) == PlanReason.WHITELIST


def test_in_a_direct_message_only_the_main_or_the_selected_persona_answers() -> None:
    """Behaviour 2.1."""
    direct: dict[str, Any] = {
        "guild_id": None, "is_dm": True, "is_manual": True, "persona_ids": [ZOE, ATLAS],
        "addressed": Addressed.DIRECT_MESSAGE,
    }  # fmt: skip
    last = ChannelCounters(last_persona_id=ATLAS)
    assert answers(message(**direct), counters=last) == [NOVA]
    assert answers(message(**direct, selected_persona_id=ZOE), counters=last) == [ZOE]
    direct["addressed"] = Addressed.COMMAND
    assert answers(message(**direct), counters=last) == [NOVA]


@pytest.mark.parametrize("origin", [o for o in Origin if o is not Origin.MESSAGE])
def test_what_the_system_begins_is_the_main_persona_s_unless_selected(origin: Origin) -> None:
    assert answers(message(origin=origin, persona_ids=[ZOE])) == [NOVA]
    assert answers(message(origin=origin, selected_persona_id=ZOE)) == [ZOE]
    assert answers(message(origin=origin, selected_persona_id=404)) == [NOVA]


def test_a_stop_is_answered_by_the_main_persona_unless_selected() -> None:
    stop = {"is_stop_response": True, "addressed": Addressed.NOT, "content": "please stop"}
    assert answers(message(**stop)) == [NOVA]
    assert answers(message(**stop, selected_persona_id=ATLAS)) == [ATLAS]


def test_nobody_stands_in_for_a_further_persona_that_has_been_removed() -> None:
    job = words(ATLAS, is_manual=True, is_persona_job=True, selected_persona_id=404)
    assert answers(job) == PlanReason.NO_PERSONA


def test_a_persona_never_answers_itself() -> None:
    """D58"""
    assert answers(said_by(ZOE, ZOE)) == PlanReason.NON_TRIGGER
    assert answers(said_by(ZOE, ZOE, ATLAS)) == [ATLAS]
    mention = message(author_persona_id=NOVA, is_persona_job=True, mentions_us=True)
    assert answers(mention) == PlanReason.NON_TRIGGER


def test_among_personas_whoever_responded_last_is_left_out() -> None:
    last = ChannelCounters(last_persona_id=ATLAS)
    assert answers(said_by(ZOE, ATLAS, ILSE), counters=last) == [ILSE]
    assert answers(said_by(ZOE, ATLAS), counters=last) == PlanReason.NON_TRIGGER
    assert answers(words(ATLAS), counters=last) == [ATLAS]


def test_the_channel_s_persona_answers_only_if_nobody_else_must() -> None:
    auto = server(triggers={"autochat": [{"channel_id": "7", "persona_id": ZOE}]})
    assert answers(message(addressed=Addressed.AUTOCHAT), auto) == [ZOE]
    assert answers(message(), auto) == [NOVA]
    reply = message(addressed=Addressed.REPLY, reply_persona_id=ATLAS)
    assert answers(reply, auto) == [ATLAS]
    gone = server(triggers={"autochat": [{"channel_id": "7", "persona_id": 404}]})
    assert answers(message(addressed=Addressed.AUTOCHAT), gone) == [NOVA]


def test_always_reply_is_the_last_resort() -> None:
    always = server(triggers={"always_reply": True})
    plain = message(addressed=Addressed.ALWAYS_REPLY)
    assert answers(plain, always) == [NOVA]
    assert answers(words(ZOE), always) == [ZOE]
    elsewhere = {"persona_channels": {NOVA: ["70"]}}
    assert answers(plain, server(triggers={"always_reply": True}, access=elsewhere)) == [ATLAS]


def test_a_spotlight_answers_everything_and_only_narrows() -> None:
    user = UserConfig(spotlights={"7": ZOE})
    assert answers(message(addressed=Addressed.SPOTLIGHT), user=user) == [ZOE]
    assert answers(words(ATLAS, ZOE), user=user) == [ZOE]
    assert answers(words(ATLAS), user=user) == [ZOE]
    assert answers(message(), user=user) == [ZOE]
    assert answers(words(ATLAS, channel_id="70"), user=user) == [ATLAS]
    elsewhere = server(access={"persona_channels": {ZOE: ["70"]}})
    assert answers(message(), elsewhere, user) == PlanReason.WHITELIST
    thread = words(ATLAS, channel_id="71", parent_channel_id="7")
    assert answers(thread, user=user) == [ZOE]
    own = UserConfig(spotlights={"7": ZOE, "71": ILSE})
    assert answers(thread, user=own) == [ILSE]
    removed = UserConfig(spotlights={"7": 404})
    assert answers(words(ATLAS), user=removed) == [ATLAS]


def test_a_spotlight_binds_neither_commands_nor_others() -> None:
    user = UserConfig(spotlights={"7": ZOE})
    assert answers(command(selected_persona_id=ATLAS), user=user) == [ATLAS]
    assert answers(said_by(ILSE, ATLAS), user=user) == [ATLAS]
    reminder = message(origin=Origin.REMINDER, selected_persona_id=ATLAS)
    assert answers(reminder, user=user) == [ATLAS]


@given(
    named=st.lists(IDS, max_size=8),
    reply_to=st.none() | IDS,
    mentions=st.booleans(),
    author=st.none() | st.sampled_from(list(NAMES)),
    last=st.none() | IDS,
    limit=st.integers(1, 10),
    barred=st.sets(st.sampled_from(list(NAMES))),
)
def test_the_order_of_answers(
    named: list[int],
    reply_to: int | None,
    mentions: bool,
    author: int | None,
    last: int | None,
    limit: int,
    barred: set[int],
) -> None:
    """Each once, at most `match_limit`, nobody who may not answer here, the sender never; who is
    forced stands first, the others in the order of their names; and the cap only ever cuts off."""
    access = {"persona_channels": {persona_id: ["70"] for persona_id in barred}}
    said = message(
        addressed=Addressed.REPLY,
        mentions_us=mentions,
        reply_persona_id=reply_to,
        persona_ids=named,
        author_persona_id=author,
        is_persona_job=author is not None,
    )
    counters = ChannelCounters(last_persona_id=last)

    def order(limit: int) -> list[int]:
        config = server(triggers={"match_limit": limit}, access=access)
        found = [persona.id for persona in chosen(said, config, counters=counters).personas]
        assert len(found) == len(set(found)) <= limit
        assert not set(found) & (barred | {author, 404})
        return found

    everybody = order(10)
    assert order(limit) == everybody[:limit]
    forced = [] if author else [i for i in (reply_to, NOVA if mentions else None) if i]
    expected = [i for i in dict.fromkeys([*forced, *named]) if i != author and i in NAMES]
    if author:
        expected = [i for i in expected if i != last]
    elif not expected:
        expected = [NOVA]
    assert everybody == [i for i in expected if i not in barred]
