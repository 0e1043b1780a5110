"""The wishes that the demo model understands, each with the call of a tool that fulfils it. Pure.

In: what was said, without its author and without mentions; which tools may be called; the names of
the stickers there are. Out: a `Wish`, or None where nothing is asked for that it knows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from workflows.contracts.tools import CREATE_TASK, SELECT_STICKER

_DICE = re.compile(r"\b(\d*d\d+(?:\s?[+-]\s?\d+)?)\b", re.IGNORECASE)
"""Also absurd ones: what can be rolled is for the tool to say."""
_DICE_WISH = re.compile(r"\broll\b|\bdice\b|\bdie\b", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>()\"'`]+")

_MEMORY_WISH = re.compile(r"\bremember(?: that)?[:,]?\s+(.+)", re.IGNORECASE | re.DOTALL)
_MEMORY_QUESTION = re.compile(
    r"\b(?:what|anything|who)\b.*\byou\b.*\b(?:remember|know)\b|\bdo you\b.*\bremember\b",
    re.IGNORECASE,
)

_TIME = r"in (?P<count>\d{1,4}|an?|one) ?(?P<unit>minute|min|hour|day)s?"
_OF = r"(?:to|of|about|that)\b"
_REMINDER_WISHES = (
    re.compile(rf"\bremind me {_TIME}\b(?:,? {_OF})?(?P<purpose>.*)", re.IGNORECASE),
    re.compile(rf"\bremind me {_OF}(?P<purpose>.*?) {_TIME}\b", re.IGNORECASE),
)
_PLEASE = re.compile(r"[\s,]*\bplease\W*\Z", re.IGNORECASE)
_UNITS = {"minute": "minutes", "min": "minutes", "hour": "hours", "day": "days"}

_STICKER_WISH = re.compile(r"\bstickers?\b", re.IGNORECASE)
_STICKER_NAMES = (
    re.compile(r"\bsticker (?:called |named )?[\"“'](\w[\w ]{0,29})[\"”']", re.IGNORECASE),
    re.compile(r"\bsticker (?:called|named) (\w[\w]{0,29})", re.IGNORECASE),
    re.compile(r"[\"“'](\w[\w ]{0,29})[\"”'] sticker\b", re.IGNORECASE),
    re.compile(r"\bthe (\w{1,30}) sticker\b", re.IGNORECASE),
)
_ANY_STICKER = "wave"
"""Where no list of them is at hand; the tool knows which there are."""


@dataclass(frozen=True)
class Wish:
    words: str
    """Said before the call; may be empty."""
    call: tuple[str, dict[str, Any]]


def find_wish(said: str, tools: Collection[str], stickers: Sequence[str] = ()) -> Wish | None:
    for understand in (_link, _reminder, _memory, _sticker, _dice):
        wish = understand(said, stickers)
        if wish is not None and wish.call[0] in tools:
            return wish
    return None


def asks_for_memories(said: str) -> bool:
    return _MEMORY_QUESTION.search(said) is not None


def _link(said: str, _: Sequence[str]) -> Wish | None:
    found = _URL.search(said)
    if found is None:
        return None
    return Wish(
        "I am a demo model, but I can read that link for you.",
        ("fetch_url", {"url": found.group().rstrip(".,;:!?")}),
    )


def _dice(said: str, _: Sequence[str]) -> Wish | None:
    dice = _DICE.search(said)
    if dice is None and _DICE_WISH.search(said) is None:
        return None
    notation = "".join(dice.group(1).split()) if dice else "1d6"
    return Wish(
        "I am a demo model, but the dice are real. Rolling.", ("roll_dice", {"dice": notation})
    )


def _reminder(said: str, _: Sequence[str]) -> Wish | None:
    found = next((f for wish in _REMINDER_WISHES if (f := wish.search(said))), None)
    if found is None:
        return None
    count = int(found["count"]) if found["count"].isdecimal() else 1
    arguments = {
        "reminder_purpose": _PLEASE.sub("", found["purpose"]).strip(" .,!?") or "something",
        "repetition_interval_hours": 0,
        f"{_UNITS[found['unit'].lower()]}_from_now": count,
    }
    return Wish("I am a demo model, but the clock is real.", (CREATE_TASK, arguments))


def _memory(said: str, _: Sequence[str]) -> Wish | None:
    found = None if asks_for_memories(said) else _MEMORY_WISH.search(said)
    if found is None:
        return None
    fact = " ".join(found[1].split())[:200]
    return Wish(
        "I am a demo model, but this I can keep.",
        ("create_long_term_memory", {"memory_content": fact, "memory_scope": "target_user"}),
    )


def _sticker(said: str, stickers: Sequence[str]) -> Wish | None:
    if _STICKER_WISH.search(said) is None:
        return None
    asked = next((f[1].strip() for wish in _STICKER_NAMES if (f := wish.search(said))), None)
    name = _known_sticker(said, stickers) or asked or next(iter(stickers), _ANY_STICKER)
    return Wish("", (SELECT_STICKER, {"sticker_name": name}))


def _known_sticker(said: str, stickers: Sequence[str]) -> str | None:
    """The longest name of a sticker that stands in what was said, as whole words."""
    words = f" {_folded(said)} "
    named = [name for name in stickers if _folded(name) and f" {_folded(name)} " in words]
    return max(named, key=len, default=None)


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
