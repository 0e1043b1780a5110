"""From the tools that an MCP server lists to tools of ours.

In: a listed tool, whose name, description and schema are a stranger's. Out: a `Tool` that every
provider accepts, or the reason why there is none: one bad schema would make a provider refuse the
whole request, and with it every turn.

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
from activities.tools.resources import ToolResources
from activities.tools.results import clean
from activities.tools.tool import Tool, ToolOutput
from storage.config import ServerConfig
from workflows.contracts.tools import Situation, ToolContext

MAX_SCHEMA = 16_000
"""Characters of a schema as JSON: it is sent with every model call."""
MAX_DEPTH = 16
MAX_DESCRIPTION = 1_024
MAX_NAME = 64

_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What the narrowest provider takes as the name of an argument."""

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


class Unusable(Exception):
    """A listed tool that is not offered. `reason` is for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def tool_name(server: str, name: str) -> str:
    """`mcp_<server>_<tool>` in the letters and the length that every provider takes.

    A name that has to be cut ends with a hash of the whole, so that two do not become one.
    """
    whole = re.sub(r"[^a-z0-9_]+", "_", f"mcp_{server}_{name}".lower())
    if len(whole) <= MAX_NAME:
        return whole
    digest = hashlib.sha256(f"{server}\x1f{name}".encode()).hexdigest()[:6]
    return f"{whole[: MAX_NAME - 7]}_{digest}"


def offered_tool(
    server: McpServerSettings, listed: Listed, call: Call, is_up: Callable[[], bool]
) -> Tool[Any]:
    """Raises Unusable."""
    schema = usable_schema(listed.input_schema)
    description = " ".join(clean(listed.description or listed.title or "").split())
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
        description=description[:MAX_DESCRIPTION] or f"A tool of the server {server.name}.",
        arguments=arguments_model(schema),
        run=run,
        is_available_for_context=allowed,
        deliberate_target="search" if server.role else None,
        deliberate_triggers=(_trigger(server.name),),
    )


def usable_schema(schema: Any) -> dict[str, Any]:
    """`schema` as providers take it. Raises Unusable."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise Unusable("its schema is not that of an object")
    try:
        text = json.dumps(schema, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise Unusable("its schema is not JSON") from None
    if len(text) > MAX_SCHEMA:
        raise Unusable("its schema is too large")
    # A copy. Combinations at the top only narrow what the properties say, and providers refuse
    # them there; `$schema` and the like tell a model nothing.
    unwanted = {"$schema", "$id", "title", "oneOf", "anyOf", "allOf", "not", "if", "then", "else"}
    usable = {key: value for key, value in json.loads(text).items() if key not in unwanted}
    properties = usable.setdefault("properties", {})
    if not isinstance(properties, dict) or not all(map(_PROPERTY.fullmatch, properties)):
        raise Unusable("its arguments have names that providers refuse")
    if not all(isinstance(value, dict | bool) for value in properties.values()):
        raise Unusable("its schema is malformed")
    required = usable.get("required", [])
    if not isinstance(required, list) or not all(name in properties for name in required):
        raise Unusable("it requires arguments that it does not have")
    _check(usable, MAX_DEPTH)
    _check_meta(usable)
    usable["type"] = "object"
    return usable


def _check(value: Any, depth: int) -> None:
    if depth == 0:
        raise Unusable("its schema is nested too deep")
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            raise Unusable("its schema refers to another document")
        for item in value.values():
            _check(item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth - 1)


def _check_meta(schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        raise Unusable("its schema is malformed") from None
    except Exception:
        raise Unusable("its schema could not be checked") from None


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
