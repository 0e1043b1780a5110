"""What the people of a conversation are called in the prompt."""

from __future__ import annotations

from collections.abc import Iterable

from text.labels import Named, author_label, labels_beside
from workflows.contracts.history import HistoryMessage

_PERSONA = "persona/"
"""Begins what stands for a persona where others have their Discord id."""


def people_of(messages: Iterable[HistoryMessage], invoker: Named | None = None) -> list[Named]:
    """Who wrote, in order of first appearance, ourselves left out; then the invoker, if they did
    not. The newest name counts."""
    newest: dict[str, Named] = {}
    for message in messages:
        if not message.is_self:
            speaker = speaker_of(message)
            newest[speaker] = Named(speaker, message.author_name, message.is_bot)
    if invoker is not None and invoker.id:
        newest.setdefault(invoker.id, invoker)
    return list(newest.values())


def author_labels(
    messages: Iterable[HistoryMessage], persona_name: str, invoker: Named | None = None
) -> dict[str, str]:
    """Speaker (`speaker_of`) to label (`text.labels`), in order of first appearance, the persona
    itself left out.

    Other personas are marked, and so is whoever bears a persona's name, so that nobody's words are
    taken for those of the persona or of another one.
    """
    people = people_of(messages, invoker)
    personas = {one.id: _persona_label(one.name) for one in people if is_persona(one.id)}
    theirs = [*personas.values(), *(one.name for one in people if is_persona(one.id))]
    others = [one for one in people if not is_persona(one.id)]
    labels = labels_beside(others, [persona_name, *theirs])
    return {one.id: personas.get(one.id) or labels[one.id] for one in people}


def speaker_of(message: HistoryMessage) -> str:
    """Whose message it is: another persona (`perspective`), or the author. Several personas may
    speak through one account."""
    if message.persona_id is None or message.is_self:
        return message.author_id
    return f"{_PERSONA}{message.persona_id}"


def is_persona(speaker: str) -> bool:
    return speaker.startswith(_PERSONA)


def _persona_label(name: str) -> str:
    return f"{author_label(name)} (persona)"
