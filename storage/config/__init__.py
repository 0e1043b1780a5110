"""What a server, or a member, has set. Everything has a default; only what was set is stored.

`models` has the settings themselves, `repository` the way to the tables.
"""

from storage.config.models import (
    AccessConfig,
    AllowedChannel,
    AutochatChannel,
    CooldownConfig,
    CooldownType,
    CredentialsConfig,
    CrossChannelConfig,
    DeliberateConfig,
    MemoryConfig,
    NoticesConfig,
    Privacy,
    QuotaConfig,
    ServerConfig,
    ShortTermMemoryConfig,
    StmCategory,
    StmMode,
    Toggle,
    ToolsConfig,
    TriggersConfig,
    UserConfig,
)

__all__ = [
    "AccessConfig",
    "AllowedChannel",
    "AutochatChannel",
    "CooldownConfig",
    "CooldownType",
    "CredentialsConfig",
    "CrossChannelConfig",
    "DeliberateConfig",
    "MemoryConfig",
    "NoticesConfig",
    "Privacy",
    "QuotaConfig",
    "ServerConfig",
    "ShortTermMemoryConfig",
    "StmCategory",
    "StmMode",
    "Toggle",
    "ToolsConfig",
    "TriggersConfig",
    "UserConfig",
]
