"""Triggers that a server has set, or that a tool brings along (behaviour 8, rule 1).

In: a trigger as it was typed, and the text of a turn. Out: whether it is there. A trigger is

    pizza night     these words, from border to border
    pizz*           words that begin so
    c++, 天気       punctuated, or without spaces between words: anywhere
    ^               in every turn
    /pizz[ae]s?/    a regular expression, without case

What always holds: nothing that a server types takes longer than `TURN_TIME` in a turn, all of its
expressions together; one that is invalid, too long or too slow is as if it were not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from time import perf_counter

import regex

from activities.deliberate.matching import (
    Reading,
    contains_words,
    is_punctuated,
    is_unspaced,
    normalise,
)
from text.patterns import PatternRefused, compile_pattern

MAX_TRIGGERS = 16
"""Of one target, or of one tool."""
MAX_LENGTH = 40
"""Characters of one trigger."""

ALWAYS = "^"
EXPRESSION_TIME = 0.025
"""Seconds that one expression may search a text; a sane one needs a thousandth of it."""
TURN_TIME = 0.1
"""Seconds that all expressions of a turn may search."""


class Triggers:
    """Looks for triggers in the text of one turn, and keeps account of the time it takes."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._time_left = TURN_TIME

    def first(self, triggers: Iterable[str]) -> str | None:
        """The first of them that is in the text, as it was typed."""
        for count, trigger in enumerate(triggers):
            if count == MAX_TRIGGERS:
                break
            if len(trigger) <= MAX_LENGTH and self._matches(trigger.strip()):
                return trigger.strip()
        return None

    def _matches(self, trigger: str) -> bool:
        if trigger == ALWAYS:
            return True
        if len(trigger) > 2 and trigger.startswith("/") and trigger.endswith("/"):
            return self._expression_matches(trigger[1:-1])
        stem = trigger.endswith("*")
        words = normalise(trigger.removesuffix("*"))
        if not words:
            return False
        if is_unspaced(words) or is_punctuated(words):
            return words in self._reading.text
        return contains_words(self._reading.text, words, stem=stem)

    def _expression_matches(self, source: str) -> bool:
        if self._time_left <= 0:
            return False
        began = perf_counter()
        try:
            pattern = _compiled(source)
            return pattern is not None and bool(
                pattern.search(self._reading.text, timeout=min(EXPRESSION_TIME, self._time_left))
            )
        except (TimeoutError, MemoryError, RecursionError, regex.error):
            return False
        finally:
            self._time_left -= perf_counter() - began


@lru_cache(maxsize=128)
def _compiled(source: str) -> regex.Pattern[str] | None:
    """None: not a regular expression, or not one that can be afforded."""
    try:
        return compile_pattern(source)
    except PatternRefused:
        return None
