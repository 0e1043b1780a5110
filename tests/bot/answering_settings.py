"""The settings of triggers, access, cooldowns and quotas: a command that sets each, and to what."""

from __future__ import annotations

from typing import Any

from tests.bot.interactions import role
from tests.bot.loopback import CHANNEL_ID, Json, user

Setting = tuple[str, dict[str, Any], Any]

ROLE_ID = "600000000000000001"
BLOCKED_ID = "700000000000000009"


def channel(channel_id: str, name: str, kind: int = 0) -> Json:
    return {"id": channel_id, "name": name, "type": kind, "permissions": "0", "position": 0}


GENERAL = channel(CHANNEL_ID, "general")
REGULARS = role(ROLE_ID, "regulars")
PEST = user(BLOCKED_ID, name="Pest")

SETTINGS: dict[tuple[str, ...], Setting] = {
    ("triggers", "deliberate"): ("triggers deliberate", {"state": "on"}, True),
    ("triggers", "base_words"): (
        "triggers base-words",
        {"words": " hey you, Bot,bot"},
        ["hey you", "Bot"],
    ),
    ("triggers", "always_reply"): ("triggers always everywhere", {"state": "on"}, True),
    ("triggers", "always_reply_channel_ids"): (
        "triggers always add",
        {"channel": GENERAL},
        [CHANNEL_ID],
    ),
    ("triggers", "autochat"): (
        "triggers autochat set",
        {"channel": GENERAL, "least": 3, "most": 9, "persona": "bob"},
        [{"channel_id": CHANNEL_ID, "least": 3, "most": 9, "persona_id": 2}],
    ),
    ("triggers", "match_limit"): ("triggers match-limit", {"count": 5}, 5),
    ("triggers", "cascade_limit"): ("triggers cascade-limit", {"count": 0}, 0),
    ("access", "channels"): (
        "access channel add",
        {"channel": GENERAL, "cooldown": "member", "seconds": 30},
        [{"channel_id": CHANNEL_ID, "cooldown": {"type": 1, "seconds": 30}}],
    ),
    ("access", "role_ids"): ("access role add", {"role": REGULARS}, [ROLE_ID]),
    ("access", "blocked_user_ids"): ("access member block", {"member": PEST}, [BLOCKED_ID]),
    ("access", "persona_channels"): (
        "access persona add",
        {"persona": "Bob", "channel": GENERAL},
        {2: [CHANNEL_ID]},
    ),
    ("cooldown", "type"): ("limits cooldown type", {"type": "channel"}, 2),
    ("cooldown", "seconds"): ("limits cooldown length", {"seconds": 60}, 60),
    ("quota", "user_daily"): ("limits quota member", {"count": 20}, 20),
    ("quota", "server_pool"): ("limits quota server", {"count": 500}, 500),
    ("quota", "pool_days"): ("limits quota days", {"days": 7}, 7),
}

TAKEN_BACK: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {
    ("credentials", "bring_your_own"): ("limits own-models", {"state": "off"}),
}
"""Settings that nobody can choose yet, and the command that gives them up."""

OWN_SETTINGS: dict[tuple[str, ...], Setting] = {
    ("deliberate_triggers",): ("personal deliberate-triggers", {"state": "on"}, "on"),
    ("spotlights",): ("personal spotlight", {"persona": "Bob"}, {CHANNEL_ID: 2}),
}
