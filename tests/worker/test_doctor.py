"""`everturn doctor` against a loopback Discord, provider and Temporal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from storage.personas.files import read_folder
from worker.doctor import (
    check_database,
    check_discord,
    check_personas,
    check_provider,
    check_temporal,
    check_tools,
    examine,
)
from worker.errors import OperatorError
from worker.ports import next_free_port
from worker.running import Running, prepare_home, up_lock, write_running
from worker.settings import Settings, load_settings

GOOD = "s3cret-good"


def settings(tmp_path: Path, **environ: str) -> Settings:
    return load_settings({"EVERTURN_HOME": str(tmp_path), **environ}, None)


@asynccontextmanager
async def served(
    routes: dict[str, Callable[[web.Request], Awaitable[web.Response]]],
) -> AsyncIterator[str]:
    """Address of a loopback server with these routes."""
    app = web.Application()
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def answers(
    body: dict[str, Any], header: str = "Authorization", value: str | None = None
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Gives `body` to whoever sends the right header, and 401 to others."""

    async def handler(request: web.Request) -> web.Response:
        if value is not None and request.headers.get(header) != value:
            return web.json_response({"message": "401: Unauthorized"}, status=401)
        return web.json_response(body)

    return handler


@pytest.mark.parametrize(
    ("token", "flags", "ok", "words"),
    [
        (GOOD, 1 << 18, True, "logged in as Nova"),
        (GOOD, 1 << 19, True, "intent on"),
        (GOOD, 1 << 12, False, "Message Content Intent"),
        ("s3cret-bad", 1 << 18, False, "refuses DISCORD_TOKEN"),
    ],
)
async def test_discord(tmp_path: Path, token: str, flags: int, ok: bool, words: str) -> None:
    """D39: a missing intent is one line that says where to switch it on."""
    wanted = f"Bot {GOOD}"
    routes = {
        "/users/@me": answers({"username": "Nova"}, value=wanted),
        "/applications/@me": answers({"id": "1", "flags": flags}, value=wanted),
    }
    async with served(routes) as api:
        finding = await check_discord(settings(tmp_path, DISCORD_TOKEN=token), api)
    assert finding.ok is ok
    assert words in finding.text
    assert token not in finding.line()


@pytest.mark.parametrize("reachable", [True, False])
async def test_a_token_of_an_odd_shape_is_named_whatever_discord_says(
    tmp_path: Path, reachable: bool
) -> None:
    odd = settings(tmp_path, DISCORD_TOKEN="s3cret-nonsense")
    async with served({"/users/@me": answers({}, value="Bot x.y.z")}) as api:
        dead = f"http://127.0.0.1:{next_free_port(22_200)}"
        finding = await check_discord(odd, api if reachable else dead)
    assert not finding.ok
    assert finding.text.startswith("DISCORD_TOKEN does not look like a bot token: one has three")
    assert ("Discord refuses" if reachable else "Discord cannot be asked") in finding.text
    assert "s3cret" not in finding.line()


async def test_without_a_token_it_is_the_playground(tmp_path: Path) -> None:
    finding = await check_discord(settings(tmp_path))
    assert finding.ok
    assert "playground" in finding.text


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [
        ("OPENAI_API_KEY", "Authorization", f"Bearer {GOOD}"),
        ("OPENROUTER_API_KEY", "Authorization", f"Bearer {GOOD}"),
        ("ANTHROPIC_API_KEY", "x-api-key", GOOD),
        ("GOOGLE_API_KEY", "x-goog-api-key", GOOD),
    ],
)
async def test_a_providers_key(tmp_path: Path, name: str, header: str, value: str) -> None:
    async with served({"/models": answers({}, header, value)}) as address:
        good = await check_provider(settings(tmp_path, **{name: GOOD}), f"{address}/models")
        bad = await check_provider(settings(tmp_path, **{name: "s3cret-x"}), f"{address}/models")
    assert good.ok
    assert not bad.ok
    assert "refuses the key (401)" in bad.text
    assert "s3cret" not in good.line() + bad.line()


async def test_a_custom_server(tmp_path: Path) -> None:
    wanted = {"EVERTURN_MODEL": "m", "CUSTOM_API_KEY": GOOD}
    async with served({"/v1/models": answers({}, value=f"Bearer {GOOD}")}) as address:
        there = await check_provider(
            settings(tmp_path, CUSTOM_BASE_URL=f"{address}/v1", **wanted), None
        )
        without_list = await check_provider(
            settings(tmp_path, CUSTOM_BASE_URL=f"{address}/other", **wanted), None
        )
    gone = await check_provider(settings(tmp_path, CUSTOM_BASE_URL=f"{address}/v1", **wanted), None)
    assert (there.ok, without_list.ok, gone.ok) == (True, True, False)
    assert "model m" in there.text
    assert "does not answer (no connection)" in gone.text


