"""What admission knows of each server without I/O: personas, settings, and members' own settings.

`on_message`, completions and webhooks only read this; they never ask the database. It is read anew
every REFRESH_EVERY seconds beside the message path, and at once by `reload` after a command of this
process has changed something. A server that has not been read yet is taken to have the personas
that every server starts with, and no settings of its own. While the database cannot be read, what
is known stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

import structlog

from bot.triggers import PersonaTriggers, TriggerIndex
from storage.config.models import (
    AutochatChannel,
    Privacy,
    ServerConfig,
    Toggle,
    UserConfig,
)

log = structlog.get_logger(__name__)

REFRESH_EVERY = 30.0
"""Seconds. A renamed persona answers to its new name after at most this long."""
LOOK_AGAIN_AFTER = 0.25
"""Seconds, while there is no persona at all: the worker that seeds them starts beside the bot."""

SETTLE_FOR = 10.0
"""Seconds after the first persona was found: a worker may still be seeding the others."""
SETTLE_EVERY = 1.0

CLOCKS_APART = timedelta(minutes=5)
"""Two processes that write members' settings may disagree on the time by so much."""


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

    async def all(self, guild_id: str | None) -> Sequence[StoredPersona]: ...
    async def everywhere(self) -> Mapping[str | None, Sequence[StoredPersona]]: ...


class ConfigSource(Protocol):
    """`storage.Storage.configs`."""

    async def servers(self, server_keys: Collection[str]) -> Mapping[str, ServerConfig]: ...
    async def users_since(
        self, moment: datetime | None
    ) -> tuple[Mapping[str, UserConfig], datetime | None]: ...


@dataclass(frozen=True)
class Server:
    """One server as admission sees it."""

    personas: tuple[PersonaTriggers, ...] = ()
    """Main first, then oldest."""
    config: ServerConfig = field(default_factory=ServerConfig)
    operator_words: tuple[str, ...] = ()
    """Base words of servers that have set none; empty: the main persona's name."""

    @cached_property
    def main(self) -> PersonaTriggers | None:
        return next((persona for persona in self.personas if persona.is_main), None)

    @cached_property
    def triggers(self) -> TriggerIndex:
        words = self.config.triggers.base_words
        if words is None:
            words = list(self.operator_words) or ([self.main.name] if self.main else [])
        return TriggerIndex(self.personas, words)

    @cached_property
    def autochat(self) -> Mapping[str, AutochatChannel]:
        """The channels whose messages are counted, by id."""
        return {each.channel_id: each for each in self.config.triggers.autochat}

    @cached_property
    def always_reply_channels(self) -> frozenset[str]:
        return frozenset(self.config.triggers.always_reply_channel_ids)

    @cached_property
    def allowed_channels(self) -> frozenset[str]:
        """Empty: all."""
        return frozenset(each.channel_id for each in self.config.access.channels)

    @cached_property
    def allowed_roles(self) -> tuple[int, ...]:
        """Empty: all."""
        ids = self.config.access.role_ids
        return tuple(int(role_id) if role_id.isdecimal() else 0 for role_id in ids)

    @cached_property
    def blocked_users(self) -> frozenset[str]:
        return frozenset(self.config.access.blocked_user_ids)


UNSET = UserConfig()


