"""`/persona …`."""

from __future__ import annotations

import discord
from discord import app_commands

from bot.commands.authorize import Needs
from bot.commands.config.answering import words_of
from bot.commands.naming import suggest_personas
from bot.commands.persona.desk import Calling, PersonaDesk
from bot.directory import ServerDirectory
from storage.personas import PersonaChanges

Name = app_commands.Range[str, 1, 80]
Prompt = app_commands.Range[str, 1, 4_000]
Triggers = app_commands.Range[str, 1, 2_100]
Avatar = app_commands.Range[str, 1, 512]


class PersonaCommands(app_commands.Group):
    def __init__(self, desk: PersonaDesk, directory: ServerDirectory) -> None:
        super().__init__(
            name="persona",
            description="The personas of this server",
            default_permissions=discord.Permissions(manage_guild=True),
        )
        self._desk = desk
        self._directory = directory

    @app_commands.command(name="list", description="Show the personas that answer here")
    async def list_(self, calling: Calling) -> None:
        await self._desk.list_(calling)

    @app_commands.command(description="Make a persona: in a form, unless name and prompt are given")
    @app_commands.describe(
        name="What it is called",
        prompt="Who it is, and how it speaks",
        triggers="Words that call it besides its name, separated by commas",
        avatar="Address of a picture, https://\u2026",
    )
    async def create(
        self,
        calling: Calling,
        name: Name | None = None,
        prompt: Prompt | None = None,
        triggers: Triggers | None = None,
        avatar: Avatar | None = None,
    ) -> None:
        await self._desk.create(calling, given(name, prompt, triggers, avatar))

    @app_commands.command(description="Change a persona: in a form, unless a change is given")
    @app_commands.describe(
        persona="The persona",
        name="What it is called from now on",
        prompt="Who it is, and how it speaks",
        triggers="Words that call it besides its name, by commas, in place of the others",
        avatar="Address of a picture, https://\u2026",
    )
    async def edit(
        self,
        calling: Calling,
        persona: str,
        name: Name | None = None,
        prompt: Prompt | None = None,
        triggers: Triggers | None = None,
        avatar: Avatar | None = None,
    ) -> None:
        await self._desk.edit(calling, persona, given(name, prompt, triggers, avatar))

    @app_commands.command(description="Let a persona answer no more")
    @app_commands.describe(persona="The persona; never the main one")
    async def remove(self, calling: Calling, persona: str) -> None:
        await self._desk.remove(calling, persona)

    @edit.autocomplete("persona")
    @remove.autocomplete("persona")
    async def _personas(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return suggest_personas(self._directory, calling, typed, Needs.MANAGE)


def given(
    name: str | None, prompt: str | None, triggers: str | None, avatar: str | None
) -> PersonaChanges:
    """Only what was given."""
    changes = PersonaChanges()
    if name is not None:
        changes["name"] = name
    if prompt is not None:
        changes["prompt"] = prompt
    if triggers is not None:
        changes["triggers"] = words_of(triggers)
    if avatar is not None:
        changes["avatar_url"] = avatar
    return changes
