"""The personas as the bot knows them: names and triggers, refreshed beside the message path.

`on_message` only reads this; it never asks the database. A server that has not been read yet is
taken to have the personas that every server starts with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

import structlog

from bot.triggers import PersonaTriggers, persona_triggers
from runtime.logs import brief

log = structlog.get_logger(__name__)

REFRESH_EVERY = 30.0
"""Seconds. A renamed persona answers to its new name after at most this long."""
LOOK_AGAIN_AFTER = 0.25
"""Seconds, while there is no persona at all: the worker that seeds them starts beside the bot."""

SETTLE_FOR = 10.0
"""Seconds after the first persona was found: a worker may still be seeding the others."""
SETTLE_EVERY = 1.0


class StoredPersona(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def is_main(self) -> bool: ...
    @property
    def triggers(self) -> list[str]: ...


class PersonaSource(Protocol):
    """`storage.Storage.personas`."""

    async def all(self, guild_id: str | None) -> Iterable[StoredPersona]: ...


class PersonaDirectory:
    def __init__(self, source: PersonaSource) -> None:
        self._source = source
        self._default: tuple[PersonaTriggers, ...] = ()
        self._by_guild: dict[str, tuple[PersonaTriggers, ...]] = {}
        self.found = asyncio.Event()
        """Set once there is a persona: before that nobody can be called by name."""

    def known(self, guild_id: str | None) -> tuple[PersonaTriggers, ...]:
        """Main persona first, then oldest."""
        if guild_id is None:
            return self._default
        return self._by_guild.get(guild_id, self._default)

    async def refresh(self, guild_ids: Iterable[str] = ()) -> None:
        """Read the personas of direct messages, and of these servers."""
        self._default = await self._read(None)
        if self._default:
            self.found.set()
        wanted = set(guild_ids)
        for guild_id in wanted:
            self._by_guild[guild_id] = await self._read(guild_id)
        for gone in self._by_guild.keys() - wanted:
            del self._by_guild[gone]

    async def keep_fresh(self, guild_ids: Callable[[], Iterable[str]]) -> None:
        """Refresh for ever. While the database cannot be read, what is known stays."""
        clock = asyncio.get_running_loop()
        found_at: float | None = None
        while True:
            try:
                await self.refresh(guild_ids())
            except Exception as error:
                log.warning("personas could not be refreshed", error=brief(str(error)))
            if self._default and found_at is None:
                found_at = clock.time()
            if found_at is None:
                await asyncio.sleep(LOOK_AGAIN_AFTER)
            elif clock.time() - found_at < SETTLE_FOR:
                await asyncio.sleep(SETTLE_EVERY)
            else:
                await asyncio.sleep(REFRESH_EVERY)

    async def _read(self, guild_id: str | None) -> tuple[PersonaTriggers, ...]:
        return tuple(
            persona_triggers(persona.id, persona.is_main, [persona.name, *persona.triggers])
            for persona in await self._source.all(guild_id)
        )
