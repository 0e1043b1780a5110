"""What a `ServerDirectory` reads, in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bot.directory import Server, ServerDirectory
from bot.triggers import PersonaTriggers
from storage.config.models import ServerConfig, UserConfig


@dataclass
class Persona:
    id: int
    name: str
    is_main: bool = True
    triggers: list[str] = field(default_factory=list)


class Source:
    """Personas, settings of servers, and settings of members."""

    def __init__(self) -> None:
        self.rows: dict[str | None, list[Persona]] = {None: []}
        self.configs: dict[str, ServerConfig] = {}
        self.users: dict[str, tuple[UserConfig, datetime]] = {}
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.broken = False
        self.reads = 0
        self.asked_since: list[datetime | None] = []

    def set_user(self, user_id: str, **settings: object) -> None:
        self.now += timedelta(minutes=1)
        self.users[user_id] = UserConfig.model_validate(settings), self.now

    async def all(self, guild_id: str | None) -> list[Persona]:
        self._read()
        return list(self.rows.get(guild_id, self.rows[None]))

    async def everywhere(self) -> dict[str | None, list[Persona]]:
        self._read()
        return {guild_id: list(rows) for guild_id, rows in self.rows.items()}

    async def servers(self, server_keys: Collection[str]) -> dict[str, ServerConfig]:
        self._read()
        return {key: self.configs[key] for key in server_keys if key in self.configs}

    async def users_since(
        self, moment: datetime | None
    ) -> tuple[dict[str, UserConfig], datetime | None]:
        self._read()
        self.asked_since.append(moment)
        found = {
            user_id: settings
            for user_id, (settings, at) in self.users.items()
            if moment is None or at >= moment
        }
        return found, max((at for _, at in self.users.values()), default=moment)

    def _read(self) -> None:
        self.reads += 1
        if self.broken:
            raise OSError("the database is away")


def directory_of(source: Source, *operator_words: str) -> ServerDirectory:
    return ServerDirectory(source, source, operator_words)


def persona(persona_id: int, name: str, *words: str, is_main: bool = False) -> PersonaTriggers:
    return PersonaTriggers(persona_id, is_main, (name, *words), name)


NOVA = persona(1, "Nova", is_main=True)
BOB = persona(2, "Bob")
LUNA = persona(3, "Luna", "moon")


def server(*personas: PersonaTriggers, **settings: object) -> Server:
    """With Nova, Bob and Luna where none are given; `settings` as a server would have set them."""
    return Server(personas or (NOVA, BOB, LUNA), ServerConfig.model_validate(settings))
