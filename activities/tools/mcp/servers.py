"""All MCP servers of a worker: started beside it, ended with it.

In: the servers of the file, and the registry. It changes the registry's groups, one for a server.
`start` returns at once; whatever a server does, or fails to do, holds nobody up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from activities.tools.mcp.config import McpRole, McpServerSettings
from activities.tools.mcp.server import REST, McpServer
from activities.tools.registry import ToolRegistry
from activities.tools.tool import Tool
from runtime.logs import register_secret

REPLACED = {McpRole.URL_FETCHER: ("fetch_url",)}
"""What is not offered while a server of this role is (behaviour 16)."""

MAX_DECLARED = 128_000
"""Characters of the declarations of all servers together; who comes first has them."""


class McpServers:
    def __init__(
        self,
        settings: Sequence[McpServerSettings],
        registry: ToolRegistry,
        rest: float = REST,
        **timeouts: float,
    ) -> None:
        self._registry = registry
        self.servers = [
            McpServer(server, self._offer_of(server), rest, room=self._room_of(server), **timeouts)
            for server in settings
        ]
        for server in settings:
            for secret in server.secrets():
                register_secret(secret)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(server.run(), name=f"mcp {server.settings.name}")
            for server in self.servers
        ]

    async def aclose(self) -> None:
        """End the connections, and with them the children."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _room_of(self, settings: McpServerSettings) -> Callable[[], int]:
        def room() -> int:
            others = (server for server in self.servers if server.settings is not settings)
            return MAX_DECLARED - sum(server.declared for server in others)

        return room

    def _offer_of(self, server: McpServerSettings) -> Any:
        replaces = REPLACED.get(server.role, ()) if server.role else ()

        def offer(tools: Sequence[Tool[Any]]) -> None:
            self._registry.replace_group(f"mcp {server.name}", tools, replaces)

        return offer
