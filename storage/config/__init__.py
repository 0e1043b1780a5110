"""What a server, or a member, has set. Everything has a default; only what was set is stored.

`models` has the settings themselves, `repository` the way to the tables.
"""

from storage.config.models import (
    CrossChannelConfig,
    DeliberateConfig,
    MemoryConfig,
    NoticesConfig,
    Privacy,
    ServerConfig,
    ShortTermMemoryConfig,
    StmCategory,
    StmMode,
    Toggle,
    ToolsConfig,
    UserConfig,
)

__all__ = [
    "CrossChannelConfig",
    "DeliberateConfig",
    "MemoryConfig",
    "NoticesConfig",
    "Privacy",
    "ServerConfig",
    "ShortTermMemoryConfig",
    "StmCategory",
    "StmMode",
    "Toggle",
    "ToolsConfig",
    "UserConfig",
]
