"""`/config memory …`: short-term memory (behaviour 7.1). Descriptions say what its words mean:
cadence, mode, nudge and block depth."""

from __future__ import annotations

from typing import Any

from discord import app_commands

from bot.commands.config.changes import category_name, changed, with_category, without_category
from bot.commands.config.desk import Calling, Desk
from bot.commands.config.named import SHOWN_MODES, before_the_end, turns
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

    @app_commands.command(description="How often a persona sums a conversation up anew")
    @app_commands.describe(count="After so many turns without a summary, 1 to 100")
    @app_commands.rename(count="turns")
    async def cadence(self, calling: Calling, count: Cadence) -> None:
        told = f"A persona is asked for a new summary after {turns(count)} without one."
        await self._set(calling, "refresh_cadence", count, told)

    @app_commands.command(description="What a channel is shown of what was said in others")
    @app_commands.describe(mode="Newest messages as well, or only the summary where there is one")
    @app_commands.choices(
        mode=[app_commands.Choice(name=name, value=value) for value, name in SHOWN_MODES.items()]
    )
    async def mode(self, calling: Calling, mode: str) -> None:
        told = f"Of other channels is shown: {SHOWN_MODES.get(mode)}."
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

    @app_commands.command(
        name="nudge-depth", description="Where in the prompt a persona is asked for its new summary"
    )
    @app_commands.describe(count="So many turns before the end of the conversation")
    @app_commands.rename(count="turns")
    async def nudge_depth(self, calling: Calling, count: Depth) -> None:
        told = f"A persona is asked for a new summary {before_the_end(count)}."
        await self._set(calling, "nudge_depth", count, told)

    @app_commands.command(
        name="block-depth", description="Where in the prompt the short-term memories stand"
    )
    @app_commands.describe(count="So many turns before the end of the conversation; -1: at its top")
    @app_commands.rename(count="turns")
    async def block_depth(self, calling: Calling, count: BlockDepth) -> None:
        told = f"The short-term memories stand {before_the_end(count)}."
        await self._set(calling, "block_depth", count, told)

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
            f"The category is kept as `{category_name(name)}`.",
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
