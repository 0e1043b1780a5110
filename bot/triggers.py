"""Trigger words: which personas a text names, and where (behaviour 5.1). Pure.

A word matches whatever its case; it stands alone, that is, no letter or digit of a script that
separates words adjoins it; each Latin letter may be drawn out ("Liiilja"). Scripts that do not put
spaces between words (Han, Kana, Thai, …) match anywhere. `<@id>` as a trigger matches the mention.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー"
_BOUNDARY = rf"[\w--[{_UNSPACED}]]"
"""What must not adjoin a word: "novaさん" names Nova, "novation" does not."""

_UNSPACED_CHARACTER = regex.compile(rf"[{_UNSPACED}]")
_LATIN_LETTER = regex.compile(r"\p{Latin}")
_MENTION = regex.compile(r"<@!?(\d+)>")
_CUSTOM_EMOJI = regex.compile(r"<a?:\w+:\d+>")


@dataclass(frozen=True)
class PersonaTriggers:
    """A persona as the bot knows it: enough to decide whether a message names it."""

    persona_id: int
    is_main: bool
    patterns: tuple[regex.Pattern[str], ...]


def persona_triggers(persona_id: int, is_main: bool, words: Iterable[str]) -> PersonaTriggers:
    """Compile a persona's words (its name and its triggers); blank ones are left out."""
    distinct = dict.fromkeys(word.strip() for word in words if word.strip())
    return PersonaTriggers(persona_id, is_main, tuple(trigger_pattern(word) for word in distinct))


def trigger_pattern(word: str) -> regex.Pattern[str]:
    mention = _MENTION.fullmatch(word)
    if mention:
        return regex.compile(f"<@!?{mention[1]}>")
    pattern = "".join(_run(character, len(list(run))) for character, run in groupby(word.lower()))
    if not _UNSPACED_CHARACTER.match(word[0]):
        pattern = rf"(?<!{_BOUNDARY}){pattern}"
    if not _UNSPACED_CHARACTER.match(word[-1]):
        pattern = rf"{pattern}(?!{_BOUNDARY})"
    return regex.compile(pattern, regex.IGNORECASE | regex.V1)


def _run(character: str, length: int) -> str:
    # A run of one letter is one bounded repeat, never `a+a+`, which takes polynomial time to fail.
    if character.isspace():
        return r"\s+"
    least = f"{{{length},}}" if _LATIN_LETTER.match(character) else f"{{{length}}}"
    return regex.escape(character, literal_spaces=True) + least


def named_personas(content: str, personas: Iterable[PersonaTriggers]) -> list[PersonaTriggers]:
    """The personas that `content` names, by the position of their first trigger; ties keep the
    order of `personas`. The name of a custom emoji names nobody."""
    text = _CUSTOM_EMOJI.sub(" ", content)
    found: list[tuple[int, PersonaTriggers]] = []
    for persona in personas:
        starts = [match.start() for p in persona.patterns if (match := p.search(text))]
        if starts:
            found.append((min(starts), persona))
    return [persona for _, persona in sorted(found, key=lambda pair: pair[0])]
