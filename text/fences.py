"""Fenced code: which lines open a block, which close it, and which only look as if they did.

CommonMark's rules, since a model writes CommonMark: a fence is three or more backticks or tildes;
only a line of the same character, at least as long, with nothing but spaces and tabs after it,
closes the block (D04). The info string of a backtick fence holds no backtick. A fence may be
indented by up to three columns more than the list item it stands in, or stand on the item's own
line.

Only a line feed ends a line, with or without a carriage return before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

ZERO_WIDTH_SPACE = "\u200b"
"""Stands before or after a piece of text that must not be read as a fence or a mention."""

_TAB_COLUMNS = 4
_FREE_INDENT = 3
_DEEPEST_LIST = 20
"""Column up to which an item may have begun that we have not seen."""

_OPENER = re.compile(
    r"(?P<indent>[ \t]*)(?P<item>(?:[-*+]|\d{1,9}[.)])[ \t]+)?"
    r"(?P<marker>`{3,}|~{3,})(?P<info>[^\n]*)"
)
_CLOSER = re.compile(r"(?P<indent>[ \t]*)(?P<marker>`{3,}|~{3,})[ \t]*\Z")
_LIST_ITEM = re.compile(r"(?P<lead>[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+)\S")
_LOOKS_LIKE_OPENER = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:```|~~~)")


def columns(blank: str) -> int:
    return len(blank.expandtabs(_TAB_COLUMNS))


def looks_like_opener(text: str, start: int = 0) -> bool:
    """Whether a line that began at `start` could be read as an opening fence."""
    return _LOOKS_LIKE_OPENER.match(text, start) is not None


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code block."""

    marker: str
    """The run of backticks or tildes."""
    info: str
    """What follows the marker, stripped: usually a language."""
    indent: str = ""
    """The blanks before the marker, or as many spaces as the list item before it is wide."""
    container: int = 0
    """Column at which the content of the surrounding list item begins."""

    @property
    def closing_line(self) -> str:
        return f"{self.indent}{self.marker}"

    @property
    def opening_line(self) -> str:
        return f"{self.indent}{self.marker}{self.info}"

    def closed_by(self, line: str) -> bool:
        """Whether `line`, with or without its end, closes this block."""
        if self.marker not in line:
            return False
        match = _CLOSER.match(line.rstrip("\r\n"))
        return (
            match is not None
            and match["marker"][0] == self.marker[0]
            and len(match["marker"]) >= len(self.marker)
            and columns(match["indent"]) <= self.container + _FREE_INDENT
        )

    def guard(self, piece: str) -> str:
        """What must stand beside `piece`, a part of a code line, so that it closes nothing."""
        return ZERO_WIDTH_SPACE if self.closed_by(piece) else ""


def opening_fence(line: str, container: int | None = 0) -> Fence | None:
    """The block that `line` opens, or None.

    `container` is the column of the list content around it; None when that is not known.
    """
    if "```" not in line and "~~~" not in line:
        return None
    match = _OPENER.match(line)
    if match is None:
        return None
    marker, info = match["marker"], match["info"].strip()
    if marker[0] == "`" and "`" in info:
        return None
    width = columns(match["indent"])
    if width > (_DEEPEST_LIST if container is None else container) + _FREE_INDENT:
        return None
    if match["item"]:
        content = columns(match["indent"] + match["item"])
        return Fence(marker, info, " " * content, content)
    return Fence(marker, info, match["indent"], width if width > _FREE_INDENT else 0)


class LineKind(Enum):
    PROSE = "prose"
    OPEN = "open"
    CODE = "code"
    CLOSE = "close"


class FenceTracker:
    """Tells, line by line, what is code.

    `max_opener` and `max_closer` bound the length of a marker that is taken for one: a splitter
    cannot repeat a fence that fills a message.
    """

    def __init__(self, max_opener: int | None = None, max_closer: int | None = None) -> None:
        self.fence: Fence | None = None
        self._max_opener = max_opener
        self._max_closer = max_closer
        # A text may begin inside a list that was sent before it, so nothing is known at first.
        self._container: int | None = None
        self._after_blank = False

    def feed(self, line: str) -> LineKind:
        """What `line` is, with or without its end; `fence` is the block open after it."""
        if self.fence is not None:
            if self.fence.closed_by(line) and _fits(line.strip(), self._max_closer):
                self.fence = None
                self._after_blank = False
                return LineKind.CLOSE
            return LineKind.CODE
        fence = opening_fence(line, self._container)
        if fence is not None and _fits(fence.closing_line, self._max_opener):
            self.fence = fence
            if not fence.container and self._container is None:
                self._container = 0
            return LineKind.OPEN
        self._follow_lists(line)
        return LineKind.PROSE

    def _follow_lists(self, line: str) -> None:
        content = line.lstrip(" \t")
        if not content or content.isspace():
            self._after_blank = True
            return
        item = _LIST_ITEM.match(line) if not content[0].isalpha() else None
        if item is not None:
            self._container = columns(item["lead"])
        else:
            indent = columns(line[: len(line) - len(content)])
            if self._container is None:
                # Two columns or more: still the content of an item that we have not seen.
                self._container = None if indent >= 2 else 0
            elif indent == 0 and self._after_blank:
                self._container = 0
        self._after_blank = False


def _fits(marker: str, bound: int | None) -> bool:
    return bound is None or len(marker) <= bound


class Line(NamedTuple):
    """A line of a text, by code point offsets."""

    start: int
    end: int
    """Where the content ends: before the line's end."""
    next: int
    """Where the next line starts."""
    kind: LineKind
    fence: Fence | None
    """The block it belongs to."""


def read_lines(
    text: str, max_opener: int | None = None, max_closer: int | None = None
) -> list[Line]:
    """All lines of `text`; a final line that is empty is left out."""
    tracker = FenceTracker(max_opener, max_closer)
    lines: list[Line] = []
    start = 0
    length = len(text)
    while start < length:
        feed = text.find("\n", start)
        following = length if feed < 0 else feed + 1
        end = length if feed < 0 else feed
        if end > start and feed >= 0 and text[end - 1] == "\r":
            end -= 1
        before = tracker.fence
        kind = tracker.feed(text[start:end])
        lines.append(Line(start, end, following, kind, tracker.fence or before))
        start = following
    return lines


def prose_regions(text: str) -> list[tuple[int, int, bool]]:
    """`text` as (start, end, is prose) without gaps; fence lines belong to the code."""
    regions: list[tuple[int, int, bool]] = []
    for line in read_lines(text):
        prose = line.kind is LineKind.PROSE
        if regions and regions[-1][2] is prose and line.kind is not LineKind.OPEN:
            regions[-1] = (regions[-1][0], line.next, prose)
        else:
            regions.append((line.start, line.next, prose))
    return regions
