"""The whole context of a turn."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.context.budget import CONTEXT_BUDGET, estimate_tokens
from activities.context.compose import NO_TEXT, tokens_of
from activities.context.document import ContextDocument
from tests.context.support import NOVA, START, asked, composed, said, whole
from workflows.contracts.history import ChannelHistory, HistoryMessage


def built(
    *messages: HistoryMessage, trigger: HistoryMessage, is_queued: bool = False
) -> ContextDocument:
    history = ChannelHistory(messages=list(messages))
    return composed(asked(trigger, is_queued=is_queued), history)


def test_the_order_of_the_prompt() -> None:
    mia = said(3, "Mia", "and now?")
    document = built(said(1, "Ben", "hi"), said(2, "Nova", "Hello!"), mia, trigger=mia)
    assert document.persona_name == "Nova"
    rules, persona, place = (
        document.system.index(part) for part in ("You are Nova, a persona", NOVA.prompt, '"Home"')
    )
    assert rules < persona < place
    assert [(item.role, item.text.splitlines()[0]) for item in document.items] == [
        ("user", "[About this conversation, at 2026-03-02 14:03 UTC, Monday]"),
        ("user", "[2026-03-02, Monday]"),
        ("user", "Ben: hi"),
        ("model", "Hello!"),
        ("user", "Mia: and now?"),
    ]


@pytest.mark.parametrize("place", ["server", "direct"])
def test_exactly_one_place(place: str) -> None:
    mia = said(1, "Mia", "hi")
    direct = {"guild_id": None, "is_dm": True, "guild_name": "", "channel_name": ""}
    request = asked(mia, **(direct if place == "direct" else {}))
    system = composed(request, ChannelHistory(messages=[mia])).system
    assert ("This is a direct message" in system) is (place == "direct")
    assert ("This is the server" in system) is (place == "server")


def test_what_members_write_is_never_a_template() -> None:
    """C050: a user typing `{{if tool:x}}` appears verbatim; so do braces in names and servers."""
    typed = "{{if tool:web_search}}x{{/if}} {bot} {user} {name} %s ${x} {0}"
    mia = said(1, "{name}", typed)
    request = asked(mia, guild_name="{name} {0}")
    document = composed(request, ChannelHistory(messages=[mia]))
    assert document.items[-1].text == "{name}: " + typed
    assert 'the server "{name} {0}"' in document.system


def test_a_queued_turn_is_told_what_to_answer() -> None:
    first, second = said(1, "Mia", "capital of France?"), said(2, "Ben", "and of\nPeru? " * 60)
    answer = said(3, "Nova", "Paris.")
    document = built(first, second, answer, trigger=second, is_queued=True)
    assert [item.role for item in document.items[-4:]] == ["user", "user", "model", "user"]
    directive = document.items[-1].text
    assert directive.startswith('[Reply to this earlier message by "Ben": "and of Peru? and of')
    assert len(directive) < 280 + 60
    assert built(first, second, answer, trigger=second).items[-1].text.startswith("Ben: and of")


def test_a_trigger_without_words_is_still_there_to_be_answered() -> None:
    sticker = said(2, "Mia", "")
    document = built(said(1, "Nova", "hi"), sticker, trigger=sticker)
    assert document.items[-1].text == f"Mia: {NO_TEXT}"


def test_a_long_history_loses_its_oldest_messages() -> None:
    """D70: the whole stays within the budget, also where every character is a token."""
    messages = [said(number, "Mia", f"#{number} " + "語" * 1900) for number in range(80)]
    document = built(*messages, trigger=messages[-1])
    tokens = estimate_tokens(document.system) + tokens_of(document.items)
    assert CONTEXT_BUDGET - 2500 < tokens <= CONTEXT_BUDGET
    text = whole(document)
    assert "#79 " in text
    assert "#69 " in text
    assert "#60 " not in text
    assert NOVA.prompt in text


def test_an_old_queued_trigger_stays_when_newer_messages_go() -> None:
    trigger = said(0, "Mia", "capital of France?")
    messages = [said(number, "Ben", f"#{number} " + "語" * 1900) for number in range(1, 60)]
    document = built(trigger, *messages, trigger=trigger, is_queued=True)
    assert document.items[2].text == "Mia: capital of France?"
    assert "#1 " not in whole(document)


authors = st.sampled_from(["Mia", "Ben", "Nova"])
channels = st.lists(st.tuples(authors, st.text(max_size=60), st.booleans()), max_size=12)


@given(channels, st.booleans(), st.integers(0, 11))
def test_every_context_can_be_sent(
    spoken: list[tuple[str, str, bool]], is_queued: bool, position: int
) -> None:
    """Begins and ends with the user, holds no empty item, answers what was asked, and is the same
    each time."""
    messages = [
        said(number, author, text, attachments=["a.png"] if file and author != "Nova" else [],
             created_at=START + timedelta(hours=5 * number))
        for number, (author, text, file) in enumerate(spoken)
    ]  # fmt: skip
    asking = [m for m in messages if not m.is_self]
    trigger = asking[position % len(asking)] if asking else said(99, "Mia", "nova?")
    document = built(*messages, trigger=trigger, is_queued=is_queued)
    assert document.items[0].role == document.items[-1].role == "user"
    assert all(item.text.strip() for item in document.items)
    last = document.items[-1].text
    if is_queued:
        assert last.startswith(f'[Reply to this earlier message by "{trigger.author_name}": ')
    else:
        assert last.startswith(f"{trigger.author_name}: ")
    assert document == built(*messages, trigger=trigger, is_queued=is_queued)
    assert document == ContextDocument.model_validate_json(document.model_dump_json())
