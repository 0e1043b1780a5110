"""`/personal`: a member's own settings, on every server and in direct messages."""

from __future__ import annotations

import asyncio
from typing import Literal

from discord import app_commands

from bot.commands.authorize import Needs
from bot.commands.config.answering import with_spotlight
from bot.commands.config.answering_shown import show_member
from bot.commands.config.answers_when import chosen_persona, names_here
from bot.commands.config.changes import Refused, changed
from bot.commands.config.desk import ONLY_IN_A_SERVER, Calling, Desk
from bot.commands.config.places import place_of, silence
from bot.commands.config.server import known_zone, suggest_zones
from bot.commands.config.triggers import OnOff
from bot.commands.config.zones import zone_named, zones
from bot.commands.naming import persona_named, personas_here, suggest_personas
from bot.courtesies import PRIVACY
from bot.directory import ServerDirectory
from storage.config import Privacy, UserConfig

FORGOTTEN = " What short-term memory held of your conversations is deleted."


class PersonalCommands(app_commands.Group):
    def __init__(self, desk: Desk, directory: ServerDirectory) -> None:
        super().__init__(name="personal", description="Your own settings, wherever you are")
        self._desk = desk
        self._directory = directory

    @app_commands.command(description="Show your settings")
    async def show(self, calling: Calling) -> None:
        names = names_here(self._directory, calling)
        await self._desk.show_own(calling, lambda config: show_member(config, names))

    @app_commands.command(description="Whether tools are offered to you only when asked for")
    @app_commands.describe(state="Follow: as the server has it")
    async def deliberate(self, calling: Calling, state: Literal["follow", "on", "off"]) -> None:
        await self._desk.change_own(
            calling,
            lambda config: changed(config, ("deliberate",), state),
            f"Deliberate tool mode for you: {state}.",
        )

    @app_commands.command(description="Your time zone, for reminders")
    @app_commands.describe(zone="Such as Europe/Lisbon; without it, that of the server")
    async def timezone(self, calling: Calling, zone: str | None = None) -> None:
        def change(config: UserConfig) -> UserConfig:
            return changed(config, ("timezone",), None if zone is None else known_zone(zone))

        await asyncio.to_thread(zones)
        told = "that of the server" if zone is None else zone_named(zone)
        await self._desk.change_own(calling, change, f"Your time zone is {told}.")

    @timezone.autocomplete("zone")
    async def _zones(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await suggest_zones(typed)

    @app_commands.command(description="What personas may remember of you")
    @app_commands.describe(level="None: no limits. Partial: no memories. Full: nothing at all")
    async def privacy(self, calling: Calling, level: Literal["none", "partial", "full"]) -> None:
        await self._desk.change_own(
            calling,
            lambda config: changed(config, ("privacy",), level),
            f"Your privacy is {PRIVACY[Privacy(level)]}.{FORGOTTEN if level == 'full' else ''}",
        )

    @app_commands.command(name="other-servers", description="Bring short-term memory along")
    @app_commands.describe(state="On: what was said on other servers may be recalled here")
    async def other_servers(self, calling: Calling, state: OnOff) -> None:
        await self._desk.change_own(
            calling,
            lambda config: changed(config, ("short_term_from_other_servers",), state == "on"),
            f"Short-term memory from other servers is {state} for you.",
        )

    @app_commands.command(
        name="deliberate-triggers", description="Whether a name alone calls a persona for you"
    )
    @app_commands.describe(state="On: only @name. Off: plain words too. Follow: as the server does")
    async def deliberate_triggers(
        self, calling: Calling, state: Literal["follow", "on", "off"]
    ) -> None:
        await self._desk.change_own(
            calling,
            lambda config: changed(config, ("deliberate_triggers",), state),
            f"Deliberate trigger mode for you: {state}.",
        )

    @app_commands.command(description="Let one persona answer everything you say in this channel")
    @app_commands.describe(persona="Without it, nobody in particular does")
    async def spotlight(self, calling: Calling, persona: str | None = None) -> None:
        def change(config: UserConfig) -> UserConfig:
            if calling.guild_id is None:
                raise Refused(ONLY_IN_A_SERVER)
            who = None if persona is None else chosen_persona(self._directory, calling, persona)
            return with_spotlight(config, str(calling.channel_id), who)

        told = "You have no spotlight in this channel any more."
        if persona is not None:
            told = "This persona answers everything you say in this channel, and nobody else does."
            told += self._caveat(calling, persona)
        await self._desk.change_own(calling, change, told)

    def _caveat(self, calling: Calling, persona: str) -> str:
        chosen = persona_named(personas_here(self._directory, calling), persona)
        persona_id = None if chosen is None else chosen.persona_id
        config = self._directory.server(str(calling.guild_id)).config
        reason = silence(config, *place_of(calling), persona_id)
        return "" if reason is None else f" But {reason}."

    @spotlight.autocomplete("persona")
    async def _personas(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return suggest_personas(self._directory, calling, typed, Needs.OWN)
