"""Notices where embeds are not allowed: the system's words as plain text, told from a persona's.

Without the Embed Links permission Discord refuses an embed, and a member must not be left with
nothing (D68). The mark makes it small print, and keeps it out of what a model reads. Pure.
"""

from __future__ import annotations

from text.split import MESSAGE_LIMIT

MARK = "-# \u26a0 "
"""Discord's small print, and a warning sign."""


def plain_notice(text: str) -> str:
    """`text` on one marked line, as one message."""
    line = MARK + " ".join(text.split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "\u2026"


def is_plain_notice(content: str) -> bool:
    return content.startswith(MARK)
