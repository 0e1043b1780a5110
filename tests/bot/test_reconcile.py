"""What of a batch the channel holds already (D20). Pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.delivery.notices import plain_notice
from bot.delivery.parts import Part
from bot.delivery.reconcile import Said, floor_of, match
from workflows.contracts.delivery import OutgoingKind, SendRequest

texts = st.lists(st.sampled_from(["a", "b", "hm", "ok"]), max_size=8)


def parts_of(contents: list[str]) -> list[Part]:
    return [
        Part(ordinal, 0, OutgoingKind.TEXT, text, f"n{ordinal}")
        for ordinal, text in enumerate(contents)
    ]


@given(contents=texts, sent=st.integers(0, 8), noise=st.lists(st.integers(0, 8), max_size=4))
def test_a_batch_cut_anywhere_leaves_exactly_its_rest(
    contents: list[str], sent: int, noise: list[int]
) -> None:
    """Messages go out in order, so what stands there is a beginning, among other things we said;
    equal texts are counted, never merged."""
    said = [
        Said(str(number), OutgoingKind.TEXT, text) for number, text in enumerate(contents[:sent])
    ]
    for place in noise:
        said.insert(min(place, len(said)), Said("x", OutgoingKind.TEXT, "something else"))
    found = match(parts_of(contents), said)
    assert [(sent.ordinal, sent.message_id) for sent in found] == [
        (number, str(number)) for number in range(len(contents[:sent]))
    ]


@given(contents=texts, said_texts=texts)
def test_no_message_counts_twice_and_the_order_holds(
    contents: list[str], said_texts: list[str]
) -> None:
    said = [Said(str(n), OutgoingKind.TEXT, text) for n, text in enumerate(said_texts)]
    found = match(parts_of(contents), said)
    places = [int(sent.message_id) for sent in found]
    assert places == sorted(set(places))
    assert all(contents[sent.ordinal] == said_texts[int(sent.message_id)] for sent in found)


def test_a_notice_is_not_a_persona_saying_the_same() -> None:
    said = [Said("1", OutgoingKind.NOTICE, "a")]
    assert match(parts_of(["a"]), said) == []


def test_a_notice_is_known_where_it_went_out_as_text() -> None:
    notice = Part(0, 0, OutgoingKind.NOTICE, "It failed.\nSee the log.", "n0")
    said = [Said("1", OutgoingKind.TEXT, plain_notice(notice.text))]
    assert [sent.message_id for sent in match([notice], said)] == ["1"]


@pytest.mark.parametrize(
    ("stands", "wanted", "found"),
    [
        ("5", "5", True),
        ("4", "5", False),
        ("4", None, False),
        (None, "5", True),
        (None, None, True),
    ],
)
def test_a_reply_to_another_message_is_another_turns(
    stands: str | None, wanted: str | None, found: bool
) -> None:
    """A reply whose target is gone is sent without it, so none at all proves nothing."""
    said = [Said("1", OutgoingKind.TEXT, "a", reply_to=stands)]
    assert bool(match(parts_of(["a"]), said, wanted)) is found


@given(
    trigger=st.integers(1, 9), after=st.none() | st.integers(1, 9), sent=st.lists(st.integers(1, 9))
)
def test_nothing_that_is_known_to_be_older_is_looked_at(
    trigger: int, after: int | None, sent: list[int]
) -> None:
    request = SendRequest(
        turn_id="t1",
        channel_id="1",
        trigger_message_id=str(trigger),
        persona_id=1,
        outgoing=[],
        after_message_id=None if after is None else str(after),
        sent_before=[str(number) for number in sent],
    )
    assert floor_of(request) == max([trigger, after or 0, *sent])
