"""Admission: every disposition with its reason code (behaviour 2.1, 2.5, 2.6, 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.admission import (
    OPEN,
    PLACEHOLDER,
    Admission,
    ChannelKind,
    Courtesy,
    Disposition,
    MessageFacts,
    Reason,
    ReplyTarget,
    Speaker,
    Standing,
    admit,
)
from bot.directory import UNSET, Server
from storage.config.models import UserConfig
from tests.bot.servers import BOB, LUNA, NOVA, server
from workflows.contracts.invocation import Addressed

IGNORE, BLOCKED, RUN = Disposition.IGNORE, Disposition.BLOCKED, Disposition.RUN
HERE, THREAD, ELSEWHERE = "10", "11", "12"
ANYBODY = MessageFacts(channel_id=HERE, author_id="7")
SERVER = server()

DELIBERATE = server(triggers={"deliberate": True})
COUNTING = server(triggers={"autochat": [{"channel_id": HERE, "least": 5, "persona_id": 2}]})


def said(content: str = "hi", **facts: Any) -> MessageFacts:
    return ANYBODY._replace(content=content, **facts)


def mention(**facts: Any) -> MessageFacts:
    return said("<@1> hi", mentions_us=True, **facts)


def by_persona(content: str, persona_id: int | None = 2, **facts: Any) -> MessageFacts:
    return said(content, speaker=Speaker.PERSONA, persona_id=persona_id, **facts)


def private(level: str = "full") -> UserConfig:
    return UserConfig.model_validate({"privacy": level})


def as_is(standing: Standing) -> Callable[[], Standing]:
    return lambda: standing


ROWS: list[tuple[MessageFacts, Disposition, Reason]] = [
    (mention(speaker=Speaker.SYSTEM), IGNORE, Reason.SYSTEM_MESSAGE),
    (by_persona(PLACEHOLDER), IGNORE, Reason.SEED_PLACEHOLDER),
    (by_persona("nova?", suppressed=True), IGNORE, Reason.SELF_REPLY_SUPPRESSED),
    (by_persona("nova?", reply_target=ReplyTarget.US), IGNORE, Reason.SELF_REPLY_REFERENCE),
    (by_persona("nova?", reply_target=ReplyTarget.OTHER_BOT), IGNORE, Reason.SELF_REPLY_REFERENCE),
    (by_persona("nova?", reply_target=ReplyTarget.PERSONA), IGNORE, Reason.SELF_REPLY_REFERENCE),
    (by_persona("nova?", channel=ChannelKind.DM), IGNORE, Reason.BOT_DM_MESSAGE),
    (mention(speaker=Speaker.BOT, channel=ChannelKind.DM), IGNORE, Reason.BOT_DM_MESSAGE),
    (
        mention(speaker=Speaker.BOT, is_interaction_response=True),
        IGNORE,
        Reason.BOT_INTERACTION_RESPONSE,
    ),
    (
        said("nova", speaker=Speaker.OUR_NOTICE, is_interaction_response=True),
        IGNORE,
        Reason.BOT_INTERACTION_RESPONSE,
    ),
    (said("nova", speaker=Speaker.OUR_NOTICE), IGNORE, Reason.OWN_NOTICE),
    (mention(speaker=Speaker.WEBHOOK), IGNORE, Reason.UNMANAGED_WEBHOOK),
    (mention(speaker=Speaker.BOT), IGNORE, Reason.OTHER_BOT_MESSAGE),
    (said("$whoami"), IGNORE, Reason.WHOAMI_EASTER_EGG),
    (said("$whoami please"), IGNORE, Reason.NON_TRIGGER_PRE_LOCK),
    (mention(channel=ChannelKind.UNSUPPORTED), BLOCKED, Reason.UNSUPPORTED_CHANNEL),
    (mention(recently_refused=True), BLOCKED, Reason.RECENT_SEND_REFUSED),
    (said("nice", reply_target=ReplyTarget.OTHER_BOT), IGNORE, Reason.REPLY_TO_OTHER_BOT),
    (mention(is_voice=True), IGNORE, Reason.VOICE_TRANSCRIPTION_FAILED),
    (said("good morning"), IGNORE, Reason.NON_TRIGGER_PRE_LOCK),
    (said("!nova help"), IGNORE, Reason.NON_TRIGGER_PRE_LOCK),
    (mention()._replace(content="!play <@1>"), IGNORE, Reason.NON_TRIGGER_PRE_LOCK),
    (said("!x", channel=ChannelKind.DM), IGNORE, Reason.NON_TRIGGER_PRE_LOCK),
    (said("", channel=ChannelKind.DM), RUN, Reason.DIRECT_MESSAGE),
    (mention(), RUN, Reason.MENTION),
    (said("and then?", reply_target=ReplyTarget.US), RUN, Reason.REPLY),
    (
        said("oh", reply_target=ReplyTarget.PERSONA, reply_persona_id=2),
        RUN,
        Reason.REPLY,
    ),
    (said("hey novaaa"), RUN, Reason.TRIGGER_WORD),
    (said("nova, is it?", reply_target=ReplyTarget.OTHER_BOT), RUN, Reason.TRIGGER_WORD),
    (mention(reply_target=ReplyTarget.OTHER_BOT), RUN, Reason.MENTION),
    (said(is_manual=True), RUN, Reason.COMMAND),
]


@pytest.mark.parametrize(("facts", "disposition", "reason"), ROWS, ids=range(len(ROWS)))
def test_each_message_has_its_disposition_and_reason(
    facts: MessageFacts, disposition: Disposition, reason: Reason
) -> None:
    """C005 (the gate), D57, D58."""
    admission = admit(facts, SERVER)
    assert (admission.disposition, admission.reason) == (disposition, reason)


@pytest.mark.parametrize(
    ("standing", "reason"),
    [
        (Standing(can_view=False), Reason.MISSING_CHANNEL_PERMISSIONS),
        (Standing(can_send=False), Reason.CANNOT_SEND_IN_CHANNEL),
        (Standing(timed_out=True), Reason.BOT_TIMED_OUT_IN_GUILD),
    ],
)
@pytest.mark.parametrize("facts", [mention(), said(is_manual=True)])
def test_where_the_bot_could_not_answer_nothing_is_begun(
    standing: Standing, reason: Reason, facts: MessageFacts
) -> None:
    """C004, D41: also for a command."""
    admission = admit(facts, SERVER, standing=as_is(standing))
    assert (admission.disposition, admission.reason) == (BLOCKED, reason)


def test_permissions_are_not_looked_at_for_what_addresses_nobody() -> None:
    """They are the dearest of all checks, and change nothing there."""
    asked: list[str] = []

    def standing() -> Standing:
        asked.append("asked")
        return OPEN

    admit(said("good morning"), SERVER, standing=standing)
    assert not asked
    admit(said("good morning, nova"), SERVER, standing=standing)
    assert asked == ["asked"]


EARLIER_THAN: list[tuple[MessageFacts, UserConfig, Reason]] = [
    (said("$whoami", is_voice=True), private(), Reason.WHOAMI_EASTER_EGG),
    (mention(channel=ChannelKind.UNSUPPORTED), private(), Reason.FULL_PRIVACY_USER),
    (mention(channel=ChannelKind.UNSUPPORTED), UNSET, Reason.UNSUPPORTED_CHANNEL),
    (mention(), UNSET, Reason.SERVER_BLACKLISTED_USER),
    (mention(author_id="8"), UNSET, Reason.CANNOT_SEND_IN_CHANNEL),
]


@pytest.mark.parametrize(("facts", "member", "reason"), EARLIER_THAN)
def test_the_first_row_that_applies_gives_the_reason(
    facts: MessageFacts, member: UserConfig, reason: Reason
) -> None:
    """Behaviour 2.1: ordered, and each of these messages meets all the later rows."""
    closed = server(
        access={"blocked_user_ids": ["7"], "channels": [{"channel_id": ELSEWHERE}]},
        notices={"thought_log_channel_id": HERE},
    )
    muted = as_is(Standing(can_send=False, timed_out=True))
    found = admit(facts._replace(recently_refused=True), closed, member, standing=muted)
    assert found.reason is reason


# Rows that go by settings


def test_full_privacy_is_not_answered_but_by_a_command_or_in_private() -> None:
    """C007, row 10."""
    assert admit(mention(), SERVER, private()).reason is Reason.FULL_PRIVACY_USER
    assert admit(mention(), SERVER, private("partial")).disposition is RUN
    assert admit(said(is_manual=True), SERVER, private()).disposition is RUN
    assert admit(said(channel=ChannelKind.DM), SERVER, private()).disposition is RUN


def test_a_blocked_member_is_not_answered_in_that_server() -> None:
    """Row 12, a command included; in direct messages the server has no say."""
    strict = server(access={"blocked_user_ids": ["7"]})
    for facts in (mention(), said(is_manual=True)):
        found = admit(facts, strict)
        assert (found.disposition, found.reason) == (BLOCKED, Reason.SERVER_BLACKLISTED_USER)
    assert admit(mention(author_id="8"), strict).disposition is RUN
    assert admit(said(channel=ChannelKind.DM), strict).disposition is RUN


def test_the_lists_of_channels_and_roles() -> None:
    """Behaviour 2.5: a thread is where its channel is; without a list everybody, everywhere."""
    channels = server(access={"channels": [{"channel_id": HERE}]})
    assert admit(mention(), channels).disposition is RUN
    in_thread = mention(channel=ChannelKind.THREAD, channel_id=THREAD, parent_id=HERE)
    assert admit(in_thread, channels).disposition is RUN
    refused = admit(mention(channel_id=ELSEWHERE), channels)
    assert (refused.disposition, refused.reason) == (IGNORE, Reason.REJECTED_BY_WHITELIST)
    assert admit(said(channel_id=ELSEWHERE), channels, is_answered=True).disposition is not RUN
    assert admit(said(channel_id=ELSEWHERE, is_manual=True), channels).disposition is RUN
    roles = server(access={"role_ids": ["20", "21"]})
    without = {"has_allowed_role": False}
    assert admit(mention(**without), roles).reason is Reason.REJECTED_BY_WHITELIST
    assert admit(mention(), roles).disposition is RUN
    assert admit(by_persona("nova?", **without), roles).disposition is RUN
    assert admit(said(channel=ChannelKind.DM, **without), roles).disposition is RUN


def test_nobody_answers_in_the_thought_log() -> None:
    """Behaviour 2.5: with a notice for who mentions the bot there."""
    logging = server(notices={"thought_log_channel_id": HERE})
    found = admit(mention(), logging)
    assert (found.disposition, found.reason) == (IGNORE, Reason.THOUGHT_LOG_CHANNEL)
    assert found.courtesy is Courtesy.THOUGHT_LOG
    for facts in (said("nova?"), said("hm"), by_persona("nova?")):
        quiet = admit(facts, logging)
        assert quiet.reason is Reason.THOUGHT_LOG_CHANNEL
        assert quiet.courtesy is None
    assert admit(mention(channel_id=ELSEWHERE), logging).disposition is RUN
    assert admit(said(is_manual=True), logging).disposition is RUN


def test_an_unsupported_channel_is_explained_to_who_addressed_the_bot() -> None:
    """Row 11."""
    unsupported = {"channel": ChannelKind.UNSUPPORTED}
    assert admit(mention(**unsupported), SERVER).courtesy is Courtesy.UNSUPPORTED_CHANNEL
    assert admit(said("nova?", **unsupported), SERVER).courtesy is Courtesy.UNSUPPORTED_CHANNEL
    assert admit(said("hm", **unsupported), SERVER).courtesy is None
    always = server(triggers={"always_reply": True})
    assert admit(said("hm", **unsupported), always).courtesy is None


# Who is addressed


@pytest.mark.parametrize(
    ("facts", "persona_ids"),
    [
        (said("bob and nova"), (2, 1)),
        (said("<@1> bob and nova", mentions_us=True), (1, 2)),
        (said("yes", reply_target=ReplyTarget.US), (1,)),
        (said("luna?", reply_target=ReplyTarget.PERSONA, reply_persona_id=2), (2, 3)),
        (mention(reply_target=ReplyTarget.PERSONA, reply_persona_id=2), (2, 1)),
        (said("yes", reply_target=ReplyTarget.PERSONA), ()),
        (said("bob?", channel=ChannelKind.DM), ()),
    ],
)
def test_who_is_addressed_and_in_which_order(
    facts: MessageFacts, persona_ids: tuple[int, ...]
) -> None:
    """Behaviour 5.2: who was replied to, main on a mention or reply, then by place in the text; in
    a direct message only the main one."""
    assert admit(facts, SERVER).persona_ids == persona_ids


def test_a_mention_is_answered_before_any_persona_is_known() -> None:
    assert admit(mention(), Server()).disposition is RUN


def test_whether_a_personas_own_word_stands_there() -> None:
    """What makes a message cross-persona (behaviour 2.3): never a base word alone."""
    based = server(triggers={"base_words": ["computer"]})
    assert admit(said("moon?"), based).persona_named
    alone = admit(said("computer?"), based)
    assert (alone.addressed, alone.persona_ids) == (Addressed.TRIGGER_WORD, (1,))
    assert not alone.persona_named
    assert not admit(mention(), based).persona_named
    assert admit(mention()._replace(content="<@1> bob"), based).persona_named


@pytest.mark.parametrize(
    ("content", "server_mode", "member_mode", "answered"),
    [
        ("nova hi", True, "follow", False),  # C036
        ("@nova hi", True, "follow", True),  # C036
        ("nova hi", True, "off", True),  # C037
        ("nova hi", False, "on", False),
        ("@nova hi", False, "on", True),
        ("nova hi", False, "follow", True),
    ],
)
def test_deliberate_trigger_mode(
    content: str, server_mode: bool, member_mode: str, answered: bool
) -> None:
    """C036, C037: the server's, unless the member has chosen."""
    here = server(triggers={"deliberate": server_mode})
    member = UserConfig.model_validate({"deliberate_triggers": member_mode})
    assert (admit(said(content), here, member).disposition is RUN) is answered


