"""Trigger words: which personas a text names, and where (behaviour 5.1). Pure.

A word matches whatever its case; it stands alone, that is, no letter or digit of a script that
separates words adjoins it; each Latin letter may be drawn out ("Liiilja"). Scripts that do not put
spaces between words (Han, Kana, Thai, …) match anywhere. `<@id>` as a trigger matches the mention.
Called deliberately, a word has an `@` before it.

In: a server's personas with their words, main first, then oldest, and its base words. Out: a
`TriggerIndex`. Every word has one owner, the first persona that has it.

Most messages name nobody, so a text is searched in three steps, each for what the one before it has
left: for two pairs of letters of each word, for the word's bare letters, and by the word's pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー"
_BOUNDARY = rf"[\w--[{_UNSPACED}]]"
"""What must not adjoin a word: "novaさん" names Nova, "novation" does not."""
_AT = "[@\uff20]"
"""Also the full-width one that Japanese keyboards write."""

_UNSPACED_CHARACTER = regex.compile(rf"[{_UNSPACED}]", regex.V1)
_LATIN_LETTER = regex.compile(r"\p{Latin}")
_MENTION = regex.compile(r"<@!?(\d+)>")
_CUSTOM_EMOJI = regex.compile(r"<a?:\w+:\d+>")
_REPEATED = re.compile(r"(.)\1+")
_ONE_I = str.maketrans({"\u0131": "i", "\u0307": None})
"""Patterns take the dotless i, and the I with a dot, for an i."""

PATTERNS_KEPT = 20_000
"""Compiled when a text first has a word's letters; recompiling one costs a millisecond."""


@dataclass(frozen=True)
class PersonaTriggers:
    """A persona as the bot knows it: enough to decide whether a message names it."""

    persona_id: int
    is_main: bool
    words: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Named:
    """A persona that a text names."""

    persona_id: int
    at: int
    """Where its first word stands."""
    by_own_word: bool
    """One of its own words is there, not only a base word."""


@dataclass(frozen=True)
class _Word:
    word: str
    persona_id: int
    is_own: bool
    letters: str
    pairs: tuple[str, str]
    """Stand in each text that the word matches: where one run of a letter ends and the next one
    begins, the two adjoin, however drawn out they are."""

    @classmethod
    def of(cls, word: str, persona_id: int, is_own: bool) -> _Word:
        letters = letters_of(word)
        first, last = letters.split(" ")[0], letters.split(" ")[-1]
        return cls(word, persona_id, is_own, letters, (first[:2], last[-2:]))


Counts = Callable[[int], bool]
"""Whether a persona's words count without an `@` before them."""


class TriggerIndex:
    """The words of a server."""

    def __init__(
        self, personas: Sequence[PersonaTriggers] = (), base_words: Sequence[str] = ()
    ) -> None:
        """`personas`: main first, then oldest. `base_words` call the main one."""
        self._order = {persona.persona_id: place for place, persona in enumerate(personas)}
        owned: dict[str, _Word] = {}
        for persona in sorted(personas, key=lambda persona: not persona.is_main):
            given = [(word, True) for word in persona.words]
            if persona.is_main:
                given += [(word, False) for word in base_words]
            for word, is_own in given:
                trimmed = word.strip()
                if trimmed:
                    key = " ".join(trimmed.casefold().split())
                    owned.setdefault(key, _Word.of(trimmed, persona.persona_id, is_own))
        self._words = [(*word.pairs, word) for word in owned.values()]

    def named(self, content: str, plainly: Counts | None = None) -> list[Named]:
        """The personas that `content` names, by the place of their first word; ties keep the order
        of the personas. `plainly` None: every persona's words count as they are. The name of a
        custom emoji names nobody."""
        folded = _folded(content)
        likely = [word for one, other, word in self._words if one in folded and other in folded]
        if not likely:
            return []
        letters = _drawn_in(folded)
        candidates = [word for word in likely if word.letters in letters]
        if not candidates:
            return []
        text = _CUSTOM_EMOJI.sub(" ", content) if "<" in content else content
        found: dict[int, Named] = {}
        for word in candidates:
            deliberate = plainly is not None and not plainly(word.persona_id)
            match = trigger_pattern(word.word, deliberate).search(text)
            if match is None:
                continue
            before = found.get(word.persona_id)
            found[word.persona_id] = Named(
                word.persona_id,
                match.start() if before is None else min(before.at, match.start()),
                word.is_own or (before is not None and before.by_own_word),
            )
        return sorted(found.values(), key=lambda named: (named.at, self._order[named.persona_id]))


def letters_of(text: str) -> str:
    """`text` so that whatever matches a word's pattern has the word's own `letters_of` in it: in
    one case, each run of a character as one, each run of spaces as one space."""
    return _drawn_in(_folded(text))


def _folded(text: str) -> str:
    folded = text.casefold()
    return folded if folded.isascii() else folded.translate(_ONE_I)


def _drawn_in(folded: str) -> str:
    return _REPEATED.sub(r"\1", " ".join(folded.split()))


@lru_cache(maxsize=PATTERNS_KEPT)
def trigger_pattern(word: str, deliberate: bool = False) -> regex.Pattern[str]:
    """`deliberate`: with an `@` before it; a mention is always meant."""
    mention = _MENTION.fullmatch(word)
    if mention:
        return regex.compile(f"<@!?{mention[1]}>")
    if deliberate:  # a word may have been given with its sign
        word = word.lstrip("@\uff20") or word
    pattern = "".join(_run(character, len(list(run))) for character, run in groupby(word.lower()))
    if deliberate:
        pattern = rf"(?<!{_BOUNDARY}){_AT}{pattern}"
    elif not _UNSPACED_CHARACTER.match(word[0]):
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
