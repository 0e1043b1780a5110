"""A SearXNG of the operator's own. It has to allow the format `json` (`search.formats`)."""

from __future__ import annotations

import httpx

from activities.tools.search.base import Category, Found, ask_json, entries, found, kept


class SearxngSearch:
    name = "SearXNG"

    def __init__(self, http: httpx.AsyncClient, address: str) -> None:
        """`http` must be one that may reach `address`, which can be private."""
        self._http = http
        self._address = address.rstrip("/")

    async def search(self, query: str, category: Category) -> list[Found]:
        answer = await ask_json(
            self._http,
            f"{self._address}/search",
            {"q": query, "format": "json", "categories": category.value, "safesearch": "1"},
        )
        return kept(
            found(
                entry.get("title"),
                entry.get("url"),
                entry.get("content"),
                entry.get("publishedDate"),
                entry.get("img_src") if category is Category.IMAGES else None,
            )
            for entry in entries(answer, "results")
        )
