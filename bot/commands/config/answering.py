"""What the settings of triggers, access, cooldowns and quotas become, and what they may not. Pure.

As `changes`: settings in, changed settings out, valid whatever was asked for; `Refused` says in one
line why not.
"""

from __future__ import annotations

import re
from collections.abc import Sized

from bot.commands.config.changes import Refused, changed
from bot.commands.config.picking import NameOf, pick
from storage.config import (
    AllowedChannel,
    AutochatChannel,
    CooldownConfig,
    CooldownType,
    ServerConfig,
    UserConfig,
)

MAX_BASE_WORDS = 16
MAX_BASE_WORD = 40
MAX_ALWAYS = 100
MAX_AUTOCHAT = 50
MAX_CHANNELS = 200
MAX_ROLES = 100
MAX_BLOCKED_USERS = 1_000
MAX_PERSONA_CHANNELS = 100
"""In which one persona answers."""
MAX_SPOTLIGHTS = 100

_COMMA = re.compile(r"[,\u3001\uff0c\n]")
"""Also those of Chinese and Japanese."""

_ALWAYS = ("triggers", "always_reply_channel_ids")
_AUTOCHAT = ("triggers", "autochat")
_CHANNELS = ("access", "channels")
_ROLES = ("access", "role_ids")
_BLOCKED = ("access", "blocked_user_ids")
_PERSONA_CHANNELS = ("access", "persona_channels")


def words_of(given: str) -> list[str]:
    """Words separated by commas, each once, whatever its case, as it first stands."""
    words = (" ".join(part.split()) for part in _COMMA.split(given))
    first: dict[str, str] = {}
    for word in words:
        if word:
            first.setdefault(word.casefold(), word)
    return list(first.values())


# what makes personas answer


def with_base_words(config: ServerConfig, given: str | None) -> ServerConfig:
    """None: the operator's, else the main persona's name."""
    path = ("triggers", "base_words")
    if given is None:
        return changed(config, path, None)
    words = words_of(given)
    if not words:
        raise Refused("Give at least one word, or none at all for the main persona's name.")
    if len(words) > MAX_BASE_WORDS:
        raise Refused(f"There are at most {MAX_BASE_WORDS} words; these are {len(words)}.")
    for word in words:
        if len(word) > MAX_BASE_WORD:
            raise Refused(f"A word has at most {MAX_BASE_WORD} characters.")
        if not word.isprintable() or not any(letter.isalnum() for letter in word):
            raise Refused("A word has letters or digits, and nothing that cannot be seen.")
    return changed(config, path, words)


def with_always_channel(config: ServerConfig, channel_id: str) -> ServerConfig:
    known = config.triggers.always_reply_channel_ids
    if channel_id in known:
        raise Refused("Everything is answered there already.")
    _check_room(known, MAX_ALWAYS, "channels")
    return changed(config, _ALWAYS, [*known, channel_id])


def without_always_channel(config: ServerConfig, given: str, name_of: NameOf) -> ServerConfig:
    known = config.triggers.always_reply_channel_ids
    return changed(config, _ALWAYS, _without(known, given, name_of, "/triggers show"))


def with_autochat(config: ServerConfig, entry: AutochatChannel) -> ServerConfig:
    """A channel that counts already does so anew."""
    if entry.most is not None and entry.most < entry.least:
        raise Refused("The most is less than the least.")
    kept = [each for each in config.triggers.autochat if each.channel_id != entry.channel_id]
    _check_room(kept, MAX_AUTOCHAT, "channels that count")
    return changed(config, _AUTOCHAT, [*kept, entry])


def without_autochat(config: ServerConfig, given: str, name_of: NameOf) -> ServerConfig:
    known = {each.channel_id: each for each in config.triggers.autochat}
    kept = _without(list(known), given, name_of, "/triggers show")
    return changed(config, _AUTOCHAT, [known[channel_id] for channel_id in kept])


# who is answered, and where


def with_channel(
    config: ServerConfig, channel_id: str, type_: str | None = None, seconds: int | None = None
) -> ServerConfig:
    """A channel on the list; one that is there already gets these words on its cooldown."""
    if type_ is None and seconds is not None:
        raise Refused("Choose the kind of cooldown as well, since the channel gets its own.")
    cooldown = None
    if type_ is not None:
        kind = cooldown_type(type_)
        cooldown = CooldownConfig(type=kind)
        if seconds is not None:
            cooldown = CooldownConfig(type=kind, seconds=seconds)
    entry = AllowedChannel(channel_id=channel_id, cooldown=cooldown)
    kept = [each for each in config.access.channels if each.channel_id != channel_id]
    _check_room(kept, MAX_CHANNELS, "channels")
    return changed(config, _CHANNELS, [*kept, entry])


