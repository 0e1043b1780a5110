"""`update_short_term_memory`: what the persona keeps in mind of this channel (behaviour 7.1).

Silent, all or nothing, once in a turn, and the end of it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from activities.context.trigger import written_at
from activities.tools.resources import ToolResources
from activities.tools.results import clean
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage.config import Privacy, ServerConfig, StmCategory
from workflows.contracts.base import server_key
from workflows.contracts.invocation import Origin
from workflows.contracts.tools import UPDATE_SHORT_TERM_MEMORY, Situation, ToolContext

MAX_SUMMARY = 1_500
"""Code points that are kept of a value; the rest is cut silently."""
MAX_ARGUMENT = 50_000
SUMMARY = "summary"

Value = Annotated[str, StringConstraints(max_length=MAX_ARGUMENT)]


class UpdateShortTermMemoryArguments(ToolArguments):
    summary: Value | None = Field(
        default=None,
        min_length=1,
        description=f"What matters of this conversation, at most {MAX_SUMMARY} characters. It "
        "replaces the summary there was.",
    )
    categories: dict[str, Value] | None = Field(
        default=None,
        min_length=1,
        max_length=20,
        description="Instead of `summary`, where this server has categories: for each that "
        "changes, its name and its new text; an empty text takes it away.",
    )

    @model_validator(mode="after")
    def _check_one_form(self) -> Self:
        if (self.summary is None) == (self.categories is None):
            raise ValueError("give either `summary` or `categories`")
        return self


def is_available(situation: Situation, config: ServerConfig) -> bool:
    """Not where somebody has just asked to remember something for good (C094)."""
    return config.memory.short_term.enabled and not situation.memory_intent


async def update_short_term_memory(
    arguments: UpdateShortTermMemoryArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    storage = resources.storage
    key = server_key(context.guild_id, context.user_id)
    config = await storage.configs.server(key)
    if context.situation.memory_intent:
        raise ToolFailure(
            "The user wants this remembered for good: use create_long_term_memory instead."
        )
    if not is_available(context.situation, config):
        raise ToolFailure("Short-term memory is switched off in this server.")
    if (await storage.configs.user(context.user_id)).privacy is Privacy.FULL:
        raise ToolFailure("This user does not want to be remembered.")
    values = _values(arguments, config.memory.short_term.categories)
    stored = await storage.short_term.summarise(
        server_key=key,
        user_id=context.user_id,
        persona_id=context.persona_id,
        channel_id=context.channel_id,
        channel_name=context.channel_name,
        is_private=context.situation.is_dm or context.situation.is_private,
        values={slug: text[:MAX_SUMMARY] for slug, text in values.items()},
        as_of=_asked_at(context),
    )
    if not stored:
        raise ToolFailure("This conversation has been cleared meanwhile. Nothing was stored.")
    return Answer({"status": "short_term_memory_updated", "updated": sorted(values)})


def _values(
    arguments: UpdateShortTermMemoryArguments, categories: list[StmCategory]
) -> dict[str, str]:
    """What to store, by slug. Raises ToolFailure before anything is stored."""
    if not categories:
        if arguments.summary is None:
            raise ToolFailure("This server has no categories. Give `summary`.")
        summary = clean(arguments.summary).strip()
        if not summary:
            raise ToolFailure("`summary` is empty. Nothing was changed.")
        return {SUMMARY: summary}
    known = {category.slug: category.description for category in categories}
    if arguments.categories is None:
        raise ToolFailure(
            "This server keeps its memory in categories. Give `categories`.",
            data={"categories": known},
        )
    unknown = sorted(set(arguments.categories) - set(known))
    if unknown:
        raise ToolFailure(
            f"There is no category {', '.join(slug[:40] for slug in unknown)}. "
            "Nothing was changed.",
            data={"categories": known},
        )
    return dict(arguments.categories)


def _asked_at(context: ToolContext) -> datetime | None:
    """When what is answered was written, so that a memory from before a clear stays cleared (D78).
    None for a turn that no message brought about."""
    if context.situation.origin is not Origin.MESSAGE or not context.trigger_message_id:
        return None
    return written_at(context.trigger_message_id)


TOOL = Tool(
    name=UPDATE_SHORT_TERM_MEMORY,
    description=(
        "Keep in mind what matters of this conversation for the next hours: its topic, plans, "
        "moods, open questions. Nobody sees it. Not for lasting facts. Answer first, then call "
        "this last: it ends your turn."
    ),
    arguments=UpdateShortTermMemoryArguments,
    run=update_short_term_memory,
    is_available_for=lambda provider: provider.lower() != "novelai",
    is_available_for_context=is_available,
    requires_follow_up=False,
    ends_turn=True,
)
