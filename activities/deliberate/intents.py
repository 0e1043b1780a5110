"""What a text asks for (behaviour 8, rule 2).

In: a text that was read. Out: the targets it asks for, each with the words that say so, and
whether a page is to be read. What always holds: every language is checked, whatever the server's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from activities.deliberate.matching import PhraseBook, Reading
from activities.deliberate.packs import PACKS
from activities.deliberate.targets import Target
from workflows.contracts.history import HistoryMessage

EARLIER_TEXT = 1000
"""Code points of an earlier message that are looked at: a turn reads up to 18 of them."""


@dataclass(frozen=True)
class Intents:
    targets: Mapping[str, str]
    """Of each `Target`, the words that ask for it."""
    page_reading: str | None = None
    """The words that ask to read pages of the web, without searching it."""

    def __bool__(self) -> bool:
        return bool(self.targets) or self.page_reading is not None


class _Wish(StrEnum):
    SELF_DIAGNOSIS = "self-diagnosis"
    READ_LINK = "read-link"


_SAYINGS = PhraseBook(("saying", saying) for pack in PACKS for saying in pack.sayings)
_MEMORY = PhraseBook((Target.MEMORY, phrase) for pack in PACKS for phrase in pack.memory)
_INTENTS: PhraseBook[Target | _Wish] = PhraseBook(
    [
        *((Target.MEMORY, phrase) for pack in PACKS for phrase in pack.memory),
        *(
            (target, phrase)
            for pack in PACKS
            for target, phrases in pack.intents.items()
            for phrase in phrases
        ),
        *((_Wish.SELF_DIAGNOSIS, phrase) for pack in PACKS for phrase in pack.self_diagnosis),
        *((_Wish.READ_LINK, phrase) for pack in PACKS for phrase in pack.link_requests),
    ]
)


def intents_of(reading: Reading) -> Intents:
    found = _INTENTS.find(_SAYINGS.removed_from(reading))
    targets: dict[str, str] = {target: found[target] for target in Target if target in found}
    page_reading = None
    if reading.has_link:
        page_reading = found.get(_Wish.READ_LINK)
    if diagnosis := found.get(_Wish.SELF_DIAGNOSIS):
        # A persona that is asked what is wrong with it reports on itself, and may look things up
        # in its documentation.
        targets.setdefault(Target.CAPABILITIES, diagnosis)
        page_reading = page_reading or diagnosis
    return Intents(targets, page_reading)


def intents_of_earlier(message: HistoryMessage) -> Intents:
    """What a message before the trigger asked for."""
    return intents_of(Reading(message.content[:EARLIER_TEXT]))


def is_memory_intent(text: str) -> bool:
    """Whether `text` asks in words to remember something for good (behaviour 7.1)."""
    return bool(_MEMORY.find(_SAYINGS.removed_from(Reading(text))))
