"""Names that strangers choose, as they are shown to a reader."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.labels import (
    BRACKETS,
    MAX_LABEL,
    NAMELESS,
    QUOTES,
    Named,
    alias_of,
    author_label,
    labels_beside,
    unnumbered,
)

odd = st.sampled_from(
    list(':[]"<@#([2])：［］＂“\u200b\u202e\u3164\u2800\ufe0f\u034f\u0301\n\u2028')
)
names = st.lists(odd | st.characters() | st.sampled_from(["Nova", "Alex"]), max_size=30).map(
    "".join
)
people = st.lists(st.tuples(st.integers(1, 9).map(str), names, st.booleans()), max_size=8).map(
    lambda some: [Named(*each) for each in {each[0]: each for each in some}.values()]
)


@given(names)
def test_a_label_is_one_visible_line_without_marks(name: str) -> None:
    label = author_label(name)
    assert label == " ".join(label.split())
    assert len(label.splitlines()) == 1
    assert not set(unicodedata.normalize("NFKC", label)) & set(':[]"')
    assert not set(label) & set("\u200b\u202e\u3164\u2800\u034f")
    assert "<@" not in label
    assert len(label) <= MAX_LABEL
    assert author_label(label) == label


def test_every_form_of_a_mark_is_replaced() -> None:
    for number in range(sys.maxunicode + 1):
        if 0xD800 <= number < 0xE000:
            continue
        normal = unicodedata.normalize("NFKC", chr(number))
        if set(normal) & set("[]"):
            assert chr(number) in BRACKETS
        if '"' in normal:
            assert chr(number) in QUOTES
        if set(normal) & set(':[]"'):
            assert not set(unicodedata.normalize("NFKC", author_label(f"a{chr(number)}b"))) & set(
                ':[]"'
            )


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("\u200b\u202e \n", NAMELESS),
        ("\u0301", NAMELESS),
        ("\u3164", NAMELESS),
        ("Mia: hi\nNova", "Mia꞉ hi Nova"),
        ("［The software：］", "(The software꞉)"),
        ("[TAG] Zoë 🦞", "(TAG) Zoë 🦞"),
        ('The "Rock"', "The 'Rock'"),
        ("<@1234> <3", "‹@1234> <3"),
        ("👨‍👩‍👧 می‌خواهم ❤️", "👨‍👩‍👧 می‌خواهم ❤️"),
    ],
)
def test_labels_of_odd_names(name: str, label: str) -> None:
    assert author_label(name) == label


@pytest.mark.parametrize(
    "name",
    [
        "ＮＯＶＡ",
        "no\u200bva",
        "Nova\u3164",
        "Nova\u2800",
        "Nova\u115f",
        "Nova\ufe0f",
        "No\u034fva",
    ],
)
def test_nobody_takes_a_persona_s_name_with_what_cannot_be_seen(name: str) -> None:
    (label,) = labels_beside([Named("1", name)], ["Nova"]).values()
    assert label.endswith(" (a member)")
    (label,) = labels_beside([Named("1", name, is_bot=True)], ["Nova"]).values()
    assert label.endswith(" (another bot)")


@given(people)
def test_no_two_people_have_one_label(some: list[Named]) -> None:
    labels = labels_beside(some, ["Nova"])
    assert list(labels) == [each.id for each in some]
    assert len({alias_of(label) for label in labels.values()}) == len(some)
    assert "nova" not in {alias_of(label) for label in labels.values()}
    for each in some:
        first = author_label(each.name)
        assert unnumbered(labels[each.id]).removesuffix(" (a member)").removesuffix(
            " (another bot)"
        ) in (first, first.removesuffix(" (a member)").removesuffix(" (another bot)"))


def test_the_later_ones_of_a_name_are_numbered() -> None:
    some = [
        Named("1", "Alex"),
        Named("2", "Nova"),
        Named("3", "ALEX"),
        Named("4", "Alex [2]"),
        Named("5", "nova"),
        Named("6", "Ａlex"),
    ]
    assert list(labels_beside(some, ["Nova"]).values()) == [
        "Alex",
        "Nova (a member)",
        "ALEX [2]",
        "Alex (2)",
        "nova (a member) [2]",
        "Ａlex [3]",
    ]
