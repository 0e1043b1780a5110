"""Words that ask a persona to stop, as people say them (behaviour 2.4). Pure."""

from __future__ import annotations

import re
import unicodedata

_BOUNDED = (
    "wait",
    "stop",
    "enough",
    "chill",
    "halt",
    "pause",
    "quit",
    "nevermind",
    "never mind",
    "cut it out",
    "tone it down",
    "knock it off",
)
"""Whole words or phrases, anywhere in the message."""

_UNBOUNDED = (
    "okay stop",
    "okay enough",
    "that's enough",
    "that's good",
    "that's fine",
    "alright stop",
    "please stop",
)
_JAPANESE = (
    "やめて",
    "ストップ",
    "もういい",
    "十分",
    "もう十分",
    "いいよ",
    "もうやめて",
    "待って",
    "ちょっと待って",
)
"""Substrings: Japanese has no spaces between words."""

_WORDS = re.compile(rf"\b(?:{'|'.join(_BOUNDED)})\b".replace(" ", r"\s+"))

_SAYS_NOTHING = re.compile(r"<a?:\w+:\d+>|</[^<>]+:\d+>|\bhttps?://[^\s<>]+", re.IGNORECASE)
"""Names of custom emoji and of commands, and addresses."""
_ITALICS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
"""Underscores at the ends of words, where Discord reads them as marks."""


def asks_to_stop(text: str, *, as_shown: bool = False) -> bool:
    """Whether `text` holds one of the phrases, in whatever case, width and kind of apostrophe.
    `as_shown`: as Discord shows it, with marks, emoji and links; a channel that began before that
    was looked at goes on without."""
    if as_shown:
        text = _ITALICS.sub(" ", _SAYS_NOTHING.sub(" ", text))
    said = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    if any(phrase in said for phrase in _JAPANESE) or _WORDS.search(said):
        return True
    flat = " ".join(said.split())
    return any(phrase in flat for phrase in _UNBOUNDED)
