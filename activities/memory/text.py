"""What of a model's text is kept. Pure."""

from __future__ import annotations

from activities.tools.results import clean

KNOWN = ("{user}", "{bot}")
_LONGEST = max(map(len, KNOWN))


def without_placeholders(text: str) -> str:
    """`text` without control characters, and without anything in braces but `{user}` and `{bot}`,
    which stand for names later.

    Braces inside of braces go with them, so that nothing is left that could be filled in. One pass,
    whatever the nesting: the text is a model's.
    """
    kept: list[str] = []
    opened: list[int] = []
    for character in clean(text):
        if character == "{":
            opened.append(len(kept))
        kept.append(character)
        if character == "}" and opened:
            start = opened.pop()
            if len(kept) - start > _LONGEST or "".join(kept[start:]) not in KNOWN:
                del kept[start:]
    return "".join(kept).strip()
