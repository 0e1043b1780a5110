"""Who speaks: how a persona appears in a channel."""

from __future__ import annotations

from workflows.contracts.base import Contract


class Voice(Contract):
    """How a persona appears in the channel."""

    name: str = ""
    avatar_url: str | None = None
    """None: the webhook shows Discord's default face."""
    is_main: bool = True
    """The bot's own account speaks for it; the others speak through a webhook where one is
    allowed."""
