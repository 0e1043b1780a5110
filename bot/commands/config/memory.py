"""`/config memory …`: short-term memory (behaviour 7.1)."""

from __future__ import annotations

from typing import Any, Literal

from discord import app_commands

from bot.commands.config.changes import changed, with_category, without_category
from bot.commands.config.desk import Calling, Desk
from bot.commands.config.triggers import OnOff

Cadence = app_commands.Range[int, 1, 100]
Depth = app_commands.Range[int, 0, 50]
BlockDepth = app_commands.Range[int, -1, 50]


class MemoryCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="memory", description="Short-term memory")
        self._desk = desk

    async def _set(self, calling: Calling, name: str, value: Any, told: str) -> None:
        path = ("memory", "short_term", name)
        await self._desk.change(calling, lambda config: changed(config, path, value), told)

    @app_commands.command(name="short-term", description="Short-term memory on or off")
    @app_commands.describe(state="On or off")
    async def short_term(self, calling: Calling, state: OnOff) -> None:
        await self._set(calling, "enabled", state == "on", f"Short-term memory is {state}.")

    @app_commands.command(description="After how many turns it is brought up to date")
    @app_commands.describe(turns="1 to 100")
    async def cadence(self, calling: Calling, turns: Cadence) -> None:
        told = f"A persona is asked for an update after {turns} turns without one."
        await self._set(calling, "refresh_cadence", turns, told)

    @app_commands.command(description="What is shown of other channels")
    @app_commands.describe(mode="With entries, or summaries instead of them")
    async def mode(self, calling: Calling, mode: Literal["crude_summary", "supersede"]) -> None:
        told = f"Other channels are shown as: {mode.replace('_', ' ')}."
        await self._set(calling, "mode", mode, told)

    @app_commands.command(name="private-channels", description="Show private channels in others")
    @app_commands.describe(state="On or off")
    async def private_channels(self, calling: Calling, state: OnOff) -> None:
        told = f"Showing what was said in private channels in others is {state}."
        await self._set(calling, "show_private_channels", state == "on", told)

    @app_commands.command(name="other-servers", description="Members may bring theirs along")
    @app_commands.describe(state="On or off")
    async def other_servers(self, calling: Calling, state: OnOff) -> None:
        told = f"Short-term memory from other servers is {state}; each member chooses as well."
        await self._set(calling, "other_servers", state == "on", told)

    @app_commands.command(name="nudge-depth", description="Where it is asked for an update")
    @app_commands.describe(turns="Turns from the end")
    async def nudge_depth(self, calling: Calling, turns: Depth) -> None:
        told = f"A persona is asked for an update {turns} turns before the end."
        await self._set(calling, "nudge_depth", turns, told)

    @app_commands.command(name="block-depth", description="Where the memories stand")
    @app_commands.describe(turns="Turns from the end; -1: at the top")
    async def block_depth(self, calling: Calling, turns: BlockDepth) -> None:
        where = "at the top" if turns < 0 else f"{turns} turns before the end"
        await self._set(calling, "block_depth", turns, f"The memories stand {where}.")

    @app_commands.command(description="Add a category, or describe one anew")
    @app_commands.describe(name="Letters, digits and _", description="What belongs there")
    async def category(
        self,
        calling: Calling,
        name: app_commands.Range[str, 1, 32],
        description: app_commands.Range[str, 0, 200] = "",
    ) -> None:
        await self._desk.change(
            calling,
            lambda config: with_category(config, name, description),
            "The category is kept.",
        )

    @app_commands.command(name="uncategory", description="Take a category away")
    @app_commands.describe(name="The category")
    async def remove_category(self, calling: Calling, name: str) -> None:
        await self._desk.change(
            calling, lambda config: without_category(config, name), "The category is gone."
        )

    @remove_category.autocomplete("name")
    async def _categories(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await self._desk.suggest(
            calling,
            typed,
            lambda config: [(c.slug, c.slug) for c in config.memory.short_term.categories],
        )
