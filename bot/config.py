"""What the bot process needs to know."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr


@dataclass(frozen=True)
class BotConfig:
    token: SecretStr
    api_base: str | None = None
    """Address of another Discord API (`EVERTURN_DISCORD_API`), such as the playground's
    `http://127.0.0.1:8090/api/v10`. None: Discord itself."""
    log_level: str = "info"
    base_words: tuple[str, ...] = ()
    """Call the main persona of a server that has set none (`BASE_TRIGGER_WORDS`); empty: its
    name."""
    command_cooldown_scale: float = 1.0
    """Of how long members wait between commands (`COMMAND_COOLDOWN_SCALE`); 0: not at all."""
