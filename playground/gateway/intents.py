"""Which events a session gets.

Source: Discord's gateway documentation, "List of Intents".
"""

from __future__ import annotations

from playground.records import Channel
from playground.world import PRIVILEGED_INTENTS

GUILDS = 1 << 0
GUILD_MEMBERS = 1 << 1
GUILD_EXPRESSIONS = 1 << 3
GUILD_WEBHOOKS = 1 << 5
GUILD_MESSAGES = 1 << 9
GUILD_REACTIONS = 1 << 10
GUILD_TYPING = 1 << 11
DIRECT_MESSAGES = 1 << 12
DIRECT_REACTIONS = 1 << 13
DIRECT_TYPING = 1 << 14
MESSAGE_CONTENT = 1 << 15

KNOWN = (1 << 26) - 1
"""Every bit that is, or was, an intent; one above it closes with 4013."""

_EVENTS: dict[str, tuple[int, int]] = {
    "CHANNEL_CREATE": (GUILDS, 0),
    "CHANNEL_UPDATE": (GUILDS, 0),
    "CHANNEL_DELETE": (GUILDS, 0),
    "THREAD_CREATE": (GUILDS, 0),
    "THREAD_UPDATE": (GUILDS, 0),
    "THREAD_DELETE": (GUILDS, 0),
    "CHANNEL_PINS_UPDATE": (GUILDS, DIRECT_MESSAGES),
    "GUILD_MEMBER_UPDATE": (GUILD_MEMBERS, 0),
    "GUILD_EMOJIS_UPDATE": (GUILD_EXPRESSIONS, 0),
    "GUILD_STICKERS_UPDATE": (GUILD_EXPRESSIONS, 0),
    "WEBHOOKS_UPDATE": (GUILD_WEBHOOKS, 0),
    "MESSAGE_CREATE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_UPDATE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_DELETE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_DELETE_BULK": (GUILD_MESSAGES, 0),
    "MESSAGE_REACTION_ADD": (GUILD_REACTIONS, DIRECT_REACTIONS),
    "MESSAGE_REACTION_REMOVE": (GUILD_REACTIONS, DIRECT_REACTIONS),
    "MESSAGE_REACTION_REMOVE_ALL": (GUILD_REACTIONS, DIRECT_REACTIONS),
    "MESSAGE_REACTION_REMOVE_EMOJI": (GUILD_REACTIONS, DIRECT_REACTIONS),
    "TYPING_START": (GUILD_TYPING, DIRECT_TYPING),
}
_ALWAYS = {"INTERACTION_CREATE"}


def wants(intents: int, event: str, channel: Channel | None) -> bool:
    """Whether a session with these intents is told of an event in this channel."""
    if event in _ALWAYS:
        return True
    if event not in _EVENTS:
        return False
    in_guild, direct = _EVENTS[event]
    return bool(intents & (direct if channel is not None and channel.is_dm else in_guild))


def refusal(intents: int, portal: dict[str, bool]) -> int | None:
    """The close code for an IDENTIFY with these intents: 4013, 4014, or None when all is well."""
    if intents < 0 or intents & ~KNOWN:
        return 4013
    for name, bit in PRIVILEGED_INTENTS.items():
        if intents & bit and not portal[name]:
            return 4014
    return None
