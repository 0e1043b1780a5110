"""Wording such as "do that again", and what it refers to (behaviour 8, rule 3).

In: the text of a turn and the messages before it. Out: the intents that the text takes up again,
and the words that do so; None where it does not, or where nothing is left to refer to. What always
holds: of several things it could refer to, the newest counts alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from activities.deliberate.intents import Intents, intents_of_earlier
from activities.deliberate.matching import LINK, USER, PhraseBook, Reading
from activities.deliberate.media import MediaKind, kinds_of_files
from activities.deliberate.packs import PACKS
from activities.deliberate.targets import Target
from workflows.contracts.history import HistoryMessage

EVIDENCE_MESSAGES = 8
"""How far back the thing it refers to may be."""

BRIEF_WORDS = 3
BRIEF_CHARACTERS = 12
"""A message of at most so many words, or characters where words have no spaces, is brief."""

_FOLLOW_UPS = PhraseBook(("follow-up", phrase) for pack in PACKS for phrase in pack.follow_up)
_BRIEF = PhraseBook(("follow-up", phrase) for pack in PACKS for phrase in pack.brief_follow_up)
_WORD = re.compile(r"[^\W\d]+")

_MADE_BY_A_PERSONA = {
    MediaKind.AUDIO: Target.VOICE,
    MediaKind.IMAGE: Target.IMAGE,
    MediaKind.GIF: Target.IMAGE,
    MediaKind.VIDEO: Target.VIDEO,
}


def follow_up(reading: Reading, earlier: Sequence[HistoryMessage]) -> Intents | None:
    """`earlier`: the messages before the trigger, oldest first. The words of every target are
    those of `reading` that refer back."""
    words = _wording(reading)
    if words is None:
        return None
    for message in reversed(earlier[-EVIDENCE_MESSAGES:]):
        if evidence := _evidence(message):
            return Intents(
                dict.fromkeys(evidence.targets, words),
                words if evidence.page_reading is not None else None,
            )
    return None


def _wording(reading: Reading) -> str | None:
    found = _FOLLOW_UPS.find(reading)
    if not found and _is_brief(reading):
        found = _BRIEF.find(reading)
    return found.get("follow-up")


def _is_brief(reading: Reading) -> bool:
    text = reading.worded.replace(USER, "").replace(LINK, "")
    if reading.is_unspaced:
        return len(text) <= BRIEF_CHARACTERS
    return len(_WORD.findall(text)) <= BRIEF_WORDS


def _evidence(message: HistoryMessage) -> Intents | None:
    """What was asked for, or made, in one message."""
    if message.is_self:
        made: dict[str, str] = {}
        for kind in kinds_of_files(message):
            if (target := _MADE_BY_A_PERSONA.get(kind)) is not None:
                made[target] = ""
        return Intents(made) if made else None
    if message.is_bot:
        return None
    return intents_of_earlier(message) or None
