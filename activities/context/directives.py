"""What stands at the very end of a context, after the conversation."""

from __future__ import annotations

from activities.context.lines import quoted

SPEAKER_GUARD = "speaker_guard"
LENGTH = "length"
"""Reasons for which an attempt came out empty, as far as the next one is told (behaviour 6.9)."""

PREVIEW_LIMIT = 280
"""Characters of a message that are quoted (behaviour 6.1)."""


def reply_directive(author: str, content: str) -> str:
    """For a turn that waited in the queue: which of the messages above is to be answered.

    `author` is the label under which it stands there.
    """
    return f'[Reply to this earlier message by "{author}": {quoted(content, PREVIEW_LIMIT)}]'


def stop_directive(author: str) -> str:
    """For a stop response (behaviour 2.4): the message above it is the stop itself."""
    return (
        f'["{author}" has asked you to stop, and what you were saying was cut off there. Answer '
        "that in a few words, and do not go on with what you were saying]"
    )


def command_directive(author: str) -> str:
    """For a turn that a member asked for by a command, without saying anything."""
    return (
        f'["{author}" has asked you by a command to say something here now. '
        "It comes with no words of theirs]"
    )


def retry_directive(reason: str | None, persona_name: str) -> str:
    """For an attempt after one that came out empty; "" where the reason calls for nothing."""
    if reason == SPEAKER_GUARD:
        return (
            "[Your last attempt was held back, since it spoke for somebody else. "
            f"Write only what {persona_name} says, without any name before it]"
        )
    if reason == LENGTH:
        return (
            "[Your last attempt reached its length before it had said anything. "
            "Think briefly, and answer in a few sentences]"
        )
    return ""
