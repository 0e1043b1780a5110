"""Several personas in one channel: each sees its own words as its own, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.testing import ActivityEnvironment

from activities.context.authors import author_labels
from activities.context.build import ContextActivities
from activities.context.document import ContextDocument
from activities.context.perspective import as_seen_by
from activities.tools.registry import ToolRegistry
from storage import Persona, open_storage
from tests.context.support import BOT, NOVA, asked, composed, said
from workflows.contracts.history import ChannelHistory, HistoryMessage
from workflows.contracts.invocation import Addressed

LUNA = Persona(id=2, name="Luna", is_main=False, prompt="You are curt.", triggers=["luna"])
BOTH = [NOVA, LUNA]
WEBHOOK = "950"


def spoke(id_: int, persona: Persona, content: str, **more: Any) -> HistoryMessage:
    """By the channel's webhook, or, for the main one, by the bot's account."""
    if persona.is_main:
        return said(id_, "Nova", content, persona_id=persona.id, **more)
    fields = {"author_id": WEBHOOK, "is_bot": True, "persona_id": persona.id, **more}
    return said(id_, persona.name, content, **fields)


def read_by(
    persona: Persona, *messages: HistoryMessage, trigger: HistoryMessage, **invocation: Any
) -> ContextDocument:
    request = asked(trigger, **invocation)
    history = ChannelHistory(messages=list(messages))
    return composed(request, history, persona=persona, personas=BOTH)


def lines(document: ContextDocument) -> list[tuple[str, str]]:
    """Without the participants' note and the date."""
    return [(item.role, item.text) for item in document.items[2:]]


CALL = said(1, "Mina", "Luna, Nova, who is there?")


def test_a_later_persona_sees_the_earlier_ones_reply() -> None:
    """C040: B runs first; A, a queued persona job of the same message, sees what B has said, after
    the message that both answer, and is told which message that is."""
    document = read_by(
        NOVA,
        CALL,
        spoke(2, LUNA, "I am."),
        trigger=CALL,
        is_persona_job=True,
        is_manual=True,
    )
    assert lines(document) == [
        ("user", "Mina: Luna, Nova, who is there?"),
        ("user", "Luna (persona): I am."),
        ("user", '[Reply to this earlier message by "Mina": "Luna, Nova, who is there?"]'),
    ]


def test_each_sees_only_its_own_words_as_its_own() -> None:
    """D58: whatever account a persona speaks through, its messages are the model's own for it and a
    named persona's for the others."""
    talk = [spoke(2, LUNA, "Me."), spoke(3, NOVA, "And me."), said(4, "Mina", "good")]
    assert lines(read_by(NOVA, CALL, *talk, trigger=talk[-1])) == [
        ("user", "Mina: Luna, Nova, who is there?"),
        ("user", "Luna (persona): Me."),
        ("model", "And me."),
        ("user", "Mina: good"),
    ]
    assert lines(read_by(LUNA, CALL, *talk, trigger=talk[-1])) == [
        ("user", "Mina: Luna, Nova, who is there?"),
        ("model", "Me."),
        ("user", "Nova (persona): And me."),
        ("user", "Mina: good"),
    ]


def test_two_personas_of_one_account_are_two_speakers() -> None:
    """Where no webhook is allowed, both speak through the bot's account."""
    talk = [
        said(2, "Nova", "Me.", persona_id=LUNA.id),
        said(3, "Nova", "And me.", persona_id=NOVA.id),
    ]
    again = said(4, "Mina", "good")
    assert lines(read_by(NOVA, *talk, again, trigger=again)) == [
        ("user", "Luna (persona): Me."),
        ("model", "And me."),
        ("user", "Mina: good"),
    ]
    third = Persona(id=3, name="Rook", is_main=False, prompt="", triggers=[])
    assert lines(read_by(third, *talk, again, trigger=again))[:2] == [
        ("user", "Luna (persona): Me."),
        ("user", "Nova (persona): And me."),
    ]


def test_an_old_document_does_not_say_who_spoke() -> None:
    """What the bot's account said is then the main persona's."""
    old, again = said(1, "Nova", "Hello!"), said(2, "Mina", "hi")
    assert lines(read_by(NOVA, old, again, trigger=again))[0] == ("model", "Hello!")
    assert lines(read_by(LUNA, old, again, trigger=again))[0] == ("user", "Nova (persona): Hello!")
    seen = as_seen_by(LUNA, [old], [LUNA])
    assert (seen[0].is_self, seen[0].author_name) == (False, "Nova")


def test_the_participants_list_says_who_is_a_persona() -> None:
    """It is called by its name; its webhook's id is no handle. The account's own is the reader's
    only where the reader is the main one."""
    again = said(3, "Mina", "good")
    note = read_by(NOVA, spoke(2, LUNA, "Me."), again, trigger=again).items[0].text
    assert '- "Luna (persona)", another persona here: it hears its name, and has no handle' in note
    assert WEBHOOK not in note
    assert '- "Mina", handle <@id-Mina>' in note
    document = read_by(NOVA, spoke(2, LUNA, "Me."), again, trigger=again)
    assert [person.name for person in document.people] == ["Mina"]


