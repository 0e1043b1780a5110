"""Where a sentence ends, in scripts with blanks between words and in those without (D08)."""

from __future__ import annotations

import re

CJK_ENDS = frozenset("。！？｡」）")
"""After one of these a Chinese or Japanese text may break, without a blank."""
CJK_PAUSES = frozenset("，、；：』】》〉”")
"""After one of these it may break when there is nothing better."""
CJK_CLOSERS = CJK_ENDS | CJK_PAUSES | frozenset("…ー～〜’")
"""What must not begin a line there."""

TERMINATORS = frozenset(".!?…。！？")
CLOSERS = frozenset("\"'”’»)]*_~")
"""What may stand between the mark that ends a sentence and the blank after it."""

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“*_])"
    r"(?:\d{1,9}|[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]"
    r"|mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|cf|approx|ca|bzw|usw|ggf|al|inc|ltd"
    r"|p\.ex|ex)\.\Z",
    re.IGNORECASE,
)
"""An initial, an ordinal or list number, `e.g.`, and the commonest abbreviations."""
_BEFORE_NUMBER = re.compile(r"(?:^|[\s(])(?:no|nr|nos|vol|fig|pp?|ch|sec|art)\.\Z", re.IGNORECASE)
"""`No. 5` goes on, `No. Never.` does not."""


def ends_sentence(before: str, after: str = "") -> bool:
    """Whether a sentence ends with `before` (no trailing blanks), given what follows the blank.

    A few dozen code points of `before` are enough.
    """
    core = before.rstrip("".join(CLOSERS))
    if not core or core[-1] not in TERMINATORS:
        return False
    if core[-1] in ".…" and after[:1].islower():
        return False
    if core[-1] != ".":
        return True
    if after[:1].isdigit() and _BEFORE_NUMBER.search(core):
        return False
    return _ABBREVIATION.search(core) is None


def is_broken_off(clause: str) -> bool:
    """Whether `clause`, the last words before something else, lacks its end."""
    last = clause.rstrip()[-1:]
    return last.isalnum() or (last != "" and last in ",;、，；-–—(（[「“„&/+<@#")
