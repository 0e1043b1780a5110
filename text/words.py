"""The one form in which words are compared with what people write. Pure.

In: a word, or a message. Out: the same without case, ligatures undone, with one kind of i, of at
sign and of blank. Two texts in this form are compared character by character; nothing that compares
them has rules of its own for letters. Idempotent.
"""

from __future__ import annotations

import re
from itertools import compress
from operator import ne

_ONE_OF_A_KIND = str.maketrans({"\u0131": "i", "\uff20": "@"})
"""The dotless i, and the at sign that Japanese keyboards write."""
_DOTTED_I = re.compile("i\u0307+")
"""What the case of a capital one with a dot leaves."""


def folded(text: str) -> str:
    plain = " ".join(text.casefold().split())
    return plain if plain.isascii() else _DOTTED_I.sub("i", plain.translate(_ONE_OF_A_KIND))


def drawn_in(plain: str) -> str:
    """Folded text with each character once in a row."""
    # in a fifth of the time that an expression takes; each message that is heard comes here
    return plain[:1] + "".join(compress(plain[1:], map(ne, plain, plain[1:])))
