"""From the tools that an MCP server lists to tools of ours.

In: a listed tool, whose name, description and schema are a stranger's. Out: a `Tool` that every
provider accepts, or the reason why there is none.

Arguments are checked as far as that is simple (required, unknown, type and choice of the top
level). The server checks them all; to run a stranger's patterns here could hang us.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp_types import Tool as Listed
from pydantic import BaseModel, ConfigDict, model_validator

from activities.tools.mcp.config import McpServerSettings
from activities.tools.mcp.schema import Unusable, usable_schema
from activities.tools.resources import ToolResources
from activities.tools.results import clean
from activities.tools.tool import Tool, ToolOutput
from storage.config import ServerConfig
from workflows.contracts.tools import Situation, ToolContext

MAX_DESCRIPTION = 1_024
MAX_NAME = 64
MAX_LISTED_NAME = 200
"""Characters of the server's own name of a tool."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
    "null": type(None),
}

Call = Callable[[str, dict[str, Any]], Awaitable[ToolOutput]]
"""(the server's own name of the tool, arguments) to its answer. Raises ToolFailure."""


def tool_name(server: str, name: str) -> str:
    """`mcp_<server>_<tool>` in the letters and the length that every provider takes.

    A name that has to be cut ends with a hash of the whole, so that two do not become one.
    """
    whole = re.sub(r"[^a-z0-9_]+", "_", f"mcp_{server}_{name}".lower())
    if len(whole) <= MAX_NAME:
        return whole
    digest = hashlib.sha256(f"{server}\x1f{name}".encode()).hexdigest()[:6]
    return f"{whole[: MAX_NAME - 7]}_{digest}"


def listed_tool(tool: Any) -> dict[str, Any]:
    """What of a tool, as the server lists it, we use. Raises Unusable."""
    if not isinstance(tool, dict):
        raise Unusable("it is not an object")
    name = tool.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_LISTED_NAME:
        raise Unusable("it has no usable name")
    words = next((tool[key] for key in ("description", "title") if _is_said(tool.get(key))), "")
    description = " ".join(clean(words[: 4 * MAX_DESCRIPTION]).split())
    return {
        "name": name,
        "description": description[:MAX_DESCRIPTION],
        "inputSchema": usable_schema(tool.get("inputSchema")),
    }


def _is_said(words: Any) -> bool:
    return isinstance(words, str) and bool(words.strip())


def declared_size(tool: Listed) -> int:
    """Characters that a model is sent for `tool`."""
    schema = json.dumps(tool.input_schema, ensure_ascii=False)
    return len(schema) + len(tool.description or "") + MAX_NAME


def offered_tool(
    server: McpServerSettings, listed: Listed, call: Call, is_up: Callable[[], bool]
) -> Tool[Any]:
    """`listed` is as `listed_tool` has made it."""
    wire_name = listed.name

    async def run(
        arguments: McpArguments, context: ToolContext, resources: ToolResources
    ) -> ToolOutput:
        return await call(wire_name, arguments.values())

    def allowed(situation: Situation, config: ServerConfig) -> bool:
        return config.tools.mcp and is_up()

    name = tool_name(server.name, listed.name)
    return Tool(
        name=name,
        description=listed.description or f"A tool of the server {server.name}.",
        arguments=arguments_model(listed.input_schema),
        run=run,
        is_available_for_context=allowed,
        deliberate_target="search" if server.role else None,
        deliberate_triggers=(_trigger(server.name),),
    )


class McpArguments(BaseModel):
    """Arguments as the server's schema has them; `arguments_model` makes one class for a tool."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    def values(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__ or {})


def arguments_model(schema: dict[str, Any]) -> type[McpArguments]:
    class Arguments(McpArguments):
        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            return schema

        @model_validator(mode="before")
        @classmethod
        def _fits(cls, values: Any) -> Any:
            if isinstance(values, Mapping) and (problem := misfit(schema, values)):
                raise ValueError(problem)
            return values

    return Arguments


def misfit(schema: Mapping[str, Any], values: Mapping[str, Any]) -> str | None:
    """What is wrong with `values` in simple terms; None when nothing is that simply wrong."""
    properties: Mapping[str, Any] = schema["properties"]
    for name in schema.get("required", []):
        if name not in values:
            return f"`{name}` is required"
    for name, value in values.items():
        expected = properties.get(name)
        if expected is None:
            if schema.get("additionalProperties") is False:
                known = ", ".join(f"`{key}`" for key in properties) or "none"
                return f"`{clean(name)[:60]}` is not a parameter (parameters: {known[:300]})"
            continue
        if not isinstance(expected, Mapping):
            continue
        kinds = expected.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if isinstance(kinds, list) and not any(_is(kind, value) for kind in kinds):
            return f"`{name}` must be of type {' or '.join(str(kind) for kind in kinds)}"
        choices = expected.get("enum")
        if isinstance(choices, list) and value not in choices:
            shown = json.dumps(choices, ensure_ascii=False)[:200]
            return f"`{name}` must be one of {shown}"
    return None


def _is(kind: Any, value: Any) -> bool:
    expected = _TYPES.get(kind) if isinstance(kind, str) else None
    if expected is None:
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, expected)


def _trigger(server: str) -> str:
    """In deliberate mode a server's name in the message offers its tools."""
    return server.lower()[:40]
