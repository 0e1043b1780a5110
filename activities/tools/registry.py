"""The tools of a worker: what is offered to the model, and the judgement of a call.

In: tools, each with the place it was found at, and groups of tools that come and go (those of an
MCP server). Out: declarations for a provider, and refusals for the model. It changes nothing but
itself, and never raises because of what a model wrote.

A call is judged twice by the same rule: by `examine`, before the turn dispatches it, and by the
activity, before the tool runs. The gates stand in one order (does it exist, may this provider have
it, may this turn have it, do the arguments fit), and the first that is shut gives the reason.
"""

from __future__ import annotations

import copy
import difflib
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import BaseModel

from activities.tools import builtin
from activities.tools.arguments import ArgumentsRefused, parse_arguments
from activities.tools.discovery import FoundTool, tools_of_entry_points, tools_of_package
from activities.tools.results import clean, failure_json
from activities.tools.tool import Tool, ToolDefinitionError
from storage.config import ServerConfig
from workflows.contracts.context import ToolSet
from workflows.contracts.tools import Situation

MAX_SUMMARY = 100
"""Code points of a summary; the Temporal UI shows it on one line."""

MAX_NAMES = 50
"""Available tools that are listed to a model that asked for an unknown one."""

EVERY_TOOL = ToolSet()
"""Deliberate mode is off, and nothing is withheld."""

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
    requires_follow_up: bool = True
    ends_turn: bool = False


@dataclass(frozen=True)
class AdmittedCall:
    """A call that can run: a tool that exists, and arguments that fit it."""

    tool: Tool[Any]
    arguments: BaseModel


@dataclass(frozen=True)
class _Group:
    """Tools that are exchanged together, and the names of others that they stand in for."""

    tools: dict[str, Tool[Any]]
    replaces: frozenset[str]


class CallRefused(Exception):
    """A call that cannot run. `reason` is for the model, `level` for the log: a provider that
    asks for what it is never offered is our mistake, the other gates may shut at any time."""

    def __init__(self, reason: str, level: int = logging.INFO) -> None:
        super().__init__(reason)
        self.reason = reason
        self.level = level


