"""PDFs, each read in a process of its own, page by page: what was read before the time was up is
the result, marked as truncated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import structlog

from activities.tools.documents.process import Limits, Places, Told, read_apart
from activities.tools.documents.unreadable import Unreadable

TIME_BUDGET = 30.0
"""Seconds for one document; 200 pages of plain text take about one."""
MEMORY = 512 * 1024 * 1024
"""The reader itself needs 60 MB."""
PARALLEL = 2

_READER = Path(__file__).with_name("pdf_reader.py")
_OUTPUT = 16_000_000

_REASONS = {
    "encrypted": "The PDF is protected by a password.",
    "broken": "The PDF is damaged and cannot be read.",
    "memory": "The PDF needs too much memory to be read.",
}

log = structlog.get_logger(__name__)

_places = Places(PARALLEL)


@dataclass(frozen=True)
class PdfPage:
    number: int
    """From 1."""
    text: str


@dataclass(frozen=True)
class Pdf:
    page_count: int
    pages: list[PdfPage]
    """Those with text."""
    truncated: bool


async def read_pdf(data: bytes, max_text: int, seconds: float = TIME_BUDGET) -> Pdf:
    """The pages of `data`, with at most `max_text` code points. Raises Unreadable."""
    async with _places.here():
        told = await read_apart(_READER, data, Limits(max_text, seconds, MEMORY, _OUTPUT))
    return _pdf(told)


def _pdf(told: Told) -> Pdf:
    page_count = 0
    pages: list[PdfPage] = []
    ended = cut = False
    for line in told.messages:
        if (fault := line.get("fault")) is not None:
            if pages:
                cut = True
                break
            raise Unreadable(_REASONS.get(fault, _REASONS["broken"]))
        if "pages" in line:
            page_count = line["pages"]
        elif "page" in line:
            pages.append(PdfPage(line["page"], line["text"]))
        elif "end" in line:
            ended, cut = True, line["cut"]
    if not pages:
        if not told.in_time:
            raise Unreadable("The PDF is too complicated to be read in time.")
        if not ended:
            # killed by its limits, or it never started
            log.warning("PDF reader ended early", bytes_told=told.size)
            raise Unreadable(_REASONS["broken"])
        raise Unreadable("The PDF holds no text, only pictures or nothing at all.")
    return Pdf(page_count=page_count, pages=pages, truncated=cut or not ended)
