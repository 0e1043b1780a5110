"""Mentions in outgoing text: those that must not ping, and those that must not be code.

`allowed_mentions` is the first defence against `@everyone` (D56); a zero-width space inside it is
the second, and holds wherever the text is copied to.
"""

from __future__ import annotations

import re

from text.fences import ZERO_WIDTH_SPACE, prose_regions
from text.inline import code_spans

_CROWD = re.compile(r"@(?=everyone|here)")
_ONLY_MENTIONS = re.compile(r"\s*<(?:@[!&]?|#)\d+>(?:\s*<(?:@[!&]?|#)\d+>)*\s*\Z")


def neutralise(text: str) -> str:
    """`text` with `@everyone` and `@here` broken, and code spans that hold nothing but mentions
    of members, roles or channels turned into those mentions (D16).

    Code blocks and other code spans stay as they are: Discord pings from neither. Idempotent.
    """
    if "@" not in text and "<#" not in text:
        return text
    parts: list[str] = []
    for start, end, prose in prose_regions(text):
        parts.append(_neutralise_prose(text, start, end) if prose else text[start:end])
    return "".join(parts)


def _neutralise_prose(text: str, start: int, end: int) -> str:
    parts: list[str] = []
    done = start
    for low, high in code_spans(text, start, end):
        parts.append(_break_crowd(text[done:low]))
        code = text[low:high]
        content = code.strip("`")
        parts.append(content.strip() if _ONLY_MENTIONS.match(content) else code)
        done = high
    parts.append(_break_crowd(text[done:end]))
    return "".join(parts)


def _break_crowd(prose: str) -> str:
    return _CROWD.sub(f"@{ZERO_WIDTH_SPACE}", prose)