class ToolRegistry:
    """Tools by name. Two with the same name are a ToolDefinitionError that names both places."""

    def __init__(self, found: Iterable[FoundTool] = ()) -> None:
        self._own: dict[str, Tool[Any]] = {}
        self._sources: dict[str, str] = {}
        self._groups: dict[str, _Group] = {}
        self._tools: dict[str, Tool[Any]] = {}
        self._schemas: dict[str, dict[str, Any]] = {}
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

    # Which tools there are

    def add(self, tool: Tool[Any], source: str) -> None:
        """Register `tool` for good; `source` says to a person where it comes from."""
        if tool.name in self._own:
            raise ToolDefinitionError(
                f"two tools are named {tool.name!r}: {self._sources[tool.name]} and {source}; "
                "rename or uninstall one"
            )
        self._own[tool.name] = tool
        self._sources[tool.name] = source
        self._rebuild()

    def replace_group(
        self, group: str, tools: Iterable[Tool[Any]], replaces: Collection[str] = ()
    ) -> list[str]:
        """Exchange the tools of `group` for `tools`, all at once; without any, the group is gone.

        A name that is taken already is left out, and logged. While a turn is offered any tool of
        the group, it is not offered those that the group `replaces`. Returns the names that are
        the group's now.
        """
        others = {
            name
            for other, members in self._groups.items()
            if other != group
            for name in members.tools
        }
        members: dict[str, Tool[Any]] = {}
        for tool in tools:
            if tool.name in self._own or tool.name in others or tool.name in members:
                log.warning("tool left out, its name is taken", tool=tool.name, group=group)
                continue
            members[tool.name] = tool
        if members:
            self._groups[group] = _Group(members, frozenset(replaces))
        else:
            self._groups.pop(group, None)
        self._rebuild()
        return sorted(members)

    def get(self, name: str) -> Tool[Any] | None:
        return self._tools.get(name)

    def names(self) -> list[str]:
        return sorted(self._tools)

    def parameters(self, name: str) -> frozenset[str]:
        """The names of a tool's top-level arguments; empty for a tool that is not known."""
        properties = self._schemas.get(name, {}).get("properties", {})
        return frozenset(properties)

    # What a turn is offered

    def available(
        self, provider: str, situation: Situation, config: ServerConfig
    ) -> list[Tool[Any]]:
        """The tools that a turn is offered, whatever deliberate mode says; in a stable order."""
        withheld = set(self.withheld(provider, situation, config))
        return [tool for tool in self._offered_to(provider) if tool.name not in withheld]

    def withheld(self, provider: str, situation: Situation, config: ServerConfig) -> list[str]:
        """Tools that `provider` can have, but not in this situation."""
        offered = self._offered_to(provider)
        shut = {
            tool.name
            for tool in offered
            if tool.name in situation.disabled or not is_open(tool, situation, config)
        }
        for group in self._groups.values():
            if any(
                tool.name not in shut and is_available(tool, provider)
                for tool in group.tools.values()
            ):
                shut |= group.replaces
        return [tool.name for tool in offered if tool.name in shut]

    def declarations(
        self, provider: str, tools: ToolSet = EVERY_TOOL, withheld: Sequence[str] = ()
    ) -> list[ToolDeclaration]:
        """What a model call of this turn is told of its tools, in a stable order."""
        return [
            ToolDeclaration(tool.name, tool.description, self._schemas[tool.name])
            for tool in self._offered_to(provider)
            if tools.allows(tool.name)
            and tool.name not in tools.unavailable
            and tool.name not in withheld
        ]

    # What becomes of a call

    def admit(
        self,
        name: str,
        arguments: str,
        provider: str = "",
        tools: ToolSet = EVERY_TOOL,
        withheld: Collection[str] = (),
    ) -> AdmittedCall:
        """The tool and its validated arguments. Raises CallRefused."""
        tool = self._tools.get(name)
        if tool is None:
            raise CallRefused(self._unknown(name, provider, tools, withheld))
        if not is_available(tool, provider):
            raise CallRefused(f"{name} is not available for provider {provider}.", logging.ERROR)
        if name in withheld or name in tools.unavailable:
            raise CallRefused(
                f"{name} is not available for the current turn; do not call it again in this turn.",
                logging.WARNING,
            )
        try:
            return AdmittedCall(tool, parse_arguments(tool.arguments, arguments))
        except ArgumentsRefused as error:
            raise CallRefused(error.reason) from None
        except Exception:
            log.exception("tool arguments could not be checked", tool=name)
            raise CallRefused("The arguments could not be checked.") from None

    def examine(
        self,
        name: str,
        arguments: str,
        provider: str = "",
        tools: ToolSet = EVERY_TOOL,
        withheld: Sequence[str] = (),
    ) -> Examined:
        """Judge a call as the model made it, without running anything. Never raises."""
        tool = self._tools.get(name)
        try:
            call = self.admit(name, arguments, provider, tools, withheld)
        except CallRefused as error:
            # an unknown name is the model's own text, and the summary is never encrypted content
            summary = name if tool is not None else "unknown tool"
            log.log(error.level, "tool call refused", tool=summary, provider=provider)
            return Examined(failure_json(name, error.reason), summary, None)
        return Examined(
            refusal=None,
            summary=_summary(call),
            task_queue=call.tool.task_queue,
            requires_follow_up=call.tool.requires_follow_up,
            ends_turn=call.tool.ends_turn and name not in tools.lasting,
        )

    def _rebuild(self) -> None:
        """Both tables are made anew and exchanged: whoever reads has one state or the other."""
        found = dict(self._own)
        for group in self._groups.values():
            # one of our own that came later keeps its name
            found = {**group.tools, **found}
        schemas = {
            name: self._schemas[name] if self._tools.get(name) is tool else _schema(tool)
            for name, tool in found.items()
        }
        self._tools, self._schemas = found, schemas

    def _offered_to(self, provider: str) -> list[Tool[Any]]:
        return [tool for _, tool in sorted(self._tools.items()) if is_available(tool, provider)]

    def _unknown(self, name: str, provider: str, tools: ToolSet, withheld: Collection[str]) -> str:
        names = [tool.name for tool in self.declarations(provider, tools, list(withheld))]
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


def is_open(tool: Tool[Any], situation: Situation, config: ServerConfig) -> bool:
    """Whether a turn in `situation` can be offered `tool`; one that cannot tell is not offered."""
    try:
        return tool.is_available_for_context(situation, config)
    except Exception:
        log.exception("tool availability could not be checked", tool=tool.name)
        return False


def _schema(tool: Tool[Any]) -> dict[str, Any]:
    schema = copy.deepcopy(tool.arguments.model_json_schema())
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
