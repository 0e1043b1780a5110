"""What a tool receives of the turn that calls it (behaviour 6.5, step 3). Pure."""

from __future__ import annotations

from workflows.contracts.context import ContextRef
from workflows.contracts.tools import ToolContext
from workflows.contracts.turn import TurnInput


def tool_context(
    turn: TurnInput,
    turn_id: str,
    built: ContextRef,
    context_id: str,
    *,
    provider: str,
    model: str,
    iteration: int,
    position: int,
) -> ToolContext:
    """`context_id` is the newest context: a restart has replaced the built one's."""
    message = turn.invocation
    return ToolContext(
        turn_id=turn_id,
        application_id=message.application_id,
        bot_user_id=message.bot_user_id,
        guild_id=message.guild_id,
        guild_name=message.guild_name,
        channel_id=message.channel_id,
        channel_name=message.channel_name,
        trigger_message_id=message.message_id,
        user_id=message.author_id,
        user_name=message.author_name,
        locale=message.locale,
        persona_id=turn.persona_id,
        persona_name=turn.persona_name,
        voice=turn.voice,
        provider=provider,
        model=model,
        source=turn.source,
        context_id=context_id,
        situation=built.situation,
        iteration=iteration,
        position=position,
        suppress_progress_notices=not message.surface_errors,
        show_kill_hint=0 < turn.limits.warn_at_iteration <= iteration + 1,
    )
