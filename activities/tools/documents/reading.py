"""One document, whichever kind it is: the entry of this package."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass

from activities.tools.documents.kinds import Kind, kind_of
from activities.tools.documents.pdf import read_pdf
from activities.tools.documents.unreadable import Unreadable
from activities.tools.page_text import decode

MAX_FILE = 10_000_000
"""Bytes of a file that is read."""
MAX_TEXT = 400_000
"""Code points of its text that are given back."""

_BYTES_A_CHARACTER = 4
"""At most, in the encodings that `decode` knows."""
_MOST_LOST = 0.1
"""Share of characters that may be missing or control characters before text is none."""


@dataclass(frozen=True)
class DocumentText:
    text: str
    """Of a PDF, with a line `[page N]` before each page."""
    pages: int | None = None
    """How many a PDF has."""
    truncated: bool = False
    """Part of the document is missing at the end."""


async def read_document(data: bytes, threads: Executor) -> DocumentText:
    """The text of `data`. Raises Unreadable. May be cancelled at any time; `threads` decode text,
    which takes half a second at most."""
    if kind_of(data) is Kind.TEXT:
        return await asyncio.get_running_loop().run_in_executor(threads, _read_text, data)
    pdf = await read_pdf(data, MAX_TEXT)
    return DocumentText(
        text="\n\n".join(f"[page {page.number}]\n{page.text}" for page in pdf.pages),
        pages=pdf.page_count,
        truncated=pdf.truncated,
    )


def _read_text(data: bytes) -> DocumentText:
    text = decode(data[: MAX_TEXT * _BYTES_A_CHARACTER + _BYTES_A_CHARACTER], None)
    lost = sum(text.count(char) for char in ("\x00", "\ufffd"))
    if lost > len(text) * _MOST_LOST:
        raise Unreadable("The file holds no text; only text and PDF can be read.")
    if not text.strip():
        raise Unreadable("The file holds no text but blanks.")
    return DocumentText(text=text[:MAX_TEXT], truncated=len(text) > MAX_TEXT)
