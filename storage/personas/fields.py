"""What a persona's fields may be, wherever they come from: a file, or a member's command. Pure.

Each check returns the value as it is stored, or raises ValueError with words for whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

NAME_LIMIT = 80
"""Characters, as many as the database's column and a webhook's name hold."""

PROMPT_LIMIT = 16_000
"""Characters, so that even a Japanese prompt, a token for each, leaves a third of the context
budget to the conversation."""

AVATAR_LIMIT = 512
"""Characters of the address."""


def checked_name(name: str) -> str:
    if name != " ".join(name.split()) or not name.isprintable():
        raise ValueError("name must be one line without spaces at its ends")
    return name


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
