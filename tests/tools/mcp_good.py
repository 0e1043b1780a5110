"""A well-behaved MCP server made with the SDK: `python -m tests.tools.mcp_good [port]`.

Over stdio, or with a port over Streamable HTTP on 127.0.0.1.
"""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("good")


@server.tool(description="Add two numbers.")
def add(a: int, b: int) -> str:
    return str(a + b)


@server.tool(description="Fails.")
def fail() -> str:
    raise ValueError("the shelf is empty")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
