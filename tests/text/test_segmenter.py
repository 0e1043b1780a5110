"""The stream is cut where a reader would pause (behaviour 6.8, "Buffer flush")."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.samples import (
    cluster_boundaries,
    documents,
    fences_balanced,
    in_random_chunks,
    long_reply,
    plain_documents,
    without_blanks,
)
from text.segmenter import CODE_LIMIT, PATIENCE, PROSE_LIMIT, Segmenter
from text.split import split_message


def segments(*chunks: str, sentence_split: bool = False) -> list[str]:
    segmenter = Segmenter(sentence_split=sentence_split)
    found = [segment for chunk in chunks for segment in segmenter.feed(chunk)]
    return found + segmenter.finish()


@settings(max_examples=300, deadline=None)
@given(documents, st.booleans(), st.integers(0, 9))
def test_the_chunks_do_not_matter(text: str, heavy: bool, seed: int) -> None:
    whole = segments(text, sentence_split=heavy)
    assert segments(*text, sentence_split=heavy) == whole
    assert segments(*in_random_chunks(text, seed), sentence_split=heavy) == whole


@settings(max_examples=300, deadline=None)
@given(documents, st.booleans())
def test_nothing_is_lost_and_nothing_is_blank(text: str, heavy: bool) -> None:
    """What is added are closing marks, at the end only."""
    found = segments(text, sentence_split=heavy)
    assert all(segment.strip() for segment in found)
    assert without_blanks("".join(found)).startswith(without_blanks(text))


@settings(max_examples=300, deadline=None)
@given(plain_documents, st.booleans())
def test_every_segment_has_balanced_fences(text: str, heavy: bool) -> None:
    for segment in segments(text, sentence_split=heavy):
        assert fences_balanced(segment), segment


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["e\u0301\u0323", "👨‍👩‍👧", "🇩🇪", "字", " \u0301"]), max_size=700))
def test_no_grapheme_cluster_is_cut(parts: list[str]) -> None:
    """D07: text without a single pause has to be cut somewhere."""
    text = "".join(parts * 3)
    boundaries = cluster_boundaries(text)
    position = 0
    for segment in segments(text):
        position = text.index(segment, position)
        assert position in boundaries
        position += len(segment)
        assert position in boundaries


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.\n\nTwo.\n\n\n\nThree.", ["One.", "Two.", "Three."]),
        ("One\r\n\r\nTwo\r\n", ["One", "Two"]),
        ("line\nline\n\nnext", ["line\nline", "next"]),
        # lists stay together, tight or loose, and end where they end
        ("Do:\n- a\n- b\n\nnext", ["Do:\n- a\n- b", "next"]),
        ("- a\n\n- b\n\n  more of b\n\nnext", ["- a\n\n- b\n\n  more of b", "next"]),
        ("1. a\n\n2. b\n\n2024 was", ["1. a\n\n2. b", "2024 was"]),
        ("* a\n\n**bold** start", ["* a", "**bold** start"]),
        # a heading or a rule is not a message of its own
        ("# Title\n\nText.\n\nMore.", ["# Title\n\nText.", "More."]),
        ("A.\n\n---\n\nB.", ["A.", "---\n\nB."]),
        # code
        ("Look:\n```py\nx\n\ny\n```\ndone", ["Look:", "```py\nx\n\ny\n```", "done"]),
        ("````\n```\n\n```\n````\nx", ["````\n```\n\n```\n````", "x"]),
        ("~~~\na\n\n```\n\nb\n~~~\n", ["~~~\na\n\n```\n\nb\n~~~"]),
        (
            "1. x\n   ```\n   y\n\n   z\n   ```\n2. w",
            ["1. x", "   ```\n   y\n\n   z\n   ```", "2. w"],
        ),
        ("```\na\n```b\n\nc\n```\n\nd", ["```\na\n```b\n\nc\n```", "d"]),
        # held while something is open
        ("a (b\n\nc) d\n\ne", ["a (b\n\nc) d", "e"]),
        ("**a\n\nb**\n\nc", ["**a\n\nb**", "c"]),
        ("~~a\n\nb~~\n\nc", ["~~a\n\nb~~", "c"]),
        ("*a\n\nb*\n\nc", ["*a\n\nb*", "c"]),
        ('He: "a\n\nb" x\n\nc', ['He: "a\n\nb" x', "c"]),
        ("「a\n\nb」\n\nc", ["「a\n\nb」", "c"]),
        ("[a\n\nb](https://x.org)\n\nc", ["[a\n\nb](https://x.org)", "c"]),
        # not open at all
        ("don't\n\nb", ["don't", "b"]),
        ("'tis so\n\nb", ["'tis so", "b"]),
        ("a ) b) c\n\nd", ["a ) b) c", "d"]),
        ("sad :(\n\nb", ["sad :(", "b"]),
        ("5 * 3 ~ 2\n\nb", ["5 * 3 ~ 2", "b"]),
        ("snake_case a_\n\nb", ["snake_case a_", "b"]),
        ("5'10\" tall\n\nb", ["5'10\" tall", "b"]),
        ("\\*a\n\nb", ["\\*a", "b"]),
        ("`a * ( b`\n\nc", ["`a * ( b`", "c"]),
        ("a ` b\n\nc", ["a ` b", "c"]),
        ("https://x.org/a*b_(c\n\nd", ["https://x.org/a*b_(c", "d"]),
        ("- a *b\n- c\n\nd", ["- a *b\n- c", "d"]),
        ("| a | b |\n|---|---|\n| (1 | *2 |\n\nx", ["| a | b |\n|---|---|\n| (1 | *2 |", "x"]),
        # the end closes what is open, in prose only
        ("so **bold", ["so **bold**"]),
        ("***both", ["***both***"]),
        ("**a *b", ["**a *b***"]),
        ("~~x `y", ["~~x `y`~~"]),
        ("_x ", ["_x_"]),
        ('"quote (paren', ['"quote (paren']),
        ("text **", ["text **"]),
        ("``\n", ["``"]),
        ("``a\n`", ["``a\n`"]),
        ("~~a\n~", ["~~a\n~"]),
        ("```py\nx = **", ["```py\nx = **\n```"]),
        ("a\n```py", ["a", "```py\n```"]),
        ("```\nx\n``", ["```\nx\n```"]),
        ("~~~~\nx\n", ["~~~~\nx\n~~~~"]),
        ("  \n\n ", []),
    ],
)
def test_where_it_cuts(text: str, expected: list[str]) -> None:
    assert segments(text) == expected
    assert segments(*text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi there. How are you? Good!", ["Hi there.", "How are you?", "Good!"]),
        ("One.\nTwo.", ["One.", "Two."]),
        (
            "See e.g. this. Mr. Fox paid 3.50 at No. 5.",
            ["See e.g. this.", "Mr. Fox paid 3.50 at No. 5."],
        ),
        (
            "(One. Two.) Three. *Four. Five.* Six.",
            ["(One. Two.)", "Three.", "*Four. Five.*", "Six."],
        ),
        ('"Yes. No." Done.', ['"Yes. No."', "Done."]),
        ("- One. Two.\n- Three. Four.", ["- One. Two.\n- Three. Four."]),
        ("Well... maybe. Ok.", ["Well... maybe.", "Ok."]),
        ("你好。你好吗？「好。很好。」是的", ["你好。", "你好吗？", "「好。很好。」", "是的"]),
        ("`a. B` too. Done", ["`a. B` too.", "Done"]),
        (
            "Hello. *waves* No. `x` - really. - Bye",
            ["Hello.", "*waves* No.", "`x` - really. - Bye"],
        ),
        ("| a. B | c |\n|---|---|\n| d. E | f |", ["| a. B | c |\n|---|---|\n| d. E | f |"]),
    ],
)
def test_sentences_when_asked_for(text: str, expected: list[str]) -> None:
    """Humanizer "heavy"."""
    assert segments(*text, sentence_split=True) == expected


def test_a_paragraph_is_out_as_soon_as_it_ends() -> None:
    """T24: nothing waits for what comes after it."""
    segmenter = Segmenter()
    assert segmenter.feed("One paragraph.\n") == []
    assert segmenter.feed("\n") == ["One paragraph."]
    assert segmenter.feed("Intro:\n```py\n") == ["Intro:"]
    assert segmenter.feed("x = 1\n```") == []
    assert segmenter.feed("\n") == ["```py\nx = 1\n```"]
    assert segmenter.feed("- item\n\nP") == ["- item"]
    assert segmenter.finish() == ["P"]
    assert segmenter.finish() == []


def test_a_quote_that_never_ends_lets_go() -> None:
    """A blank line releases it once it has been open for long enough."""
    opening = 'He said "' + "word " * (PATIENCE // 5)
    assert segments(f"{opening}\n\nnext (one\n\nlast") == [opening.strip(), "next (one\n\nlast"]


def test_overflow_cuts_at_a_safe_boundary() -> None:
    """Behaviour 6.8: 1000 code points."""
    sentences = "Some words of a sentence. " * 100
    found = segments(*sentences)
    assert all(len(segment) <= PROSE_LIMIT for segment in found)
    assert all(segment.endswith(".") for segment in found)
    found = segments("字句です。" * 1000)
    assert all(len(segment) <= PROSE_LIMIT and segment.endswith("。") for segment in found)
    before = "word " * 150
    bold = "**" + "bold " * 60 + "end**"
    assert segments(f"{before}{bold} after " + "word " * 40)[1].startswith("**bold")


def test_overflow_of_lines_cuts_between_items() -> None:
    text = "".join(f"- item {number} with words\n" for number in range(100))
    found = segments(*text)
    assert len(found) > 2
    assert all(segment.startswith("- item") for segment in found)
    assert "\n".join(found) == text.strip()


def test_a_long_address_stays_whole() -> None:
    address = "https://example.org/" + "p" * 1500
    found = segments(*("Look at " + "this " * 100 + address + " there"))
    assert any(address in segment for segment in found)


def test_a_table_is_never_cut() -> None:
    """C083: also when it spans the limit, and when it is far longer."""
    table = "| a | b |\n|---|---|\n" + "| some words | more words |\n" * 200
    intro = "Some words. " * 70
    found = segments(*f"{intro}\n{table}\nafter")
    assert [table.strip() in segment for segment in found if "|" in segment] == [True]
    assert found[-1] == "after"
    short = "| a | b |\n|---|---|\n" + "| some words | more words |\n" * 20
    assert sum(short.strip() in segment for segment in segments(f"{intro}\n{short}\nafter")) == 1


def test_code_is_closed_and_opened_again() -> None:
    """Behaviour 6.8: 15 000 code points in code."""
    code = "".join(f"line_{number} = {number}\n" for number in range(2000))
    found = segments(*f"```py\n{code}```\nafter")
    assert len(found) > 2
    assert found[-1] == "after"
    blocks = found[:-1]
    assert all(len(block) <= CODE_LIMIT + 10 for block in blocks)
    assert all(block.startswith("```py\n") and block.endswith("\n```") for block in blocks)
    inside = "\n".join(b.removeprefix("```py\n").removesuffix("\n```") for b in blocks)
    assert inside == code.strip()
    one_line = segments("```\n" + "`" * 40_000 + "x\n```\nafter")
    assert all(fences_balanced(segment) for segment in one_line)
    assert one_line[-1] == "after"


def test_before_a_tool_call() -> None:
    """C081, and behaviour 6.8: "trim a trailing incomplete clause"."""

    def trimmed(text: str) -> list[str]:
        segmenter = Segmenter()
        found = segmenter.feed(text)
        found += segmenter.trim_for_call()
        assert segmenter.finish() == [], "nothing of it is left"
        return found

    assert trimmed("Hi") == ["Hi"]
    assert trimmed("Let me check that. I will now") == ["Let me check that."]
    assert trimmed("Let me check that. Looking:") == ["Let me check that. Looking:"]
    assert trimmed("Done. One moment 🦞") == ["Done. One moment 🦞"]
    assert trimmed("First.\n\nLet me look it up") == ["First.", "Let me look it up"]
    assert trimmed("- a. b") == ["- a. b"]
    assert trimmed("See **bold") == ["See **bold**"]
    assert trimmed("```\ncode. more") == ["```\ncode. more\n```"]
    assert trimmed("好的。我来") == ["好的。"]
    assert trimmed("") == []


@pytest.mark.parametrize("seed", range(5))
def test_a_long_reply_from_stream_to_messages(seed: int) -> None:
    """9,000 characters with two code blocks, in random chunks: order kept, fences balanced."""
    reply = long_reply()
    assert len(reply) == 9_000
    found = segments(*in_random_chunks(reply, seed, 120))
    messages = [message for segment in found for message in split_message(segment)]
    assert all(1 <= len(message) <= 2000 for message in messages)
    assert all(fences_balanced(message) for message in messages)
    joined = "\n".join(messages)
    marks = [f"[{number}]" for number in range(12)]
    marks[4:4] = [f"first_{number} = " for number in range(70)]
    marks[78:78] = [f"    second {number} ```" for number in range(135)]
    position = 0
    for mark in marks:
        position = joined.index(mark, position) + len(mark)


@pytest.mark.parametrize(
    "piece",
    ["word ", "x", '(( * " _a ', "```\ncode\n", "a\n\n", "- item\n\n", "| a | b |\n|--|--|\n", "`"],
)
def test_time_is_linear(piece: str) -> None:
    """100 kB one character at a time; what is quadratic takes minutes."""
    text = (piece * 100_000)[:100_000]
    started = time.process_time()
    segments(*text)
    assert time.process_time() - started < 2.5
