"""Who is asked, in which order: Brave where there is a key, a SearXNG where there is one, and
DuckDuckGo always. The next one is asked when one fails or finds nothing (behaviour 16)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
import structlog
from pydantic import SecretStr

from activities.tools.http_guard import AddressGuard, Resolver, guarded_client, resolve_by_system
from activities.tools.search.base import Category, Engine, Found, SearchFailed
from activities.tools.search.brave import BraveSearch
from activities.tools.search.duckduckgo import DuckDuckGoSearch
from activities.tools.search.searxng import SearxngSearch
from runtime.logs import brief

ENGINE_BUDGET = 30.0
"""Seconds for one engine, whatever it does: a server that drips is not silent."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SearchSettings:
    """What the operator has set for searching."""

    brave_key: SecretStr | None = None
    searxng_url: str | None = None
    """An http(s) address; it may be private."""


class NothingAnswered(Exception):
    """Every engine has failed."""


class WebSearch:
    """`engines` are asked in their order. Close it in the end."""

    def __init__(self, engines: Sequence[Engine], own_clients: Sequence[httpx.AsyncClient] = ()):
        self._engines = list(engines)
        self._clients = list(own_clients)

    @classmethod
    def from_settings(
        cls,
        settings: SearchSettings,
        http: httpx.AsyncClient,
        resolve: Resolver = resolve_by_system,
    ) -> WebSearch:
        """`http` reaches public addresses. Raises ValueError for an address that is none."""
        engines: list[Engine] = []
        clients: list[httpx.AsyncClient] = []
        if settings.brave_key is not None:
            engines.append(BraveSearch(http, settings.brave_key))
        if settings.searxng_url:
            # the operator says where it is, so it may be anywhere, but only there
            client = guarded_client(AddressGuard([_target(settings.searxng_url)], resolve))
            clients.append(client)
            engines.append(SearxngSearch(client, settings.searxng_url))
        engines.append(DuckDuckGoSearch())
        return cls(engines, clients)

    async def search(self, query: str, category: Category) -> tuple[str, list[Found]]:
        """(name of the engine that answered, results; none when all that answered found none).

        Raises NothingAnswered.
        """
        answered: str | None = None
        for engine in self._engines:
            try:
                async with asyncio.timeout(ENGINE_BUDGET):
                    results = await engine.search(query, category)
            except TimeoutError:
                log.warning("search engine failed", engine=engine.name, reason="it took too long")
                continue
            except SearchFailed as error:
                log.warning("search engine failed", engine=engine.name, reason=brief(error.reason))
                continue
            if results:
                return engine.name, results
            answered = engine.name
        if answered is None:
            raise NothingAnswered
        return answered, []

    async def aclose(self) -> None:
        for client in self._clients:
            await client.aclose()
        for engine in self._engines:
            if isinstance(engine, DuckDuckGoSearch):
                engine.close()


def _target(address: str) -> str:
    url = httpx.URL(address)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("it must be an http:// or https:// address")
    port = url.port or (443 if url.scheme == "https" else 80)
    return f"{url.host}:{port}"
