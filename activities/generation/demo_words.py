"""The demo model's own words: how it repeats what somebody else has written. Pure."""

from __future__ import annotations

import re

import regex

QUOTED_WORDS = 12
QUOTED_CHARS = 120

_NO_NAME = "\u034f"
"""Combining grapheme joiner: shows nothing, joins nothing, and belongs to the letter before it."""
_BETWEEN_LETTERS = regex.compile(r"(?<=\w)(?=[\w--\p{M}])", regex.V1)


def plain(text: str, limit: int = QUOTED_CHARS) -> str:
    """Short, on one line, and shown as it was written: no Markdown, no mention, no early end."""
    flat = " ".join(re.sub(r"[“”]", '"', text).split())
    if len(flat) > limit:
        flat = flat[:limit].rstrip() + " …"
    apart = re.sub(r"<(?=[@#])", "< ", flat)
    return re.sub(r"[\\`*_~|\[\]]", r"\\\g<0>", apart)


def quoted(text: str, limit: int = QUOTED_CHARS) -> str:
    """`plain`, and it calls nobody: "Rex and Mira, say hello" is no word of the demo model to Mira.

    It does not know which words call another persona. So the letters of every word are set apart by
    what shows nothing: they look as they were written, and are nobody's name.
    """
    return _BETWEEN_LETTERS.sub(_NO_NAME, plain(text, limit))
