"""A persona, and what a server may change about one of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from pydantic import BaseModel, ConfigDict


class Persona(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: int
    """At most 36**4 - 1; never used again, also when the persona is gone."""
    name: str
    is_main: bool
    prompt: str
    triggers: list[str]
    """Words that make it answer, besides its name, which always does."""
    avatar_url: str | None = None
    """An https address."""
    guild_id: str | None = None
    """The server that made it; None: it lives everywhere, and comes from a file."""


class PersonaChanges(TypedDict, total=False):
    name: str
    prompt: str
    triggers: Sequence[str]
    """Without any, its name is one."""
    avatar_url: str | None


class PersonaWords(NamedTuple):
    """Of a persona, what tells whether a message calls it."""

    id: int
    name: str
    is_main: bool
    triggers: list[str]
