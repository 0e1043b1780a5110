"""`web_search` against loopback engines, with DuckDuckGo replaced at its library's boundary."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from activities.tools.http_guard import AddressGuard, guarded_client
from activities.tools.search import Category, NothingAnswered, SearchSettings, WebSearch
from activities.tools.search import base as base_module
from activities.tools.search import duckduckgo as duckduckgo_module
from activities.tools.search.base import MAX_RESULTS, MAX_SNIPPET, entries, found, kept
from activities.tools.search.brave import BraveSearch
from activities.tools.search.duckduckgo import DuckDuckGoSearch
from activities.tools.search.searxng import SearxngSearch
from storage.config import ServerConfig, ToolsConfig
from tests.tools.loopback import Handler, answer, serve, stall

KEY = "planted-brave-key"


def json_answer(value: Any, **headers: str) -> Handler:
    return answer(json.dumps(value).encode(), "application/json", **headers)


def duck(results: Sequence[Mapping[str, Any]] = (), error: Exception | None = None):
    asked: list[tuple[str, Category]] = []

    def ask(query: str, category: Category) -> Sequence[Mapping[str, Any]]:
        asked.append((query, category))
        if error is not None:
            raise error
        return results

    return DuckDuckGoSearch(ask), asked


async def search(bench, *engines: Any, query: str = "green tea", **arguments: Any) -> Any:
    made = bench(search=WebSearch(engines))
    result = await made.call("web_search", {"query": query, **arguments})
    return made.whole(result)


BRAVE_ANSWER = {
    "web": {
        "results": [
            {
                "title": "Green <strong>tea</strong> &amp; more",
                "url": "https://tea.example/green",
                "description": "All about\n<b>it</b>.\u0007",
                "age": "2 days ago",
            },
            {"title": "No address"},
            {"title": "Bad", "url": "javascript:alert(1)"},
            {"title": "Secret", "url": "https://ann:pw@tea.example/"},
            "not an object",
        ]
    }
}


async def test_brave_is_asked_with_its_key_and_its_answer_is_cleaned(bench):
    async with serve(json_answer(BRAVE_ANSWER)) as server:
        http = guarded_client(AddressGuard([server.target]))
        brave = BraveSearch(http, SecretStr(KEY), f"http://{server.target}/")
        said = await search(bench, brave)
        await http.aclose()
    assert said == {
        "engine": "Brave",
        "results": [
            {
                "title": "Green tea & more",
                "url": "https://tea.example/green",
                "snippet": "All about it.",
                "published": "2 days ago",
            }
        ],
    }
    head = server.heads[0].decode()
    assert head.startswith("GET /res/v1/web/search?q=green+tea&count=10&safesearch=moderate ")
    assert f"x-subscription-token: {KEY}" in head.lower()


@pytest.mark.parametrize(
    ("category", "path", "safe"),
    [("news", "/res/v1/news/search", "moderate"), ("images", "/res/v1/images/search", "strict")],
)
async def test_brave_has_an_address_for_each_category(bench, category, path, safe):
    entry = {
        "title": "Tea",
        "url": "https://tea.example/",
        "properties": {"url": "https://cdn.example/tea.png"},
    }
    async with serve(json_answer({"results": [entry]})) as server:
        http = guarded_client(AddressGuard([server.target]))
        brave = BraveSearch(http, SecretStr(KEY), f"http://{server.target}")
        said = await search(bench, brave, category=category)
        await http.aclose()
    assert server.heads[0].decode().startswith(f"GET {path}?")
    assert f"safesearch={safe}" in server.heads[0].decode()
    image = said["results"][0].get("image_url")
    assert image == ("https://cdn.example/tea.png" if category == "images" else None)


async def test_a_searxng_of_the_operators_may_be_private_and_redirects_nowhere(bench):
    """It is reached though it is on loopback; nothing else is, through it."""
    results = {"results": [{"title": "Tea", "url": "https://tea.example/", "content": "x" * 9000}]}
    async with serve(json_answer(results)) as server:
        settings = SearchSettings(searxng_url=f"http://{server.target}/")
        made = bench(search=settings)
        said = made.whole(
            await made.call("web_search", {"query": "tea & milk", "category": "news"})
        )
        assert said["engine"] == "SearXNG"
        assert len(said["results"][0]["snippet"]) == MAX_SNIPPET
        head = server.heads[0].decode()
        assert head.startswith(
            "GET /search?q=tea+%26+milk&format=json&categories=news&safesearch=1 "
        )

        async with serve(answer(b"", status="302 Found", Location=server.url)) as redirecting:
            first = SearxngSearch(
                guarded_client(AddressGuard([redirecting.target])), f"http://{redirecting.target}"
            )
            fallback, _ = duck([{"title": "D", "href": "https://d.example/", "body": "d"}])
            assert (await search(bench, first, fallback))["engine"] == "DuckDuckGo"
            assert len(server.heads) == 1


@pytest.mark.parametrize(
    "handler",
    [
        answer(b"down", status="503 Service Unavailable"),
        answer(b"no", status="401 Unauthorized"),
        answer(b"<html>not json", "text/html"),
        answer(b"[" * 100_000, "application/json"),
        answer(b"\x1f\x8bdamaged", "application/json", Content_Encoding="gzip"),
        answer(b'{"results": "' + b"x" * 2_100_000 + b'"}', "application/json"),
        json_answer({"results": []}),
        json_answer({"results": {"not": "a list"}}),
        json_answer([1, 2, 3]),
        json_answer(None),
    ],
)
async def test_the_next_engine_answers_when_one_fails_or_finds_nothing(bench, handler):
    second, asked = duck([{"title": "Tea", "href": "https://tea.example/", "body": "b"}])
    async with serve(handler) as server:
        http = guarded_client(AddressGuard([server.target]))
        first = SearxngSearch(http, f"http://{server.target}")
        with structlog.testing.capture_logs() as events:
            said = await search(bench, first, second, query="planted query")
        await http.aclose()
    assert said["engine"] == "DuckDuckGo"
    assert [query for query, _ in asked] == ["planted query"]
    assert "planted" not in repr(events)


async def test_an_engine_that_never_ends_is_left(bench, monkeypatch):
    monkeypatch.setattr(base_module, "READ_TIMEOUT", 0.1)
    second, _ = duck([{"title": "Tea", "href": "https://tea.example/"}])
    async with serve(stall) as server:
        http = guarded_client(AddressGuard([server.target]))
        said = await search(bench, SearxngSearch(http, f"http://{server.target}"), second)
        await asyncio.wait_for(server.left.wait(), 5)
        await http.aclose()
    assert said["engine"] == "DuckDuckGo"


async def test_no_engine_at_all_is_a_failure_in_plain_words(bench):
    engine, _ = duck(error=RuntimeError("planted"))
    made = bench(search=WebSearch([engine]))
    result = await made.call("web_search", {"query": "tea"})
    assert result.success is False
    assert "No search engine could be reached" in result.content
    assert "planted" not in result.content


async def test_nothing_found_is_no_failure(bench):
    engine, _ = duck()
    said = await search(bench, engine)
    assert said["results"] == []
    assert "Nothing was found" in said["note"]


async def test_a_library_that_hangs_is_left_behind(bench):
    """Its thread ends by itself; the search does not wait for it."""
    release = threading.Event()

    def hang(query: str, category: Category) -> Sequence[Mapping[str, Any]]:
        release.wait(10)
        return []

    engine = DuckDuckGoSearch(hang, budget=0.05)
    with pytest.raises(NothingAnswered):
        await WebSearch([engine]).search("tea", Category.GENERAL)
    release.set()
    engine.close()


@pytest.mark.parametrize("category", list(Category))
def test_the_library_is_asked_for_the_right_kind(monkeypatch, category):
    """Where our words meet those of `ddgs`; an empty answer of it is no error."""
    import ddgs.ddgs

    asked = []

    def remember(kind: str):
        def ask(self: Any, query: str, **options: Any) -> list[dict[str, str]]:
            asked.append((kind, query, options["safesearch"]))
            raise ddgs.exceptions.DDGSException("No results found.")

        return ask

    for kind in ("text", "news", "images"):
        monkeypatch.setattr(ddgs.ddgs.DDGS, kind, remember(kind), raising=True)
    assert duckduckgo_module.ask_ddgs("tea", category) == []
    kind = {"general": "text"}.get(category.value, category.value)
    assert asked == [(kind, "tea", "moderate")]


@pytest.mark.parametrize(
    "arguments",
    [{"query": ""}, {"query": "  "}, {"query": "x" * 401}, {"query": "a", "category": "video"}, {}],
)
async def test_a_query_that_is_none_is_refused(bench, arguments):
    engine, asked = duck()
    result = await bench(search=WebSearch([engine])).call("web_search", arguments)
    assert result.success is False
    assert asked == []


async def test_a_server_can_switch_it_off(bench):
    """C130."""
    engine, asked = duck()
    made = bench(search=WebSearch([engine]))
    made.store.configs.servers["7"] = ServerConfig(tools=ToolsConfig(web_search=False))
    result = await made.call("web_search", {"query": "tea"}, guild_id="7")
    assert "not available for the current turn" in result.content
    assert asked == []


def test_the_query_is_not_in_the_summary(bench):
    made = bench(search=WebSearch([]))
    examined = made.activities._registry.examine(
        "web_search", '{"query": "planted", "category": "news"}'
    )
    assert examined.summary == "web_search news"


junk = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(value=junk, parts=st.lists(st.tuples(junk, junk, junk, junk, junk), max_size=12))
def test_whatever_an_engine_sends_becomes_short_clean_results(value: Any, parts: list[Any]):
    """For every JSON value: no exception, bounded fields, http(s) addresses only, none twice."""
    entries(value, "web", "results")
    results = kept([found(*part) for part in parts])
    assert len(results) <= MAX_RESULTS
    assert len({result.url for result in results}) == len(results)
    for result in results:
        assert result.url.startswith(("http://", "https://"))
        result.model_dump_json().encode()


async def test_a_key_that_makes_no_request_is_a_failure_of_that_engine_only(bench):
    async with serve(json_answer(BRAVE_ANSWER)) as server:
        http = guarded_client(AddressGuard([server.target]))
        brave = BraveSearch(http, SecretStr("planted-kéy"), f"http://{server.target}")
        other, _ = duck([{"title": "Tea", "href": "https://tea.example/"}])
        with structlog.testing.capture_logs() as logs:
            said = await search(bench, brave, other)
        await http.aclose()
    assert said["engine"] == "DuckDuckGo"
    assert server.heads == []
    assert "planted" not in str(logs)
