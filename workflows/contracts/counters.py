"""What a channel counts across its turns."""

from __future__ import annotations

from workflows.contracts.base import Contract


class ChannelCounters(Contract):
    """What a channel counts across its turns."""

    autochat: int = 0
    """Messages since the last automatic answer."""
    autochat_target: int | None = None
    """Drawn anew after each answer, where the channel has a range."""
    cascade: int = 0
    """Answers that produced text since a person last spoke (behaviour 5.3)."""
    cascade_after_id: str | None = None
    """Id of the newest message that was counted; a newer one of a person's resets the count."""
    cascade_at: str | None = None
    """When it last rose, ISO 8601, UTC: thirty idle minutes reset it."""
    last_persona_id: int | None = None
    """Who responded last."""
