"""DuckDuckGo and its likes through the `ddgs` library: no key, always there, now and then refused.

The library brings an HTTP client of its own, which our guard does not stand before. It connects to
the search engines that are written into it and to nothing that a member or a model names; what
comes back is checked like any other result. It blocks, so it runs in threads of its own: one that
cannot be cancelled delays other searches and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from activities.tools.search.base import (
    MAX_RESULTS,
    Category,
    Found,
    SearchFailed,
    found,
    kept,
)

ENGINE_TIMEOUT = 8
"""Seconds for each of the library's engines."""
BUDGET = 20.0
"""Seconds for all of them."""
THREADS = 2

Ask = Callable[[str, Category], Sequence[Mapping[str, Any]]]
"""The library's boundary: (query, category) to its raw results; blocks, and raises anything."""


class DuckDuckGoSearch:
    name = "DuckDuckGo"

    def __init__(self, ask: Ask | None = None, budget: float = BUDGET) -> None:
        self._ask = ask or ask_ddgs
        self._budget = budget
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="search")

    async def search(self, query: str, category: Category) -> list[Found]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._budget):
                results = await loop.run_in_executor(self._threads, self._ask, query, category)
        except TimeoutError:
            raise SearchFailed(f"it took longer than {self._budget:.0f} s") from None
        except Exception as error:
            raise SearchFailed(f"it could not be asked ({type(error).__name__})") from None
        return kept(
            found(
                entry.get("title"),
                entry.get("href") or entry.get("url"),
                entry.get("body"),
                entry.get("date"),
                entry.get("image") if category is Category.IMAGES else None,
            )
            for entry in results
        )

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def ask_ddgs(query: str, category: Category) -> Sequence[Mapping[str, Any]]:
    from ddgs import DDGS  # 0.2 s that only a search should cost
    from ddgs.exceptions import DDGSException

    for name in ("ddgs", "primp"):
        logging.getLogger(name).setLevel(logging.WARNING)  # below, they write what is searched for
    client = DDGS(timeout=ENGINE_TIMEOUT)
    ask = {
        Category.GENERAL: client.text,
        Category.NEWS: client.news,
        Category.IMAGES: client.images,
    }[category]
    try:
        return ask(query, safesearch="moderate", max_results=MAX_RESULTS)
    except DDGSException as error:
        if "No results" in str(error):
            return []
        raise
