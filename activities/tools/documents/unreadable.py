"""The one way in which a document fails."""

from __future__ import annotations


class Unreadable(Exception):
    """No text can be had. `reason`: one sentence for the model, with nothing of the file in it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