def test_what_deliberate_trigger_mode_leaves_alone() -> None:
    """Mentions, replies, commands and direct messages work as ever; a persona's own channel too."""
    assert admit(mention(), DELIBERATE).disposition is RUN
    assert admit(said(reply_target=ReplyTarget.US), DELIBERATE).disposition is RUN
    assert admit(said(is_manual=True), DELIBERATE).disposition is RUN
    assert admit(said("nova", channel=ChannelKind.DM), DELIBERATE).disposition is RUN
    home = server(
        triggers={"deliberate": True, "autochat": [{"channel_id": HERE, "persona_id": 2}]}
    )
    assert admit(said("bob?"), home).addressed is Addressed.TRIGGER_WORD
    assert admit(said("nova?"), home).addressed is Addressed.AUTOCHAT
    mains = server(triggers={"deliberate": True, "autochat": [{"channel_id": HERE}]})
    assert admit(said("nova?"), mains).addressed is Addressed.TRIGGER_WORD
    assert admit(by_persona("nova?"), DELIBERATE).disposition is IGNORE
    assert admit(by_persona("@nova?"), DELIBERATE).disposition is RUN


def test_a_counting_channel_is_told_of_every_message() -> None:
    """C023: whether the count is reached is decided, and written, in planning."""
    found = admit(said("good morning"), COUNTING)
    assert (found.disposition, found.addressed) == (RUN, Addressed.AUTOCHAT)
    assert found.persona_ids == (2,)
    assert not found.surface_errors
    assert admit(said("!play"), COUNTING).disposition is IGNORE
    assert admit(said("hm", channel_id=ELSEWHERE), COUNTING).disposition is IGNORE
    assert admit(said("hm", channel_id=THREAD, parent_id=HERE), COUNTING).disposition is RUN
    assert admit(by_persona("hm"), COUNTING).disposition is IGNORE
    assert admit(said("hm", speaker=Speaker.BOT), COUNTING).disposition is IGNORE
    assert admit(said("nova"), COUNTING).addressed is Addressed.TRIGGER_WORD


