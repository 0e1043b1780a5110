"""Extended grapheme clusters: what a reader takes for one character (D07)."""

from __future__ import annotations

import regex

_CLUSTER = regex.compile(r"\X")


def joins(before: str, after: str) -> bool:
    """Whether two neighbours belong to one cluster, told from themselves alone.

    Exact when one of them is a blank or a mark of punctuation. Emoji sequences and flags need
    more context: `boundary_at_or_before`.
    """
    # All but the marks, joiners and prefixes above U+02FF can be told at once.
    if after < "\u0300" and before < "\u0300" and before != "\r":
        return False
    match = _CLUSTER.match(before + after)
    return match is not None and match.end() > len(before)


def boundary_at_or_before(text: str, start: int, position: int) -> int:
    """The last boundary between clusters in [start, position]; `start` is one itself.

    `start` means that one cluster alone reaches from there beyond `position`.
    """
    if position >= len(text):
        return len(text)
    found = 0
    # One more code point shows whether the cluster goes on beyond `position`. A slice, since the
    # matcher would look back over a whole run of flags for each of them.
    for match in _CLUSTER.finditer(text[start : position + 1]):
        if match.end() > position - start:
            break
        found = match.end()
    return start + found
