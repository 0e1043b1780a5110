"""Where, and whom, personas answer (behaviour 5, access, and 5.2). Pure.

In: the message and the server's lists. Out: why it is refused, or which personas it may reach.
"""

from __future__ import annotations

from activities.planning.known import Known, places, spotlight_persona
from activities.planning.refusals import silent
from storage import Persona
from storage.config.models import AllowedChannel
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.planning import PlanReason, PlanRefusal


def access_refusal(message: ChatIncoming, known: Known) -> PlanRefusal | None:
    if message.guild_id is None:
        return None
    access = known.server.access
    elsewhere = access.channels and allowed_channel(message, known) is None
    if elsewhere and not _place_unknown(message):
        return silent(PlanReason.WHITELIST)
    without_role = access.role_ids and not set(access.role_ids) & set(message.role_ids)
    if without_role and _has_roles(message):
        return silent(PlanReason.WHITELIST)
    return None


def allowed_channel(message: ChatIncoming, known: Known) -> AllowedChannel | None:
    """The entry of the channel list that lets the message in; a thread's own before its
    channel's."""
    entries = {entry.channel_id: entry for entry in reversed(known.server.access.channels)}
    return next((entries[place] for place in places(message) if place in entries), None)


def may_answer(persona: Persona, message: ChatIncoming, known: Known) -> bool:
    """By the persona's own list, and by the member's spotlight, which only narrows it."""
    if message.guild_id is None:
        return True
    own = known.server.access.persona_channels.get(persona.id)
    if own and not _place_unknown(message) and not set(own) & set(places(message)):
        return False
    spotlight = spotlight_persona(message, known)
    return spotlight is None or spotlight.id == persona.id


def _has_roles(message: ChatIncoming) -> bool:
    """Whether the roles are those of whoever said it: what is done later in a member's name, and
    what a persona says, comes without."""
    return not message.is_synthetic and message.author_persona_id is None


def _place_unknown(message: ChatIncoming) -> bool:
    """A reminder in a thread does not tell whose thread it is; it was allowed when it was made."""
    return message.is_synthetic and message.is_thread and message.parent_channel_id is None
