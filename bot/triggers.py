"""Trigger words: which personas a text names, and where (behaviour 5.1). Pure.

A word matches whatever its case; it stands alone, that is, no letter or digit of a script that
separates words adjoins it; each Latin letter may be drawn out ("Liiilja"). Scripts that do not put
spaces between words (Han, Kana, Thai, …) match anywhere. `<@id>` as a trigger matches the mention.
Called deliberately, a word has an `@` before it.

In: a server's personas with their words, main first, then oldest, and its base words. Out: a
`TriggerIndex`. Every word has one owner, the first persona that has it.

Texts and words are compared in their folded form (`text.words`), as runs: which character, and how
often in a row. A message looks up its own parts among those of the words, so that it costs the same
however many words a server has, and no message makes more than `MAX_TRIED` comparisons.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import add, ge, le

import regex

from text.words import drawn_in, folded

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー"
_LETTER = rf"[\w--[{_UNSPACED}]]"
"""What must not adjoin a word: "novaさん" names Nova, "novation" does not."""

_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]", regex.V1).match
_IS_LETTER = regex.compile(_LETTER, regex.V1).match
_LATIN = regex.compile(r"\p{Latin}")
_PARTS = regex.compile(rf"{_LETTER}+", regex.V1)
_ASCII_PARTS = re.compile(r"\w+", re.ASCII)  # the same, in a third of the time
_MENTION = re.compile(r"<@!?(\d+)>")
_CUSTOM_EMOJI = re.compile(r"<a?:\w+:\d+>")
_RUN = re.compile(r"(.)\1*")

_ANY_NUMBER = 1_000_000
"""More than a message has characters."""

MAX_TRIED = 4_000
"""Places at which words are tried in one message. One that names each of 1,600 words needs that
many; more than this takes words and a message that were made to cost time."""


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
    """Where its first word stands in the folded text."""
    by_own_word: bool
    """One of its own words is there, not only a base word."""


def _parts(drawn: str) -> list[str]:
    """What stands between blanks, signs and the characters of unspaced scripts."""
    return (_ASCII_PARTS if drawn.isascii() else _PARTS).findall(drawn)


class _Text:
    """A message, as words are looked for in it."""

    def __init__(self, plain: str, drawn: str) -> None:
        self.plain = plain
        self.drawn = drawn
        self.tries = MAX_TRIED

    @cached_property
    def starts(self) -> list[int]:
        """Of each run, and the end of the last."""
        return [0, *(run.end() for run in _RUN.finditer(self.plain))]

    @cached_property
    def lengths(self) -> list[int]:
        return [end - start for start, end in pairwise(self.starts)]


class _Form:
    """A word, as it stands in a text."""

    def __init__(self, plain: str) -> None:
        self._plain = plain
        self._drawn = drawn_in(plain)
        self._least = [len(run[0]) for run in _RUN.finditer(plain)]
        latin = {*_LATIN.findall(plain)}
        self._is_drawn_out = bool(latin)
        self._most = [
            _ANY_NUMBER if character in latin else length
            for character, length in zip(self._drawn, self._least, strict=True)
        ]
        # a sign may go on at an end of the word; a letter there would not let it stand alone
        for end in (0, -1):
            if not _IS_LETTER(self._drawn[end]):
                self._most[end] = _ANY_NUMBER
        self._begins_latin, self._ends_latin = plain[0] in latin, plain[-1] in latin
        self._begins_anywhere = _IS_UNSPACED(plain[0]) is not None
        self._ends_anywhere = _IS_UNSPACED(plain[-1]) is not None

    def place_in(self, text: _Text) -> int | None:
        """The first place where the word stands."""
        places = self._as_runs(text) if self._is_drawn_out else self._as_it_is(text)
        return next(
            (start for start, end in places if self._is_alone(text.plain, start, end)), None
        )

    def _as_it_is(self, text: _Text) -> Iterator[tuple[int, int]]:
        at = text.plain.find(self._plain)
        while at >= 0 and text.tries:
            text.tries -= 1
            yield at, at + len(self._plain)
            at = text.plain.find(self._plain, at + 1)

    def _as_runs(self, text: _Text) -> Iterator[tuple[int, int]]:
        at = text.drawn.find(self._drawn)
        while at >= 0 and text.tries:
            text.tries -= 1
            end = at + len(self._least)
            lengths = text.lengths[at:end]
            if all(map(ge, lengths, self._least)) and all(map(le, lengths, self._most)):
                first = text.starts[at + 1] - self._least[0]
                last = text.starts[end - 1] + self._least[-1]
                yield (
                    text.starts[at] if self._begins_latin else first,
                    text.starts[end] if self._ends_latin else last,
                )
            at = text.drawn.find(self._drawn, at + 1)

    def _is_alone(self, plain: str, start: int, end: int) -> bool:
        return (self._begins_anywhere or start == 0 or not _IS_LETTER(plain[start - 1])) and (
            self._ends_anywhere or end == len(plain) or not _IS_LETTER(plain[end])
        )


class _Word:
    def __init__(self, plain: str, persona_id: int, is_own: bool) -> None:
        self.persona_id = persona_id
        self.is_own = is_own
        self._plain = plain
        self._bare = plain.lstrip("@") or plain  # a word may have been given with its sign
        self.part = max(_parts(drawn_in(self._bare)), key=len, default=None)
        """Stands, as a part, in every text that the word stands in."""
        self.beginning = self._bare[:2]

    @cached_property
    def as_given(self) -> _Form:
        return _Form(self._plain)

    @cached_property
    def called(self) -> _Form:
        return _Form(f"@{self._bare}")


Counts = Callable[[int], bool]
"""Whether a persona's words count without an `@` before them."""


