"""The form that a persona is written in: shown empty, or with what is there; and read again.

Its custom id says what it is for (`bot.commands.forms`). Discord's fields hold 4,000 characters: a
longer prompt, as another way may have brought it in, is not shown, and is kept as it is unless
something is written in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import discord

from bot.commands.config.answering import words_of
from bot.commands.forms import Values
from storage.personas import Persona, PersonaChanges

PREFIX = "persona/"
CREATE = "create"
EDIT = "edit/"

FIELD_LIMIT = 4_000
"""Characters of a form's field (Discord, interactions/message-components)."""
NAME_FIELD = 80
TRIGGERS_FIELD = 2_100
AVATAR_FIELD = 512
OPEN_FOR = 900.0
"""Seconds that discord.py remembers a form; it is taken in later as well."""


def empty_form(changes: PersonaChanges) -> discord.ui.Modal:
    return _form("A new persona", PREFIX + CREATE, changes, prompt_required=True)


def filled_form(persona: Persona) -> discord.ui.Modal:
    shown = PersonaChanges(
        name=persona.name,
        prompt=persona.prompt,
        triggers=persona.triggers,
        avatar_url=persona.avatar_url,
    )
    custom_id = f"{PREFIX}{EDIT}{persona.id}"
    return _form("Edit a persona", custom_id, shown, prompt_required=False)


def edited_id(rest: str) -> int | None:
    """Whose form it is, of its custom id without the prefix; None: of none that there is yet."""
    number = rest.removeprefix(EDIT)
    is_edit = rest.startswith(EDIT) and number.isascii() and number.isdecimal()
    return int(number) if is_edit and len(number) <= 10 else None


def changes_of(values: Values, *, is_new: bool) -> PersonaChanges:
    """What the form asks for. Of a persona that there is, an empty prompt or name changes nothing;
    empty triggers and an empty avatar take away what was there."""
    changes = PersonaChanges(
        triggers=words_of(values.get("triggers", "")),
        avatar_url=values.get("avatar", "").strip() or None,
    )
    name, prompt = values.get("name", ""), values.get("prompt", "")
    if is_new or name.strip():
        changes["name"] = name
    if is_new or prompt.strip():
        changes["prompt"] = prompt
    return changes


def joined(triggers: Sequence[str]) -> str:
    return ", ".join(triggers)


def _form(
    title: str, custom_id: str, shown: PersonaChanges, *, prompt_required: bool
) -> discord.ui.Modal:
    form = discord.ui.Modal(title=title, custom_id=custom_id, timeout=OPEN_FOR)
    prompt = shown.get("prompt", "")
    too_long = len(prompt) > FIELD_LIMIT
    triggers = joined(shown.get("triggers", ()))
    fields: list[discord.ui.TextInput[Any]] = [
        discord.ui.TextInput(
            label="Name",
            custom_id="name",
            default=shown.get("name") or None,
            max_length=NAME_FIELD,
        ),
        discord.ui.TextInput(
            label="Prompt: who it is, and how it speaks",
            custom_id="prompt",
            style=discord.TextStyle.paragraph,
            default=None if too_long else prompt or None,
            placeholder="Longer than this field: empty keeps it" if too_long else None,
            required=prompt_required,
            max_length=FIELD_LIMIT,
        ),
        discord.ui.TextInput(
            label="Triggers, separated by commas",
            custom_id="triggers",
            default=triggers if 0 < len(triggers) <= TRIGGERS_FIELD else None,
            placeholder="Besides its name, which always calls it",
            required=False,
            max_length=TRIGGERS_FIELD,
        ),
        discord.ui.TextInput(
            label="Avatar: address of a picture",
            custom_id="avatar",
            default=shown.get("avatar_url") or None,
            placeholder="https://\u2026",
            required=False,
            max_length=AVATAR_FIELD,
        ),
    ]
    for field in fields:
        form.add_item(field)
    return form
