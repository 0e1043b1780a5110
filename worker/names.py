"""Names of settings that are nearly right. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

OTHERS = ("CLI_", "UI_", "WORKFLOW_", "GRPC_META_")
"""After `TEMPORAL_`: how names begin that other programs of Temporal's read."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody may have meant; for a name that is surely meant for us."""
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return close[0] if close else None


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """The known name of which `name` is a slip of one or two letters; else None.

    For `TEMPORAL_…`, a prefix that we share with other programs: what is not that near may be
    theirs.
    """
    known = sorted(known)
    if name in known or name.removeprefix("TEMPORAL_").startswith(OTHERS):
        return None
    for wanted in known:
        # In three letters, two that differ make another word.
        limit = 1 if len(wanted.removeprefix("TEMPORAL_")) < 6 else 2
        if abs(len(name) - len(wanted)) <= limit and edits(name, wanted) <= limit:
            return wanted
    return None


def edits(left: str, right: str) -> int:
    """How many letters must be inserted, removed or replaced (Levenshtein)."""
    row = [*range(len(right) + 1)]
    for i, a in enumerate(left, start=1):
        above, row = row, [i]
        for j, b in enumerate(right, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b)))
    return row[-1]
