"""Brave Search, with a key of the operator's (https://api-dashboard.search.brave.com)."""

from __future__ import annotations

import httpx
from pydantic import SecretStr

from activities.tools.search.base import Category, Found, ask_json, entries, found, kept

ADDRESS = "https://api.search.brave.com"

_COUNT = "10"


class BraveSearch:
    name = "Brave"

    def __init__(self, http: httpx.AsyncClient, key: SecretStr, address: str = ADDRESS) -> None:
        self._http = http
        self._key = key
        self._address = address.rstrip("/")

    async def search(self, query: str, category: Category) -> list[Found]:
        kind = "web" if category is Category.GENERAL else category.value
        answer = await ask_json(
            self._http,
            f"{self._address}/res/v1/{kind}/search",
            {
                "q": query,
                "count": _COUNT,
                # for images there is nothing between strict and off
                "safesearch": "strict" if category is Category.IMAGES else "moderate",
            },
            {"X-Subscription-Token": self._key.get_secret_value()},
        )
        path = ("web", "results") if category is Category.GENERAL else ("results",)
        return kept(
            found(
                entry.get("title"),
                entry.get("url"),
                entry.get("description"),
                entry.get("age"),
                _image(entry) if category is Category.IMAGES else None,
            )
            for entry in entries(answer, *path)
        )


def _image(entry: object) -> object:
    properties = entry.get("properties") if isinstance(entry, dict) else None
    return properties.get("url") if isinstance(properties, dict) else None
