"""Which tools a turn has (behaviour 8).

In: the settings, the conversation and the tools that this situation offers. Out: a `ToolSet`; with
the mode off the empty one, which restricts nothing. What always holds: with the mode on, only
tools that were handed in are allowed, in their order, each with one reason, the first of the six;
and nothing at all is a set too: no reason, no tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from activities.deliberate.follow_up import follow_up
from activities.deliberate.intents import Intents, intents_of, intents_of_earlier
from activities.deliberate.matching import Reading
from activities.deliberate.media import media_tools
from activities.deliberate.targets import Target
from activities.deliberate.triggers import Triggers
from storage.config import DeliberateConfig, UserConfig
from workflows.contracts.context import Exposure, ExposureSource, ToolSet
from workflows.contracts.history import HistoryMessage
from workflows.contracts.invocation import Origin
from workflows.contracts.tools import (
    CREATE_TASK,
    SELECT_STICKER,
    UPDATE_SHORT_TERM_MEMORY,
    Situation,
)

if TYPE_CHECKING:
    from activities.tools.tool import Tool

MAX_PHRASE = 40
"""Code points of the words that an `Exposure` quotes."""

_WEB_SEARCH = "web_search"
"""The one tool of the search family that reads no page of its own. Every other one does, or may,
as far as can be told of a tool that an MCP server brings."""

_READ_TOOL_RESULT = "read_tool_result"
"""Reads on in what another tool found, so it comes along with any that finds something."""

_AUTONOMOUS = frozenset({SELECT_STICKER, UPDATE_SHORT_TERM_MEMORY})


@dataclass(frozen=True)
class DeliberateInput:
    """What a turn's tools depend on."""

    config: DeliberateConfig
    user: UserConfig
    situation: Situation
    text: str
    """Of the trigger; of a reminder turn its purpose."""
    messages: Sequence[HistoryMessage]
    """Oldest first, the trigger last."""
    trigger_id: str
    reply_target: HistoryMessage | None
    """The message that the trigger replies to."""
    retained: Sequence[str]
    """Names that succeeded lately in this channel."""
    tools: Sequence[Tool[Any]]
    """Those available in this situation: no other is ever allowed."""


def is_active(turn: DeliberateInput) -> bool:
    """Whether deliberate tool mode is on: the member's own choice stands over the server's."""
    return turn.user.deliberate.over(turn.config.enabled) and not turn.situation.impersonated


def decide(turn: DeliberateInput) -> ToolSet:
    if not is_active(turn):
        return ToolSet()
    exposures: dict[str, Exposure] = {}
    for exposure in _reasons(turn):
        exposures.setdefault(exposure.tool, exposure)
    if turn.situation.origin is Origin.REMINDER:
        # What has come due must not set itself anew.
        exposures.pop(CREATE_TASK, None)
    offered = [tool.name for tool in turn.tools if tool.name in exposures]
    if not _AUTONOMOUS.issuperset(offered):
        exposures.setdefault(
            _READ_TOOL_RESULT, _exposure(_READ_TOOL_RESULT, ExposureSource.AUTONOMOUS)
        )
    allowed = [tool.name for tool in turn.tools if tool.name in exposures]
    # Memory that is kept up because it is due is not what the turn is about (behaviour 6.1.1).
    maintained = turn.situation.short_term_memory_due and UPDATE_SHORT_TERM_MEMORY in allowed
    return ToolSet(
        deliberate=True,
        allowed=allowed,
        exposed=[exposures[name] for name in allowed],
        lasting=[UPDATE_SHORT_TERM_MEMORY] if maintained else [],
    )


def _reasons(turn: DeliberateInput) -> Iterator[Exposure]:
    """The six of behaviour 8, the strongest first; of a tool, the first one counts."""
    reading = Reading(turn.text)
    trigger = next((m for m in reversed(turn.messages) if m.id == turn.trigger_id), None)
    earlier = _before(turn.messages, turn.trigger_id)

    yield from _triggered(turn, Triggers(reading))
    yield from _wanted(turn.tools, intents_of(reading), ExposureSource.INTENT)
    if referred := follow_up(reading, earlier):
        yield from _wanted(turn.tools, referred, ExposureSource.FOLLOW_UP)
    window = turn.config.context_turns
    if trigger is not None and window:
        own = [message for message in earlier if message.author_id == trigger.author_id]
        for message in reversed(own[-window:]):
            intents = intents_of_earlier(message)
            yield from _wanted(turn.tools, intents, ExposureSource.RECENT)
    if window:
        yield from (_exposure(name, ExposureSource.RECENT) for name in turn.retained)
    about = [message for message in (trigger, turn.reply_target) if message is not None]
    for name, kind in media_tools(turn.text, about).items():
        yield _exposure(name, ExposureSource.MEDIA, kind)
    yield _exposure(SELECT_STICKER, ExposureSource.AUTONOMOUS)
    if turn.situation.short_term_memory_due:
        yield _exposure(UPDATE_SHORT_TERM_MEMORY, ExposureSource.AUTONOMOUS)


def _before(messages: Sequence[HistoryMessage], trigger_id: str) -> Sequence[HistoryMessage]:
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].id == trigger_id:
            return messages[:position]
    return messages


def _triggered(turn: DeliberateInput, triggers: Triggers) -> Iterator[Exposure]:
    configured: Mapping[str, Sequence[str]] = turn.config.triggers
    matched: dict[str, str] = {}
    for target in Target:
        if (phrase := triggers.first(configured.get(target, ()))) is not None:
            matched[target] = phrase
    for tool in turn.tools:
        phrase = matched.get(tool.deliberate_target or "")
        if phrase is None:
            phrase = triggers.first(tool.deliberate_triggers)
        if phrase is not None:
            yield _exposure(tool.name, ExposureSource.TRIGGER, phrase)


def _wanted(
    tools: Sequence[Tool[Any]], intents: Intents, source: ExposureSource
) -> Iterator[Exposure]:
    if not intents:
        return
    for tool in tools:
        phrase = intents.targets.get(tool.deliberate_target or "")
        if phrase is None and _reads_pages(tool):
            phrase = intents.page_reading
        if phrase is not None:
            yield _exposure(tool.name, source, phrase)


def _reads_pages(tool: Tool[Any]) -> bool:
    return tool.deliberate_target == Target.SEARCH and tool.name != _WEB_SEARCH


def _exposure(tool: str, source: ExposureSource, phrase: str = "") -> Exposure:
    return Exposure(tool=tool, source=source, phrase=phrase[:MAX_PHRASE])
