"""What a persona's fields may be, wherever they come from: a file, or a member's command. Pure.

Each check returns the value as it is stored, or raises ValueError with words for whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from urllib.parse import urlsplit

from text.visible import has_visible, strip_invisible

NAME_LIMIT = 80
"""Characters, as many as the database's column and a webhook's name hold."""

PROMPT_LIMIT = 16_000
"""Characters, so that even a Japanese prompt, a token for each, leaves a third of the context
budget to the conversation."""

AVATAR_LIMIT = 512
"""Characters of the address."""


_JOINS = frozenset("\u200c\u200d" + "".join(map(chr, range(0xE0020, 0xE0080))))
"""Seen by what they do to their neighbours: joiners, and the letters of a region's flag."""


def checked_name(name: str) -> str:
    if name != " ".join(name.split()):
        raise ValueError("name must be one line, with single spaces and none at its ends")
    if not has_visible(name):
        raise ValueError("name holds nothing that can be seen")
    check_seen("name", name)
    return name


def check_seen(what: str, text: str) -> None:
    """One line in which nothing is hidden: no controls, no change of direction, and joiners only
    where writing needs them, as in emoji and in Arabic and Indic scripts."""
    if len(text.splitlines()) > 1:
        raise ValueError(f"{what} must be one line")
    shown = strip_invisible(text)
    hidden = next((c for c, kept in zip_longest(text, shown) if c != kept), None)
    hidden = hidden or next((c for c in shown if not (c.isprintable() or c in _JOINS)), None)
    if hidden is not None:
        raise ValueError(f"{what} holds a character that cannot be seen (U+{ord(hidden):04X})")


def checked_triggers(triggers: Sequence[str]) -> list[str]:
    if any(not trigger.strip() for trigger in triggers):
        raise ValueError("triggers holds an empty one, which would match every message")
    return [trigger.strip() for trigger in triggers]


def checked_prompt(prompt: str) -> str:
    if "\0" in prompt:
        raise ValueError("the prompt contains a NUL character")
    return prompt


def checked_avatar(address: str) -> str:
    """An address that Discord will fetch the picture from; nothing here does."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme == "https" and bool(parts.hostname) and parts.username is None
        # reading the port is what finds a wrong one
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or not address.isascii() or not address.isprintable() or " " in address:
        raise ValueError("avatar must be an address that begins with https://")
    if len(address) > AVATAR_LIMIT:
        raise ValueError(f"avatar is longer than {AVATAR_LIMIT} characters")
    return address
