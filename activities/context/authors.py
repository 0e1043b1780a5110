"""What the people of a conversation are called in the prompt."""

from __future__ import annotations

from collections.abc import Iterable

from text.labels import Named, labels_beside
from workflows.contracts.history import HistoryMessage


def people_of(messages: Iterable[HistoryMessage], invoker: Named | None = None) -> list[Named]:
    """Who wrote, in order of first appearance, ourselves left out; then the invoker, if they did
    not. The newest name counts."""
    newest: dict[str, Named] = {}
    for message in messages:
        if not message.is_self:
            author = Named(message.author_id, message.author_name, message.is_bot)
            newest[message.author_id] = author
    if invoker is not None and invoker.id:
        newest.setdefault(invoker.id, invoker)
    return list(newest.values())


def author_labels(messages: Iterable[HistoryMessage], persona_name: str) -> dict[str, str]:
    """Author id to label (`text.labels`), in order of first appearance, ourselves left out."""
    return labels_beside(people_of(messages), [persona_name])
