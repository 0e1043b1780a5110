"""The settings of a server and of a member, by concern. Pure.

A field that a newer Everturn has added is ignored; one that is missing has its default.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ToolsConfig(Section):
    """Which abilities the server allows (behaviour 16, column Gate)."""

    self_teaching: bool = True
    """Long-term memory."""
    sticker_usage: bool = True
    thread_creation: bool = True
    manage_message: bool = True
    message_interaction: bool = True
    web_search: bool = True
    fetch_url: bool = True
    read_file: bool = True
    tasks: bool = True
    cross_channel: bool = True
    mcp: bool = True


class DeliberateConfig(Section):
    """Deliberate tool mode (behaviour 8)."""

    enabled: bool = False
    context_turns: int = Field(default=4, ge=0, le=10)
    triggers: dict[str, list[Annotated[str, StringConstraints(min_length=1, max_length=40)]]] = {}
    """By target (`search`, `reminder`, …), at most 16 each: a literal, `stem*`, `^`, or
    `/regex/`."""


class StmMode(StrEnum):
    """What another channel's short-term memory shows here (behaviour 7.1)."""

    CRUDE_SUMMARY = "crude_summary"
    """Its summary and its newest entries."""
    SUPERSEDE = "supersede"
    """Its summary instead of its entries, where it has one."""


class StmCategory(Section):
    slug: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
    description: str = Field(default="", max_length=200)


class ShortTermMemoryConfig(Section):
    enabled: bool = True
    refresh_cadence: int = Field(default=5, ge=1, le=100)
    """Turns without an update after which the persona is asked for one."""
    nudge_depth: int = Field(default=2, ge=0, le=50)
    """Turns from the end of the context."""
    block_depth: int = Field(default=-1, ge=-1, le=50)
    """The same for the block; -1: at the top."""
    categories: list[StmCategory] = Field(default=[], max_length=5)
    """Without any, one summary."""
    mode: StmMode = StmMode.CRUDE_SUMMARY
    show_private_channels: bool = False
    """Whether what was said in a private channel is shown in others."""
    other_servers: bool = False


class MemoryConfig(Section):
    """Limits of long-term memory are the operator's (MAX_SERVER_MEMORIES, …), not the server's."""

    short_term: ShortTermMemoryConfig = ShortTermMemoryConfig()


class NoticesConfig(Section):
    tool_notices: str = Field(default="minimal", pattern="^(hidden|minimal|verbose)$")
    thought_log_channel_id: str | None = None


class CrossChannelConfig(Section):
    blocked_channel_ids: list[str] = []
    """Channels, or categories with all their channels, that personas are not sent to."""


class ServerConfig(Section):
    tools: ToolsConfig = ToolsConfig()
    deliberate: DeliberateConfig = DeliberateConfig()
    memory: MemoryConfig = MemoryConfig()
    notices: NoticesConfig = NoticesConfig()
    cross_channel: CrossChannelConfig = CrossChannelConfig()
    timezone: str = "UTC"
    """IANA name; of members who have set none."""


class Toggle(StrEnum):
    FOLLOW = "follow"
    """As the server has it."""
    ON = "on"
    OFF = "off"

    def over(self, server: bool) -> bool:
        return server if self is Toggle.FOLLOW else self is Toggle.ON


class Privacy(StrEnum):
    NONE = "none"
    PARTIAL = "partial"
    FULL = "full"


class UserConfig(Section):
    deliberate: Toggle = Toggle.FOLLOW
    privacy: Privacy = Privacy.NONE
    timezone: str | None = None
    short_term_from_other_servers: bool = False
