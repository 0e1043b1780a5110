"""Macros in authored prompts (behaviour 6.1): a persona's text follows what the turn can do.

    {bot} {user}                         the persona's name; whoever is answered
    {memory_tool}                        the memory tool on offer
    {{if tool:web_search}}…{{/if}}       only while that tool is on offer
    {{if capability:search}}…{{/if}}     only while a tool of that kind is

"On offer" means what the turn's tool set allows, so that a prompt never sends the model to a tool
that it does not have. A capability is a target of deliberate tool mode (`search`, `memory`, …), or
`tools`: any tool at all.

Only what the operator has written passes through here. Names are put in and not read again. A
condition may hold another; one that is never closed, an end without a beginning, and a brace that
means nothing stay as they are, so that the author sees them and nothing else is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from activities.tools.tool import Tool

MEMORY_TOOLS = ("create_long_term_memory", "update_short_term_memory")
"""In the order in which `{memory_tool}` prefers them."""

NO_MEMORY_TOOL = "no memory tool"

_TOKEN = re.compile(
    r"\{\{ ?if (?P<kind>tool|capability): ?(?P<name>[A-Za-z0-9_.-]{1,64}) ?\}\}"
    r"|(?P<end>\{\{ ?/if ?\}\})"
    r"|\{(?P<value>bot|user|memory_tool)\}"
)


@dataclass(frozen=True)
class Abilities:
    """What a turn can do, as far as prompts may ask."""

    tools: frozenset[str] = frozenset()
    capabilities: frozenset[str] = frozenset()

    @classmethod
    def of(cls, offered: Iterable[Tool[Any]]) -> Abilities:
        tools = list(offered)
        kinds = {tool.deliberate_target for tool in tools if tool.deliberate_target}
        if tools:
            kinds.add("tools")
        return cls(frozenset(tool.name for tool in tools), frozenset(kinds))

    def has(self, kind: str, name: str) -> bool:
        return name in (self.tools if kind == "tool" else self.capabilities)

    @property
    def memory_tool(self) -> str:
        return next((name for name in MEMORY_TOOLS if name in self.tools), NO_MEMORY_TOOL)


def expand(text: str, abilities: Abilities, *, bot: str, user: str) -> str:
    """`text` with its macros filled in. Takes time in proportion to its length.

    `bot` and `user` are labels (`text.labels`).
    """
    values = {"bot": bot, "user": user, "memory_tool": abilities.memory_tool}
    tokens = list(_TOKEN.finditer(text))
    pairs = _pairs(tokens)
    parts: list[str] = []
    position = 0  # up to where `text` has been dealt with
    index = 0
    while index < len(tokens):
        token = tokens[index]
        parts.append(text[position : token.start()])
        position = token.end()
        if token["value"]:
            parts.append(values[token["value"]])
        elif token["kind"] and index in pairs:
            if not abilities.has(token["kind"], token["name"]):
                index = pairs[index]
                position = tokens[index].end()
        elif token["kind"] or index not in pairs:
            parts.append(token[0])
        index += 1
    parts.append(text[position:])
    return "".join(parts)


def fill_names(text: str, *, bot: str, user: str) -> str:
    """`{bot}` and `{user}` of a stored memory, which keeps them on purpose; nothing else."""
    return re.sub(r"\{(bot|user)\}", lambda found: bot if found[1] == "bot" else user, text)


def _pairs(tokens: list[re.Match[str]]) -> dict[int, int]:
    """Beginnings and ends of conditions that belong together, each to the other, by position."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token["kind"]:
            opened.append(index)
        elif token["end"] and opened:
            start = opened.pop()
            pairs[start], pairs[index] = index, start
    return pairs
