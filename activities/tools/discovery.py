"""Finds tools: one for each module of `builtin/`, and those that installed packages register.

A package registers its tools by an entry point of the group `everturn.tools`, whose value is a
`Tool` or a list of them. A package that cannot be loaded is logged and left out: somebody else's
mistake must not take the worker down. One of our own files without a tool is our mistake, and an
error.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

import structlog

from activities.tools.tool import Tool, ToolDefinitionError

ENTRY_POINT_GROUP = "everturn.tools"

log = structlog.get_logger(__name__)

FoundTool = tuple[str, Tool[Any]]
"""Where a tool was found, for a person to read, and the tool."""


def tools_of_package(package: ModuleType) -> Iterator[FoundTool]:
    """The `TOOL` of each module in `package`. Raises ToolDefinitionError for one without."""
    for module_info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        module = importlib.import_module(module_info.name)
        tool = getattr(module, "TOOL", None)
        if not isinstance(tool, Tool):
            raise ToolDefinitionError(f"{module_info.name} must end with TOOL = Tool(…)")
        yield module_info.name, tool


def tools_of_entry_points(points: Iterable[EntryPoint] | None = None) -> Iterator[FoundTool]:
    """The tools of installed packages; a broken package is logged and skipped."""
    for point in entry_points(group=ENTRY_POINT_GROUP) if points is None else points:
        source = f"entry point {point.name} = {point.value}"
        try:
            tools = _as_tools(point.load())
        except (Exception, SystemExit):
            log.exception("tool package skipped", source=source)
            continue
        for tool in tools:
            yield source, tool


def _as_tools(loaded: object) -> list[Tool[Any]]:
    tools: list[Tool[Any]] = []
    for item in loaded if isinstance(loaded, (list, tuple)) else [loaded]:
        if not isinstance(item, Tool):
            raise ToolDefinitionError(f"{type(item).__name__} is not a Tool")
        item.arguments.model_json_schema()  # a schema that cannot be made fails here, not in a turn
        tools.append(item)
    return tools
