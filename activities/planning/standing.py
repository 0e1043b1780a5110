"""May this member be answered here at all? Behaviour 2.1, rows 10 and 12, and the first of 5. Pure.

The bot has asked the same of its cache; a message may have waited since.
"""

from __future__ import annotations

from activities.planning.known import Known
from activities.planning.refusals import silent
from storage.config import Privacy
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.planning import PlanReason, PlanRefusal


def standing_refusal(message: ChatIncoming, known: Known) -> PlanRefusal | None:
    if known.main is None:
        return silent(PlanReason.NO_PERSONA)
    asked_for_it = message.is_manual or message.is_synthetic
    if known.user.privacy is Privacy.FULL and not asked_for_it:
        return silent(PlanReason.PRIVACY)
    if message.guild_id is None:
        return None
    blocked = message.author_id in known.server.access.blocked_user_ids
    if blocked and not message.is_stop_response:
        return silent(PlanReason.BLACKLISTED)
    if message.author_persona_id is not None and not known.persona(message.author_persona_id):
        return silent(PlanReason.FOREIGN_AUTHOR)
    if message.channel_id == known.server.notices.thought_log_channel_id:
        return silent(PlanReason.THOUGHT_LOG_CHANNEL)
    return None
