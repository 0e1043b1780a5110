"""Regular expressions that strangers type: which of them may be compiled at all. Pure.

In: the source of an expression. Out: the compiled pattern, or PatternRefused with a line for
whoever typed it. What always holds: a source is judged before the compiler sees it. Counted groups
are copied out when they are compiled, so that 40 characters can ask for all the memory there is,
and nothing can interrupt the compiler.

How long a pattern may search is the matter of who searches (`timeout=` of `search`).
"""

from __future__ import annotations

import re

import regex

MAX_LENGTH = 40
"""Characters of an expression."""

MAX_COPIES = 200
"""How often an expression may be copied out, as estimated: at 40 characters, some 1 MB and 0.1 s
at worst."""

_LONGEST_REASON = 100


class PatternRefused(ValueError):
    """Its text is one line."""


def compile_pattern(source: str) -> regex.Pattern[str]:
    """`source`, without case. Raises PatternRefused."""
    if len(source) > MAX_LENGTH:
        raise PatternRefused(f"it has more than {MAX_LENGTH} characters")
    if not is_affordable(source):
        raise PatternRefused(
            f"it repeats too much; its counts multiplied may be {MAX_COPIES} at most"
        )
    try:
        # Not the library's own cache: it keeps 500 of them, and the keeping is for the caller.
        return regex.compile(source, regex.IGNORECASE, cache_pattern=False)
    except Exception as error:  # the compiler has more ways to fail than it documents
        reason = " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__
        raise PatternRefused(f"it is not valid: {reason}") from None


_ESCAPED = re.compile(r"\\.", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*)(?:\}|$|(?=\{))")
_COUNT = re.compile(r"([0-9]{0,3})(,?)([0-9]{0,3})")
_NAME = re.compile(r"[A-Za-z_ =:^-]*")
_GROUP_REPEATED = re.compile(r"(?<![\w.\]])\+")
"""A `+` that does not stand right behind one character or class."""


def is_affordable(source: str) -> bool:
    """Whether compiling it makes no more than `MAX_COPIES` copies of any part. What cannot be told
    counts as not affordable."""
    plain = _ESCAPED.sub("x", source)
    # `(…)+` becomes `(…)(…)*`, and so does each one within it
    copies = 2 ** len(_GROUP_REPEATED.findall(plain))
    for inside in _BRACES.findall(plain):
        if _NAME.fullmatch(inside):
            continue  # a property, such as `\p{Lu}`, or plain braces
        count = _COUNT.fullmatch(inside)
        if count is None:
            return False
        least, comma, most = count.groups()
        copies *= max(int(least or 0) + bool(comma), int(most or 0), 1)
    return copies <= MAX_COPIES
