"""The rules of a server's own personas, as its members' commands make and change them.

In: what a member asked for, and the rows that answer in the server, read under the server's lock.
Out: the values to store, or PersonaConflict with a line for that member. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Row

from storage.cleaned import cleaned
from storage.errors import PersonaConflict
from storage.personas.fields import (
    NAME_LIMIT,
    PROMPT_LIMIT,
    check_seen,
    checked_avatar,
    checked_name,
    checked_prompt,
    checked_triggers,
)
from storage.personas.models import PersonaChanges
from text.usernames import told_apart_by
from text.visible import has_visible

MAX_PERSONAS = 50
"""That answer in one server and are its own."""

MAX_MADE = 1_000
"""That one server ever makes: an id is never used again, and all servers share the 36**4."""

MAX_TRIGGERS = 32
TRIGGER_LIMIT = 60
"""Characters of one. They bound what the bot looks for in every message of the server."""


def fitting(changes: PersonaChanges) -> dict[str, Any]:
    """The values of `changes` as they are stored."""
    unknown = set(changes) - set(PersonaChanges.__annotations__)
    if unknown:
        raise ValueError(f"a persona has no {', '.join(sorted(unknown))} that can be changed")
    values: dict[str, Any] = {}
    try:
        if "name" in changes:
            name = " ".join(changes["name"].split())
            values["name"] = checked_name(_long_enough("name", name, NAME_LIMIT))
        if "prompt" in changes:
            prompt = cleaned(changes["prompt"]).strip()
            values["prompt"] = checked_prompt(_long_enough("the prompt", prompt, PROMPT_LIMIT))
        if "triggers" in changes:
            values["triggers"] = _triggers(changes["triggers"])
        if "avatar_url" in changes:
            avatar = changes["avatar_url"]
            values["avatar_url"] = checked_avatar(avatar) if avatar else None
    except ValueError as error:
        raise PersonaConflict(str(error)) from None
    return values


def with_default_trigger(values: dict[str, Any], before: Row[Any] | None) -> dict[str, Any]:
    """Its name is a persona's trigger as long as nobody chose others, also under a new name."""
    name = values["name"] if before is None else values.get("name", before.name)
    if before is None or "triggers" in values:
        chosen = values.get("triggers", [])
    else:
        chosen = [] if before.triggers == [before.name] else before.triggers
    return {**values, "triggers": chosen or [name]}


def check_room(own: Sequence[Row[Any]], made: int) -> None:
    if len(own) >= MAX_PERSONAS:
        raise PersonaConflict(
            f"this server has {MAX_PERSONAS} personas of its own already: remove one first"
        )
    if made >= MAX_MADE:
        raise PersonaConflict(
            f"this server has made {MAX_MADE:,} personas, and no more may be made: edit one instead"
        )


def check_name_free(others: Iterable[Row[Any]], name: str) -> None:
    for other in others:
        if told_apart_by(other.name) == told_apart_by(name):
            taken = f'there is a persona named "{other.name}" here already'
            if other.name.casefold() != name.casefold():
                taken += f', and "{name}" cannot be told from it'
            raise PersonaConflict(taken)


def check_own(row: Row[Any]) -> None:
    if row.guild_id is None:
        raise PersonaConflict(
            f'"{row.name}" lives in every server and is changed in its file, by whoever runs the '
            "bot"
        )


def _long_enough(what: str, text: str, limit: int) -> str:
    if not text:
        raise ValueError(f"{what} is empty")
    if len(text) > limit:
        raise ValueError(f"{what} is longer than {limit:,} characters")
    return text


def _triggers(triggers: Sequence[str]) -> list[str]:
    words = checked_triggers(triggers)
    for word in words:
        if len(word) > TRIGGER_LIMIT:
            raise ValueError(f"a trigger is longer than {TRIGGER_LIMIT} characters")
        if not has_visible(word):
            raise ValueError("a trigger holds nothing that can be seen")
        check_seen("a trigger", word)
    distinct = list({word.casefold(): word for word in reversed(words)}.values())[::-1]
    if len(distinct) > MAX_TRIGGERS:
        raise ValueError(f"a persona has at most {MAX_TRIGGERS} triggers")
    return distinct
