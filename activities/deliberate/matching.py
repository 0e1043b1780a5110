"""What a word in a text is. Everything here compares normalised text with normalised text.

Two forms of a text are used. `Reading.text` is what a server's own triggers are compared with:
NFKC, lower case, one space between words. `Reading.plain` is what built-in phrases are compared
with: the same without apostrophes, Latin accents and Markdown, with a word of our own where an
address or a mention stood, so that phrases need not be written in every spelling of them.

A phrase of a language pack is words with a little notation:

    remind me          these words, next to each other
    schedul*           a word that begins so
    (make|create) a    one of these; `(me|us|)`: or none
    pin … message      up to `GAP` characters of the same sentence between them
    in # minutes       a number

In scripts written without spaces a phrase is found anywhere, and may have `…` and `(a|b)` too.
A phrase is looked at only when a text has all its words, which makes hundreds of them cheap.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Generic, TypeVar

MAX_TEXT = 4000
"""Code points of a text that are looked at: as much as Discord delivers in one message."""

GAP = 30
"""Characters that `…` stands for at most: further apart, two words are no phrase any more."""

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff"  # Hangul, whose particles join the word
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u3190-\u31bf\u31f0-\u31ff"  # kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Scripts in which a word has no visible border: characters, as the inside of a class."""

