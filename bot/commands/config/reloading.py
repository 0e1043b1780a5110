"""The store of settings, with admission told of every change at once.

For: a setting holds for the next message, not for that of half a minute later. In and out: as the
store's. Changes: what the directory knows, after the store has committed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bot.commands.config.desk import ConfigStore
from storage.config import ServerConfig, UserConfig

DIRECT_MESSAGES = "dm"
"""What the key of direct messages begins with (`contracts.base.server_key`)."""


class Reloadable(Protocol):
    """`bot.directory.ServerDirectory`."""

    async def reload(self, guild_id: str | None) -> None: ...


class ReloadingStore:
    def __init__(self, store: ConfigStore, directory: Reloadable) -> None:
        self._store = store
        self._directory = directory

    async def server(self, server_key: str) -> ServerConfig:
        return await self._store.server(server_key)

    async def user(self, user_id: str) -> UserConfig:
        return await self._store.user(user_id)

    async def change_server(
        self, server_key: str, change: Callable[[ServerConfig], ServerConfig]
    ) -> ServerConfig:
        changed = await self._store.change_server(server_key, change)
        if not server_key.startswith(DIRECT_MESSAGES):
            await self._directory.reload(server_key)
        return changed

    async def change_user(
        self, user_id: str, change: Callable[[UserConfig], UserConfig]
    ) -> UserConfig:
        changed = await self._store.change_user(user_id, change)
        await self._directory.reload(None)
        return changed
