"""The settings of a server and of a member, by concern. Pure.

A field that a newer Everturn has added is ignored; one that is missing has its default.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
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


class AutochatChannel(Section):
    """A channel whose messages are counted (behaviour 5.1)."""

    channel_id: str
    least: int = Field(default=0, ge=0, le=10_000)
    """Messages until an automatic answer; 0: every message is answered."""
    most: int | None = Field(default=None, ge=1, le=10_000)
    """With it, each target is drawn between `least` and this."""
    persona_id: int | None = None
    """Who answers there; None: the main persona."""


class TriggersConfig(Section):
    """What makes personas answer (behaviour 5.1 to 5.3)."""

    deliberate: bool = False
    """Deliberate trigger mode: plain trigger words do not count, `@word` does."""
    base_words: list[Annotated[str, StringConstraints(min_length=1, max_length=40)]] | None = None
    """Words that call the main persona; None: the operator's, else its name. At most 16."""
    always_reply: bool = False
    always_reply_channel_ids: list[str] = []
    autochat: list[AutochatChannel] = Field(default=[], max_length=50)
    match_limit: int = Field(default=3, ge=1, le=10)
    """Personas that one message can call."""
    cascade_limit: int = Field(default=3, ge=0, le=10)
    """Answers of personas to each other beyond the first."""


class CooldownType(IntEnum):
    """Behaviour 5.4."""

    OFF = 0
    PER_USER = 1
    PER_CHANNEL = 2
    SERVER_WIDE = 3
    STRICT_SERVER_WIDE = 4
    COMMAND_CATEGORY = 5


class CooldownConfig(Section):
    type: CooldownType = CooldownType.OFF
    seconds: int = Field(default=5, ge=1, le=86_400)


class AllowedChannel(Section):
    """A channel in which personas answer; with a cooldown of its own, or the server's."""

    channel_id: str
    cooldown: CooldownConfig | None = None


class AccessConfig(Section):
    """Who is answered, and where. Empty lists allow everybody, everywhere."""

    channels: list[AllowedChannel] = Field(default=[], max_length=200)
    role_ids: list[str] = Field(default=[], max_length=100)
    blocked_user_ids: list[str] = Field(default=[], max_length=1_000)
    persona_channels: dict[int, list[str]] = {}
    """A persona that stands here answers only in these channels and their threads."""


class QuotaConfig(Section):
    """Answers a day; 0: no limit (behaviour 5.4)."""

    user_daily: int = Field(default=0, ge=0, le=1_000_000)
    server_pool: int = Field(default=0, ge=0, le=10_000_000)
    pool_days: int = Field(default=1, ge=1, le=365)
    """After so many days the pool is full again."""


class CredentialsConfig(Section):
    bring_your_own: bool = False
    """Members answer for their own models: who has none is refused."""


class ServerConfig(Section):
    triggers: TriggersConfig = TriggersConfig()
    access: AccessConfig = AccessConfig()
    cooldown: CooldownConfig = CooldownConfig()
    quota: QuotaConfig = QuotaConfig()
    credentials: CredentialsConfig = CredentialsConfig()
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
    deliberate_triggers: Toggle = Toggle.FOLLOW
    """Deliberate trigger mode, for what this member writes."""
    spotlights: dict[str, int] = {}
    """By channel id, the persona that answers everything this member says there."""
    deliberate: Toggle = Toggle.FOLLOW
    privacy: Privacy = Privacy.NONE
    timezone: str | None = None
    short_term_from_other_servers: bool = False
