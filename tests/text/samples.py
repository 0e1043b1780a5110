"""What the tests of `text` share: awkward texts, and a reader of fences that is not ours."""

from __future__ import annotations

import random
import re

import regex
from hypothesis import strategies as st

FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇩🇪"
SKIN_TONE = "👍🏽"
COMBINED = "e\u0301\u0323"

_PIECES = [
    "word",
    "Sentence one. Sentence two! ",
    "**bold",
    "**",
    "*it*",
    "_",
    "~~",
    "||",
    "`code`",
    "`",
    "(",
    ")",
    "[link](https://example.org/a_b_(c)*d)",
    "https://example.org/x?y=1",
    '"',
    "don't",
    "“quoted”",
    "<:wave:123456789012345678>",
    "<@123456789012345678>",
    "<t:1700000000:R>",
    "你好，世界。",
    "「はい」",
    "שלום עולם",
    FAMILY,
    FLAG,
    SKIN_TONE,
    COMBINED,
    "🦞",
    "\\*",
    "\\",
    " ",
    "  ",
    "\t",
    "\u3000",
    " \u0301",
    "|",
    "~",
    "\u200d",
    "\u0600",
]
_LINES = [
    "",
    "",
    "```",
    "```py",
    "````",
    "~~~",
    "~~~~ text",
    "   ```",
    "```not-a-close",
    "```a`b",
    "``` \t",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "# Heading",
    "> quote",
    "---",
    "    indented = 1",
]
_LIST_LINES = ["- item", "1. first", "  - nested", "  ```sh", "    ```", "- ```py", "\t```"]


def _line(extra: list[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.sampled_from(_LINES + extra),
        st.lists(st.sampled_from(_PIECES), max_size=12).map("".join),
    )


def _text(extra: list[str]) -> st.SearchStrategy[str]:
    return st.lists(
        st.tuples(_line(extra), st.sampled_from(["\n", "\n", "\n", "\r\n"])).map("".join),
        max_size=25,
    ).map("".join)


plain_documents = _text([])
"""Markdown without lists: any reader of CommonMark sees the same fences."""
documents = st.one_of(_text(_LIST_LINES), st.text(alphabet="`~ \nab-*|(\"'.\r\t", max_size=200))


def fences_balanced(message: str) -> bool:
    """CommonMark's rules for fences at the top level, written apart from `text.fences`."""
    marker = ""
    for line in re.split(r"\r?\n", message):
        if marker:
            closing = re.fullmatch(r" {0,3}(`+|~+)[ \t]*", line)
            if closing and closing[1][0] == marker[0] and len(closing[1]) >= len(marker):
                marker = ""
        else:
            opening = re.fullmatch(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[^\n]*", line)
            if opening:
                marker = opening[1]
    return not marker


def cluster_boundaries(text: str) -> set[int]:
    return {0} | {match.end() for match in regex.finditer(r"\X", text)}


def without_blanks(text: str) -> str:
    return "".join(text.split())


def in_random_chunks(text: str, seed: int, longest: int = 40) -> list[str]:
    generator = random.Random(seed)
    chunks: list[str] = []
    start = 0
    while start < len(text):
        end = start + generator.randint(1, longest)
        chunks.append(text[start:end])
        start = end
    return chunks


def long_reply() -> str:
    """A reply of 9,000 characters with two code blocks, and its parts numbered."""
    words = 'The quick **brown fox** jumps over the (rather lazy) dog, and says "well". '
    parts = [f"[{number}] {words * 3}".strip() + "\n\n" for number in range(12)]
    first = "```python\n" + "".join(f"first_{n} = {n}\n\n" for n in range(70)) + "```\n\n"
    second = "~~~~text\n" + "".join(f"    second {n} ```\n" for n in range(135)) + "~~~~\n\n"
    reply = "".join(parts[:4]) + first + "".join(parts[4:8]) + second + "".join(parts[8:])
    filler = "end. " * ((9_000 - len(reply)) // 5)
    return reply + filler + "x" * (9_000 - len(reply) - len(filler))