class TriggerIndex:
    """The words of a server."""

    def __init__(
        self, personas: Sequence[PersonaTriggers] = (), base_words: Sequence[str] = ()
    ) -> None:
        """`personas`: main first, then oldest. `base_words` call the main one."""
        self._order = {persona.persona_id: place for place, persona in enumerate(personas)}
        self._mentions: dict[str, _Word] = {}
        self._by_part: defaultdict[str, list[_Word]] = defaultdict(list)
        self._by_beginning: defaultdict[str, list[_Word]] = defaultdict(list)
        """Of words that have no parts: in unspaced scripts, or of signs alone."""
        self._has_signs = False
        """Some of those are in ASCII."""
        owned: set[str] = set()
        for persona in sorted(personas, key=lambda persona: not persona.is_main):
            given = [(word, True) for word in persona.words]
            if persona.is_main:
                given += [(word, False) for word in base_words]
            for word, is_own in given:
                plain = folded(word)
                if plain and plain not in owned:
                    owned.add(plain)
                    self._add(plain, _Word(plain, persona.persona_id, is_own))

    def _add(self, plain: str, word: _Word) -> None:
        mention = _MENTION.fullmatch(plain)
        if mention is not None:
            self._mentions.setdefault(mention[1], word)
        elif word.part is not None:
            self._by_part[word.part].append(word)
        else:
            self._by_beginning[word.beginning].append(word)
            self._has_signs |= word.beginning.isascii()

    def named(self, content: str, plainly: Counts | None = None) -> list[Named]:
        """The personas that `content` names, by the place of their first word; ties keep the order
        of the personas. `plainly` None: every persona's words count as they are. The name of a
        custom emoji names nobody."""
        plain = folded(_CUSTOM_EMOJI.sub(" ", content) if "<" in content else content)
        places = [*self._mentioned(plain), *self._worded(plain, plainly)]
        if not places:
            return []
        found: dict[int, Named] = {}
        for word, at in places:
            before = found.get(word.persona_id)
            found[word.persona_id] = Named(
                word.persona_id,
                at if before is None else min(before.at, at),
                word.is_own or (before is not None and before.by_own_word),
            )
        return sorted(found.values(), key=lambda named: (named.at, self._order[named.persona_id]))

    def _mentioned(self, plain: str) -> list[tuple[_Word, int]]:
        """A mention is always meant."""
        if not self._mentions or "<@" not in plain:
            return []
        found = [(match[1], match.start()) for match in _MENTION.finditer(plain)]
        return [(self._mentions[who], at) for who, at in found if who in self._mentions]

    def _worded(self, plain: str, plainly: Counts | None) -> list[tuple[_Word, int]]:
        drawn = drawn_in(plain)
        candidates = self._candidates(plain, drawn)
        if not candidates:
            return []
        text = _Text(plain, drawn)
        found: list[tuple[_Word, int]] = []
        for word in candidates:
            deliberate = plainly is not None and not plainly(word.persona_id)
            at = (word.called if deliberate else word.as_given).place_in(text)
            if at is not None:
                found.append((word, at))
        return found

    def _candidates(self, plain: str, drawn: str) -> list[_Word]:
        """The words that a text may hold: those that share a part with it, or a beginning."""
        found: list[_Word] = []
        for part in dict.fromkeys([part for part in _parts(drawn) if part in self._by_part]):
            found += self._by_part[part]
        if self._by_beginning and (self._has_signs or not drawn.isascii()):
            # each character, and each two that adjoin
            for beginning in dict.fromkeys((*plain, *map(add, plain, plain[1:]))):
                if beginning in self._by_beginning:
                    found += self._by_beginning[beginning]
        return found
