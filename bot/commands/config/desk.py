"""The desk of `/config` and `/personal`: read, change and suggest, for whoever may.

In: an interaction and what to do. Out: the caller's private answer. Changes: the store, by one
atomic step for each change. What always holds: a completion answers in time with what is known
(D44), and shows nothing to those who may not see the settings (D75).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import discord
import structlog
from discord import app_commands

from bot.commands.answers import Answer, answer_privately
from bot.commands.authorize import Caller, Needs, authorize
from bot.commands.config.changes import Refused
from bot.discord_faults import describe
from storage.config import ServerConfig, UserConfig
from workflows.contracts.base import server_key

log = structlog.get_logger(__name__)

Calling = discord.Interaction[Any]
Change = Callable[[ServerConfig], ServerConfig]
Told = str | Callable[[ServerConfig], str]
"""The answer to success; where it depends on them, by the settings as they have become."""

ONLY_IN_A_SERVER = "There is nothing to set here: this is for servers."
SUGGEST_WITHIN = 1.0
"""Seconds that a completion waits for the store; Discord waits three for the answer."""
SUGGESTIONS = 25
LABEL_LIMIT = 100
REMEMBERED = 500
"""Servers whose settings are kept for completions, should the store not answer."""


class ConfigStore(Protocol):
    """`storage.Storage.configs`."""

    async def server(self, server_key: str) -> ServerConfig: ...
    async def user(self, user_id: str) -> UserConfig: ...
    async def change_server(self, server_key: str, change: Change) -> ServerConfig: ...
    async def change_user(
        self, user_id: str, change: Callable[[UserConfig], UserConfig]
    ) -> UserConfig: ...


class Desk:
    def __init__(self, store: ConfigStore) -> None:
        self._store = store
        self._known: OrderedDict[str, ServerConfig] = OrderedDict()

    async def show(self, calling: Calling, view: Callable[[ServerConfig], Answer]) -> None:
        async def work() -> Answer:
            return view(await self._server(_key(calling)))

        await answer_privately(calling, Needs.MANAGE, _name(calling), work)

    async def change(
        self,
        calling: Calling,
        change: Change,
        told: Told,
        *,
        only_in_a_server: bool = False,
    ) -> None:
        """`change` raises Refused for what it does not take."""

        async def work() -> Answer:
            if only_in_a_server and calling.guild_id is None:
                return ONLY_IN_A_SERVER
            return await self._changed(_key(calling), change, told)

        await answer_privately(calling, Needs.MANAGE, _name(calling), work)

    async def change_prepared(
        self, calling: Calling, prepare: Callable[[], Change], told: Told
    ) -> None:
        """As `change`, for one that takes work to make. `prepare` does it in a thread, for those
        who may change settings only, and before the store holds anybody up; it raises Refused."""

        async def work() -> Answer:
            try:
                change = await asyncio.to_thread(prepare)
            except Refused as refused:
                return str(refused)
            return await self._changed(_key(calling), change, told)

        await answer_privately(calling, Needs.MANAGE, _name(calling), work)

    async def _changed(self, key: str, change: Change, told: Told) -> str:
        try:
            config = await self._store.change_server(key, change)
        except Refused as refused:
            return str(refused)
        self._remember(key, config)
        return told if isinstance(told, str) else told(config)

    async def show_own(self, calling: Calling, view: Callable[[UserConfig], Answer]) -> None:
        async def work() -> Answer:
            return view(await self._store.user(str(calling.user.id)))

        await answer_privately(calling, Needs.OWN, _name(calling), work)

    async def change_own(
        self, calling: Calling, change: Callable[[UserConfig], UserConfig], told: str
    ) -> None:
        async def work() -> Answer:
            try:
                await self._store.change_user(str(calling.user.id), change)
            except Refused as refused:
                return str(refused)
            return told

        await answer_privately(calling, Needs.OWN, _name(calling), work)

    async def suggest(
        self,
        calling: Calling,
        typed: str,
        of: Callable[[ServerConfig], Iterable[tuple[str, str]]],
    ) -> list[app_commands.Choice[str]]:
        """Completions out of the settings: `of` gives labels and values."""
        if authorize(Caller.of_interaction(calling), Needs.MANAGE) is not None:
            return []
        config = await self._soon(_key(calling))
        return [] if config is None else choices(typed, of(config))

    async def _soon(self, key: str) -> ServerConfig | None:
        try:
            return await asyncio.wait_for(self._server(key), SUGGEST_WITHIN)
        except Exception as error:
            log.warning("settings could not be read for a completion", error=describe(error))
            return self._known.get(key)

    async def _server(self, key: str) -> ServerConfig:
        config = await self._store.server(key)
        self._remember(key, config)
        return config

    def _remember(self, key: str, config: ServerConfig) -> None:
        self._known[key] = config
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def choices(typed: str, offers: Iterable[tuple[str, str]]) -> list[app_commands.Choice[str]]:
    """As many of the offers that hold what was typed as Discord shows."""
    wanted = typed.strip().lower()
    found = [(label, value) for label, value in offers if wanted in label.lower()]
    return [
        app_commands.Choice(name=label[:LABEL_LIMIT], value=value)
        for label, value in found[:SUGGESTIONS]
    ]


def _key(calling: Calling) -> str:
    guild_id = None if calling.guild_id is None else str(calling.guild_id)
    return server_key(guild_id, str(calling.user.id))


def _name(calling: Calling) -> str:
    return f"/{calling.command.qualified_name}" if calling.command else "a command"
