"""Personas between Discord and the store.

In: what a member asked for, by options or in a form. Out: their private answer. Changes: the store,
and what the bot knows of the server, at once. What always holds: only who may manage the server
changes anything, whichever way it came (D75); the store's refusals are told in its own words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, Unpack

import discord
import structlog

from bot.commands.answers import Answer, answer_privately, refusal_of
from bot.commands.authorize import Needs
from bot.commands.config.desk import ONLY_IN_A_SERVER
from bot.commands.forms import Values
from bot.commands.naming import no_such_persona, persona_named, personas_here
from bot.commands.persona.form import changes_of, edited_id, empty_form, filled_form
from bot.commands.persona.shown import show_personas
from bot.directory import ServerDirectory
from bot.discord_faults import describe
from storage import PersonaConflict, PersonaMissing
from storage.personas import Persona, PersonaChanges

log = structlog.get_logger(__name__)

Calling = discord.Interaction[Any]

GONE = "That persona is not here any more."
NOT_READ = "The personas cannot be read right now. Try again in a moment."
FORM_WITHIN = 2.0
"""Seconds that a form waits for what is to stand in it; Discord waits three for the form."""


class PersonaStore(Protocol):
    """`storage.Storage.personas`."""

    async def all(self, guild_id: str | None) -> list[Persona]: ...
    async def create(
        self,
        guild_id: str,
        name: str,
        prompt: str,
        triggers: Sequence[str] = (),
        avatar_url: str | None = None,
    ) -> Persona: ...
    async def edit(
        self, persona_id: int, guild_id: str, **changes: Unpack[PersonaChanges]
    ) -> Persona: ...
    async def remove(self, persona_id: int, guild_id: str) -> bool: ...


class PersonaDesk:
    def __init__(self, store: PersonaStore, directory: ServerDirectory) -> None:
        self._store = store
        self._directory = directory

    async def list_(self, calling: Calling) -> None:
        async def work() -> Answer:
            guild_id = None if calling.guild_id is None else str(calling.guild_id)
            return show_personas(await self._store.all(guild_id))

        await answer_privately(calling, Needs.MANAGE, "/persona list", work)

    async def create(self, calling: Calling, changes: PersonaChanges) -> None:
        """At once when name and prompt are given; else by a form that holds what is."""
        if "name" in changes and "prompt" in changes:
            await self._in_a_server(
                calling, "/persona create", lambda guild_id: self._created(guild_id, changes)
            )
            return
        if await self._turned_away(calling):
            return
        await calling.response.send_modal(empty_form(changes))

    async def edit(self, calling: Calling, name: str, changes: PersonaChanges) -> None:
        """At once where a change is given; else by a form that holds what there is."""
        if changes:

            async def work(guild_id: str) -> str:
                persona = persona_named(personas_here(self._directory, calling), name)
                if persona is None:
                    return no_such_persona(name)
                return await self._edited(guild_id, persona.persona_id, changes)

            await self._in_a_server(calling, "/persona edit", work)
            return
        if await self._turned_away(calling):
            return
        form = await self._form_of(calling, name)
        if isinstance(form, str):
            await calling.response.send_message(form, ephemeral=True)
        else:
            await calling.response.send_modal(form)

    async def remove(self, calling: Calling, name: str) -> None:
        async def work(guild_id: str) -> str:
            persona = persona_named(personas_here(self._directory, calling), name)
            if persona is None:
                return no_such_persona(name)
            removed = await self._store.remove(persona.persona_id, guild_id)
            await self._directory.reload(guild_id)
            shown = discord.utils.escape_markdown(persona.name)
            return f"{shown} does not answer here any more." if removed else GONE

        await self._in_a_server(calling, "/persona remove", work)

    async def submitted(self, calling: Calling, rest: str, values: Values) -> None:
        """A form that was filled in; `rest` says of which persona."""
        persona_id = edited_id(rest)
        changes = changes_of(values, is_new=persona_id is None)

        async def work(guild_id: str) -> str:
            if persona_id is None:
                return await self._created(guild_id, changes)
            return await self._edited(guild_id, persona_id, changes)

        await self._in_a_server(calling, "a persona's form", work)

    async def _created(self, guild_id: str, changes: PersonaChanges) -> str:
        persona = await self._store.create(
            guild_id,
            changes.get("name", ""),
            changes.get("prompt", ""),
            changes.get("triggers", ()),
            changes.get("avatar_url"),
        )
        await self._directory.reload(guild_id)
        return f"{discord.utils.escape_markdown(persona.name)} lives here now."

    async def _edited(self, guild_id: str, persona_id: int, changes: PersonaChanges) -> str:
        persona = await self._store.edit(persona_id, guild_id, **changes)
        await self._directory.reload(guild_id)
        return f"{discord.utils.escape_markdown(persona.name)} is changed."

    async def _form_of(self, calling: Calling, name: str) -> discord.ui.Modal | str:
        """The form of a persona, or why there is none."""
        known = persona_named(personas_here(self._directory, calling), name)
        if known is None:
            return no_such_persona(name)
        try:
            async with asyncio.timeout(FORM_WITHIN):
                personas = await self._store.all(str(calling.guild_id))
        except Exception as error:
            log.warning("personas could not be read for a form", error=describe(error))
            return NOT_READ
        persona = next((each for each in personas if each.id == known.persona_id), None)
        return GONE if persona is None else filled_form(persona)

    async def _in_a_server(
        self, calling: Calling, name: str, work: Callable[[str], Coroutine[Any, Any, str]]
    ) -> None:
        async def checked() -> Answer:
            if calling.guild_id is None:
                return ONLY_IN_A_SERVER
            try:
                return await work(str(calling.guild_id))
            except PersonaConflict as conflict:
                return f"Not done: {conflict}."
            except PersonaMissing:
                return GONE

        await answer_privately(calling, Needs.MANAGE, name, checked)

    async def _turned_away(self, calling: Calling) -> bool:
        """Before a form is shown: it cannot be deferred, so who may not is told now."""
        refusal = refusal_of(calling, Needs.MANAGE)
        if refusal is None and calling.guild_id is None:
            refusal = ONLY_IN_A_SERVER
        if refusal is not None:
            await calling.response.send_message(refusal, ephemeral=True)
        return refusal is not None