LINK = "@link"
USER = "@user"
CHANNEL = "@channel"
"""What stands in `Reading.plain` for an address and for mentions."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")
_WORD = re.compile(r"[^\W\d]+|\d+")

_ADDRESS = re.compile(r"(?:https?://|\bwww\.)[^\s<>]+")
_MENTION = re.compile(r"<@[!&]?[0-9]{1,20}>")
_CHANNEL_MENTION = re.compile(r"<#[0-9]{1,20}>")
_OTHER_MARKUP = re.compile(r"<(?:a?:\w{1,32}|t|/[^<>:]{1,100}|id):[^<>:]{1,40}(?::[a-z])?>")
_APOSTROPHES = re.compile("['\u2018\u2019\u02bc`\u00b4]")
_JOINERS = re.compile(r"[-‐‑–—_/*~|\"“”«»]+")
_LATIN_ACCENTS = re.compile("[\u0300-\u036f]")
_BORDER = re.compile(f"(?<=[{UNSPACED}])(?=[^\\W{UNSPACED}])|(?<=[^\\W{UNSPACED}])(?=[{UNSPACED}])")
_SPACE_IN_UNSPACED = re.compile(f"(?<=[{UNSPACED}]) (?=[{UNSPACED}])")


def normalise(text: str) -> str:
    """NFKC, lower case, one space between words; of a longer text its first `MAX_TEXT`."""
    text = unicodedata.normalize("NFKC", text[:MAX_TEXT]).lower()[:MAX_TEXT]
    return " ".join(_INVISIBLE.sub("", text).split())


def _plain(text: str) -> str:
    text = _APOSTROPHES.sub("", text)
    text = _JOINERS.sub(" ", text)
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
        text = unicodedata.normalize("NFC", _LATIN_ACCENTS.sub("", text))
    text = " ".join(text.split())
    return _SPACE_IN_UNSPACED.sub("", text)


class Reading:
    """One text, in the forms it is compared in; with `plain`, of which something was taken out."""

    def __init__(self, text: str, plain: str | None = None) -> None:
        self.text = normalise(text)
        self._plain_before = plain

    @cached_property
    def plain(self) -> str:
        if self._plain_before is not None:
            return self._plain_before
        text = self.text
        if "://" in text or "www." in text:
            text = _ADDRESS.sub(f" {LINK} ", text)
        if "<" in text:
            text = _MENTION.sub(f" {USER} ", text)
            text = _CHANNEL_MENTION.sub(f" {CHANNEL} ", text)
            text = _OTHER_MARKUP.sub(" ", text)
        return _plain(text)

    @cached_property
    def worded(self) -> str:
        """The plain text with a space wherever a word of a spaced script touches another one."""
        return _BORDER.sub(" ", self.plain) if self.is_unspaced else self.plain

    @cached_property
    def has_link(self) -> bool:
        return LINK in self.plain

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.worded))

    @cached_property
    def is_unspaced(self) -> bool:
        return _UNSPACED.search(self.plain) is not None


def is_punctuated(phrase: str) -> bool:
    return any(not (char.isalnum() or char.isspace() or _is_mark(char)) for char in phrase)


def is_unspaced(phrase: str) -> bool:
    """Whether it has characters of a script that is written without spaces."""
    return _UNSPACED.search(phrase) is not None


def contains_words(text: str, words: str, *, stem: bool = False) -> bool:
    """Whether `words` stand in `text` (both normalised) from border to border; of a `stem` only
    the beginning has to be the beginning of a word."""
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        if not (start and _is_inside_word(text[start - 1])) and (
            stem or end == len(text) or not _is_inside_word(text[end])
        ):
            return True
        start = text.find(words, start + 1)
    return False


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _is_inside_word(char: str) -> bool:
    return (char.isalnum() or char == "_" or _is_mark(char)) and not _UNSPACED.match(char)


Label = TypeVar("Label", bound=Hashable)


class _Phrase(Generic[Label]):
    def __init__(self, label: Label, source: str) -> None:
        self.label = label
        self.is_unspaced = is_unspaced(source)
        self.pattern = compile_phrase(source)
        self.needs = _needs(source)

    def search(self, reading: Reading) -> re.Match[str] | None:
        for words in self.needs:
            if not (
                any(word in reading.plain for word in words)
                if self.is_unspaced
                else any(word in reading.words for word in words)
            ):
                return None
        return self.pattern.search(self.text_of(reading))

    def text_of(self, reading: Reading) -> str:
        return reading.plain if self.is_unspaced else reading.worded


class PhraseBook(Generic[Label]):
    """Phrases, each with a label, to be found in a text all at once. Compiled when it is made."""

    def __init__(self, phrases: Iterable[tuple[Label, str]]) -> None:
        self._phrases = [_Phrase(label, source) for label, source in phrases]
        self._unspaced = [n for n, phrase in enumerate(self._phrases) if phrase.is_unspaced]
        self._by_word: dict[str, list[int]] = {}
        for number, phrase in enumerate(self._phrases):
            if not phrase.is_unspaced:
                for word in phrase.needs[0]:
                    self._by_word.setdefault(word, []).append(number)

    def find(self, reading: Reading) -> dict[Label, str]:
        """The labels of which a phrase is there, with the words of the first one that is."""
        found: dict[Label, str] = {}
        for phrase in self._candidates(reading):
            if phrase.label not in found and (match := phrase.search(reading)):
                found[phrase.label] = match.group()
        return found

    def removed_from(self, reading: Reading) -> Reading:
        """The same text with the end of a sentence where a phrase was."""
        for phrase in self._candidates(reading):
            if phrase.search(reading):
                reading = Reading("", phrase.pattern.sub(".", phrase.text_of(reading)))
        return reading

    def _candidates(self, reading: Reading) -> list[_Phrase[Label]]:
        numbers: set[int] = set()
        for word in reading.words:
            numbers.update(self._by_word.get(word, ()))
        if reading.is_unspaced:
            numbers.update(self._unspaced)
        return [self._phrases[number] for number in sorted(numbers)]


_SENTENCE = "[^.!?。！？]"
_SPACED_TOKEN = re.compile(r"\([^()]*\)|[^ ()]+")
_UNSPACED_TOKEN = re.compile(r"\([^()]*\)|…|[^()…]+")


def compile_phrase(source: str) -> re.Pattern[str]:
    """The pattern of one phrase. Raises ValueError where the notation is used wrongly."""
    if is_unspaced(source):
        return re.compile("".join(_unspaced_part(t) for t in _UNSPACED_TOKEN.findall(source)))
    tokens = _SPACED_TOKEN.findall(source)
    if not tokens or any(t == "…" or _is_optional(t) for t in (tokens[0], tokens[-1])):
        raise ValueError(f"{source!r} must begin and end with words")
    pattern = r"(?<!\w)"
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token == "…":
            pattern += rf"(?:{_SENTENCE}{{0,{GAP}}}? )??"
        elif token == "#":
            pattern += r"[0-9]{1,4} ?"
        elif _is_optional(token):
            pattern += f"(?:{_alternatives(token)} )?"
        else:
            pattern += _alternatives(token) + (" " if following else "")
    return re.compile(pattern + r"(?!\w)")


def _unspaced_part(token: str) -> str:
    if token == "…":
        return f"{_SENTENCE}{{0,{GAP}}}?"
    return f"(?:{_alternatives(token)})?" if _is_optional(token) else _alternatives(token)


def _choices(token: str) -> list[str]:
    return token[1:-1].split("|") if token.startswith("(") else [token]


def _is_optional(token: str) -> bool:
    return token.startswith("(") and "" in _choices(token)


def _alternatives(token: str) -> str:
    parts = [
        r"\w*".join(re.escape(piece) for piece in _plain_phrase(choice).split("*"))
        for choice in _choices(token)
        if choice
    ]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def _plain_phrase(words: str) -> str:
    """Like the text it will be found in, with `*` kept."""
    return "*".join(_plain(normalise(piece)) for piece in words.split("*"))


def _needs(source: str) -> list[frozenset[str]]:
    """Sets of words, of each of which a text that has the phrase has at least one; the smallest
    set first. Raises ValueError for a phrase of stems alone."""
    spaced = not is_unspaced(source)
    needs: list[frozenset[str]] = []
    for token in (_SPACED_TOKEN if spaced else _UNSPACED_TOKEN).findall(source):
        if token in ("…", "#") or "*" in token or _is_optional(token):
            continue
        choices = [_plain_phrase(choice) for choice in _choices(token)]
        if spaced:
            choices = [max(_WORD.findall(choice), key=len, default="") for choice in choices]
        if all(choices):
            needs.append(frozenset(choices))
    if not needs:
        raise ValueError(f"{source!r} has no whole word")
    return sorted(needs, key=len)
