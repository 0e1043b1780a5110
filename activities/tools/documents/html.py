"""Web pages, each read in a process of its own.

In a thread a page would still stop the event loop: parts of the reader are C code that holds
Python's lock (a class attribute of 1.8 MB: for a second), and a thread cannot be ended (2 MB of
`<li>x ` took 42 s of one). The process costs 0.3 s of CPU, which is what its imports take.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import structlog

from activities.tools.documents.process import Limits, Places, read_apart
from activities.tools.documents.unreadable import Unreadable

TIME_BUDGET = 30.0
"""Seconds for one page, and as many for its turn to come. 2 MB of paragraphs take 3 s of CPU, of
table cells 17, of links 2."""
MEMORY = 512 * 1024 * 1024
"""Those paragraphs and cells need up to 300 MB, the reader itself 40."""
PARALLEL = 2

_READER = Path(__file__).with_name("html_reader.py")
_OUTPUT = 4_000_000

log = structlog.get_logger(__name__)

_places = Places(PARALLEL)


@dataclass(frozen=True)
class Html:
    title: str
    text: str
    """Markdown; empty where there is none."""


async def read_html(text: str, max_text: int, seconds: float = TIME_BUDGET) -> Html:
    """The page in `text`, with at most `max_text` code points of its text. Raises Unreadable."""
    places = _places.here()
    try:
        await asyncio.wait_for(places.acquire(), seconds)
    except TimeoutError:
        raise Unreadable("Other pages are being read; try again later.") from None
    try:
        data = text.encode("utf-8", "replace")
        told = await read_apart(_READER, data, Limits(max_text, seconds, MEMORY, _OUTPUT))
    finally:
        places.release()
    for line in told.messages:
        if isinstance(line.get("text"), str):
            return Html(title=str(line.get("title", "")), text=line["text"])
    if told.in_time:
        faults = [line["fault"] for line in told.messages if "fault" in line]
        log.warning("page reader ended early", faults=faults)
    raise Unreadable("The page is too complicated to be read.")
