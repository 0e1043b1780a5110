"""What an author is called in the prompt."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from workflows.contracts.history import HistoryMessage

NAMELESS = "someone"

_REPLACED = str.maketrans({":": "꞉", "[": "(", "]": ")"})
"""A colon ends the name at the start of a line, a bracket begins a note: names contain neither."""


def author_label(name: str) -> str:
    """`name` as it may stand at the start of a line: one line, visible, no colon, no bracket.

    Display names are free text, and one that contains a line break or a colon could otherwise
    speak for somebody else.
    """
    visible = "".join(
        " " if character.isspace() else character
        for character in name
        if character.isspace() or unicodedata.category(character) not in {"Cc", "Cf", "Co", "Cs"}
    )
    return " ".join(visible.translate(_REPLACED).split()) or NAMELESS


def alias_of(label: str) -> str:
    """What makes two names the same to a reader: compatibility form, without case."""
    return unicodedata.normalize("NFKC", label).casefold()


def author_labels(messages: Iterable[HistoryMessage], persona_name: str) -> dict[str, str]:
    """Author id to label, in order of first appearance, ourselves left out.

    The newest name counts. Somebody who bears the persona's own name is marked, so that the
    persona does not take their words for its own.
    """
    labels: dict[str, str] = {}
    for message in messages:
        if message.is_self:
            continue
        label = author_label(message.author_name)
        if alias_of(label) == alias_of(author_label(persona_name)):
            label += " (another bot)" if message.is_bot else " (a member)"
        labels[message.author_id] = label
    return labels
