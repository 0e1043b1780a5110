"""Reasoning never reaches the channel (C088, D65)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.samples import in_random_chunks
from text.think import MAX_TAG, DetailsFilter, ThinkFilter


def filtered(*chunks: str) -> tuple[str, str]:
    """(visible, thoughts) of a whole stream."""
    think = ThinkFilter()
    parts = [think.feed(chunk) for chunk in chunks]
    parts.append(think.finish())
    return "".join(visible for visible, _ in parts), "".join(thought for _, thought in parts)


CASES = [
    ("<think>x</think>hi", "hi", "x"),
    ("<thinking>x</thinking>\n\nhi", "hi", "x"),
    ("<thought>x</thought>hi", "hi", "x"),
    ("<reasoning>x</reasoning>hi", "hi", "x"),
    ("<THINK>x</Think>hi", "hi", "x"),
    ("<ns:think>x</ns:think>hi", "hi", "x"),
    ("<a.b:c-d:thinking>x</a.b:c-d:thinking>hi", "hi", "x"),
    ('<think budget="9" lang=en>x</think >hi', "hi", "x"),
    ("\n <think>x</think> \n hi", "hi", "x"),
    ("hello <think>x</think>world", "hello world", "x"),
    ("<think>a</think>b<think>c</think>d", "bd", "ac"),
    ("<think>never closed", "", "never closed"),
    ("seen <think>never closed", "seen ", "never closed"),
    ("<think/>hi", "hi", ""),
    ("<think></think>hi", "hi", ""),
    ("<think>a < b <b>c</b></think>hi", "hi", "a < b <b>c</b>"),
    ("<think>a</thinking>hi", "hi", "a"),
    # literal
    ("use `<think>` tags", "use `<think>` tags", ""),
    ("``a ` <think>`` b", "``a ` <think>`` b", ""),
    ("```xml\n<think>x</think>\n```\nhi", "```xml\n<think>x</think>\n```\nhi", ""),
    ("~~~\n```\n<think>\n~~~\n<think>x</think>hi", "~~~\n```\n<think>\n~~~\nhi", "x"),
    ("`</think>` closes", "`</think>` closes", ""),
    ("<thinker> <thin> < think> <3 a<b", "<thinker> <thin> < think> <3 a<b", ""),
    ("<:think:123> <@1> <#2> <t:3:R>", "<:think:123> <@1> <#2> <t:3:R>", ""),
    # not code after all
    ("a stray ` and <think>x\ny</think> b", "a stray ` and  b", "x\ny"),
    ("\\`<think>x</think>hi", "\\`hi", "x"),
    # in thoughts
    ("<think>```\nno end</think>hi", "hi", "```\nno end"),
    ("<think>the tag `</think>` ends</think>hi", "hi", "the tag `</think>` ends"),
    ("<think>a<think>b</think>c</think>d", "d", "a<think>b</think>c"),
    ("<think>a <think> tag</think>hi", "hi", "a <think> tag</think>"),
    # the end of the stream
    ("hi <thin", "hi <thin", ""),
    ("<think>x</thin", "", "x</thin"),
    ("  hi ", "  hi ", ""),
    ("   ", "   ", ""),
    ("", "", ""),
]


@pytest.mark.parametrize(("text", "visible", "thoughts"), CASES)
def test_tags_however_the_stream_is_cut(text: str, visible: str, thoughts: str) -> None:
    """C088."""
    expected = (visible, thoughts)
    assert filtered(text) == expected
    assert filtered(*text) == expected
    for cut in range(len(text)):
        assert filtered(text[:cut], text[cut:]) == expected


PIECES = [
    *("<think>", "</think>", "<x:thinking a=1>", "</x:thinking>", "<th", "<", ">", "/"),
    *("`", "``", "```", "~~~\n", "\n", "\\", "word ", " "),
]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=25).map(lambda parts: "start " + "".join(parts)),
    st.integers(0, 9),
)
def test_the_chunks_do_not_matter(text: str, seed: int) -> None:
    """Once something is visible, what members read depends on the text alone (D65)."""
    assert filtered("start", *in_random_chunks(text[5:], seed, 6)) == filtered("start", text[5:])


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab <>/`\n~", max_size=80))
def test_text_without_tags_is_untouched(text: str) -> None:
    assert filtered(*text) == (text, "")


def test_closing_tag_without_an_opening_one() -> None:
    """The opening tag stood in the prompt's template: what was not released yet is a thought."""
    assert filtered("reasons</think>\n\nhi") == ("hi", "reasons")
    assert filtered("a ", "b</think>c") == ("a bc", "")
    assert filtered("\n", "</think>", "hi") == ("hi", "")


def test_nothing_is_held_back_without_need() -> None:
    think = ThinkFilter()
    assert think.feed("a <") == ("a ", "")
    assert think.feed("3") == ("<3", "")
    assert think.feed(" <div") == (" ", "")
    assert think.feed(" class=x") == ("<div class=x", "")
    assert think.feed("<") == ("", "")
    assert think.feed("think") == ("", "")
    assert think.feed(">deep") == ("", "deep")
    assert think.feed("</think>done") == ("done", "")
    assert think.finish() == ("", "")


def test_a_tag_without_end_is_text() -> None:
    text = "<think " + "a" * MAX_TAG
    assert filtered(*text) == (text, "")


@pytest.mark.parametrize(
    "piece", ["<", "<think ", "`<think>", "`", "a:", "<a:", "<think>", "</think>", "\n", "~~~<"]
)
def test_time_grows_with_length_alone(piece: str) -> None:
    text = (piece * 40_000)[:40_000]
    started = time.process_time()
    filtered(*text)
    filtered(text)
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("text", "visible", "details"),
    [
        ("Hi.<details>rain</details> Bye.", "Hi. Bye.", "rain"),
        ("<details open><summary>x</summary>rain</details>Hi.", "Hi.", "<summary>x</summary>rain"),
        ("Hi.<DETAILS>rain, for ever", "Hi.", "rain, for ever"),
        ("Hi.</details> Bye.", "Hi. Bye.", ""),
        ("`<details>` is a tag.", "`<details>` is a tag.", ""),
        ("```html\n<details>x</details>\n```", "```html\n<details>x</details>\n```", ""),
        ("<detailsx>", "<detailsx>", ""),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_details_are_kept_apart(text: str, visible: str, details: str, size: int) -> None:
    """C080: not shown, however the stream is cut; code stays as it is."""
    tags = DetailsFilter()
    parts = [tags.feed(text[at : at + size]) for at in range(0, len(text), size)]
    parts.append(tags.finish())
    assert "".join(shown for shown, _ in parts) == visible
    assert "".join(kept for _, kept in parts) == details
