"""Settings as text, each with the command that changes it. Pure.

What members have written into settings is shown as they wrote it, and formats nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import discord
from discord.utils import escape_markdown

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
        card.add_field(name=name, value=_fitting(lines, FIELD_LIMIT), inline=False)
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
        "Deliberate tool mode \u2014 /config deliberate, /config trigger",
        [
            f"mode: {on_off(deliberate.enabled)}",
            f"turns: {deliberate.context_turns}",
            f"triggers of your own: {triggers or 'none'}",
        ],
    )
    stm = config.memory.short_term
    yield (
        "Short-term memory \u2014 /config memory",
        [
            f"short-term: {on_off(stm.enabled)}",
            f"cadence: {stm.refresh_cadence} turns",
            f"other channels: {stm.mode.value.replace('_', ' ')}",
            f"private channels: {'shown in others' if stm.show_private_channels else 'kept apart'}",
            f"other servers: {on_off(stm.other_servers)}",
            f"depth of the reminder to update: {stm.nudge_depth}",
            f"depth of the memories: {'top' if stm.block_depth < 0 else stm.block_depth}",
            f"categories: {'none' if not stm.categories else ''}".rstrip(),
            *[
                f"- {category.slug}: {escape_markdown(category.description)}"
                for category in stm.categories
            ],
        ],
    )
    log_channel = config.notices.thought_log_channel_id
    yield (
        "Notices \u2014 /config notices",
        [
            f"style: {config.notices.tool_notices}",
            f"log channel: {f'<#{log_channel}>' if log_channel else 'none'}",
        ],
    )
    blocked = config.cross_channel.blocked_channel_ids
    yield (
        "Where personas are not sent \u2014 /config cross-channel",
        [f"<#{channel_id}>" for channel_id in blocked] or ["nowhere is blocked"],
    )
    yield "Time zone \u2014 /config timezone", [config.timezone]


def show_triggers(config: ServerConfig, target: str | None) -> discord.Embed:
    lines = [
        f"**{name}**: {escape_markdown(phrase)}"
        for name, phrases in sorted(config.deliberate.triggers.items())
        if target in (None, name)
        for phrase in phrases
    ]
    text = _fitting(lines, DESCRIPTION_LIMIT) if lines else "There are none."
    return discord.Embed(title="Triggers of your own", description=text)


def show_user(config: UserConfig) -> discord.Embed:
    card = discord.Embed(title="Your own settings")
    lines = [
        f"deliberate tool mode: {config.deliberate.value}",
        f"privacy: {config.privacy.value}",
        f"time zone: {config.timezone or 'that of the server'}",
        f"short-term memory from other servers: {on_off(config.short_term_from_other_servers)}",
    ]
    card.description = "\n".join(lines)
    return card


def _fitting(lines: list[str], limit: int) -> str:
    """The lines that fit, and how many do not."""
    room = limit - len("\n\u2026 and 10000 more")
    kept: list[str] = []
    for index, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*kept, f"\u2026 and {len(lines) - index} more"])
        kept.append(line)
    return "\n".join(kept)
