"""Triggers that a server sets (behaviour 8, rule 1), the hostile ones among them."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.deliberate.matching import MAX_TEXT, Reading, contains_words, normalise
from activities.deliberate.triggers import MAX_LENGTH, MAX_TRIGGERS, TURN_TIME, Triggers


def found(trigger: str, text: str) -> bool:
    return Triggers(Reading(text)).first([trigger]) is not None


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        ("pizza", "Pizza!"),
        ("Pizza Night", "it is  PIZZA\n night"),
        ("pizza", "ｐｉｚｚａ please"),
        ("pizza", "pizzaください"),
        ("pizz*", "two pizzas"),
        ("buy mil*", "buy milk"),
        ("天気", "今日の天気は?"),
        ("피자", "피자를 먹자"),
        ("c++", "I like c++20"),
        ("what's up", "hey what's up?"),
        (":)", "fine :)"),
        ("^", ""),
        ("^", "anything"),
        ("/pizz[ae]/", "PIZZE"),
        (r"/^\d{17,20}$/", "12345678901234567890"),
        (r"/\p{Lu}?x{2,3}/", "axx"),
        ("  pizza  ", "pizza"),
    ],
)
def test_found(trigger: str, text: str) -> None:
    assert found(trigger, text)


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        ("pizza", "pizzas"),
        ("pizza", "antipizza"),
        ("pizza", "pizza_box"),
        ("pizz*", "antipizza"),
        ("क", "का"),
        ("*", "anything"),
        ("", "anything"),
        ("   ", "any thing"),
        ("//", "no slash"),
        ("/[/", "["),
        ("/(?P<x/", "x"),
        ("/a**/", "a"),
        (r"/\L<words>/", "words"),
        ("x" * (MAX_LENGTH + 1), "x" * (MAX_LENGTH + 1)),
        ("/a{٩٩٩}/", "a"),
        ("/(?:a){e<=9}/", "b"),
    ],
)
def test_not_found(trigger: str, text: str) -> None:
    assert not found(trigger, text)


def test_of_many_triggers_the_first_sixteen_count() -> None:
    triggers = [f"word{n}" for n in range(MAX_TRIGGERS + 1)]
    assert Triggers(Reading("word15")).first(triggers) == "word15"
    assert Triggers(Reading("word16")).first(triggers) is None


@pytest.mark.parametrize(
    "expression",
    [
        "(a+)+$",
        "(a|a)*$",
        "(a|aa)+$",
        "((a*)*)*b",
        r"(\w+\s?)+\d",
        "(?=(a+)+b)",
        "(?R)",
        "(?R)*a",
        "a(?R)?b",
        "(?&x)(?P<x>(?&x)a|b)",
        "((((a{999}){999}){999}){999})",
        "((((a{99}){99}){99}){99})",
        "((((((((a+)+)+)+)+)+)+)+){500}",
        "(?:a{1,9999}){1,9999}b",
        "(?:(?:(?:a?){9}){9}){9}b",
        "(?x)(a{ 9 9 9 }){ 9 9 9 }",
        "(?b)(?:abcabcabc){i,d,s,e<=30}",
        "(" * 38,
    ],
)
def test_a_catastrophic_expression_costs_little_and_opens_nothing(expression: str) -> None:
    assert len(expression) <= MAX_LENGTH - 2
    began = perf_counter()
    assert not found(f"/{expression}/", "a" * (MAX_TEXT - 1) + "!")
    assert perf_counter() - began < 1


def test_all_expressions_of_a_turn_together_cost_little() -> None:
    triggers = Triggers(Reading("a" * (MAX_TEXT - 1) + "!"))
    began = perf_counter()
    for target in range(13):
        assert triggers.first([f"/(a|a)*[{target}{n}]$/" for n in range(MAX_TRIGGERS)]) is None
    assert perf_counter() - began < 10 * TURN_TIME


def test_a_slow_expression_leaves_the_words_alone() -> None:
    triggers = Triggers(Reading("a" * 1000 + "! pizza"))
    assert triggers.first(["/(a|a)*$/"] * 15 + ["pizza"]) == "pizza"


@given(trigger=st.text(max_size=45), text=st.text(max_size=200))
def test_no_trigger_and_no_text_is_an_error(trigger: str, text: str) -> None:
    assert Triggers(Reading(text)).first([trigger, f"/{trigger[:38]}/"]) in (
        None,
        trigger.strip(),
        f"/{trigger[:38]}/".strip(),
    )


WORD = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


@given(words=st.lists(WORD, min_size=1, max_size=3), before=st.lists(WORD), after=st.lists(WORD))
def test_a_literal_is_found_wherever_its_words_stand(
    words: list[str], before: list[str], after: list[str]
) -> None:
    assert found(" ".join(words), " \n ".join([*before, *words, *after]).upper())


@given(word=WORD, text=st.lists(WORD, max_size=6))
def test_one_word_is_found_exactly_where_it_is_one_of_the_words(word: str, text: list[str]) -> None:
    assert contains_words(" ".join(text), word) == (word in text)
    assert contains_words(" ".join(text), word, stem=True) == any(
        other.startswith(word) for other in text
    )


@given(st.text())
def test_what_is_normal_stays(text: str) -> None:
    normal = normalise(text)
    assert normal == " ".join(normal.split())
    assert len(normal) <= MAX_TEXT
