"""Where a reminder is delivered.

In: what the model named, or nothing. Out: the channel of the turn, or another one of the same
server. What always holds: the bot, and the member on whose behalf this is, may see and write there
as Discord says now; no other channel that the server keeps personas out of.
"""

from __future__ import annotations

from dataclasses import dataclass

from activities.tools.channels import (
    THE_BOT,
    THE_INVOKER,
    VIEW,
    find_channel,
    guild_of,
    own_permissions,
    refuse_blocked,
    require,
    sending_in,
)
from activities.tools.resources import ToolResources
from activities.tools.tool import ToolFailure
from storage.config import ServerConfig
from workflows.contracts.tools import ToolContext


@dataclass(frozen=True)
class Place:
    channel_id: str
    name: str
    is_thread: bool
    is_private: bool = False
    """Not everybody of the server can read there."""


def is_said_in_private(context: ToolContext) -> bool:
    """Whether what is said in this conversation is not for everybody of the server."""
    return context.guild_id is None or context.situation.is_private


async def find_place(
    query: str | None, context: ToolContext, resources: ToolResources, config: ServerConfig
) -> Place:
    """Raises ToolFailure and DiscordRefused."""
    situation = context.situation
    here = Place(
        context.channel_id, context.channel_name, situation.is_thread, is_said_in_private(context)
    )
    if context.guild_id is None:
        if query is not None and query not in (context.channel_id, f"<#{context.channel_id}>"):
            raise ToolFailure("From a direct message, only this conversation can be used.")
        return here
    if query is None:
        place = here
        held = await resources.discord.permissions(
            guild_of(context), context.channel_id, context.user_id
        )
    else:
        found = await find_channel(query, context, resources)
        facts, held = found.channel, found.invoker
        if not facts.takes_messages:
            raise ToolFailure("That channel takes no messages.")
        if facts.id != context.channel_id:
            await refuse_blocked(facts, config, context, resources)
        place = Place(facts.id, facts.name, facts.is_thread, facts.is_private)
    needed = (VIEW, sending_in(place.is_thread))
    require(held, needed, THE_INVOKER)
    require(await own_permissions(place.channel_id, context, resources), needed, THE_BOT)
    return place
