"""`/config deliberate …` and `/config trigger …` (behaviour 8)."""

from __future__ import annotations

from typing import Literal

from discord import app_commands

from bot.commands.config.changes import (
    MAX_PHRASE,
    TARGETS,
    changed,
    cleaned,
    with_trigger,
    without_trigger,
)
from bot.commands.config.desk import Calling, Change, Desk
from bot.commands.config.named import turns
from bot.commands.config.shown import show_triggers

OnOff = Literal["on", "off"]
Phrase = app_commands.Range[str, 1, MAX_PHRASE]
Turns = app_commands.Range[int, 0, 10]
_every_target = app_commands.choices(
    target=[app_commands.Choice(name=target, value=target) for target in TARGETS]
)


class DeliberateCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="deliberate", description="Show the model only tools asked for")
        self._desk = desk

    @app_commands.command(description="Whether tools are offered only when asked for")
    @app_commands.describe(state="On or off")
    async def mode(self, calling: Calling, state: OnOff) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("deliberate", "enabled"), state == "on"),
            "Deliberate tool mode is on: the model is shown only tools that somebody asks for,"
            " unless a member has chosen otherwise."
            if state == "on"
            else "Deliberate tool mode is off: the model is shown every tool, unless a member has"
            " chosen otherwise.",
        )

    @app_commands.command(
        name="turns", description="How many turns a tool stays offered after it was asked for"
    )
    @app_commands.describe(count="0 to 10 turns")
    async def set_turns(self, calling: Calling, count: Turns) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("deliberate", "context_turns"), count),
            f"A tool stays offered for {turns(count)} after it was asked for or used.",
        )


class TriggerCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="trigger", description="Words of your own that offer tools")
        self._desk = desk

    @app_commands.command(description="Offer tools of a kind when this is said")
    @app_commands.describe(target="Kind of tools", phrase="Words, stem*, ^ for always, or /regex/")
    @_every_target
    async def add(self, calling: Calling, target: str, phrase: Phrase) -> None:
        def prepared() -> Change:
            text = cleaned(phrase)
            return lambda config: with_trigger(config, target, text)

        await self._desk.change_prepared(
            calling,
            prepared,
            f"Added to {target}. It counts while deliberate tool mode is on.",
        )

    @app_commands.command(description="Take a trigger away")
    @app_commands.describe(target="Kind of tools", phrase="The trigger")
    async def remove(self, calling: Calling, target: str, phrase: str) -> None:
        await self._desk.change(
            calling,
            lambda config: without_trigger(config, target, phrase),
            f"Removed from {target}.",
        )

    @remove.autocomplete("phrase")
    async def _phrases(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        target = getattr(calling.namespace, "target", None)
        return await self._desk.suggest(
            calling,
            typed,
            lambda config: [(p, p) for p in config.deliberate.triggers.get(str(target), [])],
        )

    async def _used(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await self._desk.suggest(
            calling, typed, lambda config: [(t, t) for t in sorted(config.deliberate.triggers)]
        )

    @remove.autocomplete("target")
    async def _targets(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await self._used(calling, typed)

    @app_commands.command(name="list", description="Show the triggers")
    @app_commands.describe(target="Kind of tools; all without it")
    async def list_(self, calling: Calling, target: str | None = None) -> None:
        await self._desk.show(calling, lambda config: show_triggers(config, target))

    @list_.autocomplete("target")
    async def _listed(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await self._used(calling, typed)
