"""The MCP servers that the operator names, as they stand in their file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.errors import SettingsError
from worker.settings import Settings

if TYPE_CHECKING:
    from activities.tools.mcp import McpServerSettings


def mcp_servers(settings: Settings) -> list[McpServerSettings]:
    """Those of the file; none where there is no file. Raises SettingsError, which names the file,
    and the line where one is at fault."""
    path = settings.mcp_file
    if path is None:
        return []
    from activities.tools.mcp import McpConfigError, read_mcp_servers  # it takes half a second

    try:
        return read_mcp_servers(path)
    except McpConfigError as error:
        named = "EVERTURN_MCP, the file" if settings.mcp_choice else "the file of MCP servers"
        raise SettingsError(f"{named} {path}: {error}") from None
