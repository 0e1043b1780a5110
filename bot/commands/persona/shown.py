"""Personas as text. Pure. Names and triggers are shown as written, and format nothing."""

from __future__ import annotations

from collections.abc import Sequence

import discord
from discord.utils import escape_markdown

from bot.commands.config.shown import DESCRIPTION_LIMIT, fitting
from storage.personas import Persona

TRIGGERS_SHOWN = 200
"""Characters of one persona's triggers."""


def show_personas(personas: Sequence[Persona]) -> discord.Embed:
    """Main first, then oldest, as they are given."""
    lines = [_line(persona) for persona in personas]
    text = fitting(lines, DESCRIPTION_LIMIT) if lines else "There are none."
    return discord.Embed(title="Personas", description=text)


def _line(persona: Persona) -> str:
    kinds = ["main"] if persona.is_main else []
    kinds += [] if persona.guild_id else ["in every server"]
    triggers = ", ".join(persona.triggers)
    if len(triggers) > TRIGGERS_SHOWN:
        triggers = triggers[: TRIGGERS_SHOWN - 1] + "\u2026"
    kind = f" ({', '.join(kinds)})" if kinds else ""
    return f"**{escape_markdown(persona.name)}**{kind}: {escape_markdown(triggers)}"
