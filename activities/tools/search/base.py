"""What a search engine takes and gives.

In: a query of at most `MAX_QUERY` code points and a category. Out: at most `MAX_RESULTS` `Found`,
whose addresses are absolute http(s) ones without credentials, and whose words are cut and free of
markup: they are strangers' words, and data. Nothing is changed.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Protocol

import httpx
from pydantic import BaseModel

from activities.tools.http_body import ACCEPT_ENCODING, UnreadableBody, read_body
from activities.tools.http_guard import TargetRefused, parse_url
from activities.tools.results import clean

MAX_QUERY = 400
"""Code points; Brave takes no more."""
MAX_RESULTS = 8
MAX_TITLE = 200
MAX_SNIPPET = 500
MAX_BODY = 2_000_000
"""Bytes of an engine's answer, after decompression."""

CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 10.0
"""Seconds. Another engine is waiting, and so is a member."""

_TAG = re.compile(r"<[^<>]{0,200}>")


class Category(StrEnum):
    GENERAL = "general"
    NEWS = "news"
    IMAGES = "images"


class Found(BaseModel):
    title: str
    url: str
    snippet: str = ""
    published: str | None = None
    """When, in the engine's own words."""
    image_url: str | None = None


class SearchFailed(Exception):
    """An engine gave no answer. `reason` is for the log: no query, no key."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    async def search(self, query: str, category: Category) -> list[Found]:
        """Raises SearchFailed."""
        ...


async def ask_json(
    http: httpx.AsyncClient,
    url: str,
    params: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
) -> Any:
    """The JSON that a GET of `url` answers. Redirects are not followed. Raises SearchFailed."""
    try:
        request = http.build_request(
            "GET",
            url,
            params=dict(params),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": ACCEPT_ENCODING,
                "User-Agent": "Everturn (web_search tool)",
                **(headers or {}),
            },
            timeout=httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT, pool=CONNECT_TIMEOUT),
        )
    except (httpx.InvalidURL, ValueError, TypeError):
        raise SearchFailed("what is set for it makes no request") from None
    try:
        response = await http.send(request, stream=True)
        try:
            if not response.is_success:
                raise SearchFailed(f"it answered {response.status_code}")
            body = await read_body(response, MAX_BODY)
        finally:
            await response.aclose()
        if body.truncated:
            raise SearchFailed("its answer is too long")
        return json.loads(body.data)
    except (TargetRefused, UnreadableBody) as error:
        raise SearchFailed(str(error)) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SearchFailed(f"it could not be asked ({type(error).__name__})") from None
    except (ValueError, RecursionError):
        raise SearchFailed("its answer is not JSON") from None


def entries(value: Any, *path: str) -> list[Mapping[str, Any]]:
    """The list of objects at `path` of an answer; what is something else is left out."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def found(
    title: object,
    url: object,
    snippet: object = "",
    published: object = None,
    image_url: object = None,
) -> Found | None:
    """A result of these parts, whatever they are; None when it leads nowhere."""
    address = _address(url)
    if address is None:
        return None
    when = plain(published, 40)
    return Found(
        title=plain(title, MAX_TITLE) or address[:MAX_TITLE],
        url=address,
        snippet=plain(snippet, MAX_SNIPPET),
        published=when or None,
        image_url=_address(image_url),
    )


def kept(candidates: Iterable[Found | None]) -> list[Found]:
    """The first `MAX_RESULTS`, each address once."""
    by_url: dict[str, Found] = {}
    for candidate in candidates:
        if candidate is not None:
            by_url.setdefault(candidate.url, candidate)
    return list(by_url.values())[:MAX_RESULTS]


def plain(value: object, limit: int) -> str:
    """`value` as one line of text without markup, at most `limit` code points."""
    if not isinstance(value, str):
        return ""
    text = html.unescape(_TAG.sub("", value[: limit * 10]))
    return " ".join(clean(text).split())[:limit]


def _address(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        return str(parse_url(clean(value).strip()))
    except ValueError:
        return None
