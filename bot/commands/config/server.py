"""`/config`: the settings of a server, or of one's own direct messages."""

from __future__ import annotations

import asyncio

import discord
from discord import app_commands

from bot.commands.config.changes import Refused, changed
from bot.commands.config.channels import CrossChannelCommands, NoticeCommands
from bot.commands.config.desk import Calling, Desk, choices
from bot.commands.config.memory import MemoryCommands
from bot.commands.config.shown import abilities, ability, show_server
from bot.commands.config.triggers import DeliberateCommands, OnOff, TriggerCommands
from bot.commands.config.zones import zone_named, zones, zones_like
from storage.config import ServerConfig

NO_SUCH_ZONE = "There is no such time zone: give a name such as Europe/Lisbon or Asia/Tokyo."


class ConfigCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(
            name="config",
            description="How personas work on this server",
            default_permissions=discord.Permissions(manage_guild=True),
        )
        self._desk = desk
        for group in (
            DeliberateCommands,
            TriggerCommands,
            MemoryCommands,
            NoticeCommands,
            CrossChannelCommands,
        ):
            self.add_command(group(desk))

    @app_commands.command(description="Show the settings")
    async def show(self, calling: Calling) -> None:
        await self._desk.show(calling, show_server)

    @app_commands.command(description="Allow an ability, or take it away")
    @app_commands.describe(ability="The ability", state="On or off")
    @app_commands.choices(
        ability=[app_commands.Choice(name=label, value=name) for name, label in abilities().items()]
    )
    async def tool(self, calling: Calling, ability: str, state: OnOff) -> None:
        await self._desk.change(
            calling,
            lambda config: with_ability(config, ability, state == "on"),
            _told(ability, state),
        )

    @app_commands.command(description="The time zone of members who have set none")
    @app_commands.describe(zone="Such as Europe/Lisbon")
    async def timezone(self, calling: Calling, zone: str) -> None:
        def change(config: ServerConfig) -> ServerConfig:
            return changed(config, ("timezone",), known_zone(zone))

        await asyncio.to_thread(zones)
        await self._desk.change(calling, change, f"The time zone is {zone_named(zone)}.")

    @timezone.autocomplete("zone")
    async def _zones(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await suggest_zones(typed)


def with_ability(config: ServerConfig, name: str, on: bool) -> ServerConfig:
    """`name`: of the setting, as the command sends it. Raises Refused for one there is not."""
    if name not in abilities():
        raise Refused(f"There is no such ability; there are: {', '.join(abilities().values())}.")
    return changed(config, ("tools", name), on)


def _told(name: str, state: str) -> str:
    return f"{ability(name)[:1].upper()}{ability(name)[1:]} is {state}."


def known_zone(given: str) -> str:
    """Raises Refused."""
    zone = zone_named(given)
    if zone is None:
        raise Refused(NO_SUCH_ZONE)
    return zone


async def suggest_zones(typed: str) -> list[app_commands.Choice[str]]:
    """The world's zones are no secret of the server's; anyone may complete them."""
    found = await asyncio.to_thread(zones_like, typed)
    return choices("", [(zone, zone) for zone in found])
