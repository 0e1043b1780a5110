"""What stands at the very end of a context, after the conversation."""

from __future__ import annotations

from activities.context.lines import quoted

PREVIEW_LIMIT = 280
"""Characters of a message that are quoted (behaviour 6.1)."""


def reply_directive(author: str, content: str) -> str:
    """For a turn that waited in the queue: which of the messages above is to be answered.

    `author` is the label under which it stands there.
    """
    return f'[Reply to this earlier message by "{author}": {quoted(content, PREVIEW_LIMIT)}]'
