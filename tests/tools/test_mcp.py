"""Tools of MCP servers: good ones over both transports, and one that does everything wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp.shared.message import SessionMessage
from mcp_types import Tool as Listed
from mcp_types import jsonrpc_message_adapter

from activities.tools.mcp import McpConfigError, McpServers, McpServerSettings, read_mcp_servers
from activities.tools.mcp.allowance import (
    MAX_UNASKED,
    MAX_WEIGHT,
    UNASKED_PER_SECOND,
    Allowance,
    weight,
)
from activities.tools.mcp.guard import MAX_BLOCKS, MAX_TOOLS, GuardedStream
from activities.tools.mcp.offer import MAX_NAME, misfit, tool_name
from activities.tools.mcp.schema import MAX_SCHEMA, Unusable, usable_schema
from activities.tools.mcp.server import MAX_DECLARED, McpServer
from activities.tools.mcp.servers import MAX_DECLARED as MAX_DECLARED_TOGETHER
from activities.tools.registry import ToolRegistry
from runtime.logs import redact
from runtime.orphans import HAS_PDEATHSIG
from storage.config import ServerConfig, ToolsConfig
from tests.tools.loopback import answer, serve
from workflows.contracts.tools import Situation

ROOT = Path(__file__).parents[2]
BAD = str(Path(__file__).with_name("mcp_bad.py"))
HERE, CONFIG = Situation(), ServerConfig()


async def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def bad_server(log: Path, *how: str, **fields: Any) -> McpServerSettings:
    return McpServerSettings(
        name=fields.pop("name", "bad"), command=sys.executable, args=[BAD, str(log), *how], **fields
    )


def good_server(**fields: Any) -> McpServerSettings:
    return McpServerSettings(
        name="good",
        command=sys.executable,
        args=["-m", "tests.tools.mcp_good"],
        cwd=str(ROOT),
        **fields,
    )


@asynccontextmanager
async def running(
    *settings: McpServerSettings, registry: ToolRegistry | None = None, **timing: float
) -> AsyncIterator[tuple[McpServers, ToolRegistry]]:
    registry = registry or ToolRegistry()
    servers = McpServers(list(settings), registry, **timing)
    servers.start()
    try:
        yield servers, registry
    finally:
        await asyncio.wait_for(servers.aclose(), 10)


def offered(registry: ToolRegistry, config: ServerConfig = CONFIG) -> set[str]:
    return {tool.name for tool in registry.available("demo", HERE, config)}


def starts(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "starts"


# A server that behaves


async def test_a_good_server_over_stdio(bench):
    async with running(good_server()) as (_, registry):
        await until(lambda: offered(registry))
        assert offered(registry) == {"mcp_good_add", "mcp_good_fail"}
        (add, _) = registry.declarations("demo")
        assert add.description == "Add two numbers."
        assert set(add.parameters_json_schema["properties"]) == {"a", "b"}
        made = bench(registry=registry)
        result = await made.call("mcp_good_add", {"a": 2, "b": 40})
        assert made.whole(result) == {"result": "42"}
        failed = await made.call("mcp_good_fail", {})
        assert failed.success is False
        assert "Error executing tool fail" in json.loads(failed.content)["reason"]
        assert (await made.call("mcp_good_add", {"a": 1, "b": 1})).success


async def test_a_good_server_over_http_that_goes_and_comes_back(bench):
    """It rests after the failure, nothing of it is offered meanwhile, and then it is found."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server_settings = McpServerSettings(name="good", url=f"http://127.0.0.1:{port}/mcp")  # type: ignore[arg-type]

    async def start() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.tools.mcp_good", str(port), cwd=ROOT, stderr=-3
        )

    server = await start()
    try:
        async with running(server_settings, rest=0.3) as (_, registry):
            await until(lambda: offered(registry))
            made = bench(registry=registry)
            result = await made.call("mcp_good_add", {"a": 2, "b": 40})
            assert made.whole(result) == {"result": "42"}
            server.kill()
            await server.wait()
            assert (await made.call("mcp_good_add", {"a": 2, "b": 40})).success is False
            await until(lambda: not offered(registry))
            refused = await made.call("mcp_good_add", {"a": 2, "b": 40})
            assert "not available for the current turn" in refused.content
            server = await start()
            await until(lambda: offered(registry))
            assert (await made.call("mcp_good_add", {"a": 2, "b": 40})).success
    finally:
        server.kill()
        await server.wait()


# One that does not


