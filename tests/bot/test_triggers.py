"""Trigger words (behaviour 5.1)."""

from __future__ import annotations

from itertools import groupby

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bot.triggers import TriggerIndex
from tests.bot.servers import persona


def matches(word: str, text: str) -> bool:
    index = TriggerIndex([persona(1, word, is_main=True)])
    return bool(index.named(text))


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


UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー"
LETTER = rf"[\w--[{UNSPACED}]]"


def rule(word: str, deliberate: bool) -> regex.Pattern[str]:
    """Behaviour 5.1 as an expression, which takes a millisecond to compile and a search for each
    word: too slow to work with, and what the index has to agree with."""
    mention = regex.fullmatch(r"<@!?(\d+)>", word)
    if mention:
        return regex.compile(f"<@!?{mention[1]}>")
    if deliberate:
        word = "@" + (word.lstrip("@") or word)
    runs = ""
    for character, run in groupby(word.lower()):
        if character.isspace():
            runs += r"\s+"
        else:
            many = "," if regex.match(r"\p{Latin}", character) else ""
            runs += regex.escape(character) + f"{{{len(list(run))}{many}}}"
    before = "" if regex.match(f"[{UNSPACED}]", word[0]) else f"(?<!{LETTER})"
    after = "" if regex.match(f"[{UNSPACED}]", word[-1]) else f"(?!{LETTER})"
    return regex.compile(before + runs + after, regex.IGNORECASE | regex.V1)


signs = ["<@42>", "\u200b", "\u200d", "e\u0301", "😀", "µ", "Ⅷ", "Ω", "ς", "Я", "я", "ー", "ภ"]
parts = st.sampled_from([*"aAbBnN日本ル1_+-'@  \n\u00a0", *signs])
words = st.text(st.sampled_from("ab日+@ 1я"), min_size=1, max_size=5) | st.lists(
    parts, min_size=1, max_size=5
).map("".join)


@given(
    word=words.filter(str.strip),
    times=st.lists(st.integers(1, 3), min_size=30, max_size=30),
    upper=st.booleans(),
    before=st.lists(parts, max_size=5).map("".join),
    after=st.lists(parts, max_size=5).map("".join),
    deliberate=st.booleans(),
)
def test_the_index_finds_what_the_rule_says(
    word: str, times: list[int], upper: bool, before: str, after: str, deliberate: bool
) -> None:
    """C036, C039: for every word and text, drawn out or not, in any script."""
    index = TriggerIndex([persona(1, word, is_main=True)])
    plainly = (lambda persona_id: False) if deliberate else None
    said = word.upper() if upper else word
    drawn = "".join(letter * many for letter, many in zip(said, times, strict=False))
    for text in (before + said + after, before + drawn + after, before + after):
        matched = rule(word.strip(), deliberate).search(text) is not None
        assert bool(index.named(text, plainly)) is matched, text


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("ﬁn", "FIN"),
        ("fin", "the ﬁn"),
        ("ǰan", "J\u030cAN"),
        ("ŉora", "ʼnora"),
        ("straße", "STRASSE"),
        ("Istanbul", "ıstanbul"),
        ("istanbul", "İSTANBUL"),
        ("Iİ", "ıi"),
        ("＠nova", "@nova"),
        ("@nova", "＠nova"),
        ("<@!42>", "hi <@42>"),
    ],
)
def test_ways_to_write_the_same_word(word: str, text: str) -> None:
    assert matches(word, text)
    assert matches(text.split()[-1], word)


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


def test_a_message_meets_only_the_words_that_it_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many words a server has, and although the message holds all their letters."""
    many = [f"{one}{other}{third}" for one in "abcdefgh" for other in "klmno" for third in "vwxyz"]
    index = TriggerIndex([persona(n, *many[n::50], is_main=n == 0) for n in range(50)])
    letters = "".join(many) + " x" + " x".join(many) + " 今日は！ "
    assert len(named(" ".join(many), index)) == 50
    monkeypatch.setattr("bot.triggers.MAX_TRIED", 3)
    assert named(f"{letters} {many[55]}", index) == [5]
    assert named(letters, index) == []


def test_a_message_is_tried_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and a message that were made for each other to cost time."""
    index = TriggerIndex([persona(1, "a bb", is_main=True), persona(2, "日a日日", "+-")])
    text = "a b 日a日 ++ " * 300
    assert named(text + " a bb 日a日日", index) == [1, 2]
    monkeypatch.setattr("bot.triggers.MAX_TRIED", 100)
    assert named(text + " a bb 日a日日", index) == []
    assert named("a bb 日a日日" + text, index) == [1, 2]