async def test_the_demo_says_what_it_is(tmp_path: Path) -> None:
    finding = await check_provider(settings(tmp_path))
    assert finding.ok
    assert "demo" in finding.text


async def test_the_database_is_named_without_its_password(tmp_path: Path) -> None:
    assert (await check_database(settings(tmp_path))).ok
    lines: list[str] = []
    dead = settings(
        tmp_path, DATABASE_URL=f"postgresql://me:s3cret@127.0.0.1:{next_free_port(22_000)}/x"
    )
    assert await examine(dead, lines.append, "database") == 1
    assert len(lines) == 1
    assert lines[0].startswith("FAIL  database")
    assert "s3cret" not in lines[0]


async def test_a_dead_temporal_is_a_line_and_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", f"127.0.0.1:{next_free_port(22_100)}")
    with pytest.raises(OperatorError, match="does not answer"):
        await check_temporal(settings(tmp_path))
    lines: list[str] = []
    assert await examine(settings(tmp_path), lines.append, "temporal") == 1
    assert await examine(settings(tmp_path), lines.append, "workers") == 1
    assert [line[:10] for line in lines] == ["FAIL  temp", "FAIL  work"]


async def test_the_tools_that_a_worker_would_have(tmp_path: Path) -> None:
    assert (await check_tools(settings(tmp_path))).text.endswith(" tools")
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"notes": {"command": "x"}}}')
    finding = await check_tools(settings(tmp_path))
    assert finding.ok
    assert finding.text.endswith(f" tools, 1 MCP server in {file}")


@pytest.mark.parametrize("content", [None, "{", '{"mcpServers": {"a": {"url": "s3cret"}}}'])
async def test_a_file_that_stops_the_worker_is_found(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "servers.json"
    if content is not None:
        file.write_text(content)
    lines: list[str] = []
    assert await examine(settings(tmp_path, EVERTURN_MCP=str(file)), lines.append, "tools") == 1
    (line,) = lines
    assert line.startswith(f"FAIL  tools     EVERTURN_MCP, the file {file}: ")
    assert "s3cret" not in line


async def test_the_persona_files_are_read_as_a_worker_reads_them(tmp_path: Path) -> None:
    folder = tmp_path / "personas"
    told = (await check_personas(settings(tmp_path))).text
    assert told == f"none in {folder} yet: the first start makes one"
    assert not folder.exists(), "who only looks changes nothing"
    read_folder(folder)
    assert (await check_personas(settings(tmp_path))).text == f"1 persona in {folder}"
    (folder / "rex.md").write_text('+++\nname = "Rex"\n+++\nYou are a dog.\n')
    assert (await check_personas(settings(tmp_path))).text == f"2 personas in {folder}"
    (folder / "rex.md").write_text("+++\nname = Rex\n+++\nYou are a dog.\n")
    lines: list[str] = []
    assert await examine(settings(tmp_path), lines.append, "personas") == 1
    (line,) = lines
    assert line.startswith(f"FAIL  personas  {folder}/rex.md, line 2: name = Rex is not valid")


async def test_the_temporal_of_another_data_folder_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever listens at the usual address."""
    for name in ("TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    lines: list[str] = []
    async with asyncio.timeout(5):
        for check in ("temporal", "workers"):
            assert await examine(settings(tmp_path), lines.append, check) == 1
    assert all(f"no Temporal runs on EVERTURN_HOME {tmp_path}" in line for line in lines)


async def test_why_the_worker_of_a_running_up_is_off(tmp_path: Path) -> None:
    """And not the advice to start another, which would end the same way."""
    prepare_home(tmp_path)
    lines: list[str] = []
    with up_lock(tmp_path):
        down = {"worker": "nova.md, line 10: no"}
        write_running(tmp_path, Running(temporal_address="127.0.0.1:1", down=down))
        assert await examine(settings(tmp_path), lines.append, "workers") == 1
    (line,) = lines
    assert line.endswith("the worker of this `everturn up` does not run: nova.md, line 10: no")


async def test_an_unknown_check_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="--only takes one of"):
        await examine(settings(tmp_path), print, "everything")
