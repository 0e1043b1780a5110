"""Trigger words (behaviour 5.1)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.triggers import TriggerIndex, letters_of, trigger_pattern
from tests.bot.servers import persona


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


def named(content: str, index: TriggerIndex) -> list[int]:
    return [each.persona_id for each in index.named(content)]


@given(word=st.text(min_size=1, max_size=20).filter(str.strip), text=st.text(max_size=50))
def test_any_name_can_be_a_trigger(word: str, text: str) -> None:
    """A persona's name is user input: it is never a pattern, and never breaks one."""
    index = TriggerIndex([persona(1, word, is_main=True)])
    index.named(text)
    index.named(text, lambda persona_id: False)


letters = st.sampled_from("aAbBiIıİßsSＡ nN oOνΝあ@\u0307 ")


@given(
    word=st.text(letters, min_size=1, max_size=5).filter(str.strip),
    before=st.text(letters, max_size=6),
    after=st.text(letters, max_size=6),
    deliberate=st.booleans(),
)
def test_the_quick_look_misses_nothing(
    word: str, before: str, after: str, deliberate: bool
) -> None:
    """Whatever a word's pattern matches is found, although the pattern is not always asked."""
    index = TriggerIndex([persona(1, word, is_main=True)])
    for text in (before + word + after, before + word.upper() + after, before + after):
        matched = trigger_pattern(word.strip(), deliberate).search(text) is not None
        plainly = (lambda persona_id: False) if deliberate else None
        assert bool(index.named(text, plainly)) is matched


def test_what_the_quick_look_compares() -> None:
    assert letters_of("Liiilja!  Old\nBOB straße") == "lilja! old bob strase"


def test_personas_come_in_the_order_of_their_names_in_the_text() -> None:
    """Behaviour 5.2: by the place of the first word; ties by the order of the list."""
    nova, bob = persona(1, "Nova", is_main=True), persona(2, "Bob", "Bobby", "some one")
    index = TriggerIndex([nova, bob, persona(3, "Eve"), persona(4, "some")])
    assert named("bobby, ask nova", index) == [2, 1]
    assert named("nova? bob! nova!", index) == [1, 2]
    assert named("some one", index) == [2, 4]
    assert named("<:nova:123456>", index) == []
    assert named("<:nova:123456> nova", index) == [1]


def test_each_word_has_one_owner() -> None:
    """Behaviour 5.1: main persona first, then oldest."""
    old, young = persona(2, "Bob", "friend", "Pal"), persona(3, "Eve", "Friend", "nova")
    index = TriggerIndex([old, young, persona(1, "Nova", "pal", is_main=True)])
    assert named("friend", index) == [2]
    assert named("nova", index) == [1]
    assert named("pal", index) == [1]


def test_a_base_word_calls_the_main_persona_but_is_not_its_own() -> None:
    index = TriggerIndex([persona(1, "Nova", is_main=True), persona(2, "Bob")], ["computer"])
    assert [(each.persona_id, each.by_own_word) for each in index.named("computer?")] == [
        (1, False)
    ]
    (both,) = index.named("computer, nova")
    assert (both.persona_id, both.at, both.by_own_word) == (1, 0, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nova hi", False),  # C036
        ("@nova hi", True),  # C036
        ("hey @NOOOVA!", True),
        ("こんにちは＠nova", True),
        ("write to me@nova.example", False),
        ("@ nova", False),
        ("@novation", False),
        ("the @star says", True),
        ("the star says", False),
        ("<@42> hi", True),
    ],
)
def test_called_deliberately(text: str, expected: bool) -> None:
    """C036, the words: with an `@` before them; a mention is always meant."""
    index = TriggerIndex([persona(1, "Nova", "@star", "<@42>", is_main=True)])
    assert bool(index.named(text, lambda persona_id: False)) is expected


def test_a_hostile_name_costs_no_time() -> None:
    index = TriggerIndex([persona(1, "aaaaaaaaaaaaaaaaaaaa b", "ab" * 30, is_main=True)])
    started = time.perf_counter()
    index.named("a" * 4000)
    index.named("ab" * 2000)
    index.named("b a" * 1300)
    assert time.perf_counter() - started < 0.2
