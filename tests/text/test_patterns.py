"""Which regular expressions of strangers are compiled."""

from __future__ import annotations

import contextlib
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from text.patterns import MAX_COPIES, MAX_LENGTH, PatternRefused, compile_pattern, is_affordable

BOMBS = [
    "((((a{99}){99}){99}){99})",
    "((((a{9}){9}){9}){9})",
    "((a{999}){999})",
    "(?:a{1,9999}){1,9999}b",
    "(?:(?:(?:a?){9}){9}){9}b",
    "((((((((a+)+)+)+)+)+)+)+){500}",
    "((((((((a+b)+b)+b)+b)+b)+b)+b)+b){99}",
    "((((((a++)++)++)++)++)++){99}",
    "(?x)((((((a+) +) +) +) +) +){ 99 }",
    "(?x)(((((a+)#\n+)#\n+)#\n+)#\n+){99}",
    "(((((a{2,}){2,}){2,}){2,}){2,}){9}",
    r"(?:\\{99}){99}",
    "a{٩٩٩}",
    "(?:a){e<=9}",
    "(a{99){99}",
]


@pytest.mark.parametrize("source", BOMBS)
def test_a_bomb_is_refused_before_it_is_compiled(source: str) -> None:
    assert not is_affordable(source)
    began = process_time()
    with pytest.raises(PatternRefused) as refused:
        compile_pattern(source)
    assert process_time() - began < 0.05
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("pizz[ae]s?", "PIZZA"),
        (r"^\d{17,20}$", "12345678901234567890"),
        (r"\S+@\S+\.\S+", "me@example.org"),
        (r"(?:very )+(?:good )+tea{1,3}", "very very good teaa"),
        (r"\p{Lu}+\s\p{Ll}+", "AB cd"),
        (r"remind.{0,100}tomorrow", "remind me of it tomorrow"),
        (r"\{99\}{3}", "{99}}}"),
        ("[+]{2}", "c++"),
    ],
)
def test_what_people_write_is_compiled(source: str, text: str) -> None:
    assert compile_pattern(source).search(text)


@pytest.mark.parametrize(
    "source", ["(", "[a-", "(?P<a>x)(?P<a", "+", "a**", r"\L<words>", "(" * 38]
)
def test_what_is_no_expression_is_refused_in_one_line(source: str) -> None:
    with pytest.raises(PatternRefused, match="not valid") as refused:
        compile_pattern(source)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 150


def test_what_is_longer_than_a_trigger_is_refused() -> None:
    with pytest.raises(PatternRefused, match=f"more than {MAX_LENGTH}"):
        compile_pattern("a" * (MAX_LENGTH + 1))


PIECES = st.sampled_from(
    ["a", "b", "(", "(?:", "(?=", "(?>", "(?x)", ")", ")+", ")*", ")?", "){9}", "){2,}", "+", "*",
     "?", "|", "[a-z]", r"\w", r"\p{L}", "{3}", "{2,9}", "{,9}", "{", "}", ",", " ", "#", "\n", "ß"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=20).map("".join).map(lambda source: source[:MAX_LENGTH]))
@example(f"({'a' * 30}){{{MAX_COPIES}}}")
@example("(((((((a+)+)+)+)+)+)+)+")
def test_whatever_is_typed_costs_little_and_comes_to_one_end(source: str) -> None:
    began = process_time()
    with contextlib.suppress(PatternRefused):
        compile_pattern(source)
    assert process_time() - began < 0.5