def test_a_member_cannot_pass_for_a_persona() -> None:
    names = ["Luna", "LUNA", "Luna (persona)", "luna [persona]", "Nova"]
    members = [
        said(
            5 + place, name, "I am the real one", author_id=str(place), is_self=False, is_bot=False
        )
        for place, name in enumerate(names)
    ]
    seen = as_seen_by(NOVA, [spoke(2, LUNA, "Me."), *members], BOTH)
    assert list(author_labels(seen, "Nova").values()) == [
        "Luna (persona)",
        "Luna (a member)",
        "LUNA (a member) [2]",
        "Luna (persona) (a member)",
        "luna (persona) (a member) [2]",
        "Nova (a member)",
    ]
    stranger = asked(said(9, "Luna", "x", author_id="77"), addressed=Addressed.COMMAND)
    document = composed(stranger, ChannelHistory(messages=[spoke(2, LUNA, "Me.")]), personas=BOTH)
    assert '- "Luna (a member)"' in document.items[0].text


@given(
    st.lists(st.tuples(st.sampled_from([None, 1, 2, 3]), st.booleans()), max_size=8),
    st.sampled_from(BOTH),
)
def test_own_words_are_exactly_what_the_persona_said(
    spoken: list[tuple[int | None, bool]], reader: Persona
) -> None:
    messages = [
        said(n, "x", "y", persona_id=persona_id, is_self=account, author_id=BOT)
        for n, (persona_id, account) in enumerate(spoken)
    ]
    for before, after in zip(messages, as_seen_by(reader, messages, BOTH), strict=True):
        main_by_account = before.persona_id is None and before.is_self and reader.is_main
        assert after.is_self == (before.persona_id == reader.id or main_by_account)
        assert (after.id, after.content) == (before.id, before.content)
        if before.persona_id is None and not before.is_self:
            assert after == before


def test_a_personas_message_is_the_trigger() -> None:
    """The turn that it begins answers the persona, not the member whose message began it all."""
    asked_by_luna = spoke(2, LUNA, "Nova, what do you say?")
    chain = {"author_persona_id": LUNA.id, "is_persona_job": True}
    request = asked(asked_by_luna, author_id="id-Mina", author_name="Mina", **chain)
    for messages in ([CALL, asked_by_luna], [CALL]):  # also one that is gone from the channel
        document = composed(request, ChannelHistory(messages=messages), personas=BOTH)
        assert lines(document)[-1] == ("user", "Luna (persona): Nova, what do you say?")


def test_a_reply_to_another_persona_names_it() -> None:
    reply = said(3, "Mina", "why?", reply_to="2")
    document = read_by(NOVA, CALL, spoke(2, LUNA, "I am."), reply, trigger=reply)
    assert lines(document)[-1] == ("user", "Mina [replying to Luna (persona)]: why?")


def test_a_stop_response_is_told_to_be_brief() -> None:
    """Behaviour 2.4: the stop is answered, and what was cut off is not taken up again."""
    stop = said(3, "Mina", "please stop")
    document = read_by(
        NOVA, CALL, spoke(2, NOVA, "Once upon"), stop, trigger=stop, is_stop_response=True
    )
    assert lines(document)[-2] == ("user", "Mina: please stop")
    role, note = lines(document)[-1]
    assert role == "user"
    assert note.startswith('["Mina" has asked you to stop')
    assert "a few words" in note


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("length", "[Your last attempt reached its length before it had said anything."),
        ("speaker_guard", "[Your last attempt was held back, since it spoke for somebody else."),
        ("stop", "Mina: Luna, Nova, who is there?"),
        (None, "Mina: Luna, Nova, who is there?"),
    ],
)
def test_another_attempt_knows_why_the_last_one_was_empty(reason: str | None, told: str) -> None:
    """Behaviour 6.9: the reason is told where something follows from it, once there was one."""
    document = read_by(NOVA, CALL, trigger=CALL, retry_count=1, empty_response_finish_reason=reason)
    assert document.items[-1].text.startswith(told)
    first = read_by(NOVA, CALL, trigger=CALL, empty_response_finish_reason=reason)
    assert first.items[-1].text.startswith("Mina: ")


def test_a_command_without_words_invents_none() -> None:
    """`/respond`: nobody wrote anything, and the persona is told why it speaks."""
    command = said(9, "Ben", "")
    document = read_by(NOVA, CALL, trigger=command, addressed=Addressed.COMMAND, is_manual=True)
    assert lines(document)[0] == ("user", "Mina: Luna, Nova, who is there?")
    assert lines(document)[1][1].startswith('["Ben" has asked you by a command')
    assert len(lines(document)) == 2
    wanted = said(9, "Ben", "sing")
    document = read_by(NOVA, CALL, trigger=wanted, addressed=Addressed.COMMAND, is_manual=True)
    assert lines(document)[-1] == ("user", "Ben: sing")


async def test_personas_come_from_the_database(tmp_path: Path) -> None:
    """C040, through the activity: names are those of the personas now, not of the webhook then."""
    storage = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    try:
        await storage.personas.seed(tmp_path / "personas")
        nova = await storage.personas.main(None)
        luna = await storage.personas.create("600", "Luna", "You are curt.")
        reply = said(2, "Luna the old", "I am.", author_id=WEBHOOK, is_bot=True, persona_id=luna.id)
        history_id = await storage.blobs.put_model(
            "history", ChannelHistory(messages=[CALL, reply])
        )
        request = asked(CALL, is_persona_job=True).model_copy(
            update={"persona_id": nova.id, "history_id": history_id}
        )
        build = ContextActivities(storage, ToolRegistry.builtin()).build_context
        ref = await ActivityEnvironment().run(build, request)
        document = await storage.blobs.get_model(ref.context_id, ContextDocument)
        assert ("user", "Luna (persona): I am.") in lines(document)
    finally:
        await storage.close()
