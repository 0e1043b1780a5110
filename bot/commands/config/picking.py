"""Which entry of a list a member means: by id, by mention, or by name. Pure.

What an entry stands for may be gone, and is then known by its id alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from bot.commands.config.changes import Refused

MENTION = re.compile(r"<(?:#|@&|@!?)(\d{1,20})>")
NAMESAKES = 10
"""Ids that an answer lists where a name fits several entries."""

NameOf = Callable[[str], str | None]
"""The name of what has this id; None: it is gone, or not seen."""


def pick(given: str, ids: Iterable[str], name_of: NameOf) -> str | None:
    """The entry that `given` means. Raises Refused where several have that name."""
    known = list(ids)
    text = given.strip()
    mention = MENTION.fullmatch(text)
    wanted = mention[1] if mention else text
    if wanted in known:
        return wanted
    name = _compared(text)
    found = [each for each in known if name and _compared(name_of(each) or "") == name]
    if len(found) > 1:
        those = ", ".join(found[:NAMESAKES])
        raise Refused(f"Several have that name; give the id of one: {those}.")
    return found[0] if found else None


def labels(ids: Iterable[str], name_of: NameOf, sign: str) -> list[tuple[str, str]]:
    """What a completion shows of each, and its id."""
    named = ((name_of(each), each) for each in ids)
    return [(each if name is None else f"{sign}{name}", each) for name, each in named]


def _compared(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().lstrip("#@").strip().casefold()
