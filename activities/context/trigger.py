"""The message that a turn answers is in its context, whatever became of it in the channel."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from workflows.contracts.history import HistoryMessage
from workflows.contracts.invocation import Addressed, ChatIncoming

_DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
"""Snowflakes count milliseconds from here, above 22 other bits (Discord, reference)."""


def is_wordless_command(invocation: ChatIncoming) -> bool:
    """A member asked for the turn by a command, and said nothing: no message has its id."""
    return invocation.addressed is Addressed.COMMAND and not invocation.content.strip()


def with_trigger(
    messages: Sequence[HistoryMessage], invocation: ChatIncoming, *, is_queued: bool
) -> list[HistoryMessage]:
    """`messages`, oldest first, with the trigger among them.

    It stands last, since that is what is to be answered: what others wrote, or this turn's earlier
    attempt has shown, in the meantime comes before it. Only the trigger of a turn that waited (for
    another turn, or for another persona's answer to the same message) keeps its place, where others
    have said other things since; a directive names it (`directives`). One that is gone from the
    channel is made from the invocation.

    A turn that no message brought about has no trigger, and nobody's words are invented for it.
    """
    if invocation.is_synthetic or is_wordless_command(invocation):
        return list(messages)
    found = next((m for m in messages if m.id == invocation.message_id), None)
    others = [m for m in messages if m.id != invocation.message_id]
    if found is None:
        return [*others, _from_invocation(invocation)]
    if not found.content and not found.attachments:
        found = found.model_copy(update={"content": invocation.content})
    if is_queued:
        return [found if m.id == found.id else m for m in messages]
    return [*others, found]


def written_at(message_id: str) -> datetime:
    """When a message was written, to the second, read from its snowflake."""
    return _DISCORD_EPOCH + timedelta(seconds=(int(message_id) >> 22) // 1000)


def _from_invocation(invocation: ChatIncoming) -> HistoryMessage:
    return HistoryMessage(
        id=invocation.message_id,
        author_id=invocation.author_id,
        author_name=invocation.author_name,
        content=invocation.content,
        created_at=written_at(invocation.message_id),
        # the author is the member who began the chain; the words are the persona's
        persona_id=invocation.author_persona_id,
    )
