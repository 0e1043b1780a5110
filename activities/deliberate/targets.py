"""The targets of deliberate tool mode: what a text can ask for. A tool names its own."""

from __future__ import annotations

from enum import StrEnum


class Target(StrEnum):
    IMAGE = "image"
    VIDEO = "video"
    VOICE = "voice"
    REMINDER = "reminder"
    CROSS_CHANNEL = "cross-channel"
    SEARCH = "search"
    """The web, and pages of it."""
    MEMORY = "memory"
    MEDIA_ANALYSIS = "media-analysis"
    MESSAGE_ACTION = "message-action"
    USER_BLOCKING = "user-blocking"
    USER_INFO = "user-info"
    THREAD = "thread"
    CAPABILITIES = "capabilities"


TARGETS = tuple(Target)
