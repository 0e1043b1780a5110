"""What all tools of a worker share, opened once and closed with the worker."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

from temporalio.client import Client

from activities.tools.http_guard import AddressGuard, Resolver, guarded_client, resolve_by_system
from storage import Storage
from workflows.contracts.discord_port import DiscordPort

Part = TypeVar("Part")

PAGE_THREADS = 2
"""Pages whose text is extracted at the same time. A hostile page can cost 17 s of CPU, and a
thread cannot be cancelled: with its own few threads it delays other pages, never name lookups."""


class ToolResources:
    """`http` reaches public addresses only; `page_threads` is for work that would block the loop.

    `allow_private` lists `host:port` pairs that may be fetched although they are private (setting
    `EVERTURN_FETCH_ALLOW`). Raises ValueError for an entry that is not `host:port`.
    """

    def __init__(
        self,
        allow_private: Sequence[str] = (),
        resolve: Resolver = resolve_by_system,
        *,
        storage: Storage | None = None,
        temporal: Client | None = None,
        discord: DiscordPort | None = None,
    ) -> None:
        self._storage = storage
        self._temporal = temporal
        self._discord = discord
        self.http = guarded_client(AddressGuard(allow_private, resolve))
        self.page_threads = ThreadPoolExecutor(PAGE_THREADS, thread_name_prefix="page-text")

    @property
    def storage(self) -> Storage:
        """The database. Owned by the process, not by these resources."""
        return _present(self._storage, "the database")

    @property
    def temporal(self) -> Client:
        return _present(self._temporal, "Temporal")

    @property
    def discord(self) -> DiscordPort:
        """Only where the tool's `task_queue` is `DISCORD_TOOLS`."""
        return _present(self._discord, "Discord")

    async def aclose(self) -> None:
        """Close the connections and let go of the threads. Safe to call twice."""
        await self.http.aclose()
        self.page_threads.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> ToolResources:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _present(part: Part | None, name: str) -> Part:
    if part is None:
        raise RuntimeError(f"this process has no connection to {name}")
    return part
