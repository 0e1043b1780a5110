"""What an operator decides for all servers (behaviour 18)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlanningSettings:
    production: bool = False
    """RUN_ENV=production: only there the two limits below hold."""
    max_user_active: int = 3
    """Channels in which a member may be answered at a time; 0: no limit."""
    max_server_active: int = 10
    cooldown_exemptions: bool = True
    """Members with Manage Server wait for no cooldown of the types 1 to 3."""
    command_cooldown_scale: float = 1.0
    """Stretches the cooldowns of commands (type 5)."""
    max_follow_ups: int = 3
    """Answers in a row that may give way to what their member writes next."""
    base_words: tuple[str, ...] = ()
    """Words that call the main persona in servers which have not set their own."""
