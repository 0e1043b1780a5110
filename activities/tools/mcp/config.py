"""The file that names the MCP servers, in the form that other programs use for theirs:

    {"mcpServers": {
        "files": {"command": "some-server", "args": ["--root", "/srv"], "env": {"KEY": "…"}},
        "pages": {"url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer …"},
                  "role": "url_fetcher"}}}

Beside the usual fields a server may have a `role` (`url_fetcher`: it stands in for `fetch_url`;
`search`), a `timeout` (seconds for one call) and `disabled`. Fields we do not know are ignored.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

MAX_FILE = 1_000_000
MAX_SERVERS = 32

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_. -]{0,39}")


class McpConfigError(Exception):
    """The file cannot be used. One line, without a value of it."""


class McpRole(StrEnum):
    URL_FETCHER = "url_fetcher"
    SEARCH = "search"


class McpServerSettings(BaseModel):
    """One server: either `command`, or `url`."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    name: str
    command: str | None = Field(default=None, min_length=1)
    args: list[str] = []
    env: dict[str, SecretStr] = {}
    cwd: str | None = None
    url: SecretStr | None = None
    """Secret, since keys stand in some."""
    headers: dict[str, SecretStr] = {}
    role: McpRole | None = None
    timeout: float = Field(default=60, ge=1, le=3600)
    """Seconds for one call; the limit of all tool calls holds beside it."""
    disabled: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> McpServerSettings:
        if not _NAME.fullmatch(self.name):
            raise ValueError("its name must begin with a letter and have at most 40 letters")
        if (self.command is None) == (self.url is None):
            raise ValueError("give either `command` or `url`")
        if self.url is not None:
            _check_url(self.url.get_secret_value())
        return self

    def secrets(self) -> list[str]:
        """What must not be logged."""
        values = [
            value.get_secret_value() for value in (*self.env.values(), *self.headers.values())
        ]
        values += [word for value in values for word in value.split() if " " in value]
        if self.url is not None:
            url = httpx.URL(self.url.get_secret_value())
            values += [url.password, *url.params.values()]
        return [value for value in values if value]


def read_mcp_servers(path: Path) -> list[McpServerSettings]:
    """The servers of the file at `path` that are not disabled. Raises McpConfigError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise McpConfigError(f"it cannot be read ({error.strerror or 'error'})") from None
    if len(data) > MAX_FILE:
        raise McpConfigError("it is too large")
    try:
        document: Any = json.loads(data)
    except json.JSONDecodeError as error:
        # its message is one of a few fixed ones, and quotes nothing
        raise McpConfigError(f"line {error.lineno}: it is not JSON ({error.msg})") from None
    except (ValueError, RecursionError):
        raise McpConfigError("it is not JSON") from None
    listed = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(listed, dict):
        raise McpConfigError('it has no object "mcpServers"')
    if len(listed) > MAX_SERVERS:
        raise McpConfigError(f"it names more than {MAX_SERVERS} servers")
    servers = [_server(name, fields) for name, fields in listed.items()]
    return [server for server in servers if not server.disabled]


def _server(name: str, fields: Any) -> McpServerSettings:
    label = f"server {name[:40]!r}"
    if not isinstance(fields, dict):
        raise McpConfigError(f"{label} is not an object")
    if fields.get("type") == "sse":
        raise McpConfigError(f"{label}: the old sse transport is not spoken; use its http address")
    try:
        return McpServerSettings.model_validate({**fields, "name": name})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][:1])
        problem = str(first.get("ctx", {}).get("error", first["msg"]))
        raise McpConfigError(f"{label}: {f'`{where}`: ' if where else ''}{problem}") from None


def _check_url(text: str) -> None:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError):
        url = None
    if url is None or url.scheme not in ("http", "https") or not url.host:
        raise ValueError("`url` must be an http:// or https:// address")
