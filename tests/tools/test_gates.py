"""The gates before a call: which one answers, in which words, and how loudly (behaviour 6.5, 6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from activities.tools.registry import ToolRegistry
from activities.tools.tool import Tool, ToolArguments
from storage.config import ServerConfig, ToolsConfig
from workflows.contracts.context import ToolSet
from workflows.contracts.tools import Situation

HERE = Situation()
CONFIG = ServerConfig()


class Query(ToolArguments):
    query: str
    depth: int = 1


async def nothing(arguments: Any, context: Any, resources: Any) -> dict[str, Any]:
    return {}


def tool(name: str, **options: Any) -> Tool[Any]:
    return Tool(name, f"The tool {name}.", Query, nothing, **options)


def registry(*tools: Tool[Any]) -> ToolRegistry:
    return ToolRegistry([("this test", each) for each in tools])


def not_novelai(provider: str) -> bool:
    return provider != "novelai"


def not_in_threads(situation: Situation, config: ServerConfig) -> bool:
    return not situation.is_thread


def reason(refusal: str | None) -> str:
    assert refusal is not None
    return json.loads(refusal)["reason"]


def test_what_a_turn_is_offered_and_what_is_withheld():
    """The two have nothing in common, and together are all that the provider can have."""
    tools = registry(
        tool("alpha"),
        tool("beta", is_available_for_context=not_in_threads),
        tool("gamma", is_available_for=not_novelai),
        tool("delta"),
    )
    thread = Situation(is_thread=True, disabled=["delta"])
    assert [each.name for each in tools.available("novelai", thread, CONFIG)] == ["alpha"]
    assert tools.withheld("novelai", thread, CONFIG) == ["beta", "delta"]
    assert [each.name for each in tools.available("openai", HERE, CONFIG)] == [
        "alpha",
        "beta",
        "delta",
        "gamma",
    ]
    assert tools.withheld("openai", HERE, CONFIG) == []


def test_a_setting_of_the_server_is_a_gate():
    built = ToolRegistry.builtin()
    off = ServerConfig(tools=ToolsConfig(fetch_url=False, web_search=False))
    assert {"fetch_url", "web_search"} <= set(built.withheld("openai", HERE, off))
    assert not {"fetch_url", "web_search"} & set(built.withheld("openai", HERE, CONFIG))


def test_a_context_gate_that_breaks_is_shut():
    def broken(situation: Situation, config: ServerConfig) -> bool:
        raise RuntimeError("broken gate")

    assert (
        registry(tool("gated", is_available_for_context=broken)).available("demo", HERE, CONFIG)
        == []
    )


names = st.sampled_from(["alpha", "beta", "gamma", "delta"])


@given(
    deliberate=st.booleans(),
    allowed=st.lists(names),
    unavailable=st.lists(names),
    withheld=st.lists(names),
)
def test_declarations_obey_the_allowlist_and_what_is_withheld(
    deliberate: bool, allowed: list[str], unavailable: list[str], withheld: list[str]
):
    """Behaviour 8: an empty allowlist allows nothing; without the mode it says nothing."""
    tools = registry(*map(tool, ["alpha", "beta", "gamma", "delta"]))
    tool_set = ToolSet(deliberate=deliberate, allowed=allowed, unavailable=unavailable)
    declared = {each.name for each in tools.declarations("demo", tool_set, withheld)}
    everything = {"alpha", "beta", "gamma", "delta"}
    expected = set(allowed) if deliberate else everything
    assert declared == expected - set(unavailable) - set(withheld)


def test_an_empty_allowlist_declares_nothing():
    """C101: it must not be read as "allow all"."""
    assert ToolRegistry.builtin().declarations("demo", ToolSet(deliberate=True)) == []


@pytest.mark.parametrize("arguments", ['{"query": "tea"}', "{", '{"depth": "deep"}'])
def test_the_provider_gate_speaks_before_the_context_gate_and_the_arguments(arguments):
    """Both are shut and the arguments are wrong: it is the provider's refusal, at error level."""
    gated = registry(tool("gated", is_available_for=not_novelai))
    with structlog.testing.capture_logs() as events:
        examined = gated.examine(
            "gated", arguments, "novelai", ToolSet(unavailable=["gated"]), ["gated"]
        )
    assert reason(examined.refusal) == "gated is not available for provider novelai."
    assert [(event["log_level"], event["tool"]) for event in events] == [("error", "gated")]
    assert examined.summary == "gated"


