"""The notation of language packs, and what a word in a text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.deliberate.matching import PhraseBook, Reading, compile_phrase

BOOK = PhraseBook(
    [
        ("optional", "make (me|us|) a cake"),
        ("gap", "pin … message"),
        ("stem", "schedul* this"),
        ("number", "in # minutes"),
        ("unspaced", "絵(を|)…描いて"),
        ("mixed", "pdfを読んで"),
        ("mention", "ask @user"),
    ]
)


@pytest.mark.parametrize(
    ("text", "label", "words"),
    [
        ("Make us a cake", "optional", "make us a cake"),
        ("make a cake", "optional", "make a cake"),
        ("pin message", "gap", "pin message"),
        ("pin his last message", "gap", "pin his last message"),
        ("scheduling this", "stem", "scheduling this"),
        ("in 5 minutes", "number", "in 5 minutes"),
        ("in 5minutes", "number", "in 5minutes"),
        ("猫の絵を 描いて", "unspaced", "絵を描いて"),
        ("絵描いて", "unspaced", "絵描いて"),
        ("PDFを読んで", "mixed", "pdfを読んで"),
        ("ask <@!123>", "mention", "ask @user"),
    ],
)
def test_found_with_its_words(text: str, label: str, words: str) -> None:
    assert BOOK.find(Reading(text)) == {label: words}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "remake a cake",
        "make a cakewalk",
        "pin it. A message",
        "pin " + "very " * 10 + "message",
        "reschedule this",
        "in some minutes",
        "絵。描いて",
        "ask 123",
    ],
)
def test_not_found(text: str) -> None:
    assert BOOK.find(Reading(text)) == {}


@pytest.mark.parametrize("source", ["", "… a", "a …", "(a|) b", "schedul*", "#"])
def test_a_phrase_that_cannot_work_is_an_error_when_it_is_made(source: str) -> None:
    with pytest.raises(ValueError, match=r"has no whole word|must begin and end"):
        PhraseBook([("label", source)])


def test_what_was_taken_out_ends_a_sentence() -> None:
    sayings = PhraseBook([("saying", "side message")])
    reading = sayings.removed_from(Reading("pin a side message message"))
    assert reading.plain == "pin a . message"
    assert BOOK.find(reading) == {}


@given(st.text(max_size=300))
def test_looking_only_where_the_words_are_misses_nothing(text: str) -> None:
    """What the book finds is what each of its patterns finds by itself."""
    reading = Reading(text + " make a cake 絵を描いて " + text)
    alone = {
        "optional": compile_phrase("make (me|us|) a cake").search(reading.worded),
        "unspaced": compile_phrase("絵(を|)…描いて").search(reading.plain),
    }
    found = BOOK.find(reading)
    for label, match in alone.items():
        assert found.get(label) == (match and match.group())
