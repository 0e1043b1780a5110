"""Tools of MCP servers, which the operator names in a file.

config.py      the file
stdio.py  http.py   the two ways to a server
allowance.py   how much it may send
guard.py       what of it the SDK sees
schema.py      from the schema of a tool to one that providers take
server.py      one server: its connection, its rest after a failure, its calls
offer.py       from what a server lists to tools of ours, or to a reason against it
content.py     from what a server answers to text
servers.py     all of them, beside a running worker

A server is a stranger's program: what it lists and answers is bounded, cleaned and never run or
followed, and its absence costs a turn nothing.
"""

from activities.tools.mcp.config import McpConfigError, McpServerSettings, read_mcp_servers
from activities.tools.mcp.servers import McpServers

__all__ = ["McpConfigError", "McpServerSettings", "McpServers", "read_mcp_servers"]