def without_channel(config: ServerConfig, given: str, name_of: NameOf) -> ServerConfig:
    known = {each.channel_id: each for each in config.access.channels}
    kept = _without(list(known), given, name_of, "/access show")
    return changed(config, _CHANNELS, [known[channel_id] for channel_id in kept])


def with_role(config: ServerConfig, role_id: str) -> ServerConfig:
    known = config.access.role_ids
    if role_id in known:
        raise Refused("That role is on the list already.")
    _check_room(known, MAX_ROLES, "roles")
    return changed(config, _ROLES, [*known, role_id])


def without_role(config: ServerConfig, given: str, name_of: NameOf) -> ServerConfig:
    known = config.access.role_ids
    return changed(config, _ROLES, _without(known, given, name_of, "/access show"))


def with_blocked_user(config: ServerConfig, user_id: str) -> ServerConfig:
    known = config.access.blocked_user_ids
    if user_id in known:
        raise Refused("That member is blocked already.")
    _check_room(known, MAX_BLOCKED_USERS, "blocked members")
    return changed(config, _BLOCKED, [*known, user_id])


def without_blocked_user(config: ServerConfig, user_id: str) -> ServerConfig:
    known = config.access.blocked_user_ids
    if user_id not in known:
        raise Refused("That member is not blocked.")
    return changed(config, _BLOCKED, [each for each in known if each != user_id])


def with_persona_channel(config: ServerConfig, persona_id: int, channel_id: str) -> ServerConfig:
    known = config.access.persona_channels
    own = known.get(persona_id, [])
    if channel_id in own:
        raise Refused("That persona answers there already.")
    _check_room(own, MAX_PERSONA_CHANNELS, "channels of one persona")
    return changed(config, _PERSONA_CHANNELS, {**known, persona_id: [*own, channel_id]})


def without_persona_channel(
    config: ServerConfig, persona_id: int, given: str, name_of: NameOf
) -> ServerConfig:
    """Without any left, the persona answers everywhere again."""
    known = config.access.persona_channels
    kept = _without(known.get(persona_id, []), given, name_of, "/access show")
    lists = {**known, persona_id: kept}
    return changed(config, _PERSONA_CHANNELS, {key: value for key, value in lists.items() if value})


# how often

COOLDOWNS = {
    "off": CooldownType.OFF,
    "member": CooldownType.PER_USER,
    "channel": CooldownType.PER_CHANNEL,
    "server": CooldownType.SERVER_WIDE,
    "strict": CooldownType.STRICT_SERVER_WIDE,
    "commands": CooldownType.COMMAND_CATEGORY,
}
"""What a command calls each type (behaviour 5.4)."""

COOLDOWN_WORDS = {
    CooldownType.OFF: "off",
    CooldownType.PER_USER: "each member waits, managers excepted",
    CooldownType.PER_CHANNEL: "everybody in a channel waits, managers excepted",
    CooldownType.SERVER_WIDE: "the whole server waits, managers excepted",
    CooldownType.STRICT_SERVER_WIDE: "the whole server waits, managers too",
    CooldownType.COMMAND_CATEGORY: "each member waits between two /respond, managers too",
}


def exemption(kind: CooldownType) -> str:
    """What an answer adds about who does not wait, since whoever sets a cooldown is one of them."""
    if "managers excepted" not in COOLDOWN_WORDS[kind]:
        return ""
    return (
        " Members with Manage Server do not wait, unless the operator has set"
        " `DISABLE_COOLDOWN_EXEMPTIONS`."
    )


def cooldown_type(given: str) -> CooldownType:
    found = COOLDOWNS.get(given)
    if found is None:
        raise Refused(f"There is no such cooldown; there are: {', '.join(COOLDOWNS)}.")
    return found


# a member's own


def with_spotlight(config: UserConfig, channel_id: str, persona_id: int | None) -> UserConfig:
    """None: nobody in particular answers there any more."""
    kept = {key: value for key, value in config.spotlights.items() if key != channel_id}
    if persona_id is None:
        if channel_id not in config.spotlights:
            raise Refused("You have no spotlight in this channel.")
        return changed(config, ("spotlights",), kept)
    _check_room(kept, MAX_SPOTLIGHTS, "channels with a spotlight of yours")
    return changed(config, ("spotlights",), {**kept, channel_id: persona_id})


def _without(ids: list[str], given: str, name_of: NameOf, shown_by: str) -> list[str]:
    found = pick(given, ids, name_of)
    if found is None:
        raise Refused(f"That is not on the list; `{shown_by}` shows it.")
    return [each for each in ids if each != found]


def _check_room(entries: Sized, limit: int, what: str) -> None:
    if len(entries) >= limit:
        raise Refused(f"There are {limit} {what}, which is all there may be.")