async def test_what_is_listed_badly_is_left_out(log):
    """Names made fit, the second of two that become one left out, absurd schemas left out."""
    with structlog.testing.capture_logs() as events:
        async with running(bad_server(log)) as (_, registry):
            await until(lambda: offered(registry))
            names = offered(registry)
            declared = {tool.name: tool for tool in registry.declarations("demo")}
    left_out = {event["tool"] for event in events if event["event"] == "mcp tool left out"}
    assert left_out == {
        *("deep", "large", "elsewhere", "odd names", "malformed"),
        *("required", "listed", "without schema", "{'a': 7}", "unnamed"),
    }
    assert "mcp_bad_echo" in names
    assert declared["mcp_bad_echo"].description == "Says it again."
    assert any(event["event"] == "tool left out, its name is taken" for event in events)
    (long,) = [name for name in names if name.startswith("mcp_bad_xxx")]
    assert len(long) == MAX_NAME
    assert len(names) == len(declared) == 11


async def test_answers_of_all_kinds(bench, log):
    """Huge, among garbage, pictures, refusals, nonsense: each is text or a failure, and the
    connection lasts."""
    async with running(bad_server(log)) as (_, registry):
        await until(lambda: offered(registry))
        made = bench(registry=registry)

        async def call(name: str, **arguments: str) -> Any:
            return await made.call(f"mcp_bad_{name}", arguments)

        assert made.whole(await call("echo", text="hi")) == {"result": "echo: hi"}
        huge = await call("huge")
        assert len(huge.content) <= 4000
        assert made.whole(huge)["truncated"] is True
        assert len(made.whole(huge)["text"]) == 200_000
        assert made.whole(await call("garbage")) == {"result": "after garbage"}
        picture = made.whole(await call("picture"))["result"]
        assert "[image: image/png, 400 characters; not shown]" in picture
        assert "notes" in picture
        assert "planted text" not in picture
        assert "QUJD" not in picture
        assert picture.endswith("a picture")
        refused = await call("refuse")
        assert "reported an error: no such thing" in json.loads(refused.content)["reason"]
        assert (await call("nonsense")).success is False
        assert (await call("echo", text="still there")).success
        assert len(starts(log)) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "`text` is required"),
        ({"text": 7}, "`text` must be of type string"),
        ("[]", "must be a JSON object"),
        ('{"text": "cut', "not valid JSON"),
    ],
)
async def test_arguments_that_do_not_fit_do_not_reach_the_server(bench, log, arguments, expected):
    async with running(bad_server(log)) as (_, registry):
        await until(lambda: offered(registry))
        result = await bench(registry=registry).call("mcp_bad_echo", arguments)
    assert expected in json.loads(result.content)["reason"]


# One that is too much


@asynccontextmanager
async def light_loop() -> AsyncIterator[None]:
    """D37: no step of the loop computes for 250 ms. Counted in our own time, since the machine may
    give us little of it."""
    worst = 0.0

    async def beat() -> None:
        nonlocal worst
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            worst = max(worst, time.thread_time() - before)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
    assert worst < 0.25


@pytest.mark.parametrize("how", ["notices", "asks", "answers", "changes", "garbage", "dense"])
async def test_a_server_that_floods_us_rests(log, how):
    """What nobody asked for, or what is too much to parse, ends the connection."""
    with structlog.testing.capture_logs() as events:
        async with light_loop(), running(bad_server(log, how)) as (_, registry):
            await until(lambda: any(event["event"] == "mcp server rests" for event in events))
            assert not offered(registry)
    said = {event["event"] for event in events}
    assert said & {"mcp server says too much unasked", "mcp server sent too much at once"}


async def test_a_server_that_floods_its_error_output_goes_on(bench, log):
    """It waits for us there, and we for nothing."""
    async with light_loop(), running(bad_server(log, "errors")) as (servers, registry):
        await until(lambda: offered(registry))
        await until(lambda: servers.servers[0]._said)


async def test_an_http_server_that_floods_us_rests():
    async def flood(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}}
        while True:
            writer.write(f"event: message\ndata: {json.dumps(notice)}\n\n".encode() * 100)
            await writer.drain()

    with structlog.testing.capture_logs() as events:
        async with light_loop(), serve(flood) as web:
            server = McpServerSettings(name="web", url=web.url)  # type: ignore[arg-type]
            async with running(server, connect_timeout=10):
                await until(lambda: any(e["event"] == "mcp server rests" for e in events))


