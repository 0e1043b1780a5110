"""What a file is, told by its first bytes. Pure.

The name and the type that came with a file are its sender's words, so neither is asked.
"""

from __future__ import annotations

import re
from enum import StrEnum

from activities.tools.documents.unreadable import Unreadable


class Kind(StrEnum):
    PDF = "pdf"
    TEXT = "text"


_PDF_WITHIN = 1024
"""Readers of PDF look for the mark this far into a file."""
_LOOKED_AT = 64 * 1024
_MOST_CONTROLS = 0.02
"""Share of control characters above which bytes are no text; compressed data has a tenth."""

_MARKS_OF_TEXT = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks; UTF-16 holds bytes that would otherwise tell against text."""

_SIGNATURES = (
    (
        re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|BM....\x00\x00\x00\x00|II\*\x00|MM\x00\*"),
        "an image",
    ),
    (re.compile(rb"RIFF....WEBP|....ftypavif|....ftypheic", re.S), "an image"),
    (re.compile(rb"....ftyp|\x1aE\xdf\xa3|RIFF....AVI ", re.S), "a video"),
    (re.compile(rb"ID3|OggS|fLaC|RIFF....WAVE", re.S), "audio"),
    (re.compile(rb"PK\x03\x04|PK\x05\x06"), "a ZIP archive or an office document"),
    (re.compile(rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|\x28\xb5\x2f\xfd"), "an archive"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an old office document"),
    (re.compile(rb"\x7fELF|MZ.{2,64}\x00\x00"), "a program"),
)

_CONTROLS = re.compile(rb"[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f]")
"""Without those that text uses: backspace to carriage return, and escape (ISO 2022)."""


def kind_of(data: bytes) -> Kind:
    """Raises Unreadable for what is neither, naming it where it is known."""
    if not data:
        raise Unreadable("The file is empty.")
    if b"%PDF-" in data[:_PDF_WITHIN]:
        return Kind.PDF
    if data.startswith(_MARKS_OF_TEXT) or not _looks_binary(data[:_LOOKED_AT]):
        return Kind.TEXT
    for signature, name in _SIGNATURES:
        if signature.match(data):
            raise Unreadable(f"The file is {name}; only text and PDF can be read.")
    raise Unreadable("The file holds no text; only text and PDF can be read.")


def _looks_binary(head: bytes) -> bool:
    return b"\x00" in head or len(_CONTROLS.findall(head)) > len(head) * _MOST_CONTROLS
