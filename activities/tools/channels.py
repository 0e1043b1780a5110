"""Channels that a tool acts in, and who may do so.

In: what the model calls a channel, the member who brought the turn about, and permissions. Out:
the one channel that is meant, or a ToolFailure in plain words. It changes nothing.
What always holds: permissions are asked anew, never taken from the turn's beginning; a channel that
the member cannot see is answered like one that does not exist, so nobody learns of it here; nothing
of a channel is read before all of this has passed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from activities.tools.resources import ToolResources
from activities.tools.tool import ToolFailure
from storage.config import ServerConfig
from workflows.contracts.base import server_key
from workflows.contracts.discord_port import ChannelFacts
from workflows.contracts.tools import ToolContext

MAX_CHANNEL_NAME = 120
"""Code points of a channel's name, id or mention; Discord's names have at most 100."""

MAX_CANDIDATES = 10
"""Channels of one name whose permissions are asked."""

VIEW = "view_channel"


@dataclass(frozen=True)
class Found:
    """A channel that the invoker can see, and what they may do in it."""

    channel: ChannelFacts
    invoker: frozenset[str]


def guild_of(context: ToolContext) -> str:
    """Raises ToolFailure in a direct message, and where nobody is known to have asked."""
    if context.guild_id is None:
        raise ToolFailure("This works in a server only, not in a direct message.")
    if not context.user_id:
        raise ToolFailure("It is not known on whose behalf this would be done, so it is not.")
    return context.guild_id


async def settings_of(context: ToolContext, resources: ToolResources) -> ServerConfig:
    """The server's settings as they are now."""
    return await resources.storage.configs.server(server_key(context.guild_id, context.user_id))


async def find_channel(query: str, context: ToolContext, resources: ToolResources) -> Found:
    """The one channel that `query` means to the invoker. Raises ToolFailure, with the candidates
    where there are several."""
    guild_id = guild_of(context)
    named = await resources.discord.find_channels(guild_id, query)
    if len(named) > MAX_CANDIDATES:
        raise ToolFailure("More than 10 channels have that name; give the channel's id.")
    permissions = await asyncio.gather(
        *(resources.discord.permissions(guild_id, facts.id, context.user_id) for facts in named)
    )
    visible = [
        Found(facts, held) for facts, held in zip(named, permissions, strict=True) if VIEW in held
    ]
    if not visible:
        raise ToolFailure(
            f"There is no channel {query[:MAX_CHANNEL_NAME]!r} in this server that the member who "
            "asked can see."
        )
    if len(visible) > 1:
        raise ToolFailure(
            "Several channels have that name; ask which one is meant, or call again with its id.",
            data={
                "candidates": [
                    {
                        "id": found.channel.id,
                        "name": found.channel.name,
                        "is_thread": found.channel.is_thread,
                        "parent_id": found.channel.parent_id,
                    }
                    for found in visible
                ]
            },
        )
    return visible[0]


async def own_permissions(
    channel_id: str, context: ToolContext, resources: ToolResources
) -> frozenset[str]:
    """What the bot may do in a channel of the turn's server."""
    return await resources.discord.permissions(guild_of(context), channel_id, context.bot_user_id)


async def refuse_blocked(
    channel: ChannelFacts, config: ServerConfig, context: ToolContext, resources: ToolResources
) -> None:
    """Raises ToolFailure when the server keeps personas out of `channel`, its channel or its
    category."""
    blocked = frozenset(config.cross_channel.blocked_channel_ids)
    if blocked and blocked & await _with_parents(channel, context, resources):
        raise ToolFailure("This server keeps personas out of that channel.")


async def _with_parents(
    channel: ChannelFacts, context: ToolContext, resources: ToolResources
) -> set[str]:
    """Ids of `channel` and of all it is in."""
    ids = {channel.id}
    if channel.parent_id is None:
        return ids
    ids.add(channel.parent_id)
    if channel.is_thread:
        found = await resources.discord.find_channels(guild_of(context), channel.parent_id)
        parent = next((facts for facts in found if facts.id == channel.parent_id), None)
        if parent is None:
            # whether its category is blocked cannot be told
            raise ToolFailure("The channel of that thread cannot be seen.")
        if parent.parent_id is not None:
            ids.add(parent.parent_id)
    return ids


def sending_in(is_thread: bool) -> str:
    """The permission that sending takes there: in threads Send Messages means nothing."""
    return "send_messages_in_threads" if is_thread else "send_messages"


def require(held: frozenset[str], needed: Iterable[str], who: str) -> None:
    """Raises ToolFailure that names what `who` ("I", "The member who asked") lacks there."""
    missing = [name.replace("_", " ").title() for name in needed if name not in held]
    if missing:
        verb = "do" if who == "I" else "does"
        raise ToolFailure(f"{who} {verb} not have the permission there: {', '.join(missing)}.")


THE_BOT = "I"
THE_INVOKER = "The member who asked"
