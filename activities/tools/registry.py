"""The tools of a worker: what is offered to the model, and the judgement of a call.

A call is judged twice by the same rule: by `examine`, before the turn dispatches it, and by the
activity, before the tool runs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import BaseModel

from activities.tools import builtin
from activities.tools.arguments import ArgumentsRefused, parse_arguments
from activities.tools.discovery import FoundTool, tools_of_entry_points, tools_of_package
from activities.tools.results import clean, failure_json
from activities.tools.tool import Tool, ToolDefinitionError

MAX_SUMMARY = 100
"""Code points of a summary; the Temporal UI shows it on one line."""

MAX_NAMES = 50
"""Available tools that are listed to a model that asked for an unknown one."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ToolDeclaration:
    """What a provider is told of a tool."""

    name: str
    description: str
    parameters_json_schema: dict[str, Any]


@dataclass(frozen=True)
class Examined:
    """A call before dispatch. With a `refusal`, JSON text for the model, it is not dispatched."""

    refusal: str | None
    summary: str
    task_queue: str | None


@dataclass(frozen=True)
class AdmittedCall:
    """A call that can run: a tool that exists, and arguments that fit it."""

    tool: Tool[Any]
    arguments: BaseModel


class CallRefused(Exception):
    """A call that cannot run. `reason` is for the model."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ToolRegistry:
    """Tools by name. Two with the same name are a ToolDefinitionError that names both places."""

    def __init__(self, found: Iterable[FoundTool] = ()) -> None:
        self._tools: dict[str, Tool[Any]] = {}
        self._schemas: dict[str, dict[str, Any]] = {}
        self._sources: dict[str, str] = {}
        for source, tool in found:
            self.add(tool, source)

    @classmethod
    def builtin(cls) -> ToolRegistry:
        """Our own tools only."""
        return cls(tools_of_package(builtin))

    @classmethod
    def installed(cls) -> ToolRegistry:
        """Our own tools, and those of installed packages: what a worker serves."""
        registry = cls.builtin()
        for source, tool in tools_of_entry_points():
            registry.add(tool, source)
        return registry

    def add(self, tool: Tool[Any], source: str) -> None:
        """Register `tool`; `source` says to a person where it comes from."""
        if tool.name in self._tools:
            raise ToolDefinitionError(
                f"two tools are named {tool.name!r}: {self._sources[tool.name]} and {source}; "
                "rename or uninstall one"
            )
        self._tools[tool.name] = tool
        self._schemas[tool.name] = _schema(tool)
        self._sources[tool.name] = source

    def get(self, name: str) -> Tool[Any] | None:
        return self._tools.get(name)

    def names(self) -> list[str]:
        return sorted(self._tools)

    def declarations(self, provider: str) -> list[ToolDeclaration]:
        """The tools that `provider` can be offered, in a stable order."""
        return [
            ToolDeclaration(tool.name, tool.description, self._schemas[tool.name])
            for _, tool in sorted(self._tools.items())
            if is_available(tool, provider)
        ]

    def admit(self, name: str, arguments: str) -> AdmittedCall:
        """The tool and its validated arguments. Raises CallRefused."""
        tool = self._tools.get(name)
        if tool is None:
            raise CallRefused(self._unknown(name))
        try:
            return AdmittedCall(tool, parse_arguments(tool.arguments, arguments))
        except ArgumentsRefused as error:
            raise CallRefused(error.reason) from None
        except Exception:
            log.exception("tool arguments could not be checked", tool=name)
            raise CallRefused("The arguments could not be checked.") from None

    def examine(self, name: str, arguments: str) -> Examined:
        """Judge a call as the model made it, without running anything. Never raises."""
        try:
            call = self.admit(name, arguments)
        except CallRefused as error:
            # an unknown name is the model's own text, and the summary is never encrypted content
            summary = name if name in self._tools else "unknown tool"
            return Examined(failure_json(name, error.reason), summary, None)
        return Examined(None, _summary(call), call.tool.task_queue)

    def _unknown(self, name: str) -> str:
        names = self.names()
        nearest = difflib.get_close_matches(name[:64], names, n=3)
        reason = f"There is no tool named {clean(name)[:64]!r}."
        if nearest:
            reason += f" Nearest: {', '.join(nearest)}."
        return f"{reason} Available: {', '.join(names[:MAX_NAMES]) or 'none'}."


def is_available(tool: Tool[Any], provider: str) -> bool:
    """Whether `provider` can be offered `tool`; one that cannot tell is not offered."""
    try:
        return tool.is_available_for(provider)
    except Exception:
        log.exception("tool availability could not be checked", tool=tool.name, provider=provider)
        return False


def _schema(tool: Tool[Any]) -> dict[str, Any]:
    schema = tool.arguments.model_json_schema()
    schema.pop("title", None)  # class names: tokens that tell the model nothing
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
    return schema


def _summary(call: AdmittedCall) -> str:
    detail = ""
    if call.tool.summarise is not None:
        try:
            detail = call.tool.summarise(call.arguments)
        except Exception:
            log.exception("tool summary failed", tool=call.tool.name)
    return clean(f"{call.tool.name} {detail}").replace("\n", " ").strip()[:MAX_SUMMARY]