class ServerDirectory:
    def __init__(
        self,
        personas: PersonaSource,
        configs: ConfigSource,
        operator_words: Iterable[str] = (),
    ) -> None:
        """`operator_words`: `BASE_TRIGGER_WORDS`."""
        self._personas = personas
        self._configs = configs
        self._operator_words = tuple(operator_words)
        self._default = Server(operator_words=self._operator_words)
        self._servers: dict[str, Server] = {}
        self._members: dict[str, UserConfig] = {}
        self._members_until: datetime | None = None
        self._members_read = 0
        self._reloads = 0
        self._reloading = asyncio.Lock()
        self.found = asyncio.Event()
        """Set once there is a persona: before that nobody can be called by name."""

    def server(self, guild_id: str | None) -> Server:
        """None: direct messages, where all that counts is the personas."""
        if guild_id is None:
            return self._default
        return self._servers.get(guild_id, self._default)

    def known(self, guild_id: str | None) -> tuple[PersonaTriggers, ...]:
        """The personas of a server: main first, then oldest."""
        return self.server(guild_id).personas

    def member(self, user_id: str) -> UserConfig:
        """Their own settings, as far as admission goes by them."""
        return self._members.get(user_id, UNSET)

    @property
    def members(self) -> Mapping[str, UserConfig]:
        """All who have settings that admission goes by."""
        return MappingProxyType(self._members)

    async def refresh(self, guild_ids: Iterable[str] = ()) -> None:
        """Read everything that these servers need. Raises what the database raises."""
        wanted = set(guild_ids)
        while True:
            reloads = self._reloads
            personas = await self._personas.everywhere()
            configs = await self._configs.servers(wanted)
            await self._read_members()
            if reloads == self._reloads:
                break  # else a command's change may be newer than what was read
        shared = personas.get(None, ())
        self._default = self._renewed(self._default, shared, ServerConfig())
        self._servers = {
            guild_id: self._renewed(
                self._servers.get(guild_id),
                personas.get(guild_id, shared),
                configs.get(guild_id) or ServerConfig(),
            )
            for guild_id in wanted
        }
        if self._default.personas:
            self.found.set()

    async def reload(self, guild_id: str | None) -> None:
        """Read one server anew, and the members who have changed something: after a command that
        may have changed either. A database that is away is logged; `keep_fresh` tries again."""
        async with self._reloading:
            try:
                await self._read_members()
                if guild_id is None:
                    return
                personas = await self._personas.all(guild_id)
                configs = await self._configs.servers([guild_id])
            except Exception as error:
                log.warning("a server could not be read anew", guild=guild_id, error=str(error))
                return
            self._reloads += 1
            self._servers[guild_id] = self._renewed(
                self._servers.get(guild_id), personas, configs.get(guild_id) or ServerConfig()
            )

    async def keep_fresh(self, guild_ids: Callable[[], Iterable[str]]) -> None:
        """Refresh for ever. While the database cannot be read, what is known stays."""
        clock = asyncio.get_running_loop()
        found_at: float | None = None
        while True:
            try:
                await self.refresh(guild_ids())
            except Exception as error:
                log.warning("personas and settings could not be refreshed", error=str(error))
            if self.found.is_set() and found_at is None:
                found_at = clock.time()
            if found_at is None:
                await asyncio.sleep(LOOK_AGAIN_AFTER)
            elif clock.time() - found_at < SETTLE_FOR:
                await asyncio.sleep(SETTLE_EVERY)
            else:
                await asyncio.sleep(REFRESH_EVERY)

    def _renewed(
        self, before: Server | None, personas: Sequence[StoredPersona], config: ServerConfig
    ) -> Server:
        """The server as it now is; the same object where nothing has changed, since what it has
        worked out for itself then still holds."""
        now = Server(tuple(_triggers(each) for each in personas), config, self._operator_words)
        return before if before is not None and before == now else now

    async def _read_members(self) -> None:
        while True:
            read = self._members_read
            since = self._members_until and self._members_until - CLOCKS_APART
            changed, until = await self._configs.users_since(since)
            if read == self._members_read:
                break  # else another reading, which may have begun later, has ended before
        self._members_read += 1
        for user_id, settings in changed.items():
            if _matters(settings):
                self._members[user_id] = settings
            else:
                self._members.pop(user_id, None)
        self._members_until = until


def _triggers(persona: StoredPersona) -> PersonaTriggers:
    """A persona's name calls it, whatever other words do."""
    words = tuple(dict.fromkeys([persona.name, *persona.triggers]))
    return PersonaTriggers(persona.id, persona.is_main, words, persona.name)


def _matters(settings: UserConfig) -> bool:
    """Whether admission goes by anything that this member has set."""
    return (
        settings.privacy is not Privacy.NONE
        or settings.deliberate_triggers is not Toggle.FOLLOW
        or bool(settings.spotlights)
    )
