"""What short-term memory holds, and how its texts are sealed.

Every sealed value names its place (scope, persona, channel, and the entry's own key): one that
somebody has copied into another row does not open there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, TypeAdapter, ValidationError

from storage.cleaned import cleaned
from storage.vault import Vault

MAX_ENTRIES = 10
"""Of one persona in one channel (behaviour 7.1)."""
MAX_ENTRY_LENGTH = 16_000
"""Code points: an answer of eight full messages."""
MAX_AUTHOR_LENGTH = 100
MAX_CHANNEL_NAME_LENGTH = 100
MAX_SUMMARY_LENGTH = 1500
"""Code points of one part (behaviour 7.1)."""
MAX_SUMMARY_PARTS = 8
"""Five categories, and some of a configuration before."""
MAX_PART_NAME_LENGTH = 40

_SUMMARY: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


class StmEntry(BaseModel):
    model_config = ConfigDict(frozen=True)

    author: str
    text: str
    is_persona: bool = False
    """Whether the persona itself said it."""
    user_id: str = ""
    """Whose words these are, or whom the persona answered with them; empty: nobody's, or from
    before this was kept."""
    at: AwareDatetime


class StmRecord(BaseModel):
    """What one persona remembers of one channel. Nothing in it has expired."""

    model_config = ConfigDict(frozen=True)

    channel_id: str
    channel_name: str
    is_private: bool
    """Whether not everybody in the server could see the channel, when it was last written."""
    server_key: str
    entries: list[StmEntry]
    """Oldest first."""
    summary: dict[str, str]
    """By category slug, or under `summary`."""
    summary_at: AwareDatetime | None
    newest_at: AwareDatetime | None
    """Of the newest entry."""
    turns_since_update: int
    """Turns that were captured since the summary was written."""


class Place(NamedTuple):
    """One copy of one channel's record: the key of its row."""

    scope: str
    persona_id: int
    channel_id: str

    @property
    def key(self) -> dict[str, object]:
        return self._asdict()


SERVER_SCOPE = "server:"
"""How the scope of a server's records begins."""


def member_scope(user_id: str) -> str:
    return f"user:{user_id}"


def fitting(entry: StmEntry, now: datetime) -> StmEntry:
    """`entry` within the limits, and not from the future."""
    return StmEntry(
        author=cleaned(entry.author, MAX_AUTHOR_LENGTH),
        text=cleaned(entry.text, MAX_ENTRY_LENGTH),
        is_persona=entry.is_persona,
        user_id=entry.user_id,
        at=min(entry.at, now),
    )


def merged(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """A summary with parts replaced; an empty text takes its part away."""
    fresh = {
        cleaned(name, MAX_PART_NAME_LENGTH): cleaned(text, MAX_SUMMARY_LENGTH).strip()
        for name, text in new.items()
    }
    parts = {name: text for name, text in old.items() if name not in fresh}
    parts |= {name: text for name, text in fresh.items() if text}
    return dict(list(parts.items())[-MAX_SUMMARY_PARTS:])


def seal_name(vault: Vault, place: Place, name: str) -> bytes:
    return vault.seal(cleaned(name, MAX_CHANNEL_NAME_LENGTH), "name", *place)


def open_name(vault: Vault, place: Place, sealed: bytes) -> str:
    return vault.open(sealed, "name", *place) or ""


def seal_summary(vault: Vault, place: Place, summary: Mapping[str, str]) -> bytes | None:
    if not summary:
        return None
    return vault.seal(json.dumps(dict(summary)), "summary", *place)


def open_summary(vault: Vault, place: Place, sealed: bytes | None) -> dict[str, str]:
    text = None if sealed is None else vault.open(sealed, "summary", *place)
    if text is None:
        return {}
    try:
        return _SUMMARY.validate_json(text)
    except ValidationError:
        return {}


def seal_entry(vault: Vault, place: Place, turn_id: str, position: int, entry: StmEntry) -> bytes:
    return vault.seal(entry.model_dump_json(), "entry", *place, turn_id, position)


def open_entry(
    vault: Vault, place: Place, turn_id: str, position: int, sealed: bytes
) -> StmEntry | None:
    text = vault.open(sealed, "entry", *place, turn_id, position)
    if text is None:
        return None
    try:
        return StmEntry.model_validate_json(text)
    except ValidationError:
        return None
