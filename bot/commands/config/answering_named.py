"""Which command sets which setting of triggers, access, cooldowns and quotas. Pure."""

from __future__ import annotations

Path = tuple[str, ...]

COMMANDS: dict[Path, str] = {
    ("triggers", "deliberate"): "triggers deliberate",
    ("triggers", "base_words"): "triggers base-words",
    ("triggers", "always_reply"): "triggers always everywhere",
    ("triggers", "always_reply_channel_ids"): "triggers always add",
    ("triggers", "autochat"): "triggers autochat set",
    ("triggers", "match_limit"): "triggers match-limit",
    ("triggers", "cascade_limit"): "triggers cascade-limit",
    ("access", "channels"): "access channel add",
    ("access", "role_ids"): "access role add",
    ("access", "blocked_user_ids"): "access member block",
    ("access", "persona_channels"): "access persona add",
    ("cooldown", "type"): "limits cooldown type",
    ("cooldown", "seconds"): "limits cooldown length",
    ("quota", "user_daily"): "limits quota member",
    ("quota", "server_pool"): "limits quota server",
    ("quota", "pool_days"): "limits quota days",
    ("credentials", "bring_your_own"): "limits own-models",
}
"""Which command sets which setting, without its slash."""

OWN_COMMANDS: dict[Path, str] = {
    ("deliberate_triggers",): "personal deliberate-triggers",
    ("spotlights",): "personal spotlight",
}
