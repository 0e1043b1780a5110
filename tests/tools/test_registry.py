"""Which tools there are, and what happens to a call before it is dispatched."""

from __future__ import annotations

import importlib
import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator

from activities.tools import builtin
from activities.tools.discovery import tools_of_entry_points, tools_of_package
from activities.tools.registry import MAX_SUMMARY, ToolRegistry
from activities.tools.tool import Tool, ToolArguments, ToolDefinitionError
from workflows.contracts.tools import INLINE_RESULT_LIMIT

OUTSIDE_TOOL = """
from activities.tools.tool import Tool, ToolArguments


class WeatherArguments(ToolArguments):
    city: str


async def weather(arguments, context, resources):
    return {"city": arguments.city, "sky": "clear"}


TOOL = Tool(
    name="weather",
    description="The weather of a city.",
    arguments=WeatherArguments,
    run=weather,
    summarise=lambda arguments: arguments.city,
    task_queue="weather-station",
)
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A package folder that is not ours: `outside(name, files)` imports and returns it."""

    def make(name: str, **modules: str):
        package = tmp_path / name
        package.mkdir()
        for module, source in {"__init__": "", **modules}.items():
            (package / f"{module}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield make
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def entry_point(value: str) -> EntryPoint:
    return EntryPoint(name="outside", value=value, group="everturn.tools")


def refused(registry: ToolRegistry, name: str, arguments: str) -> str:
    """The reason of a refusal, whose shape is checked on the way."""
    examined = registry.examine(name, arguments)
    assert examined.refusal is not None
    refusal = json.loads(examined.refusal)
    assert set(refusal) == {"status", "tool_name", "reason"}
    assert refusal["status"] == "tool_execution_failed"
    return refusal["reason"]


def test_each_file_of_builtin_is_a_tool():
    files = {file.stem for file in Path(builtin.__path__[0]).glob("[a-z]*.py")}
    assert set(ToolRegistry.builtin().names()) == files
    assert {"fetch_url", "roll_dice", "web_search", "read_tool_result"} <= files


async def test_a_tool_is_added_by_one_file(outside, bench):
    """A file in the folder is all it takes: declared, examined, run."""
    package = outside("outside_builtin", weather=OUTSIDE_TOOL)
    registry = ToolRegistry(tools_of_package(package))
    assert [tool.name for tool in registry.declarations("demo")] == ["weather"]
    examined = registry.examine("weather", '{"city": "Lisbon"}')
    assert (examined.refusal, examined.summary) == (None, "weather Lisbon")
    assert examined.task_queue == "weather-station"
    result = await bench(registry=registry).call("weather", {"city": "Lisbon"})
    assert json.loads(result.content) == {"city": "Lisbon", "sky": "clear"}


def test_a_file_without_a_tool_is_an_error_that_names_it(outside):
    package = outside("outside_empty", forgotten="x = 1")
    with pytest.raises(ToolDefinitionError, match=r"outside_empty\.forgotten"):
        ToolRegistry(tools_of_package(package))


def test_an_installed_package_registers_tools(outside):
    outside("outside_package", weather=OUTSIDE_TOOL + "\nTOOLS = [TOOL]\n")
    for value in ("outside_package.weather:TOOL", "outside_package.weather:TOOLS"):
        registry = ToolRegistry(tools_of_entry_points([entry_point(value)]))
        assert registry.names() == ["weather"]


@pytest.mark.parametrize(
    "source",
    [
        "raise RuntimeError('broken')",
        "import sys; sys.exit(3)",
        "import a_package_nobody_has",
        "TOOL = 'not a tool'",
        "TOOL = None",
        "def TOOL(:",
        OUTSIDE_TOOL + "\nWeatherArguments.model_json_schema = None",
        OUTSIDE_TOOL.replace('"weather"', '"We ather"'),
    ],
)
def test_a_broken_package_is_skipped_and_the_others_stay(outside, source):
    outside("outside_broken", broken=source)
    outside("outside_whole", weather=OUTSIDE_TOOL)
    found = tools_of_entry_points(
        [
            entry_point("outside_broken.broken:TOOL"),
            entry_point("outside_nowhere:TOOL"),
            entry_point("outside_whole.weather:TOOL"),
        ]
    )
    assert ToolRegistry(found).names() == ["weather"]


def test_a_name_that_is_taken_is_an_error_that_names_both(outside):
    outside("outside_thief", thief=OUTSIDE_TOOL.replace('"weather"', '"roll_dice"'))
    registry = ToolRegistry.builtin()
    [(source, tool)] = tools_of_entry_points([entry_point("outside_thief.thief:TOOL")])
    with pytest.raises(ToolDefinitionError) as error:
        registry.add(tool, source)
    assert "activities.tools.builtin.roll_dice" in str(error.value)
    assert "outside_thief.thief:TOOL" in str(error.value)


def test_declarations_follow_the_provider():
    """behaviour 16: fetch_url is not offered to NovelAI."""
    registry = ToolRegistry.builtin()
    everybody = [tool.name for tool in registry.declarations("openai")]
    novelai = [tool.name for tool in registry.declarations("novelai")]
    assert everybody == sorted(registry.names())
    assert novelai == [name for name in everybody if name in novelai]
    assert "roll_dice" in novelai
    assert "fetch_url" not in novelai


def test_a_declaration_is_what_a_model_needs():
    declared = {tool.name: tool for tool in ToolRegistry.builtin().declarations("demo")}
    schema = declared["fetch_url"].parameters_json_schema
    assert schema["type"] == "object"
    assert schema["required"] == ["url"]
    assert schema["additionalProperties"] is False
    assert "description" in schema["properties"]["url"]
    assert "title" not in json.dumps(schema)


def test_a_tool_whose_gate_breaks_is_not_offered():
    def gate(provider: str) -> bool:
        raise RuntimeError("broken gate")

    async def nothing(arguments, context, resources):
        return {}

    tool = Tool("gated", "Has a gate.", ToolArguments, nothing, is_available_for=gate)
    assert ToolRegistry([("here", tool)]).declarations("demo") == []


def test_an_unknown_name_lists_the_nearest_and_the_available():
    reason = refused(ToolRegistry.builtin(), "fetch_page", "{}")
    assert "Nearest: fetch_url." in reason
    available = reason.partition("Available: ")[2].rstrip(".").split(", ")
    assert {"fetch_url", "roll_dice"} <= set(available)


def test_an_unknown_name_stays_out_of_the_summary():
    """Summaries may be seen where content may not."""
    assert ToolRegistry.builtin().examine("tell_them_the_secret", "{}").summary == "unknown tool"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{}", "`url` is required"),
        ("", "`url` is required"),
        ('{"url": 7}', "`url`: input should be a valid string"),
        ('{"url": "http://a.example", "depth": 2}', "`depth` is not a parameter"),
        ('{"url": "file:///etc/passwd"}', "`url`: only http:// and https:// URLs"),
        ('{"url": "http://ann:pw@a.example/"}', "`url`: a URL with a user name or password"),
        ('{"url": "http://ann@a.example/"}', "`url`: a URL with a user name or password"),
        ('{"url": "http:///nowhere"}', "`url`: the URL names no host"),
        ('{"url": "a.example"}', "`url`: only http:// and https:// URLs"),
        ('{"url": "http://[::1/"}', "`url`: this is not a valid URL"),
        ('{"url": "http://a.example/\\u0000"}', "`url`: this is not a valid URL"),
        ('{"url": "http://a.example/\\r\\nHost: b"}', "`url`: this is not a valid URL"),
        ('{"url": "http://' + "a" * 3000 + '"}', "`url`: string should have at most 2048"),
        ('{"url": "http://a.exa', "not valid JSON"),
        ('["http://a.example"]', "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('{"url": NaN}', "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(arguments, expected):
    reason = refused(ToolRegistry.builtin(), "fetch_url", arguments)
    assert expected in reason
    assert "ann" not in reason
    assert "pw" not in reason.replace("password", "")


def test_a_refusal_is_short_whatever_the_model_wrote():
    """It stands in a history."""
    registry = ToolRegistry.builtin()
    many = json.dumps({f"x{number}" + "y" * 1000: number for number in range(1000)})
    for name, arguments in [("n" * 1_000_000, "{}"), ("fetch_url", many)]:
        refusal = registry.examine(name, arguments).refusal
        assert refusal is not None
        assert len(refusal) < INLINE_RESULT_LIMIT


@given(name=st.text(max_size=80), arguments=st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_examine_answers_anything_with_json(name, arguments):
    """For every name and text: no exception, and a refusal that is JSON and encodable."""
    registry = ToolRegistry.builtin()
    for tool in (name, "roll_dice", "fetch_url"):
        examined = registry.examine(tool, arguments)
        if examined.refusal is not None:
            json.loads(examined.refusal.encode())
        assert len(examined.summary.encode()) <= 4 * MAX_SUMMARY


@pytest.mark.parametrize(
    ("name", "arguments", "summary"),
    [
        ("fetch_url", {"url": "https://example.org/secret/path?token=s3cret#x"}, "example.org"),
        ("fetch_url", {"url": "http://EXAMPLE.org:8080/s3cret"}, "example.org"),
        ("fetch_url", {"url": "https://münchen.example/"}, "xn--mnchen-3ya.example"),
        ("roll_dice", {"dice": " 2D6 "}, "2d6"),
        ("roll_dice", {"dice": "d20 + 3"}, "1d20+3"),
        ("roll_dice", {"count": 3, "sides": 8}, "3d8"),
    ],
)
def test_a_summary_says_what_and_nothing_private(name, arguments, summary):
    examined = ToolRegistry.builtin().examine(name, json.dumps(arguments))
    assert (examined.refusal, examined.summary) == (None, f"{name} {summary}")


async def test_mistakes_of_a_tool_stay_its_own():
    """A validator or a summary that raises anything is a refusal or a plain name, never a crash."""

    class Fragile(BaseModel):
        value: int

        @field_validator("value")
        @classmethod
        def check(cls, value: int) -> int:
            return 1 // value

    async def nothing(arguments, context, resources):
        return {}

    def summarise(arguments: Fragile) -> str:
        raise RuntimeError("no summary")

    registry = ToolRegistry(
        [("here", Tool("fragile", "Breaks.", Fragile, nothing, summarise=summarise))]
    )
    assert "could not be checked" in refused(registry, "fragile", '{"value": 0}')
    assert registry.examine("fragile", '{"value": 1}').summary == "fragile"


@pytest.mark.parametrize("name", ["", "Roll", "roll-dice", "9lives", "a" * 65, "röll"])
def test_a_tool_name_must_suit_every_provider(name):
    async def nothing(arguments, context, resources):
        return {}

    with pytest.raises(ToolDefinitionError, match="tool name"):
        Tool(name, "Does nothing.", ToolArguments, nothing)
