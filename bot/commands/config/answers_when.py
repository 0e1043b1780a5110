"""`/triggers …`: what makes personas answer (behaviour 5.1 to 5.3)."""

from __future__ import annotations

import discord
from discord import app_commands

from bot.commands.authorize import Needs
from bot.commands.config.answering import (
    with_always_channel,
    with_autochat,
    with_base_words,
    without_always_channel,
    without_autochat,
)
from bot.commands.config.answering_shown import autochat_words, show_triggers_config
from bot.commands.config.changes import Refused, changed
from bot.commands.config.desk import Calling, Desk
from bot.commands.config.picking import labels
from bot.commands.config.places import AnyChannel, caveat, channel_names, speaking_place
from bot.commands.config.triggers import OnOff
from bot.commands.naming import (
    no_such_persona,
    persona_named,
    personas_here,
    suggest_personas,
)
from bot.directory import ServerDirectory
from storage.config import AutochatChannel, ServerConfig

MatchLimit = app_commands.Range[int, 1, 10]
CascadeLimit = app_commands.Range[int, 0, 10]
Least = app_commands.Range[int, 0, 10_000]
Most = app_commands.Range[int, 1, 10_000]
Words = app_commands.Range[str, 1, 1_000]


def names_here(directory: ServerDirectory, calling: Calling) -> dict[int, str]:
    return {each.persona_id: each.name for each in personas_here(directory, calling)}


def chosen_persona(directory: ServerDirectory, calling: Calling, name: str) -> int:
    """Raises Refused where nobody here has that name."""
    persona = persona_named(personas_here(directory, calling), name)
    if persona is None:
        raise Refused(no_such_persona(name))
    return persona.persona_id


class AnswersCommands(app_commands.Group):
    def __init__(self, desk: Desk, directory: ServerDirectory) -> None:
        super().__init__(
            name="triggers",
            description="What makes personas answer on this server",
            default_permissions=discord.Permissions(manage_guild=True),
        )
        self._desk = desk
        self._directory = directory
        self.add_command(AlwaysCommands(desk))
        self.add_command(AutochatCommands(desk, directory))

    @app_commands.command(description="Show what makes personas answer")
    async def show(self, calling: Calling) -> None:
        names = names_here(self._directory, calling)
        await self._desk.show(calling, lambda config: show_triggers_config(config, names))

    @app_commands.command(description="Whether a name calls a persona only with an @ before it")
    @app_commands.describe(state="On: @nova, mentions and replies. Off: plain words as well")
    async def deliberate(self, calling: Calling, state: OnOff) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("triggers", "deliberate"), state == "on"),
            "Deliberate trigger mode is on: a name calls a persona only with an @ before it,"
            " unless a member has chosen otherwise."
            if state == "on"
            else "Deliberate trigger mode is off: a name alone calls a persona, unless a member"
            " has chosen otherwise.",
            only_in_a_server=True,
        )

    @app_commands.command(name="base-words", description="Words that call the main persona")
    @app_commands.describe(words="Separated by commas; without any, its name")
    async def base_words(self, calling: Calling, words: Words | None = None) -> None:
        await self._desk.change(
            calling,
            lambda config: with_base_words(config, words),
            "The main persona answers to its usual name."
            if words is None
            else "The main persona answers to these words.",
            only_in_a_server=True,
        )

    @app_commands.command(name="match-limit", description="Personas that one message may call")
    @app_commands.describe(count="1 to 10")
    async def match_limit(self, calling: Calling, count: MatchLimit) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("triggers", "match_limit"), count),
            f"Of the personas that a message names, {count} at most answer.",
            only_in_a_server=True,
        )

    @app_commands.command(
        name="cascade-limit", description="Answers of personas to each other, beyond the first"
    )
    @app_commands.describe(count="0 to 10, until a person speaks")
    async def cascade_limit(self, calling: Calling, count: CascadeLimit) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("triggers", "cascade_limit"), count),
            f"Beyond the first answer, {count} may follow until a person speaks.",
            only_in_a_server=True,
        )


