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
    visible = name if name.isprintable() else _visible(name)
    return " ".join(visible.translate(_REPLACED).split()) or NAMELESS


def _visible(name: str) -> str:
    return "".join(
        " " if character.isspace() else character
        for character in name
        if character.isspace() or unicodedata.category(character) not in {"Cc", "Cf", "Co", "Cs"}
    )


def alias_of(label: str) -> str:
    """What makes two names the same to a reader: compatibility form, without case."""
    return unicodedata.normalize("NFKC", label).casefold()


def author_labels(messages: Iterable[HistoryMessage], persona_name: str) -> dict[str, str]:
    """Author id to label, in order of first appearance, ourselves left out.

    The newest name counts. Somebody who bears the persona's own name is marked, so that the
    persona does not take their words for its own.
    """
    newest: dict[str, HistoryMessage] = {}
    for message in messages:
        if not message.is_self:
            newest[message.author_id] = message
    return {
        author_id: label_beside(persona_name, message.author_name, is_bot=message.is_bot)
        for author_id, message in newest.items()
    }


def label_beside(persona_name: str, name: str, *, is_bot: bool = False) -> str:
    """The label of somebody called `name` in a conversation with the persona."""
    label = author_label(name)
    if alias_of(label) == alias_of(author_label(persona_name)):
        label += " (another bot)" if is_bot else " (a member)"
    return label
