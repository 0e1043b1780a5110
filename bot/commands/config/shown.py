"""Settings as text, each with the command that changes it. Pure.

What members have written into settings is shown as they wrote it, and formats nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import discord
from discord.utils import escape_markdown

from bot.commands.config.named import SHOWN_MODES, before_the_end, command_of, turns
from bot.courtesies import PRIVACY
from storage.config import ServerConfig, UserConfig
from storage.config.models import ToolsConfig

FIELD_LIMIT = 1024
"""Code points of an embed's field and description (Discord, resources/message)."""
DESCRIPTION_LIMIT = 4096

_ABILITIES = {"self_teaching": "long-term memory", "mcp": "MCP tools"}


def ability(name: str) -> str:
    """A field of `ToolsConfig`, in words."""
    return _ABILITIES.get(name, name.replace("_", " "))


def abilities() -> dict[str, str]:
    """What each is called, by its field."""
    return {name: ability(name) for name in ToolsConfig.model_fields}


def on_off(value: bool) -> str:
    return "on" if value else "off"


def show_server(config: ServerConfig) -> discord.Embed:
    card = discord.Embed(title="Settings")
    for name, lines in _server_sections(config):
        card.add_field(name=name, value=fitting(lines, FIELD_LIMIT), inline=False)
    return card


def _server_sections(config: ServerConfig) -> Iterable[tuple[str, list[str]]]:
    tools = config.tools
    yield (
        "Abilities \u2014 /config tool",
        [f"{label}: {on_off(getattr(tools, name))}" for name, label in abilities().items()],
    )
    deliberate = config.deliberate
    triggers = sum(len(phrases) for phrases in deliberate.triggers.values())
    yield (
        "Deliberate tool mode",
        [
            _line("deliberate", "enabled", shown=on_off(deliberate.enabled)),
            _line(
                "deliberate",
                "context_turns",
                shown=f"a tool stays offered for {turns(deliberate.context_turns)}",
            ),
            _line("deliberate", "triggers", shown=f"{triggers or 'none'} of your own"),
        ],
    )
    stm = config.memory.short_term
    private = "shown in others" if stm.show_private_channels else "kept apart"
    values = {
        "enabled": on_off(stm.enabled),
        "refresh_cadence": f"a new summary after {turns(stm.refresh_cadence)}",
        "mode": f"of other channels, {SHOWN_MODES[stm.mode.value]}",
        "show_private_channels": f"private channels are {private}",
        "other_servers": on_off(stm.other_servers),
        "nudge_depth": f"asked for it {before_the_end(stm.nudge_depth)}",
        "block_depth": f"memories stand {before_the_end(stm.block_depth)}",
        "categories": "" if stm.categories else "none",
    }
    yield (
        "Short-term memory",
        [
            *[_line("memory", "short_term", name, shown=shown) for name, shown in values.items()],
            *[
                f"- {category.slug}: {escape_markdown(category.description)}"
                for category in stm.categories
            ],
        ],
    )
    log_channel = config.notices.thought_log_channel_id
    yield (
        "Notices",
        [
            _line("notices", "tool_notices", shown=config.notices.tool_notices),
            _line(
                "notices",
                "thought_log_channel_id",
                shown=f"<#{log_channel}>" if log_channel else "none",
            ),
        ],
    )
    blocked = config.cross_channel.blocked_channel_ids
    yield (
        "Where personas are not sent",
        [
            _line("cross_channel", "blocked_channel_ids", shown="" if blocked else "nowhere"),
            *[f"<#{channel_id}>" for channel_id in blocked],
        ],
    )
    yield "Time zone", [_line("timezone", shown=config.timezone)]


def _line(*path: str, shown: str) -> str:
    """A setting: the command that sets it, and what it is."""
    return f"`/{command_of(ServerConfig, path)}`: {shown}".rstrip()


def show_triggers(config: ServerConfig, target: str | None) -> discord.Embed:
    lines = [
        f"**{name}**: {escape_markdown(phrase)}"
        for name, phrases in sorted(config.deliberate.triggers.items())
        if target in (None, name)
        for phrase in phrases
    ]
    text = fitting(lines, DESCRIPTION_LIMIT) if lines else "There are none."
    return discord.Embed(title="Triggers of your own", description=text)


def show_user(config: UserConfig) -> discord.Embed:
    card = discord.Embed(title="Your own settings")
    values = {
        "deliberate": config.deliberate.value,
        "privacy": PRIVACY[config.privacy],
        "timezone": config.timezone or "that of the server",
        "short_term_from_other_servers": on_off(config.short_term_from_other_servers),
    }
    card.description = "\n".join(
        f"`/{command_of(UserConfig, [name])}`: {shown}" for name, shown in values.items()
    )
    return card


def fitting(lines: list[str], limit: int) -> str:
    """The lines that fit, and how many do not."""
    room = limit - len("\n\u2026 and 10000 more")
    kept: list[str] = []
    for index, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*kept, f"\u2026 and {len(lines) - index} more"])
        kept.append(line)
    return "\n".join(kept)
