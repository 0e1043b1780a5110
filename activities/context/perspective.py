"""Whose words are whose, as one persona sees it.

In: the messages of a channel as they are stored, the persona that is to answer, and the personas of
the place. Out: the same messages, where `is_self` says that this very persona spoke, and another
persona's message bears that persona's id and name. Pure.
What always holds: several personas may speak through one account, yet none sees another's words as
its own, and nobody else's message bears a persona's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from storage import Persona
from workflows.contracts.history import HistoryMessage

UNKNOWN = 0
"""Stands for the persona of our account's messages where nobody is known to be the main one; no
row has it."""


def as_seen_by(
    persona: Persona, messages: Iterable[HistoryMessage], personas: Sequence[Persona]
) -> list[HistoryMessage]:
    """`personas` are those of the place, the main one first; it may lack `persona`."""
    names = {known.id: known.name for known in personas}
    main_id = next((known.id for known in personas if known.is_main), None)
    if main_id is None:
        main_id = persona.id if persona.is_main else UNKNOWN
    return [_seen(message, persona.id, main_id, names) for message in messages]


def _seen(
    message: HistoryMessage, own_id: int, main_id: int, names: dict[int, str]
) -> HistoryMessage:
    speaker = message.persona_id
    if speaker is None and message.is_self:
        speaker = main_id  # documents of before do not say who spoke through our account
    if speaker is None:
        return message
    if speaker == own_id:
        return message.model_copy(update={"is_self": True, "persona_id": own_id})
    return message.model_copy(
        update={
            "is_self": False,
            "is_bot": True,
            "persona_id": speaker,
            "author_name": names.get(speaker, message.author_name),
        }
    )