def test_always_reply_and_spotlight() -> None:
    """Behaviour 5.1; C025: errors of such an answer are not shown, of a mention's they are."""
    scoped = server(triggers={"always_reply_channel_ids": [HERE]})
    everywhere = server(triggers={"always_reply": True})
    for here in (scoped, everywhere):
        found = admit(said("good morning"), here)
        assert (found.addressed, found.surface_errors) == (Addressed.ALWAYS_REPLY, False)
        assert admit(mention(), here).surface_errors
        assert admit(by_persona("good morning"), here).disposition is IGNORE
    assert admit(said(channel_id=ELSEWHERE), scoped).disposition is IGNORE
    member = UserConfig(spotlights={HERE: 3})
    lit = admit(said("good morning"), everywhere, member)
    assert (lit.addressed, lit.persona_ids) == (Addressed.SPOTLIGHT, (3,))
    assert not lit.surface_errors
    assert admit(said("bob?"), SERVER, member).addressed is Addressed.TRIGGER_WORD
    gone = UserConfig(spotlights={HERE: 99})
    assert admit(said("good morning"), SERVER, gone).disposition is IGNORE


def test_who_is_being_answered_may_follow_up() -> None:
    """Behaviour 2.3, 2.4: it is told to the channel, which knows what it is."""
    found = admit(said("wait, stop"), SERVER, is_answered=True)
    assert (found.disposition, found.reason) == (RUN, Reason.BEING_ANSWERED)
    assert (found.addressed, found.persona_ids) == (Addressed.NOT, ())
    assert not found.surface_errors
    assert admit(said("!skip"), SERVER, is_answered=True).disposition is IGNORE
    assert admit(said(" \n"), SERVER, is_answered=True).reason is Reason.NON_TRIGGER_PRE_LOCK
    muted = as_is(Standing(can_send=False))
    assert admit(said(), SERVER, is_answered=True, standing=muted).disposition is BLOCKED
    assert admit(said("nova"), SERVER, is_answered=True).addressed is Addressed.TRIGGER_WORD
    to_bot = said(reply_target=ReplyTarget.OTHER_BOT)
    assert admit(to_bot, SERVER, is_answered=True).reason is Reason.REPLY_TO_OTHER_BOT