@pytest.mark.parametrize("how", ["hard", "wide"])
async def test_declarations_of_a_server_are_bounded_together(log, how):
    """64 schemas that took half a minute to check, and 64 that were a megabyte in each call."""
    async with light_loop(), running(bad_server(log, how)) as (_, registry):
        await until(lambda: offered(registry))
        declared = registry.declarations("demo")
    assert 2 <= len(declared) < MAX_TOOLS
    sizes = [len(json.dumps(tool.parameters_json_schema)) for tool in declared]
    assert sum(sizes) <= MAX_DECLARED


async def test_declarations_of_all_servers_are_bounded_together(tmp_path):
    settings = [bad_server(tmp_path / str(n), "wide", name=f"s{n}") for n in range(3)]
    async with running(*settings) as (servers, registry):
        await until(lambda: all(server.is_up for server in servers.servers))

        def offered() -> int:
            declared = registry.declarations("demo")
            return sum(len(json.dumps(each.parameters_json_schema)) for each in declared)

        await until(lambda: offered() > MAX_DECLARED)  # more than one server's
        assert sum(server.declared for server in servers.servers) <= MAX_DECLARED_TOGETHER
        assert offered() <= MAX_DECLARED_TOGETHER


async def test_a_list_that_only_repeats_changes_nothing():
    offers: list[Any] = []
    server = McpServer(bad_server(Path("unused")), offers.append)
    schema = {"type": "object", "properties": {}}
    first, second = (Listed(name=name, input_schema=schema) for name in ("one", "two"))
    await server._publish([first])
    await server._publish([first])
    assert len(offers) == 1
    await server._publish([first, second])
    assert [tool.name for tool in offers[1]] == ["mcp_bad_one", "mcp_bad_two"]
    assert offers[1][0] is offers[0][0]


class Said:
    """What a server says, one message after the other; it was asked for number 1."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self._messages = iter(messages)

    async def receive(self) -> SessionMessage:
        for message in self._messages:
            whole = json.dumps({"jsonrpc": "2.0", **message})
            return SessionMessage(jsonrpc_message_adapter.validate_json(whole, by_name=False))
        raise anyio.EndOfStream


async def passed(*messages: dict[str, Any]) -> list[Any]:
    guard = GuardedStream(Said(*messages), "bad", {"1": None}, Allowance(), list, lambda *_: None)
    return [item.message.model_dump(exclude_none=True) async for item in guard]


async def test_only_what_is_used_reaches_the_sdk():
    got = await passed(
        {"method": "notifications/message", "params": {"level": "info", "data": "x"}},
        {"method": "notifications/tools/list_changed", "params": {"x": [1] * 100}},
        {"id": 5, "method": "sampling/createMessage", "params": {"messages": []}},
        {"id": "y" * 500, "method": "ping"},
        {"id": 2, "result": {}},
        {"id": 1, "result": {"content": [{"type": "text", "text": "a"}] * 1000}},
        {"id": 1, "result": {"content": []}},
    )
    assert [(message.get("method"), message.get("id")) for message in got] == [
        ("notifications/tools/list_changed", None),
        ("sampling/createMessage", 5),
        (None, 1),
    ]
    assert not any("params" in message for message in got)
    assert len(got[2]["result"]["content"]) == MAX_BLOCKS


async def test_structured_content_counts_where_nothing_else_is_said():
    rows = {"rows": [1] * 10_000}
    words = [{"type": "text", "text": "a"}]
    (answer,) = await passed({"id": 1, "result": {"content": words, "structuredContent": rows}})
    assert answer["result"] == {"content": words}
    (answer,) = await passed({"id": 1, "result": {"content": [], "structuredContent": rows}})
    assert answer["result"]["structuredContent"] == rows
    (answer,) = await passed({"id": 1, "result": {"content": [{"a": [{}] * 6_000}]}})
    assert answer["error"]["message"] == "the answer: it is too large"


def test_an_allowance_fills_up_again(monkeypatch):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    allowance = Allowance()
    assert allowance.permits(b"," * (MAX_WEIGHT - 1_000))
    assert not allowance.permits(b"," * 1_000)
    assert sum(allowance.permits_unasked() for _ in range(2 * MAX_UNASKED)) == MAX_UNASKED
    now = 1.0
    assert sum(allowance.permits_unasked() for _ in range(100)) == UNASKED_PER_SECOND


def test_dense_json_weighs_more_than_text():
    assert weight(b"x" * 4_000_000) <= MAX_WEIGHT / 4
    assert weight(b"{}," * 50_000) >= 100_000


@pytest.mark.parametrize("how", ["die", "endless"])
async def test_a_server_that_breaks_in_a_call_rests_and_comes_back(bench, log, how):
    """The call fails at once and in plain words; the tools are gone for the time of the rest."""
    async with running(bad_server(log), rest=0.5) as (_, registry):
        await until(lambda: offered(registry))
        made = bench(registry=registry)
        result = await asyncio.wait_for(made.call(f"mcp_bad_{how}", {}), 10)
        assert "ended during the call" in json.loads(result.content)["reason"]
        assert offered(registry) == set()
        assert "mcp_bad_echo" in registry.withheld("demo", HERE, CONFIG)
        await until(lambda: offered(registry))
        assert (await made.call("mcp_bad_echo", {"text": "back"})).success
    assert len(starts(log)) == 2
    await until(lambda: not any(map(is_alive, starts(log))))


async def test_a_server_that_hangs_costs_its_own_call_only(bench, log):
    """The call ends after the server's timeout; since it does not answer at all, it rests."""
    settings = bad_server(log, timeout=1)
    async with running(settings, rest=300, probe_timeout=0.2) as (_, registry):
        await until(lambda: offered(registry))
        made = bench(registry=registry)
        result = await asyncio.wait_for(made.call("mcp_bad_hang", {}), 10)
        assert "did not answer in 1 s" in json.loads(result.content)["reason"]
        await until(lambda: not offered(registry))
    await until(lambda: not any(map(is_alive, starts(log))))


