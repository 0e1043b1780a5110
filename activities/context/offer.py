"""Which tools a turn is offered: its situation, the gates, and deliberate tool mode.

What comes in: the request, what was read for it, and the conversation. What goes out: an `Offer`.
The same set is applied to declarations, to prompts, and again at dispatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from activities.context.macros import Abilities
from activities.context.references import is_shown
from activities.context.short_term import is_update_due
from activities.context.sources import Sources
from activities.deliberate import DeliberateInput, decide, is_memory_intent
from activities.tools.registry import ToolRegistry
from activities.tools.tool import Tool
from storage.config import Privacy
from workflows.contracts.context import ContextRequest, ToolSet
from workflows.contracts.history import HistoryMessage
from workflows.contracts.invocation import Origin
from workflows.contracts.tools import Situation


@dataclass(frozen=True)
class Offer:
    situation: Situation = field(default_factory=Situation)
    tools: ToolSet = field(default_factory=ToolSet)
    abilities: Abilities = field(default_factory=Abilities)
    """What prompts may count on: the tools that are really declared."""


def make_offer(
    request: ContextRequest,
    sources: Sources,
    messages: Sequence[HistoryMessage],
    registry: ToolRegistry,
) -> Offer:
    """`messages` is the conversation, oldest first, as far as the model is to see it."""
    invocation = request.invocation
    config = sources.server
    situation = Situation(
        is_dm=invocation.is_dm,
        is_thread=invocation.is_thread,
        is_private=request.is_private,
        is_queued=request.is_queued,
        origin=invocation.origin,
        own_permissions=request.own_permissions,
        has_stickers=bool(sources.history.stickers) and not invocation.is_dm,
        has_files=any(m.files and is_shown(m) and not m.is_self for m in messages),
        memory_intent=(
            invocation.origin is Origin.MESSAGE and is_memory_intent(invocation.content)
        ),
        short_term_memory_due=(
            sources.user.privacy is not Privacy.FULL
            and is_update_due(sources.stm_here, config.memory.short_term)
        ),
        disabled=invocation.disabled_tools,
    )
    available = registry.available(request.provider, situation, config)
    trigger = next((m for m in messages if m.id == invocation.message_id), None)
    decided = decide(
        DeliberateInput(
            config=config.deliberate,
            user=sources.user,
            situation=situation,
            text=invocation.content,
            messages=messages,
            trigger_id=invocation.message_id,
            reply_target=_reply_target(trigger, messages),
            retained=request.retained_tools,
            tools=available,
        )
    )
    tools = decided.model_copy(
        update={"unavailable": registry.withheld(request.provider, situation, config)}
    )
    offered: list[Tool[Any]] = [tool for tool in available if tools.allows(tool.name)]
    return Offer(situation, tools, Abilities.of(offered))


def _reply_target(
    trigger: HistoryMessage | None, messages: Sequence[HistoryMessage]
) -> HistoryMessage | None:
    if trigger is None or trigger.reply_to is None:
        return None
    return next((m for m in messages if m.id == trigger.reply_to), None)