# Between personas


def test_a_persona_calls_another_but_never_itself() -> None:
    """D58, row 8: as a persona job; its errors are shown to nobody."""
    found = admit(by_persona("Nova, and you, Luna? I, Bob, think so."), SERVER)
    assert (found.disposition, found.persona_ids) == (RUN, (1, 3))
    assert found.is_persona_job
    assert not found.surface_errors
    assert admit(by_persona("Bob thinks so. Bob!"), SERVER).disposition is IGNORE
    assert admit(by_persona("nova, hi", 1), SERVER).disposition is IGNORE
    assert admit(by_persona("!nova"), SERVER).disposition is IGNORE


def test_of_an_unknown_persona_nothing_is_begun() -> None:
    """D58: it may be the one that it names."""
    assert admit(by_persona("nova and bob", None), SERVER).disposition is IGNORE


def test_a_persona_asks_in_vain_who_it_is() -> None:
    assert admit(by_persona("$whoami"), SERVER).courtesy is None


facts_strategy = st.builds(
    MessageFacts,
    content=st.sampled_from(["hi", "nova hi", "!nova", "", "bob", "$whoami", "@luna", PLACEHOLDER]),
    channel=st.sampled_from(ChannelKind),
    channel_id=st.sampled_from([HERE, ELSEWHERE]),
    author_id=st.sampled_from(["7", "8"]),
    speaker=st.sampled_from(Speaker),
    persona_id=st.sampled_from([None, 1, 2]),
    is_interaction_response=st.booleans(),
    is_voice=st.booleans(),
    mentions_us=st.booleans(),
    reply_target=st.sampled_from(ReplyTarget),
    recently_refused=st.booleans(),
    suppressed=st.booleans(),
    is_manual=st.just(False),
)
servers = st.sampled_from([SERVER, DELIBERATE, COUNTING, server(triggers={"always_reply": True})])
standings = st.builds(Standing, st.booleans(), st.booleans(), st.booleans())


@given(facts_strategy, servers, standings, st.booleans())
def test_what_runs_can_be_answered_and_was_said_by_a_person_or_a_persona(
    facts: MessageFacts, here: Server, standing: Standing, is_answered: bool
) -> None:
    """Nothing that is another bot's, or that we could not answer, ever costs a model call; only a
    person's direct signal shows errors (2.6)."""
    found: Admission = admit(facts, here, is_answered=is_answered, standing=as_is(standing))
    if found.disposition is not RUN:
        return
    assert facts.speaker in (Speaker.PERSON, Speaker.PERSONA)
    assert standing == OPEN
    assert not facts.recently_refused
    assert not facts.content.startswith("!")
    if facts.speaker is Speaker.PERSONA:
        assert found.is_persona_job
        assert facts.persona_id not in found.persona_ids
        assert found.addressed is Addressed.TRIGGER_WORD
    if found.surface_errors:
        assert facts.speaker is Speaker.PERSON
        assert found.is_direct
    assert set(found.persona_ids) <= {each.persona_id for each in (NOVA, BOB, LUNA)}