@pytest.mark.parametrize(
    ("tool_set", "withheld"),
    [(ToolSet(unavailable=["gated"]), []), (ToolSet(), ["gated"])],
)
@pytest.mark.parametrize("arguments", ['{"query": "tea"}', "{"])
def test_the_context_gate_speaks_before_the_arguments(tool_set, withheld, arguments):
    with structlog.testing.capture_logs() as events:
        examined = registry(tool("gated")).examine("gated", arguments, "demo", tool_set, withheld)
    assert reason(examined.refusal) == (
        "gated is not available for the current turn; do not call it again in this turn."
    )
    assert [event["log_level"] for event in events] == ["warning"]


def test_an_unknown_name_is_neither_gate_and_hears_only_of_what_it_can_have():
    tools = registry(tool("search_web"), tool("search_mail"), tool("search_files"))
    examined = tools.examine("search_wep", "{}", "demo", withheld=["search_mail"])
    said = reason(examined.refusal)
    assert "There is no tool named 'search_wep'." in said
    assert "Available: search_files, search_web." in said
    assert "search_mail" not in said
    assert "not available" not in said


def test_an_admitted_call_says_how_the_turn_goes_on():
    tools = registry(
        tool("ending", ends_turn=True, requires_follow_up=False, task_queue="discord"),
        tool("plain"),
    )
    ending = tools.examine("ending", '{"query": "x"}', "demo")
    assert (ending.refusal, ending.task_queue) == (None, "discord")
    assert (ending.ends_turn, ending.requires_follow_up) == (True, False)
    lasting = tools.examine("ending", '{"query": "x"}', "demo", ToolSet(lasting=["ending"]))
    assert lasting.ends_turn is False
    plain = tools.examine("plain", '{"query": "x"}', "demo")
    assert (plain.ends_turn, plain.requires_follow_up) == (False, True)


def test_the_names_of_arguments():
    tools = registry(tool("alpha"))
    assert tools.parameters("alpha") == {"query", "depth"}
    assert tools.parameters("nobody") == frozenset()


# Groups that come and go


def test_a_group_is_exchanged_as_a_whole():
    tools = registry(tool("own"))
    assert tools.replace_group("one", [tool("a"), tool("b")]) == ["a", "b"]
    assert tools.names() == ["a", "b", "own"]
    tools.replace_group("one", [tool("b"), tool("c")])
    assert tools.names() == ["b", "c", "own"]
    tools.replace_group("one", [])
    assert tools.names() == ["own"]


def test_a_name_that_is_taken_stays_with_whoever_had_it():
    """Ours, another group's, and twice in the same group."""
    own, first = tool("own"), tool("shared")
    tools = registry(own)
    tools.replace_group("one", [first])
    with structlog.testing.capture_logs() as events:
        kept = tools.replace_group("two", [tool("own"), tool("shared"), tool("new"), tool("new")])
    assert kept == ["new"]
    assert tools.get("own") is own
    assert tools.get("shared") is first
    assert [event["tool"] for event in events] == ["own", "shared", "new"]
    tools.replace_group("one", [])
    assert tools.names() == ["new", "own"]


def test_a_group_hides_what_it_stands_in_for_while_it_can_be_had():
    """Behaviour 16: an enabled url fetcher hides `fetch_url`, and only then."""

    def with_mcp(situation: Situation, config: ServerConfig) -> bool:
        return config.tools.mcp

    tools = registry(tool("fetch_url"))
    tools.replace_group(
        "fetcher", [tool("other", is_available_for_context=with_mcp)], ["fetch_url"]
    )
    assert tools.withheld("demo", HERE, CONFIG) == ["fetch_url"]
    off = ServerConfig(tools=ToolsConfig(mcp=False))
    assert tools.withheld("demo", HERE, off) == ["other"]
    tools.replace_group("fetcher", [])
    assert tools.withheld("demo", HERE, CONFIG) == []
