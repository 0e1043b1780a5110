"""What of a text can be seen. Pure.

For names that others give (of threads, of members): one that shows nothing names nobody, and two
that look the same should be the same. Code points that Unicode shows as nothing by default, private
ones, controls and glyphs that are drawn blank cannot be seen; a mark alone stands on nothing.
"""

from __future__ import annotations

import regex

_BLANK_GLYPHS = "\u2800\ufffc\U00013441\U00013442\U00016fe4\U0001d159"
"""Assigned and drawn, as nothing: the empty braille cell, the place of an object, blanks of
hieroglyphs and of Khitan, the null notehead. (Hangul fillers are ignorable by default.)"""

_HIDDEN = (
    rf"\p{{Default_Ignorable_Code_Point}}\p{{Cc}}\p{{Cs}}\p{{Co}}\p{{Noncharacter_Code_Point}}"
    rf"\ufff9-\ufffb{_BLANK_GLYPHS}"
)

_SEEN = regex.compile(rf"[^{_HIDDEN}\p{{Z}}\s\p{{M}}]")

_JOINED_SCRIPTS = r"""[[\p{L}\p{M}]--[\p{Inherited}\p{Common}\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}
    \p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Hebrew}\p{Armenian}\p{Georgian}]]"""

_PICTOGRAPH = r"\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?"

_HIDDEN_OR_NEEDED = regex.compile(
    rf"""
      (?P<needed>                                      # in turn: a flag of a region, a keycap,
                                                       # pictographs, the other form of a sign
        \U0001f3f4 [\U000e0030-\U000e0039\U000e0061-\U000e007a]{{1,6}} \U000e007f
      | [0-9#*] \ufe0f? \u20e3
      | {_PICTOGRAPH} (?: \u200d {_PICTOGRAPH} )*+
      | \p{{Han}} [\ufe00-\ufe02\U000e0100-\U000e01ef]
      | \p{{Mongolian}} [\u180b-\u180d\u180f]
      | (?<= {_JOINED_SCRIPTS} ) [\u200c\u200d] (?= {_JOINED_SCRIPTS} )
      )
    | [{_HIDDEN}--\s]
    """,
    regex.VERBOSE | regex.VERSION1,
)


def has_visible(text: str) -> bool:
    """Whether anything of `text` can be seen."""
    return _SEEN.search(text) is not None


def strip_invisible(text: str) -> str:
    """`text` without what cannot be seen. Blanks stay, line breaks among them, and so do joiners
    and selectors where writing needs them: in emoji, in Arabic and Indic scripts. Idempotent."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_OR_NEEDED.sub(lambda match: match["needed"] or "", text)
