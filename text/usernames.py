"""The name under which a persona speaks through a webhook, and which names are as one. Pure.

Discord takes 1 to 80 characters and neither `clyde` nor `discord` in them, whatever their case
(resources/webhook). A name that breaks this is changed so that one sees it, and always in the same
way: a message is traced back to its persona by its author's name.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from text.visible import strip_invisible

NAME_LIMIT = 80
FALLBACK = "Persona"
"""Of a persona whose name has nothing in it that can be shown."""

_FORBIDDEN = re.compile(r"clyde|discord", re.IGNORECASE)
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINER = "\u200d"
"""Between signs of emoji and of some scripts it is part of what is seen; beside ASCII it hides."""
_HIDING = re.compile("(?<![^\\x00-\\x7f])\u200d|\u200d(?![^\\x00-\\x7f])")
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0\u200d")
"""Letters and symbols that show nothing."""


def username_of(name: str) -> str:
    """`name` as Discord takes it. `Discord Fan` becomes `D-iscord Fan`."""
    seen = "".join(
        " " if c.isspace() else c
        for c in name
        if c.isspace() or c == _JOINER or unicodedata.category(c) not in _UNSEEN
    )
    bare = " ".join(_HIDING.sub("", seen).split())
    broken = _FORBIDDEN.sub(lambda word: f"{word[0][0]}-{word[0][1:]}", bare)
    short = _HIDING.sub("", broken[:NAME_LIMIT]).rstrip()
    return FALLBACK if all(c in _BLANKS or c.isspace() for c in short) else short


def same_username(one: str, other: str) -> bool:
    """Whether Discord shows the two alike, as far as it may have trimmed one of them."""
    return username_of(one).casefold() == username_of(other).casefold()


@lru_cache(maxsize=10_000)
def told_apart_by(name: str) -> str:
    """What tells a name from others: two that share it cannot both be in one place. They differ in
    nothing, or in nothing but case, width, what cannot be seen, or what Discord does not show."""
    shown = username_of(name).casefold()
    return username_of(strip_invisible(unicodedata.normalize("NFKC", shown))).casefold()
