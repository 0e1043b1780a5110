"""What the operator has set reaches the tools, and what cannot be used stops the worker's start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from activities.tools.registry import ToolRegistry
from worker.errors import SettingsError
from worker.run import make_mcp, make_tools
from worker.settings import Settings, load_settings


def settings(home: Path, **variables: str) -> Settings:
    return load_settings({"EVERTURN_HOME": str(home), **variables}, None)


async def test_without_a_file_there_are_no_mcp_servers(tmp_path: Path):
    assert make_mcp(settings(tmp_path), ToolRegistry()).servers == []


async def test_the_file_in_the_data_folder_is_found(tmp_path: Path):
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"a": {"command": "x"}}}))
    (server,) = make_mcp(settings(tmp_path), ToolRegistry()).servers
    assert server.settings.name == "a"
    assert server.is_up is False


@pytest.mark.parametrize("content", [None, "{", '{"mcpServers": {"a": {"url": "planted"}}}'])
async def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, content: str | None):
    file = tmp_path / "servers.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError) as error:
        make_mcp(settings(tmp_path, EVERTURN_MCP=str(file)), ToolRegistry())
    assert str(error.value).startswith(f"EVERTURN_MCP, the file {file}: ")
    assert "planted" not in str(error.value)


async def test_a_file_that_nobody_named_is_not_called_a_setting(tmp_path: Path):
    (tmp_path / "mcp.json").write_text('{"mcpServers": {\n  "a": \n}')
    with pytest.raises(SettingsError) as error:
        make_mcp(settings(tmp_path), ToolRegistry())
    said = f"the file of MCP servers {tmp_path / 'mcp.json'}: line 3: it is not JSON"
    assert str(error.value).startswith(said)


async def test_search_settings_reach_the_engines_in_their_order(tmp_path: Path):
    """Behaviour 16: Brave, then SearXNG, then DuckDuckGo."""
    found = settings(
        tmp_path, BRAVE_API_KEY="planted-key", SEARXNG_URL="http://u:planted-pw@s:8888"
    )
    _, resources = make_tools(found)
    names = [engine.name for engine in resources.search._engines]
    await resources.aclose()
    assert names == ["Brave", "SearXNG", "DuckDuckGo"]
    assert {"planted-key", "planted-pw"} <= set(found.secrets())
    assert "planted" not in repr(found)


async def test_duckduckgo_needs_no_setting(tmp_path: Path):
    _, resources = make_tools(settings(tmp_path))
    names = [engine.name for engine in resources.search._engines]
    await resources.aclose()
    assert names == ["DuckDuckGo"]
