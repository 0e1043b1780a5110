"""What is answered at all (behaviour 2.1, 5 and 5.1), by the settings of the moment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.planning import PlanningSettings
from activities.planning.known import Known
from activities.planning.plan import choose
from storage import UserConfig
from storage.config import Privacy, Toggle
from tests.planning.support import (
    ATLAS,
    ILSE,
    NOVA,
    NOW,
    ZOE,
    answers,
    chosen,
    command,
    message,
    personas,
    said_by,
    server,
    words,
)
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.invocation import Addressed, Origin, QuotaSource
from workflows.contracts.planning import PlanReason

DELIBERATE = {"triggers": {"deliberate": True}}


def test_plain_words_do_not_count_in_deliberate_trigger_mode() -> None:
    """C036"""
    deliberate = server(**DELIBERATE)
    assert answers(words(NOVA, content="nova hi"), deliberate) == PlanReason.NON_TRIGGER
    assert answers(words(NOVA, content="@nova hi"), deliberate) == [NOVA]
    assert answers(words(NOVA, content="nova hi")) == [NOVA]


def test_a_member_may_turn_deliberate_trigger_mode_off_or_on_for_themselves() -> None:
    """C037"""
    off = UserConfig(deliberate_triggers=Toggle.OFF)
    on = UserConfig(deliberate_triggers=Toggle.ON)
    plain = words(NOVA, content="nova hi")
    assert answers(plain, server(**DELIBERATE), off) == [NOVA]
    assert answers(plain, None, on) == PlanReason.NON_TRIGGER
    assert answers(said_by(ZOE, NOVA, content="nova?"), None, on) == [NOVA]
    called = said_by(ZOE, NOVA, content="nova?")
    assert answers(called, server(**DELIBERATE), off) == PlanReason.NON_TRIGGER


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("@zoe, atlas?", [ZOE]),
        ("@ZOOOE and @atlas", [ZOE, ATLAS]),
        ("＠zoe atlas", [ZOE]),
        ("zoe@example.org @", PlanReason.NON_TRIGGER),
        ("<@55> zoe", [ATLAS]),
        ("@lead, atlas", [NOVA]),
    ],
)
def test_with_an_at_sign_words_count_all_the_same(content: str, found: list[int] | str) -> None:
    """C039, as far as planning sees it: letters may be drawn out."""
    here = Known(
        [
            persona.model_copy(update={"triggers": ["<@55>"]}) if persona.id == ATLAS else persona
            for persona in personas()
        ],
        server(triggers={"deliberate": True, "base_words": ["lead"]}),
        UserConfig(),
    )
    called = [ZOE, ATLAS] if "lead" not in content else [NOVA, ATLAS]
    choice = choose(
        words(*called, content=content), here, ChannelCounters(), PlanningSettings(), now=NOW
    )
    if isinstance(found, str):
        assert choice.refusal is not None
        assert choice.refusal.reason == found
    else:
        assert [persona.id for persona in choice.personas] == found


@pytest.mark.parametrize(
    ("word", "content"),
    [("＠finn", "@finn hi"), ("@finn", "＠finn hi"), ("ﬁnn", "@FINN"), ("finn", "@ﬁnn")],
)
def test_a_word_counts_however_it_is_written(word: str, content: str) -> None:
    """C036: planning takes for the same what the bot does."""
    own = server(triggers={"deliberate": True, "base_words": [word]})
    assert answers(words(NOVA, content=content), own) == [NOVA]


def test_the_operator_s_base_words_call_the_main_persona() -> None:
    said = words(content="@oracle hi", persona_ids=[])
    deliberate = server(**DELIBERATE)
    operator = PlanningSettings(base_words=("oracle",))
    assert answers(said, deliberate, settings=operator) == [NOVA]
    assert answers(said, deliberate) == PlanReason.NON_TRIGGER


def test_deliberate_trigger_mode_leaves_the_rest_as_it_is() -> None:
    """Mentions, replies, commands; the persona of an auto-trigger channel; direct messages."""
    deliberate = server(**DELIBERATE)
    assert answers(message(persona_ids=[ZOE], content="<@9> zoe"), deliberate) == [NOVA]
    reply = message(addressed=Addressed.REPLY, reply_persona_id=ZOE)
    assert answers(reply, deliberate) == [ZOE]
    assert answers(command(), deliberate) == [NOVA]
    auto = {"deliberate": True, "autochat": [{"channel_id": "7", "least": 9, "persona_id": ZOE}]}
    assert answers(words(ZOE, ATLAS), server(triggers=auto)) == [ZOE]
    direct = words(ZOE, guild_id=None, is_dm=True)
    assert answers(direct, user=UserConfig(deliberate_triggers=Toggle.ON)) == [ZOE]


def test_what_addresses_nobody_is_not_answered() -> None:
    assert answers(message(addressed=Addressed.NOT)) == PlanReason.NON_TRIGGER
    always = server(triggers={"always_reply": True})
    assert answers(message(addressed=Addressed.NOT), always) == PlanReason.NON_TRIGGER


@pytest.mark.parametrize(
    "addressed", [Addressed.ALWAYS_REPLY, Addressed.SPOTLIGHT, Addressed.AUTOCHAT]
)
def test_settings_that_have_been_taken_back_hold_no_more(addressed: Addressed) -> None:
    """A message waits in a queue, and the server changes its mind."""
    assert answers(message(addressed=addressed)) == PlanReason.NON_TRIGGER


def test_always_reply_may_be_one_channel_s_or_the_server_s() -> None:
    plain = message(addressed=Addressed.ALWAYS_REPLY)
    thread = message(
        addressed=Addressed.ALWAYS_REPLY, channel_id="71", parent_channel_id="7", is_thread=True
    )
    here = server(triggers={"always_reply_channel_ids": ["7"]})
    assert answers(plain, here) == [NOVA]
    assert answers(thread, here) == [NOVA]
    other = server(triggers={"always_reply_channel_ids": ["70"]})
    assert answers(plain, other) == PlanReason.NON_TRIGGER


def test_personas_answer_each_other_only_by_name() -> None:
    """D58: in a channel where everything is answered, they would never stop."""
    always = server(triggers={"always_reply": True, "autochat": [{"channel_id": "7"}]})
    plain = message(author_persona_id=ZOE, is_persona_job=True, addressed=Addressed.ALWAYS_REPLY)
    assert answers(plain, always, UserConfig(spotlights={"7": ATLAS})) == PlanReason.NON_TRIGGER
    assert answers(said_by(ZOE, ATLAS), always) == [ATLAS]


def test_without_a_persona_nobody_answers() -> None:
    """C029: a plan without turns is a plan, and no error."""
    nobody = choose(message(), Known([]), ChannelCounters(), PlanningSettings(), now=NOW)
    assert nobody.refusal is not None
    assert nobody.refusal.reason is PlanReason.NO_PERSONA


def test_full_privacy_is_not_answered_unless_asked_for() -> None:
    """C007: a command is; so are reminders, which the member has ordered."""
    private = UserConfig(privacy=Privacy.FULL)
    assert answers(message(), user=private) == PlanReason.PRIVACY
    assert answers(message(), user=UserConfig(privacy=Privacy.PARTIAL)) == [NOVA]
    assert answers(command(), user=private) == [NOVA]
    assert answers(message(origin=Origin.REMINDER), user=private) == [NOVA]


def test_a_blocked_member_is_not_answered_but_for_a_stop() -> None:
    blocked = server(access={"blocked_user_ids": ["2"]})
    assert answers(message(), blocked) == PlanReason.BLACKLISTED
    assert answers(command(), blocked) == PlanReason.BLACKLISTED
    assert answers(message(is_stop_response=True), blocked) == [NOVA]
    assert answers(message(author_id="3"), blocked) == [NOVA]


def test_what_an_unknown_persona_said_is_nobody_s_matter() -> None:
    assert answers(said_by(404, ZOE)) == PlanReason.FOREIGN_AUTHOR


def test_nobody_answers_in_the_thought_log() -> None:
    log = server(notices={"thought_log_channel_id": "7"})
    assert answers(message(), log) == PlanReason.THOUGHT_LOG_CHANNEL
    assert answers(command(), log) == PlanReason.THOUGHT_LOG_CHANNEL
    assert answers(message(channel_id="70"), log) == [NOVA]


ALLOWED = server(access={"channels": [{"channel_id": "7"}], "role_ids": ["40", "41"]})


@pytest.mark.parametrize(
    ("where", "is_answered"),
    [
        ({"role_ids": ["41"]}, True),
        ({"role_ids": ["42"]}, False),
        ({}, False),
        ({"role_ids": ["40"], "channel_id": "70"}, False),
        ({"role_ids": ["40"], "channel_id": "71", "parent_channel_id": "7"}, True),
        ({"role_ids": ["40"], "channel_id": "71", "parent_channel_id": "70"}, False),
        ({"author_persona_id": ZOE, "is_persona_job": True, "persona_ids": [ATLAS]}, True),
        ({"origin": Origin.REMINDER}, True),
        ({"origin": Origin.REMINDER, "channel_id": "70"}, False),
        ({"origin": Origin.REMINDER, "channel_id": "71", "is_thread": True}, True),
        ({"guild_id": None, "is_dm": True}, True),
    ],
)
def test_the_lists_of_channels_and_roles(where: dict[str, Any], is_answered: bool) -> None:
    """Behaviour 2.2 row 5 and 5: threads inherit, and a refusal is silent."""
    for said in (message(**where), message(**where, is_manual=True)):
        if said.is_persona_job and said.is_manual:
            continue
        choice = chosen(said, ALLOWED)
        assert bool(choice.personas) is is_answered
        if not is_answered:
            assert choice.refusal is not None
            assert choice.refusal.reason is PlanReason.WHITELIST
            assert choice.refusal.notice == ""


def test_a_persona_with_a_list_answers_only_there() -> None:
    own = server(access={"persona_channels": {ZOE: ["7"], ATLAS: ["70"], ILSE: []}})
    assert answers(words(ZOE, ATLAS, ILSE), own) == [ZOE, ILSE]
    assert answers(words(ATLAS), own) == PlanReason.WHITELIST
    thread = words(ATLAS, channel_id="71", parent_channel_id="70", is_thread=True)
    assert answers(thread, own) == [ATLAS]


BYOK = server(credentials={"bring_your_own": True})


def test_where_everyone_brings_their_own_model_who_has_none_is_told() -> None:
    choice = chosen(message(), BYOK)
    assert choice.refusal is not None
    assert choice.refusal.reason is PlanReason.NO_CREDENTIALS
    assert choice.refusal.notice
    assert not choice.refusal.by_direct_message
    assert chosen(message(), BYOK, has_personal=True).credentials == "personal"
    assert chosen(message()).credentials == "server"
    passive = chosen(
        message(addressed=Addressed.ALWAYS_REPLY),
        server(credentials={"bring_your_own": True}, triggers={"always_reply": True}),
    )
    assert passive.refusal is not None
    assert passive.refusal.notice == ""


@pytest.mark.parametrize(
    "of_server",
    [
        {"origin": Origin.REMINDER},
        {"is_stop_response": True, "text_quota_source": QuotaSource.SYSTEM},
        {"author_persona_id": ZOE, "is_persona_job": True, "persona_ids": [ATLAS]},
    ],
)
def test_what_the_server_begins_needs_a_model_of_the_server(of_server: dict[str, Any]) -> None:
    assert chosen(message(**of_server), BYOK).credentials == "server"
    choice = chosen(message(**of_server), BYOK, has_server_model=False)
    assert choice.refusal is not None
    assert choice.refusal.reason is PlanReason.NO_CREDENTIALS
    assert choice.refusal.notice == ""


@given(
    st.fixed_dictionaries(
        {
            "addressed": st.sampled_from(list(Addressed)),
            "mentions_us": st.booleans(),
            "content": st.text(max_size=60),
            "persona_ids": st.lists(st.integers(-1, 6), max_size=4),
            "reply_persona_id": st.none() | st.integers(0, 6),
            "author_persona_id": st.none() | st.integers(0, 6),
            "selected_persona_id": st.none() | st.integers(0, 6),
            "guild_id": st.sampled_from([None, "6"]),
            "is_manual": st.booleans(),
            "is_persona_job": st.booleans(),
            "is_stop_response": st.booleans(),
            "origin": st.sampled_from(list(Origin)),
            "message_id": st.text(max_size=25),
            "newest_human_id": st.none() | st.text(max_size=25),
            "role_ids": st.lists(st.sampled_from(["40", "42"]), max_size=2),
        }
    ),
    st.booleans(),
)
def test_whatever_arrives_somebody_answers_or_there_is_a_reason(
    fields: dict[str, Any], deliberate: bool
) -> None:
    config = server(
        triggers={"deliberate": deliberate, "autochat": [{"channel_id": "7", "persona_id": 3}]},
        access={"role_ids": ["40"], "persona_channels": {2: ["70"]}},
    )
    choice = chosen(message(**fields), config)
    assert bool(choice.personas) is (choice.refusal is None)
