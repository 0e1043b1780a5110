"""The settings of triggers, access, cooldowns and quotas as text, with the commands that set them.
Pure.

What members have written is shown as they wrote it, and formats nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import discord
from discord.utils import escape_markdown

from bot.commands.config.answering import COOLDOWN_WORDS
from bot.commands.config.answering_named import COMMANDS, OWN_COMMANDS
from bot.commands.config.shown import DESCRIPTION_LIMIT, FIELD_LIMIT, fitting, on_off, show_user
from storage.config import (
    AllowedChannel,
    AutochatChannel,
    CooldownConfig,
    CooldownType,
    ServerConfig,
    UserConfig,
)

Names = Mapping[int, str]
"""Of personas, by id."""


def show_triggers_config(config: ServerConfig, names: Names) -> discord.Embed:
    triggers = config.triggers
    words = triggers.base_words
    shown = "the main persona's name" if words is None else escape_markdown(", ".join(words))
    card = discord.Embed(title="What makes personas answer")
    _field(
        card,
        "Words",
        [
            _line("triggers", "deliberate", shown=on_off(triggers.deliberate)),
            _line("triggers", "base_words", shown=shown),
            _line("triggers", "match_limit", shown=_count(triggers.match_limit, "persona")),
            _line("triggers", "cascade_limit", shown=_count(triggers.cascade_limit, "answer")),
        ],
    )
    _field(
        card,
        "Everything is answered",
        [
            _line("triggers", "always_reply", shown=on_off(triggers.always_reply)),
            _line(
                "triggers",
                "always_reply_channel_ids",
                shown="" if triggers.always_reply_channel_ids else "nowhere",
            ),
            *[_channel(channel_id) for channel_id in triggers.always_reply_channel_ids],
        ],
    )
    _field(
        card,
        "Channels that count messages",
        [
            _line("triggers", "autochat", shown="" if triggers.autochat else "none"),
            *[autochat_words(entry, names) for entry in triggers.autochat],
        ],
    )
    return card


def show_access_config(config: ServerConfig, names: Names) -> discord.Embed:
    access = config.access
    card = discord.Embed(title="Who is answered, and where")
    _field(
        card,
        "Channels",
        [
            _line("access", "channels", shown="only these" if access.channels else "all"),
            *[_allowed(entry) for entry in access.channels],
        ],
    )
    _field(
        card,
        "Members",
        [
            _line("access", "role_ids", shown="only with these" if access.role_ids else "all"),
            *[f"<@&{role_id}>" for role_id in access.role_ids],
        ],
    )
    blocked = access.blocked_user_ids
    _field(
        card,
        "Blocked members",
        [
            _line("access", "blocked_user_ids", shown=str(len(blocked)) if blocked else "none"),
            *[f"<@{user_id}>" for user_id in blocked],
        ],
    )
    lists = access.persona_channels
    _field(
        card,
        "Personas with channels of their own",
        [
            _line("access", "persona_channels", shown="" if lists else "none"),
            *[
                f"{_name(persona_id, names)}: {' '.join(map(_channel, channels))}"
                for persona_id, channels in lists.items()
            ],
        ],
    )
    return card


def show_limits_config(config: ServerConfig) -> discord.Embed:
    quota = config.quota
    days = _count(quota.pool_days, "day")
    card = discord.Embed(title="How often personas answer")
    _field(
        card,
        "Cooldown",
        [
            _line("cooldown", "type", shown=COOLDOWN_WORDS[config.cooldown.type]),
            _line("cooldown", "seconds", shown=_count(config.cooldown.seconds, "second")),
        ],
    )
    _field(
        card,
        "Answers",
        [
            _line("quota", "user_daily", shown=f"{_limit(quota.user_daily)} a member a day"),
            _line("quota", "server_pool", shown=f"{_limit(quota.server_pool)} for the server"),
            _line("quota", "pool_days", shown=f"the server's are new after {days}"),
        ],
    )
    own = "each member's own, and so far none can be brought: nobody is answered"
    if not config.credentials.bring_your_own:
        own = "the server's"
    _field(card, "Models", [_line("credentials", "bring_your_own", shown=own)])
    return card


def show_member(config: UserConfig, names: Names) -> discord.Embed:
    """All of a member's own settings."""
    card = show_user(config)
    spotlights = config.spotlights
    lines = [
        (card.description or ""),
        f"`/{OWN_COMMANDS['deliberate_triggers',]}`: {config.deliberate_triggers.value}",
        f"`/{OWN_COMMANDS['spotlights',]}`: {'' if spotlights else 'none'}".rstrip(),
        *[
            f"{_channel(channel_id)}: {_name(persona_id, names)}"
            for channel_id, persona_id in spotlights.items()
        ],
    ]
    card.description = fitting(lines, DESCRIPTION_LIMIT)
    return card


def _field(card: discord.Embed, name: str, lines: list[str]) -> None:
    card.add_field(name=name, value=fitting(lines, FIELD_LIMIT), inline=False)


def _line(*path: str, shown: str) -> str:
    return f"`/{COMMANDS[path]}`: {shown}".rstrip()


def _channel(channel_id: str) -> str:
    return f"<#{channel_id}>"


def _name(persona_id: int, names: Names) -> str:
    name = names.get(persona_id)
    return "a persona that is not here" if name is None else escape_markdown(name)


def autochat_words(entry: AutochatChannel, names: Names) -> str:
    least = max(1, entry.least)  # an answer comes after one message at the earliest
    if entry.most is not None and entry.most > least:
        when = f"after {least} to {entry.most} messages"
    elif least == 1:
        when = "every message"
    else:
        when = f"after {least} messages"
    who = "" if entry.persona_id is None else f", by {_name(entry.persona_id, names)}"
    return f"{_channel(entry.channel_id)}: {when}{who}"


def _allowed(entry: AllowedChannel) -> str:
    shown = _channel(entry.channel_id)
    return shown if entry.cooldown is None else f"{shown}: {cooldown_words(entry.cooldown)}"


def cooldown_words(cooldown: CooldownConfig) -> str:
    if cooldown.type is CooldownType.OFF:
        return "no cooldown"
    return f"{COOLDOWN_WORDS[cooldown.type]} ({_count(cooldown.seconds, 'second')})"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _limit(count: int) -> str:
    return f"{count:,}" if count else "any number"
