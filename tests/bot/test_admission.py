"""Admission: every disposition with its reason code (behaviour 2.1, 2.5, 2.6)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.admission import (
    Admission,
    ChannelKind,
    Disposition,
    MessageFacts,
    Reason,
    ReplyTarget,
    admit,
)
from bot.triggers import persona_triggers

NOVA = persona_triggers(1, True, ["Nova"])
BOB = persona_triggers(2, False, ["Bob"])
PERSONAS = (NOVA, BOB)

MENTION = MessageFacts(content="<@1> hi", mentions_us=True)


@pytest.mark.parametrize(
    ("facts", "disposition", "reason"),
    [
        (replace(MENTION, is_system=True), Disposition.IGNORE, Reason.SYSTEM_MESSAGE),
        (
            replace(MENTION, author_is_bot=True, author_is_us=True),
            Disposition.IGNORE,
            Reason.OWN_MESSAGE,
        ),
        (
            replace(MENTION, author_is_bot=True, channel=ChannelKind.DM),
            Disposition.IGNORE,
            Reason.BOT_DM_MESSAGE,
        ),
        (
            replace(MENTION, author_is_bot=True, is_interaction_response=True, is_webhook=True),
            Disposition.IGNORE,
            Reason.BOT_INTERACTION_RESPONSE,
        ),
        (
            replace(MENTION, author_is_bot=True, is_webhook=True),
            Disposition.IGNORE,
            Reason.UNMANAGED_WEBHOOK,
        ),
        (replace(MENTION, author_is_bot=True), Disposition.IGNORE, Reason.OTHER_BOT_MESSAGE),
        (
            replace(MENTION, channel=ChannelKind.UNSUPPORTED),
            Disposition.BLOCKED,
            Reason.UNSUPPORTED_CHANNEL,
        ),
        (
            replace(MENTION, can_view=False),
            Disposition.BLOCKED,
            Reason.MISSING_CHANNEL_PERMISSIONS,
        ),
        (replace(MENTION, can_send=False), Disposition.BLOCKED, Reason.CANNOT_SEND_IN_CHANNEL),
        (replace(MENTION, timed_out=True), Disposition.BLOCKED, Reason.BOT_TIMED_OUT_IN_GUILD),
        (
            replace(MENTION, recently_refused=True),
            Disposition.BLOCKED,
            Reason.RECENT_SEND_REFUSED,
        ),
        (
            MessageFacts(content="nice", reply_target=ReplyTarget.OTHER_BOT),
            Disposition.IGNORE,
            Reason.REPLY_TO_OTHER_BOT,
        ),
        (MessageFacts(content="good morning"), Disposition.IGNORE, Reason.NON_TRIGGER_PRE_LOCK),
        (MessageFacts(content="!nova help"), Disposition.IGNORE, Reason.NON_TRIGGER_PRE_LOCK),
        (
            MessageFacts(content="!x", channel=ChannelKind.DM),
            Disposition.IGNORE,
            Reason.NON_TRIGGER_PRE_LOCK,
        ),
        (
            MessageFacts(content="", channel=ChannelKind.DM),
            Disposition.RUN,
            Reason.DIRECT_MESSAGE,
        ),
        (MENTION, Disposition.RUN, Reason.MENTION),
        (
            MessageFacts(content="and then?", reply_target=ReplyTarget.US),
            Disposition.RUN,
            Reason.REPLY,
        ),
        (MessageFacts(content="hey novaaa"), Disposition.RUN, Reason.TRIGGER_WORD),
        (
            MessageFacts(content="nova, is that so?", reply_target=ReplyTarget.OTHER_BOT),
            Disposition.RUN,
            Reason.TRIGGER_WORD,
        ),
    ],
)
def test_each_message_has_its_disposition_and_reason(
    facts: MessageFacts, disposition: Disposition, reason: Reason
) -> None:
    """C004, C005 (the gate), D41, D57, D58."""
    admission = admit(facts, PERSONAS)
    assert (admission.disposition, admission.reason) == (disposition, reason)


@pytest.mark.parametrize(
    ("facts", "persona_ids"),
    [
        (MessageFacts(content="bob and nova"), (2, 1)),
        (MessageFacts(content="<@1> bob and nova", mentions_us=True), (1, 2)),
        (MessageFacts(content="yes", reply_target=ReplyTarget.US), (1,)),
        (MessageFacts(content="bob?", channel=ChannelKind.DM), ()),
    ],
)
def test_who_is_addressed_and_in_which_order(
    facts: MessageFacts, persona_ids: tuple[int, ...]
) -> None:
    """Main first on a mention or reply, then by place in the text; in a DM only the main one."""
    assert admit(facts, PERSONAS).persona_ids == persona_ids


def test_a_mention_is_answered_before_any_persona_is_known() -> None:
    assert admit(MENTION, ()).disposition is Disposition.RUN


facts_strategy = st.builds(
    MessageFacts,
    content=st.sampled_from(["hi", "nova hi", "!nova", "", "bob"]),
    channel=st.sampled_from(ChannelKind),
    is_system=st.booleans(),
    author_is_us=st.booleans(),
    author_is_bot=st.booleans(),
    is_webhook=st.booleans(),
    is_interaction_response=st.booleans(),
    mentions_us=st.booleans(),
    reply_target=st.sampled_from(ReplyTarget),
    can_view=st.booleans(),
    can_send=st.booleans(),
    timed_out=st.booleans(),
    recently_refused=st.booleans(),
)


@given(facts_strategy)
def test_what_runs_was_meant_for_us_and_can_be_answered(facts: MessageFacts) -> None:
    """Nothing that is a bot's, or that we could not answer, ever costs a model call; what runs may
    show its errors (2.6)."""
    admission: Admission = admit(facts, PERSONAS)
    if admission.disposition is not Disposition.RUN:
        assert not admission.surface_errors
        return
    assert admission.surface_errors
    assert not any((facts.author_is_bot, facts.author_is_us, facts.is_webhook, facts.is_system))
    assert facts.can_view
    assert facts.can_send
    assert not facts.timed_out
    assert not facts.recently_refused
    assert not facts.content.startswith("!")
