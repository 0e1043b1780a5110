"""Whom a reminder reminds.

In: what the model named, or nothing: then whoever asked. Out: a person, or None for a task of the
persona's own. What always holds: no bot; somebody else than who asked can see the channel it is
delivered in.
"""

from __future__ import annotations

from dataclasses import dataclass

from activities.context.document import load_document
from activities.tools.channels import VIEW
from activities.tools.resources import ToolResources
from activities.tools.tool import ToolFailure
from workflows.contracts.tools import ToolContext

MAX_CANDIDATES = 10


@dataclass(frozen=True)
class Recipient:
    user_id: str
    name: str
    is_bot: bool = False


async def find_recipient(
    query: str | None, channel_id: str, context: ToolContext, resources: ToolResources
) -> Recipient:
    """Raises ToolFailure and DiscordRefused."""
    asker = Recipient(context.user_id, context.user_name)
    if query is None:
        return asker
    found = await _people(query, context, resources)
    if len(found) > 1:
        raise ToolFailure(
            "Several people have that name. Ask who is meant, and give their id.",
            data={"candidates": [{"id": p.user_id, "name": p.name} for p in found]},
        )
    if not found:
        raise ToolFailure("There is nobody of that name here.")
    recipient = found[0]
    if recipient.user_id == asker.user_id:
        return asker
    if recipient.is_bot or recipient.user_id == context.bot_user_id:
        raise ToolFailure(
            "A bot cannot be reminded. For a task of your own, set `self_reminder` instead."
        )
    if context.guild_id is None:
        raise ToolFailure("In a direct message, only this user can be reminded.")
    seen = await resources.discord.permissions(context.guild_id, channel_id, recipient.user_id)
    if VIEW not in seen:
        raise ToolFailure(f"{recipient.name} cannot see the channel of this reminder.")
    return recipient


async def _people(query: str, context: ToolContext, resources: ToolResources) -> list[Recipient]:
    """Those of the conversation first; other members only when none of them is meant."""
    document = await load_document(resources.storage, context)
    near = [Recipient(p.user_id, p.name, p.is_bot) for p in document.people_named(query)]
    if near or context.guild_id is None:
        return near[:MAX_CANDIDATES]
    members = await resources.discord.find_members(context.guild_id, query)
    return [Recipient(m.id, m.name, m.is_bot) for m in members[:MAX_CANDIDATES]]
