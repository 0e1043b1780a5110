"""Which command sets which setting. Pure: for cards that show settings, and for refusals."""

from __future__ import annotations

from collections.abc import Sequence

from bot.commands.config.answering_named import COMMANDS, OWN_COMMANDS
from storage.config import ServerConfig, UserConfig
from storage.config.models import ToolsConfig

_STM = ("memory", "short_term")

_OF_A_SERVER: dict[tuple[str, ...], str] = {
    **{("tools", name): "config tool" for name in ToolsConfig.model_fields},
    ("deliberate", "enabled"): "config deliberate mode",
    ("deliberate", "context_turns"): "config deliberate turns",
    ("deliberate", "triggers"): "config trigger add",
    (*_STM, "enabled"): "config memory short-term",
    (*_STM, "refresh_cadence"): "config memory cadence",
    (*_STM, "nudge_depth"): "config memory nudge-depth",
    (*_STM, "block_depth"): "config memory block-depth",
    (*_STM, "mode"): "config memory mode",
    (*_STM, "show_private_channels"): "config memory private-channels",
    (*_STM, "other_servers"): "config memory other-servers",
    (*_STM, "categories"): "config memory category",
    ("notices", "tool_notices"): "config notices style",
    ("notices", "thought_log_channel_id"): "config notices log-channel",
    ("cross_channel", "blocked_channel_ids"): "config cross-channel block",
    ("timezone",): "config timezone",
    **COMMANDS,
}

_OF_A_MEMBER: dict[tuple[str, ...], str] = {
    ("deliberate",): "personal deliberate",
    ("privacy",): "personal privacy",
    ("timezone",): "personal timezone",
    ("short_term_from_other_servers",): "personal other-servers",
    **OWN_COMMANDS,
}


def command_of(config: type[ServerConfig] | type[UserConfig], path: Sequence[str]) -> str:
    """Without its slash. A KeyError is a setting that nobody can set."""
    return (_OF_A_SERVER if config is ServerConfig else _OF_A_MEMBER)[tuple(path)]


def turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def before_the_end(depth: int) -> str:
    """A place in the conversation, as the model is shown it."""
    if depth < 0:
        return "at the top"
    return f"{turns(depth)} before the end" if depth else "at the end"


SHOWN_MODES = {
    "crude_summary": "summary and newest messages",
    "supersede": "summary in place of messages",
}
"""What each value of the mode of short-term memory is called."""