async def test_a_call_can_be_cancelled_while_the_server_hangs(bench, log):
    async with running(bad_server(log)) as (_, registry):
        await until(lambda: offered(registry))
        made = bench(registry=registry)
        call = asyncio.create_task(made.call("mcp_bad_hang", {}))
        await until(lambda: made.environment._cancelled is False)
        made.environment.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, 5)


async def test_servers_that_never_answer_hold_nobody_up(log, tmp_path):
    """One is silent, one is not there, one has no such command: the good one is there, and what
    failed rests. Start and end take no time."""
    async with serve(answer(b"no", "text/plain", status="500 Internal Server Error")) as web:
        settings = [
            McpServerSettings(name="web", url=web.url),  # type: ignore[arg-type]
            McpServerSettings(name="nowhere", url="http://127.0.0.1:9/mcp"),  # type: ignore[arg-type]
            McpServerSettings(name="missing", command="no-such-command-anywhere"),
            bad_server(tmp_path / "other", name="there"),
        ]
        with structlog.testing.capture_logs() as events:
            silent = bad_server(log, "silent", name="silent")
            async with (
                running(silent, connect_timeout=0.5),
                running(*settings) as (_, registry),
            ):
                await until(lambda: offered(registry))
                assert {name.split("_")[1] for name in offered(registry)} == {"there"}

                def resting() -> set[str]:
                    return {e["server"] for e in events if e["event"] == "mcp server rests"}

                await until(lambda: resting() >= {"web", "nowhere", "missing", "silent"})


async def test_a_child_that_will_not_end_is_ended(log):
    async with running(bad_server(log, "ignores-end")) as (_, registry):
        await until(lambda: offered(registry))
        (pid,) = starts(log)
        assert is_alive(pid)
    await until(lambda: not is_alive(pid))


@pytest.mark.parametrize("by_kernel", sorted({HAS_PDEATHSIG, False}))
async def test_a_child_dies_with_a_worker_that_is_killed(log, by_kernel):
    """Even one that does not care for the end of its input; by the kernel's help where there is
    some, and everywhere by a guard."""
    program = f"""
import asyncio
from activities.tools.mcp import stdio
stdio.HAS_PDEATHSIG = {by_kernel}
from activities.tools.mcp.config import McpServerSettings
from activities.tools.mcp.allowance import Allowance
from activities.tools.mcp.stdio import stdio_transport
async def main():
    server = McpServerSettings(
        name="bad", command={sys.executable!r}, args=[{BAD!r}, {str(log)!r}, "ignores-end"]
    )
    async with stdio_transport(server, print, print, Allowance()):
        await asyncio.sleep(60)
asyncio.run(main())
"""
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=ROOT)
    try:
        await until(lambda: starts(log))
        (pid,) = starts(log)
        assert is_alive(pid)
    finally:
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
    await until(lambda: not is_alive(pid), 5)


# Gates and roles


