"""`/access …`: who is answered, and where (behaviour 5, access)."""

from __future__ import annotations

import discord
from discord import app_commands

from bot.commands.authorize import Needs
from bot.commands.config.answering import (
    COOLDOWN_WORDS,
    COOLDOWNS,
    cooldown_type,
    exemption,
    with_blocked_user,
    with_channel,
    with_persona_channel,
    with_role,
    without_blocked_user,
    without_channel,
    without_persona_channel,
    without_role,
)
from bot.commands.config.answering_shown import show_access_config
from bot.commands.config.answers_when import chosen_persona, names_here
from bot.commands.config.changes import Refused
from bot.commands.config.desk import Calling, Desk
from bot.commands.config.picking import labels
from bot.commands.config.places import (
    AnyChannel,
    caveat,
    channel_names,
    role_names,
    speaking_place,
)
from bot.commands.naming import persona_named, personas_here, suggest_personas
from bot.directory import ServerDirectory
from storage.config import ServerConfig

Seconds = app_commands.Range[int, 1, 86_400]
cooldown_choices = [
    app_commands.Choice(name=f"{name}: {COOLDOWN_WORDS[kind]}", value=name)
    for name, kind in COOLDOWNS.items()
]


class AccessCommands(app_commands.Group):
    def __init__(self, desk: Desk, directory: ServerDirectory) -> None:
        super().__init__(
            name="access",
            description="Who is answered on this server, and where",
            default_permissions=discord.Permissions(manage_guild=True),
        )
        self._desk = desk
        self._directory = directory
        self.add_command(ChannelCommands(desk))
        self.add_command(RoleCommands(desk))
        self.add_command(BlockedCommands(desk))
        self.add_command(PersonaCommands(desk, directory))

    @app_commands.command(description="Show who is answered, and where")
    async def show(self, calling: Calling) -> None:
        names = names_here(self._directory, calling)
        await self._desk.show(calling, lambda config: show_access_config(config, names))


class ChannelCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="channel", description="The channels in which personas answer")
        self._desk = desk

    @app_commands.command(description="Answer in this channel, and in none that is not on the list")
    @app_commands.describe(
        channel="With its threads",
        cooldown="A cooldown of its own, in place of the server's",
        seconds="Its length; 5 without it",
    )
    @app_commands.choices(cooldown=cooldown_choices)
    async def add(
        self,
        calling: Calling,
        channel: AnyChannel,
        cooldown: str | None = None,
        seconds: Seconds | None = None,
    ) -> None:
        def told(config: ServerConfig) -> str:
            listed = f"Personas answer in <#{channel.id}>, and only in the channels on this list."
            waits = exemption(cooldown_type(cooldown)) if cooldown is not None else ""
            return listed + waits + caveat(config, channel)

        await self._desk.change(
            calling,
            lambda config: with_channel(config, speaking_place(channel), cooldown, seconds),
            told,
            only_in_a_server=True,
        )

    @app_commands.command(description="Take a channel off the list; without any, all are allowed")
    @app_commands.describe(channel="Its name, mention or id")
    async def remove(self, calling: Calling, channel: str) -> None:
        await self._desk.change(
            calling,
            lambda config: without_channel(config, channel, channel_names(calling)),
            "The channel is off the list.",
            only_in_a_server=True,
        )

    @remove.autocomplete("channel")
    async def _known(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await self._desk.suggest(
            calling,
            typed,
            lambda config: labels(
                [each.channel_id for each in config.access.channels], channel_names(calling), "#"
            ),
        )


class RoleCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="role", description="The roles whose members are answered")
        self._desk = desk

    @app_commands.command(description="Answer members with this role, and none without one listed")
    @app_commands.describe(role="The role")
    async def add(self, calling: Calling, role: discord.Role) -> None:
        await self._desk.change(
            calling,
            lambda config: with_role(config, str(role.id)),
            "Members with this role are answered, and only those with a role on this list.",
            only_in_a_server=True,
        )

    @app_commands.command(description="Take a role off the list; without any, all are answered")
    @app_commands.describe(role="Its name, mention or id")
    async def remove(self, calling: Calling, role: str) -> None:
        await self._desk.change(
            calling,
            lambda config: without_role(config, role, role_names(calling)),
            "The role is off the list.",
            only_in_a_server=True,
        )

    @remove.autocomplete("role")
    async def _known(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await self._desk.suggest(
            calling,
            typed,
            lambda config: labels(config.access.role_ids, role_names(calling), "@"),
        )


class BlockedCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="member", description="Members who are not answered")
        self._desk = desk

    @app_commands.command(description="Answer this member no more")
    @app_commands.describe(member="The member")
    async def block(self, calling: Calling, member: discord.User) -> None:
        def change(config: ServerConfig) -> ServerConfig:
            if member.bot:
                raise Refused("Bots are not answered in any case, so there is nobody to block.")
            if member.id == calling.user.id:
                raise Refused("That is you: who manages the server besides you can block you.")
            return with_blocked_user(config, str(member.id))

        await self._desk.change(
            calling,
            change,
            f"<@{member.id}> is not answered any more.",
            only_in_a_server=True,
        )

    @app_commands.command(description="Answer this member again")
    @app_commands.describe(member="The member; also the id of one who has left")
    async def unblock(self, calling: Calling, member: discord.User) -> None:
        await self._desk.change(
            calling,
            lambda config: without_blocked_user(config, str(member.id)),
            f"<@{member.id}> is answered again.",
            only_in_a_server=True,
        )


class PersonaCommands(app_commands.Group):
    def __init__(self, desk: Desk, directory: ServerDirectory) -> None:
        super().__init__(name="persona", description="The channels in which one persona answers")
        self._desk = desk
        self._directory = directory

    @app_commands.command(description="Let a persona answer here, and nowhere that is not listed")
    @app_commands.describe(persona="The persona", channel="With its threads")
    async def add(self, calling: Calling, persona: str, channel: AnyChannel) -> None:
        def change(config: ServerConfig) -> ServerConfig:
            persona_id = chosen_persona(self._directory, calling, persona)
            return with_persona_channel(config, persona_id, speaking_place(channel))

        await self._desk.change(
            calling,
            change,
            lambda config: (
                f"This persona answers in <#{channel.id}>, and only in the channels on its list."
                + caveat(config, channel)
            ),
            only_in_a_server=True,
        )

    @app_commands.command(description="Take a channel off its list; without any, it answers in all")
    @app_commands.describe(persona="The persona", channel="Its name, mention or id")
    async def remove(self, calling: Calling, persona: str, channel: str) -> None:
        def change(config: ServerConfig) -> ServerConfig:
            persona_id = chosen_persona(self._directory, calling, persona)
            return without_persona_channel(config, persona_id, channel, channel_names(calling))

        await self._desk.change(
            calling, change, "The channel is off its list.", only_in_a_server=True
        )

    @add.autocomplete("persona")
    @remove.autocomplete("persona")
    async def _personas(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return suggest_personas(self._directory, calling, typed, Needs.MANAGE)

    @remove.autocomplete("channel")
    async def _known(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        typed_name = str(getattr(calling.namespace, "persona", ""))
        persona = persona_named(personas_here(self._directory, calling), typed_name)
        if persona is None:
            return []
        return await self._desk.suggest(
            calling,
            typed,
            lambda config: labels(
                config.access.persona_channels.get(persona.persona_id, []),
                channel_names(calling),
                "#",
            ),
        )