class AlwaysCommands(app_commands.Group):
    def __init__(self, desk: Desk) -> None:
        super().__init__(name="always", description="Where everything people say is answered")
        self._desk = desk

    @app_commands.command(description="Answer everything, in every channel")
    @app_commands.describe(state="On or off")
    async def everywhere(self, calling: Calling, state: OnOff) -> None:
        await self._desk.change(
            calling,
            lambda config: changed(config, ("triggers", "always_reply"), state == "on"),
            "Everything that people say is answered, in every channel."
            if state == "on"
            else "Not everything is answered, but in the channels that are chosen for it.",
            only_in_a_server=True,
        )

    @app_commands.command(description="Answer everything in a channel")
    @app_commands.describe(channel="With its threads")
    async def add(self, calling: Calling, channel: AnyChannel) -> None:
        await self._desk.change(
            calling,
            lambda config: with_always_channel(config, speaking_place(channel)),
            lambda config: (
                f"Everything that people say in <#{channel.id}> is answered."
                + caveat(config, channel)
            ),
            only_in_a_server=True,
        )

    @app_commands.command(description="Answer in a channel only when called, as elsewhere")
    @app_commands.describe(channel="Its name, mention or id")
    async def remove(self, calling: Calling, channel: str) -> None:
        await self._desk.change(
            calling,
            lambda config: without_always_channel(config, channel, channel_names(calling)),
            "Not everything is answered there any more.",
            only_in_a_server=True,
        )

    @remove.autocomplete("channel")
    async def _known(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await self._desk.suggest(
            calling,
            typed,
            lambda config: labels(
                config.triggers.always_reply_channel_ids, channel_names(calling), "#"
            ),
        )


class AutochatCommands(app_commands.Group):
    def __init__(self, desk: Desk, directory: ServerDirectory) -> None:
        super().__init__(name="autochat", description="Channels answered after so many messages")
        self._desk = desk
        self._directory = directory

    @app_commands.command(name="set", description="Count the messages of a channel")
    @app_commands.describe(
        channel="With its threads",
        least="Messages until an answer; 0 or none: every one is answered",
        most="Draw the number anew each time, between the least and this",
        persona="Who answers; without it, the main one",
    )
    async def set_(
        self,
        calling: Calling,
        channel: AnyChannel,
        least: Least = 0,
        most: Most | None = None,
        persona: str | None = None,
    ) -> None:
        def change(config: ServerConfig) -> ServerConfig:
            who = None
            if persona is not None:
                who = chosen_persona(self._directory, calling, persona)
            entry = AutochatChannel(
                channel_id=speaking_place(channel), least=least, most=most, persona_id=who
            )
            return with_autochat(config, entry)

        def told(config: ServerConfig) -> str:
            entry = next(
                each for each in config.triggers.autochat if each.channel_id == str(channel.id)
            )
            words = autochat_words(entry, names_here(self._directory, calling))
            return f"Answered without a call: {words}.{caveat(config, channel, entry.persona_id)}"

        await self._desk.change(calling, change, told, only_in_a_server=True)

    @set_.autocomplete("persona")
    async def _personas(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return suggest_personas(self._directory, calling, typed, Needs.MANAGE)

    @app_commands.command(description="Count a channel's messages no more")
    @app_commands.describe(channel="Its name, mention or id")
    async def remove(self, calling: Calling, channel: str) -> None:
        await self._desk.change(
            calling,
            lambda config: without_autochat(config, channel, channel_names(calling)),
            "Its messages are not counted any more.",
            only_in_a_server=True,
        )

    @remove.autocomplete("channel")
    async def _known(self, calling: Calling, typed: str) -> list[app_commands.Choice[str]]:
        return await self._desk.suggest(
            calling,
            typed,
            lambda config: labels(
                [each.channel_id for each in config.triggers.autochat],
                channel_names(calling),
                "#",
            ),
        )