async def test_a_server_of_ours_can_switch_all_of_it_off(bench, log):
    async with running(bad_server(log)) as (_, registry):
        await until(lambda: offered(registry))
        off = ServerConfig(tools=ToolsConfig(mcp=False))
        assert offered(registry, off) == set()
        made = bench(registry=registry)
        made.store.configs.servers["7"] = off
        result = await made.call("mcp_bad_echo", {"text": "hi"}, guild_id="7")
        assert "not available for the current turn" in result.content


async def test_a_url_fetcher_hides_fetch_url_while_it_is_there(bench, log):
    """Behaviour 16."""
    settings = bad_server(log, role="url_fetcher")
    async with running(settings, registry=ToolRegistry.builtin(), rest=300) as (_, registry):
        assert "fetch_url" in offered(registry)
        await until(lambda: "mcp_bad_echo" in offered(registry))
        assert "fetch_url" not in offered(registry)
        assert "fetch_url" in registry.withheld("demo", HERE, CONFIG)
        echo = registry.get("mcp_bad_echo")
        assert echo is not None
        assert echo.deliberate_target == "search"
        await bench(registry=registry).call("mcp_bad_die", {})
        assert "fetch_url" in offered(registry)


async def test_secrets_stay_secret(bench, log, monkeypatch):
    """The child has its own and none of ours; no log line shows one."""
    monkeypatch.setenv("DISCORD_TOKEN", "planted-token")
    settings = bad_server(log, env={"SHELF_KEY": "planted-shelf-key"})
    async with running(settings) as (_, registry):
        await until(lambda: offered(registry))
        made = bench(registry=registry)
        seen = made.whole(await made.call("mcp_bad_environment", {}))["result"].split()
    assert "SHELF_KEY" in seen
    assert "DISCORD_TOKEN" not in seen
    assert "planted" not in repr(settings)
    assert redact("it said planted-shelf-key") == "it said [redacted]"


# The file


def read(tmp_path: Path, content: Any) -> list[McpServerSettings]:
    file = tmp_path / "mcp.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_mcp_servers(file)


def test_the_file_is_in_the_customary_form(tmp_path):
    servers = read(
        tmp_path,
        {
            "mcpServers": {
                "files": {"command": "run", "args": ["-x"], "env": {"A": "b"}, "autoApprove": []},
                "pages": {
                    "type": "http",
                    "url": "https://u:planted-pw@mcp.example/mcp?key=planted-key",
                    "headers": {"Authorization": "Bearer planted-bearer"},
                    "role": "url_fetcher",
                },
                "off": {"command": "run", "disabled": True},
            }
        },
    )
    assert [server.name for server in servers] == ["files", "pages"]
    assert {"planted-pw", "planted-key", "planted-bearer"} <= set(servers[1].secrets())
    assert "planted" not in repr(servers)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"mcpServers": {\n"planted": }', "line 2: it is not JSON (Expecting value)"),
        ("[" * 100_000, "it is not JSON"),
        ([], 'no object "mcpServers"'),
        ({"mcpServers": {"a": 1}}, "server 'a' is not an object"),
        ({"mcpServers": {"a": {}}}, "server 'a': give either `command` or `url`"),
        ({"mcpServers": {"a": {"command": "x", "url": "http://a"}}}, "give either"),
        ({"mcpServers": {"a": {"url": "planted"}}}, "`url` must be an http://"),
        ({"mcpServers": {"a": {"url": "http://a", "type": "sse"}}}, "old sse transport"),
        ({"mcpServers": {"a": {"command": "x", "env": {"K": ["planted"]}}}}, "server 'a': `env`"),
        ({"mcpServers": {"a": {"command": "x", "role": "planted"}}}, "server 'a': `role`"),
        ({"mcpServers": {"9": {"command": "x"}}}, "its name must begin with a letter"),
        ({"mcpServers": {f"s{n}": {"command": "x"} for n in range(33)}}, "more than 32"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_without_its_values(tmp_path, content, expected):
    with pytest.raises(McpConfigError) as error:
        read(tmp_path, content)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)
    assert "planted" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(McpConfigError, match="cannot be read"):
        read_mcp_servers(tmp_path / "nothing.json")


# Names and schemas


@given(server=st.text(max_size=60), name=st.text(max_size=120))
def test_every_name_becomes_one_that_providers_take(server: str, name: str):
    made = tool_name(server, name)
    assert len(made) <= MAX_NAME
    assert made.startswith("mcp_")
    assert all(character in "abcdefghijklmnopqrstuvwxyz0123456789_" for character in made)


