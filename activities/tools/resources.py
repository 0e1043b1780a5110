"""What all tools of a worker share, opened once and closed with the worker."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, TypeVar

from temporalio.client import Client

from activities.tools.http_guard import AddressGuard, Resolver, guarded_client, resolve_by_system
from activities.tools.limits import MemoryLimits
from activities.tools.search import SearchSettings, WebSearch
from storage import Storage
from storage.config import ServerConfig
from workflows.contracts.discord_port import DiscordPort
from workflows.contracts.tools import Situation

Part = TypeVar("Part")

PAGE_THREADS = 2
"""Pages and files whose text is decoded at the same time. That takes up to 0.3 s of CPU, and a
thread cannot be cancelled: with its own few threads it delays other texts, never name lookups."""

NO_SEARCH_SETTINGS = SearchSettings()


class OfferedTool(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...


class Offered(Protocol):
    """What the registry can say of the tools there are."""

    def available(
        self, provider: str, situation: Situation, config: ServerConfig
    ) -> Sequence[OfferedTool]: ...
    def withheld(
        self, provider: str, situation: Situation, config: ServerConfig
    ) -> Sequence[str]: ...


DEFAULT_MEMORY_LIMITS = MemoryLimits()


class ToolResources:
    """`http` reaches public addresses only; `page_threads` is for work that would block the loop.

    `allow_private` lists `host:port` pairs that may be fetched although they are private (setting
    `EVERTURN_FETCH_ALLOW`), `search` what the operator has set for searching the web. Raises
    ValueError for an entry that is not `host:port`.
    """

    def __init__(
        self,
        allow_private: Sequence[str] = (),
        resolve: Resolver = resolve_by_system,
        *,
        storage: Storage | None = None,
        temporal: Client | None = None,
        discord: DiscordPort | None = None,
        search: SearchSettings | WebSearch = NO_SEARCH_SETTINGS,
        memory_limits: MemoryLimits = DEFAULT_MEMORY_LIMITS,
    ) -> None:
        self.memory_limits = memory_limits
        self._storage = storage
        self._temporal = temporal
        self._discord = discord
        self._offered: Offered | None = None
        self.http = guarded_client(AddressGuard(allow_private, resolve))
        if isinstance(search, SearchSettings):
            search = WebSearch.from_settings(search, self.http, resolve)
        self.search = search
        self.page_threads = ThreadPoolExecutor(PAGE_THREADS, thread_name_prefix="page-text")

    def connect(
        self,
        *,
        storage: Storage | None = None,
        temporal: Client | None = None,
        discord: DiscordPort | None = None,
        offered: Offered | None = None,
    ) -> None:
        """Hand over what was opened after these resources were made."""
        self._storage = storage or self._storage
        self._temporal = temporal or self._temporal
        self._discord = discord or self._discord
        self._offered = offered or self._offered

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

    @property
    def offered(self) -> Offered:
        """The tools of this process, for one that reports on them."""
        return _present(self._offered, "the tools")

    async def aclose(self) -> None:
        """Close the connections and let go of the threads. Safe to call twice."""
        await self.search.aclose()
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
