"""Which pages hold text, and from the bytes of a page to its characters.

To decode 2 MB takes up to 0.3 s of plain computing: call it in a thread.
"""

from __future__ import annotations

import codecs
import re

import charset_normalizer

HTML = frozenset({"text/html", "application/xhtml+xml"})
PLAIN = frozenset({"text/plain", "application/json", "text/xml", "application/xml"})
_PLAIN_SUFFIXES = ("+json", "+xml")

_BYTE_ORDER_MARKS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]

_META_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.I
)
_META_WITHIN = 1024
"""HTML's rule: the declaration stands within the first 1024 bytes."""

_GUESS_FROM = 64 * 1024
"""Bytes from which an undeclared charset is guessed."""

_PIECE = 64 * 1024
"""Bytes that are decoded in one call. It holds Python's lock all the time: 2 MB of broken UTF-16
took 0.3 s."""

_CHARSETS = re.compile(
    r"utf-(8|16|16-le|16-be)|ascii|iso8859-\d+|cp(125[0-8]|866|874|932|949|950)|koi8-[ru]|"
    r"shift_jis|euc_(jp|kr)|iso2022_jp|gb2312|gbk|gb18030|big5|mac-(roman|cyrillic)"
)
"""Python's names of the charsets that the web uses. A header must not choose freely: `punycode`
takes quadratic time, `unicode_escape` means something else altogether."""


def is_readable(media_type: str) -> bool:
    """Whether `media_type` (lower-case, without parameters) is one whose text we can give."""
    if media_type in HTML or media_type in PLAIN:
        return True
    return media_type.startswith("application/") and media_type.endswith(_PLAIN_SUFFIXES)


def decode(data: bytes, charset: str | None) -> str:
    """Text of `data`: by byte order mark, header, HTML declaration, UTF-8, or a guess.

    Never fails: bytes that do not fit become U+FFFD. A character cut off at the end is left out.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], name, "replace")
    declared = _known(charset) or _known(_meta_charset(data))
    if declared is not None:
        return _decode(data, declared, "replace")
    try:
        return _decode(data, "utf-8", "strict")
    except UnicodeDecodeError:
        guess = charset_normalizer.from_bytes(data[:_GUESS_FROM]).best()
        return _decode(data, _known(guess.encoding if guess else None) or "cp1252", "replace")


def _decode(data: bytes, charset: str, errors: str) -> str:
    decoder = codecs.getincrementaldecoder(charset)(errors)
    return "".join(
        decoder.decode(data[start : start + _PIECE]) for start in range(0, len(data), _PIECE)
    )


def _meta_charset(data: bytes) -> str | None:
    found = _META_CHARSET.search(data[:_META_WITHIN])
    return found.group(1).decode("ascii") if found else None


def _known(charset: str | None) -> str | None:
    if not charset:
        return None
    try:
        name = codecs.lookup(charset.strip()).name
    except (LookupError, ValueError, UnicodeError):
        return None
    return name if _CHARSETS.fullmatch(name) else None
