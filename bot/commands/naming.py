"""A persona by the name that a member typed, out of memory (D44: a completion asks no database).

In: the personas as the directory knows them. Out: the one that is meant, or names to choose from.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import discord
from discord import app_commands

from bot.commands.authorize import Caller, Needs, authorize
from bot.directory import ServerDirectory
from bot.triggers import PersonaTriggers

SUGGESTIONS = 25
"""Choices of a completion (Discord, interactions/application-commands)."""
SHOWN = 60
"""Characters of a name that nobody has, as an answer repeats it."""


def personas_here(
    directory: ServerDirectory, interaction: discord.Interaction[Any]
) -> tuple[PersonaTriggers, ...]:
    """Main first, then oldest."""
    guild_id = None if interaction.guild_id is None else str(interaction.guild_id)
    return directory.known(guild_id)


def persona_named(known: Sequence[PersonaTriggers], typed: str) -> PersonaTriggers | None:
    """Whatever the case, the width of the letters and the spaces around it. Of several that this
    fits, as older databases may hold them, the one whose name it is to the letter."""
    wanted = _compared(typed)
    alike = [persona for persona in known if _compared(persona.name) == wanted]
    return max(alike, key=lambda persona: persona.name == typed.strip(), default=None)


def no_such_persona(typed: str) -> str:
    name = " ".join(typed.split())
    shown = name if len(name) <= SHOWN else name[:SHOWN] + "\u2026"
    return f'There is no persona named "{discord.utils.escape_markdown(shown)}" here.'


def suggest_personas(
    directory: ServerDirectory, interaction: discord.Interaction[Any], typed: str, needs: Needs
) -> list[app_commands.Choice[str]]:
    """Nothing for those who may not use the command (D75)."""
    if authorize(Caller.of_interaction(interaction), needs) is not None:
        return []
    wanted = _compared(typed)
    names = [persona.name for persona in personas_here(directory, interaction)]
    found = [name for name in dict.fromkeys(names) if name and wanted in _compared(name)]
    return [app_commands.Choice(name=name, value=name) for name in found[:SUGGESTIONS]]


def _compared(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()
