"""What stands at the very end of a context, after the conversation."""

from __future__ import annotations

PREVIEW_LIMIT = 280
"""Characters of a message that are quoted (behaviour 6.1)."""


def reply_directive(author: str, content: str) -> str:
    """For a turn that waited in the queue: which of the messages above is to be answered.

    Double quotes in the message become single ones, so that it cannot end its own quotation.
    """
    quoted = preview(content).replace('"', "'")
    return f'[Reply to this earlier message by {author}: "{quoted}"]'


def preview(content: str) -> str:
    """`content` on one line, at most `PREVIEW_LIMIT` characters."""
    line = " ".join(content.split())
    if len(line) <= PREVIEW_LIMIT:
        return line
    return line[: PREVIEW_LIMIT - 1].rstrip() + "…"