def test_long_names_that_begin_alike_stay_two():
    assert tool_name("s", "x" * 80 + "a") != tool_name("s", "x" * 80 + "b")


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)
keys = st.sampled_from(
    [
        *("type", "properties", "required", "additionalProperties", "enum", "$ref", "$defs"),
        *("anyOf", "minLength", "dependentRequired", "pattern", "description", "examples"),
    ]
)
refs = st.sampled_from(["#", "#/", "#/$defs/a", "#/properties/a", "#x", "https://x.test/"])
parts = st.recursive(
    junk | refs,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.just("a"), inner),
    max_leaves=10,
)


@settings(max_examples=100, deadline=None)
@given(
    schema=st.dictionaries(keys, parts) | junk, values=st.dictionaries(st.text(max_size=8), junk)
)
def test_any_schema_is_usable_or_has_a_reason(schema: Any, values: dict[str, Any]):
    """For all JSON: no other exception; what is usable is a schema, and can judge any arguments."""
    try:
        usable = usable_schema(schema)
    except Unusable:
        return
    assert usable["type"] == "object"
    assert "$ref" not in usable
    Draft202012Validator.check_schema(usable)
    misfit(usable, values)


def test_references_are_filled_in():
    """Providers differ in those they follow; one that leads nowhere would fail every turn."""
    place = {"type": "object", "properties": {"next": {"$ref": "#/$defs/place"}, "n": True}}
    schema = {
        "type": "object",
        "$defs": {"place": place, "a/b": {"type": "string", "pattern": "(a{999}){999}"}},
        "properties": {
            "from": {"$ref": "#/$defs/place", "description": "Whence"},
            "name": {"$ref": "#/$defs/a~1b"},
            "to": {"$ref": "#/properties/from/properties/n"},
        },
    }
    with pytest.raises(Unusable, match="does not have"):
        usable_schema(schema)
    del schema["properties"]["to"]  # type: ignore[attr-defined]
    assert usable_schema(schema)["properties"] == {
        "from": {
            "type": "object",
            "properties": {"next": {}, "n": True},
            "description": "Whence",
        },
        "name": {"type": "string"},
    }


def bombs() -> dict[str, Any]:
    last = {"enum": list(range(900))}
    wide = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 30} for n in range(6)}
    long = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(300)}
    deep: Any = {}
    for _ in range(100_000):
        deep = {"x": deep}
    return {
        "wide": {"$defs": {**wide, "d6": last}, "properties": {"a": {"$ref": "#/$defs/d0"}}},
        "long": {"$defs": {**long, "d300": {}}, "properties": {"a": {"$ref": "#/$defs/d0"}}},
        "deep": {"properties": {"a": {"default": deep}}},
        "many": {"properties": {"a": {"default": [{}] * 500_000}}},
        "text": {"description": "x" * 4_000_000},
        "digits": {"properties": {"a": {"minLength": 10**4_000, "maxLength": 1e999}}},
        "half": {"properties": {"a": {"enum": ["\ud800"]}}},
    }


@pytest.mark.parametrize("name", ["wide", "long", "deep", "many", "text", "digits", "half"])
def test_a_schema_made_to_be_costly_is_refused_quickly(name):
    schema = {"type": "object", **bombs()[name]}
    began = time.process_time()
    with pytest.raises(Unusable):
        usable_schema(schema)
    assert time.process_time() - began < 0.25


def test_the_largest_schemas_are_quick_too():
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * 650}}}
    assert MAX_SCHEMA * 0.8 < len(json.dumps(schema)) <= MAX_SCHEMA
    began = time.process_time()
    for _ in range(8):
        usable_schema(schema)
    assert time.process_time() - began < 0.25


def test_combinations_at_the_top_are_not_sent_to_providers():
    schema = {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}], "$id": "x"}
    assert usable_schema(schema) == {"type": "object", "properties": {"a": {}}}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"n": 1}, None),
        ({"n": 1.0}, None),
        ({"n": True}, "`n` must be of type integer or null"),
        ({"n": None}, None),
        ({"n": "1"}, "`n` must be of type integer or null"),
        ({"n": 1, "c": "b"}, None),
        ({"n": 1, "c": "z"}, '`c` must be one of ["a", "b"]'),
        ({"n": 1, "x": 1}, "`x` is not a parameter (parameters: `n`, `c`)"),
        ({}, "`n` is required"),
    ],
)
def test_simple_misfits_are_told(values, problem):
    schema = {
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"]}, "c": {"enum": ["a", "b"]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    assert misfit(usable_schema(schema), values) == problem
