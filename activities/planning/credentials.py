"""Whose model answers: the server's, or the member's own (behaviour 5.4). Pure.

In: the message, and who has a model. Out: whose is used, or why nobody answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum

from activities.planning.known import Known
from activities.planning.refusals import silent, told
from workflows.contracts.invocation import ChatIncoming, QuotaSource
from workflows.contracts.planning import PlanReason, PlanRefusal

PersonalProviders = Callable[[str], Awaitable[bool]]
"""By user id, whether the member has a model provider of their own."""

_NEEDS_OWN = (
    "In this server everyone brings their own model provider, and I know of none of yours, so I"
    " cannot answer you here."
)


class Credentials(StrEnum):
    SERVER = "server"
    PERSONAL = "personal"


async def nobody_has_one(user_id: str) -> bool:
    """Members cannot register a provider of their own with this installation."""
    return False


def credentials_of(
    message: ChatIncoming, known: Known, *, has_personal: bool, has_server_model: bool
) -> Credentials | PlanRefusal:
    begun_by_member = not begun_by_server(message)
    if has_personal and (begun_by_member or message.author_persona_id is not None):
        return Credentials.PERSONAL
    if message.guild_id is None or not known.server.credentials.bring_your_own:
        return Credentials.SERVER
    if begun_by_member:
        return told(PlanReason.NO_CREDENTIALS, message, _NEEDS_OWN)
    return Credentials.SERVER if has_server_model else silent(PlanReason.NO_CREDENTIALS)


def begun_by_server(message: ChatIncoming) -> bool:
    """No member is waiting for it: a reminder, a stop's last word, an answer among personas."""
    return (
        message.is_synthetic
        or message.text_quota_source is QuotaSource.SYSTEM
        or message.author_persona_id is not None
    )
