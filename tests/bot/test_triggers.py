"""Trigger words (behaviour 5.1)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.triggers import named_personas, persona_triggers, trigger_pattern


def matches(word: str, text: str) -> bool:
    return trigger_pattern(word).search(text) is not None


@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        ("lilja", "liiiljaaa!", True),  # C039
        ("lilja", "lil ja", False),  # C039
        ("lilja", "LILJA", True),
        ("lilja", "liljan", False),
        ("lilja", "x_lilja", False),
        ("lilja", "@lilja, hello", True),
        ("lilja", "lilja's", True),
        ("anna", "ana", False),
        ("anna", "annnnna", True),
        ("Old Bob", "hey old   bob", True),
        ("nova", "novaさん、こんにちは", True),
        ("ノヴァ", "こんにちはノヴァさん", True),
        ("小明", "你好小明在吗", True),
        ("анна", "аннна", False),  # only Latin letters are drawn out
        ("<@42>", "hi <@!42>", True),
        ("<@42>", "hi <@421>", False),
        ("r2d2", "r2d2", True),
        ("r2d2", "r22d2", False),
        ("c++", "I like c++", True),
    ],
)
def test_a_word_matches_where_a_person_means_it(word: str, text: str, expected: bool) -> None:
    """C039."""
    assert matches(word, text) is expected


@given(
    word=st.text(alphabet="abcxyz", min_size=1, max_size=8),
    stretch=st.lists(st.integers(1, 4), min_size=8, max_size=8),
    before=st.sampled_from(["", " ", "(", "@", "さ"]),
    after=st.sampled_from(["", " ", "!", ",", "さ"]),
)
def test_a_drawn_out_word_still_matches(
    word: str, stretch: list[int], before: str, after: str
) -> None:
    """C039: each Latin letter may repeat, whatever stands around the word."""
    drawn = "".join(letter * times for letter, times in zip(word, stretch, strict=False))
    assert matches(word, f"{before}{drawn.upper()}{after}")


@given(
    word=st.text(alphabet="abcxyz", min_size=1, max_size=8),
    glued=st.sampled_from(["q", "7", "_", "é", "ж"]),
)
def test_a_word_inside_another_word_does_not(word: str, glued: str) -> None:
    assert not matches(word, f"{glued}{word}")
    assert not matches(word, f"{word}{glued}")


@given(word=st.text(min_size=1, max_size=20).filter(str.strip), text=st.text(max_size=50))
def test_any_name_can_be_a_trigger(word: str, text: str) -> None:
    """A persona's name is user input: it is never a pattern, and never breaks one."""
    persona_triggers(1, True, [word])
    named_personas(text, [persona_triggers(1, True, [word])])


def test_personas_come_in_the_order_of_their_names_in_the_text() -> None:
    nova = persona_triggers(1, True, ["Nova"])
    bob = persona_triggers(2, False, ["Bob", "Bobby"])
    eve = persona_triggers(3, False, ["Eve"])
    assert [p.persona_id for p in named_personas("bobby, ask nova", [nova, bob, eve])] == [2, 1]
    assert named_personas("<:nova:123456>", [nova]) == []


def test_a_hostile_name_costs_no_time() -> None:
    persona = persona_triggers(1, True, ["aaaaaaaaaaaaaaaaaaaa b"])
    started = time.perf_counter()
    named_personas("a" * 4000, [persona])
    assert time.perf_counter() - started < 0.2
