"""Who may do what where: permission bits and Discord's way of adding them up.

Source: Discord's API reference, "Permissions" (bits, overwrite order, time-outs, implicit denials).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from playground.records import Channel, Member, Role

BITS: dict[str, int] = {
    "ADMINISTRATOR": 1 << 3,
    "MANAGE_CHANNELS": 1 << 4,
    "MANAGE_GUILD": 1 << 5,
    "ADD_REACTIONS": 1 << 6,
    "VIEW_CHANNEL": 1 << 10,
    "SEND_MESSAGES": 1 << 11,
    "SEND_TTS_MESSAGES": 1 << 12,
    "MANAGE_MESSAGES": 1 << 13,
    "EMBED_LINKS": 1 << 14,
    "ATTACH_FILES": 1 << 15,
    "READ_MESSAGE_HISTORY": 1 << 16,
    "MENTION_EVERYONE": 1 << 17,
    "USE_EXTERNAL_EMOJIS": 1 << 18,
    "MANAGE_WEBHOOKS": 1 << 29,
    "USE_APPLICATION_COMMANDS": 1 << 31,
    "MANAGE_THREADS": 1 << 34,
    "CREATE_PUBLIC_THREADS": 1 << 35,
    "CREATE_PRIVATE_THREADS": 1 << 36,
    "SEND_MESSAGES_IN_THREADS": 1 << 38,
    "MODERATE_MEMBERS": 1 << 40,
    "PIN_MESSAGES": 1 << 51,
}


def bits(names: Iterable[str]) -> int:
    """The union of named permissions. Raises ValueError naming one that does not exist."""
    total = 0
    for name in names:
        if name.upper() not in BITS:
            raise ValueError(f"unknown permission {name!r}; known: {', '.join(BITS)}")
        total |= BITS[name.upper()]
    return total


ALL = bits(BITS)

MEMBER_DEFAULT = bits(
    [
        "ADD_REACTIONS",
        "VIEW_CHANNEL",
        "SEND_MESSAGES",
        "EMBED_LINKS",
        "ATTACH_FILES",
        "READ_MESSAGE_HISTORY",
        "MENTION_EVERYONE",
        "USE_EXTERNAL_EMOJIS",
        "USE_APPLICATION_COMMANDS",
        "CREATE_PUBLIC_THREADS",
        "SEND_MESSAGES_IN_THREADS",
    ]
)
"""What everybody has in a fresh guild; Discord too lets everybody mention @everyone by default."""

DIRECT_MESSAGES = bits(
    [
        "ADD_REACTIONS",
        "VIEW_CHANNEL",
        "SEND_MESSAGES",
        "EMBED_LINKS",
        "ATTACH_FILES",
        "READ_MESSAGE_HISTORY",
        "MENTION_EVERYONE",
        "USE_EXTERNAL_EMOJIS",
        "PIN_MESSAGES",
    ]
)

_LEFT_BY_TIMEOUT = bits(["VIEW_CHANNEL", "READ_MESSAGE_HISTORY"])
_NEED_SENDING = bits(["MENTION_EVERYONE", "SEND_TTS_MESSAGES", "ATTACH_FILES", "EMBED_LINKS"])


def timed_out(member: Member) -> bool:
    until = member.timed_out_until
    return until is not None and datetime.fromisoformat(until) > datetime.now(UTC)


def compute(
    member: Member,
    *,
    guild_id: int,
    owner_id: int,
    roles: dict[int, Role],
    channel: Channel | None,
) -> int:
    """A member's permissions in a guild channel (for a thread: its parent), or in the guild."""
    if member.user_id == owner_id:
        return ALL
    total = roles[guild_id].permissions
    for role_id in member.roles:
        total |= roles[role_id].permissions
    if total & BITS["ADMINISTRATOR"]:
        return ALL
    if channel is not None:
        total = _apply_overwrites(total, member, guild_id, channel)
    if timed_out(member):
        total &= _LEFT_BY_TIMEOUT
    if channel is not None:
        if not total & BITS["VIEW_CHANNEL"]:
            return 0
        if not total & (BITS["SEND_MESSAGES"] | BITS["SEND_MESSAGES_IN_THREADS"]):
            total &= ~_NEED_SENDING
    return total


def _apply_overwrites(total: int, member: Member, guild_id: int, channel: Channel) -> int:
    """@everyone first, then all roles together, then the member: the order is Discord's."""
    allow = deny = 0
    for overwrite in channel.overwrites:
        if overwrite.id == guild_id:
            total = total & ~overwrite.deny | overwrite.allow
        elif overwrite.id in member.roles:
            allow |= overwrite.allow
            deny |= overwrite.deny
    total = total & ~deny | allow
    for overwrite in channel.overwrites:
        if overwrite.id == member.user_id:
            total = total & ~overwrite.deny | overwrite.allow
    return total
