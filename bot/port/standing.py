"""What a member, or the bot itself, may do: discord.py's computation over Discord's facts.

The member (roles, time-out) is asked for, since members are not cached; roles, channels and their
overwrites are in the cache, which the gateway keeps. A time-out takes away what it takes away,
whoever is timed out.
"""

from __future__ import annotations

import discord

from bot.port.places import Place, member, place, server
from bot.port.refusing import refusing
from workflows.contracts.discord_port import DiscordRefused
from workflows.contracts.tools import REPORTED_PERMISSIONS

DIRECT_MESSAGES = (
    "view_channel",
    "send_messages",
    "add_reactions",
    "pin_messages",
    "read_message_history",
    "attach_files",
)
"""Those of `REPORTED_PERMISSIONS` that mean something in a direct message: all that two people who
talk with each other may do. There are no threads, and nobody may touch the other's messages."""


async def permissions(
    client: discord.Client, guild_id: str, channel_id: str, user_id: str
) -> frozenset[str]:
    found = await place(client, guild_id, channel_id)
    who = await member(found.guild, user_id)
    if who is None:
        return frozenset()
    have = names(resolved(found, who))
    if _is_closed(found, have) and not await _has_joined(client, found, who):
        return frozenset()
    return have


async def guild_permissions(client: discord.Client, guild_id: str, user_id: str) -> frozenset[str]:
    who = await member(server(client, guild_id), user_id)
    return frozenset() if who is None else names(who.guild_permissions)


async def is_member(client: discord.Client, guild_id: str, user_id: str) -> bool:
    return await member(server(client, guild_id), user_id) is not None


def resolved(found: Place, who: discord.Member) -> discord.Permissions:
    """Raises DiscordRefused for a thread whose channel the bot cannot see."""
    if not isinstance(found, discord.Thread):
        return found.permissions_for(who)
    if found.parent is None:
        raise DiscordRefused("The bot cannot see the channel of that thread.")
    have = found.permissions_for(who)
    if found.locked and not have.manage_threads:
        have.send_messages_in_threads = False
    return have


def names(have: discord.Permissions) -> frozenset[str]:
    """All names that discord.py knows, `view_channel` and its like among them."""
    return frozenset(name for name in discord.Permissions.VALID_FLAGS if getattr(have, name))


def own_permissions(found: Place) -> list[str]:
    """Those of `REPORTED_PERMISSIONS` that the bot has here, from the cache alone. What the cache
    does not hold counts as given: Discord itself decides when it comes to it."""
    # Typed as a Member, but None until the guild's own event has filled the cache.
    me: discord.Member | None = found.guild.me
    if me is None or (isinstance(found, discord.Thread) and found.parent is None):
        return list(REPORTED_PERMISSIONS)
    have = names(resolved(found, me))
    return [name for name in REPORTED_PERMISSIONS if name in have]


def _is_closed(found: Place, have: frozenset[str]) -> bool:
    """Whether a thread shows itself only to those who have joined it."""
    private = isinstance(found, discord.Thread) and found.is_private()
    return private and "manage_threads" not in have


async def _has_joined(client: discord.Client, found: Place, who: discord.Member) -> bool:
    try:
        with refusing():
            await client.http.get_thread_member(found.id, who.id)
    except DiscordRefused as error:
        if isinstance(error.__cause__, discord.NotFound):
            return False
        raise
    return True
