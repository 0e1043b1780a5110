"""`/limits …`: cooldowns, quotas, and whose models answer (behaviour 5.4)."""

from __future__ import annotations

from typing import Literal

import discord
from discord import app_commands

from bot.commands.config.access import Seconds, cooldown_choices
from bot.commands.config.answering import cooldown_type, exemption
from bot.commands.config.answering_shown import cooldown_words, show_limits_config
from bot.commands.config.changes import changed
from bot.commands.config.desk import Calling, Desk, Told
from storage.config import CooldownType, ServerConfig

Daily = app_commands.Range[int, 0, 1_000_000]
Pool = app_commands.Range[int, 0, 10_000_000]
Days = app_commands.Range[int, 1, 365]

UNLIMITED = ", once `/limits quota server` limits them"


class LimitsCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(
            name="limits",
            description="How often personas answer on this server",
            default_permissions=discord.Permissions(manage_guild=True),
        )
        self._desk = desk
        self.add_command(CooldownCommands(desk))
        self.add_command(QuotaCommands(desk))

    @app_commands.command(description="Show the limits")
    async def show(self, calling: Calling) -> None:
        await self._desk.show(calling, show_limits_config)

    # Members have no way to bring a model yet (`activities.planning.credentials`): on, it would
    # only mute the server, so it can be taken back and not be switched on.
    @app_commands.command(name="own-models", description="Members need no model of their own")
    @app_commands.describe(state="Off: the server's model answers everybody")
    async def own_models(self, calling: Calling, state: Literal["off"]) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("credentials", "bring_your_own"), False),
            "The server's model answers everybody.",
            only_in_a_server=True,
        )


class CooldownCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="cooldown", description="The wait between two answers")
        self._desk = desk

    @app_commands.command(name="type", description="Who waits after an answer")
    @app_commands.describe(kind="Managers are members with Manage Server")
    @app_commands.rename(kind="type")
    @app_commands.choices(kind=cooldown_choices)
    async def type_(self, calling: Calling, kind: str) -> None:
        def told(config: ServerConfig) -> str:
            cooldown = config.cooldown
            return f"Cooldown: {cooldown_words(cooldown)}.{exemption(cooldown.type)}"

        await self._desk.change(
            calling,
            lambda config: changed(config, ("cooldown", "type"), cooldown_type(kind).value),
            told,
            only_in_a_server=True,
        )

    @app_commands.command(description="How long the wait is")
    @app_commands.describe(seconds="1 to 86400")
    async def length(self, calling: Calling, seconds: Seconds) -> None:
        def told(config: ServerConfig) -> str:
            length = "1 second" if seconds == 1 else f"{seconds:,} seconds"
            if config.cooldown.type is CooldownType.OFF:
                return f"The wait is {length}, once `/limits cooldown type` says who waits."
            return f"The wait is {length}."

        await self._desk.change(
            calling,
            lambda config: changed(config, ("cooldown", "seconds"), seconds),
            told,
            only_in_a_server=True,
        )


class QuotaCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="quota", description="How many answers there are")
        self._desk = desk

    @app_commands.command(description="Answers that each member gets in a day")
    @app_commands.describe(count="0: any number")
    async def member(self, calling: Calling, count: Daily) -> None:
        await self._set(calling, "user_daily", count, f"A member gets {_number(count)} a day.")

    @app_commands.command(description="Answers that all members share")
    @app_commands.describe(count="0: any number")
    async def server(self, calling: Calling, count: Pool) -> None:
        await self._set(calling, "server_pool", count, f"The server shares {_number(count)}.")

    @app_commands.command(description="After how many days the shared answers are new")
    @app_commands.describe(days="1 to 365")
    async def days(self, calling: Calling, days: Days) -> None:
        def told(config: ServerConfig) -> str:
            new = f"The shared answers are new {'every day' if days == 1 else f'after {days} days'}"
            return f"{new}{'' if config.quota.server_pool else UNLIMITED}."

        await self._set(calling, "pool_days", days, told)

    async def _set(self, calling: Calling, name: str, value: int, told: Told) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("quota", name), value),
            told,
            only_in_a_server=True,
        )


def _number(count: int) -> str:
    if not count:
        return "any number of answers"
    return "1 answer" if count == 1 else f"{count:,} answers"
