"""The one splitter: text of any length becomes Discord messages (D01, D04, D06 to D09, D14).

Guaranteed, for every input:

- each message holds 1 to `limit` code points (Discord counts code points, D09) and is not blank;
- the source is in the messages, in order; only blank text where two of them meet, or at either
  end, is left out, and inside code not even that;
- a code block that is cut is closed in the one message and opened again, with its info string, in
  the next; a block that was never closed is closed;
- a grapheme cluster is never cut, unless it does not fit in a message;
- the same text gives the same messages: their nonces depend on it.

Wished for, best first, as far as a message is at least half filled: cut between blocks, between
lines, between sentences, between words. Emphasis, quotes, brackets, links, code spans, URLs,
Discord's `<…>` tokens and tables that fit in a message are cut only when nothing else is left; a
code block that fits in a message is moved to the next one rather than cut near its start.

Limits of it: a fence whose marker fills much of a message cannot be repeated, and is taken for
plain text; an opening line longer than a quarter of a message is repeated without its info
string. Where a piece of a line would be read as a fence that it was not, a zero-width space
stands beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import IntEnum

from text.fences import ZERO_WIDTH_SPACE, Fence, Line, LineKind, looks_like_opener, opening_fence
from text.graphemes import boundary_at_or_before, joins
from text.layout import Layout
from text.sentences import CJK_CLOSERS, CJK_ENDS, CJK_PAUSES, ends_sentence

MESSAGE_LIMIT = 2_000
"""Code points in one Discord message (Discord's documentation, resources/message)."""

_SENTENCE_CONTEXT = 40
_PAUSE = re.compile(
    "(?P<blank>[^\\S\\n]+)|(?P<cjk>["
    + "".join(sorted(CJK_ENDS | CJK_PAUSES))
    + "])(?![\\s"
    + "".join(sorted(CJK_CLOSERS))
    + "])"
)
_READS_AS_BLOCK = re.compile(r"(?:[-*+•]|#{1,6}|-#|\d{1,9}[.)])\s|>|\||```|~~~")
"""What means something else at the start of a message than inside a line."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One message, as offsets into its source.

    The chunks of a text lie end to end: together `source[start:end]` give the source back. The
    body is the span without the blank text at its edges.
    """

    start: int
    end: int
    body_start: int
    body_end: int
    prefix: str = ""
    """Opens again the code block that the message before had to close."""
    suffix: str = ""
    """Closes a code block that goes on, or was left open."""

    def text(self, source: str) -> str:
        return f"{self.prefix}{source[self.body_start : self.body_end]}{self.suffix}"


def split_message(text: str, limit: int = MESSAGE_LIMIT) -> list[str]:
    """The messages for `text`, each of 1 to `limit` code points; none when it is blank.

    Raises ValueError when `limit` is below 1.
    """
    return [chunk.text(text) for chunk in split_spans(text, limit)]


def split_spans(text: str, limit: int = MESSAGE_LIMIT) -> list[Chunk]:
    """The same as spans of the source."""
    if limit < 1:
        raise ValueError(f"a message cannot hold {limit} code points; the limit is at least 1")
    return _Splitter(text, limit).chunks()


class _Rank(IntEnum):
    """Pauses inside a line, best first."""

    SENTENCE = 0
    WORD = 1
    WORD_LIKE_BLOCK = 2
    """Before something that would look like a list item or a heading in its new place."""


@dataclass(frozen=True, slots=True)
class _Cut:
    end: int
    """Where the body ends."""
    resume: int
    """Where the next message goes on in the source."""
    fence: Fence | None = None
    """The code block that is open there."""
    suffix: str = ""
    guard: str = ""
    """What the next message needs before its first character."""


@dataclass(frozen=True, slots=True)
class _Window:
    """What can go into the message that begins at `start`."""

    start: int
    room: int
    """Code points beside the prefix."""

    @property
    def end(self) -> int:
        return self.start + self.room


class _Splitter:
    def __init__(self, text: str, limit: int) -> None:
        self._text = text
        self._limit = limit
        self._soft_limit = limit - limit // 40  # 1950 of 2000 (behaviour 6.8, "Delivery")
        self._longest_opening = limit // 4
        # Twice the marker, two line feeds and two guards leave half of a message to its text.
        self._layout = Layout(text, limit, limit // 4 - 2, limit // 2)
        self._lines = self._layout.lines
        self._end = self._strip_end(0, len(text))

    def chunks(self) -> list[Chunk]:
        chunks: list[Chunk] = []
        cut = _Cut(0, 0)
        while True:
            start = cut.resume
            body = start if cut.fence is not None else self._skip_blank(start)
            if body >= self._end:
                break
            prefix = cut.guard
            if cut.fence is not None:
                prefix = f"{self._reopening(cut.fence)}\n{cut.guard}"
            chunk = self._last(start, body, prefix, in_code=cut.fence is not None)
            if chunk is not None:
                chunks.append(chunk)
                break
            if cut.fence is None and self._needs_guard(body, whole_line=False):
                prefix = ZERO_WIDTH_SPACE[: self._limit - 1]
            cut = self._next_cut(body, len(prefix))
            chunks.append(Chunk(start, cut.resume, body, cut.end, prefix, cut.suffix))
        if chunks:
            chunks[-1] = replace(chunks[-1], end=len(self._text))
        return chunks

    def _last(self, start: int, body: int, prefix: str, in_code: bool) -> Chunk | None:
        """All that is left as one message, when it fits."""
        if not in_code and self._needs_guard(body, whole_line=True):
            prefix = ZERO_WIDTH_SPACE
        suffix = ""
        last = self._lines[-1]
        if last.kind in (LineKind.OPEN, LineKind.CODE) and last.fence is not None:
            suffix = f"\n{last.fence.closing_line}"
        if len(prefix) + self._end - body + len(suffix) > self._limit:
            return None
        return Chunk(start, len(self._text), body, self._end, prefix, suffix)

    def _reopening(self, fence: Fence) -> str:
        opening = fence.opening_line
        return opening if len(opening) <= self._longest_opening else fence.closing_line

    def _needs_guard(self, body: int, whole_line: bool) -> bool:
        """Whether prose that begins at `body` could be read as the opening of a code block."""
        if not looks_like_opener(self._text, body):
            return False
        line = self._lines[self._layout.line_at(body)]
        if line.kind is LineKind.OPEN and body == line.start:
            return False
        return not whole_line or opening_fence(self._text[body : line.end], None) is not None

    # -- blank edges ---------------------------------------------------------------------------

    def _skip_blank(self, position: int) -> int:
        text, length = self._text, len(self._text)
        start = position
        while position < length and text[position].isspace() and not self._carries_mark(position):
            position += 1
        if position >= length:
            return length
        line = self._lines[self._layout.line_at(position)]
        # The indent of a fence tells how far the fence that closes it may be indented.
        return max(line.start, start) if line.kind is LineKind.OPEN else position

    def _carries_mark(self, position: int) -> bool:
        """Whether the blank here is the base of a combining mark, and both fit in a message."""
        text = self._text
        following = text[position + 1 : position + 2]
        return (
            bool(following)
            and text[position] != "\r"
            and joins(text[position], following)
            and boundary_at_or_before(text, position, position + self._limit) > position
        )

    def _strip_end(self, start: int, end: int) -> int:
        text = self._text
        while end > start and text[end - 1].isspace():
            if end - 2 >= start and text[end - 2] != "\r" and joins(text[end - 2], text[end - 1]):
                break
            end -= 1
        return end

    # -- choosing ------------------------------------------------------------------------------

    def _next_cut(self, body: int, prefix: int) -> _Cut:
        room = self._limit - prefix
        window = _Window(body, room)
        cut = self._before_a_block_that_fits(window)
        if cut is not None:
            return cut
        soft = self._soft_limit - prefix
        half = max(room // 2, 1)
        for least, most in ((half, soft), (half, room), (1, room)):
            cut = self._between_lines(window, body + least, body + most)
            cut = cut or self._inside_lines(window, body + least, body + most)
            if cut is not None:
                return cut
        return self._at_a_fence(window) or self._anywhere(window)

    def _before_a_block_that_fits(self, window: _Window) -> _Cut | None:
        """Move a code block that would be cut to the next message, when that holds it whole."""
        index = self._layout.line_at(window.end)
        opening = self._layout.opening(index)
        if opening is None or self._lines[opening].start <= window.start:
            return None
        if self._lines[index].kind is LineKind.CLOSE and self._layout.text_end(index) <= window.end:
            return None
        end = self._strip_end(window.start, self._lines[opening].start)
        return _Cut(end, end) if end - window.start >= window.room // 8 else None

    def _between_lines(self, window: _Window, least: int, most: int) -> _Cut | None:
        """The best end of a line in [least, most]: between blocks, in code, in a paragraph."""
        layout, lines = self._layout, self._lines
        in_code: _Cut | None = None
        in_prose: _Cut | None = None
        for index in range(layout.line_at(most), layout.line_at(least) - 1, -1):
            line = lines[index]
            if line.kind in (LineKind.OPEN, LineKind.CODE):
                if in_code is None and not self._at_fence(index, window):
                    in_code = self._after_code_line(line, least, most)
                continue
            end = layout.text_end(index)
            if not least <= end <= most or layout.is_blank(index):
                continue
            if layout.block_ends_after(index):
                return _Cut(end, end)
            if in_code is None and in_prose is None and layout.whole(index, end) is None:
                in_prose = _Cut(end, end)
        return in_code or in_prose

    def _after_code_line(self, line: Line, least: int, most: int) -> _Cut | None:
        if line.fence is None:
            return None
        suffix = f"\n{line.fence.closing_line}"
        if line.end < least or line.end + len(suffix) > most:
            return None
        return _Cut(line.end, line.next, line.fence, suffix)

    def _at_fence(self, index: int, window: _Window) -> bool:
        """Whether a cut after this line of code would leave an empty code block on one side."""
        line = self._lines[index]
        return (
            line.kind is LineKind.OPEN
            or index + 1 >= len(self._lines)
            or self._lines[index + 1].kind is LineKind.CLOSE
            or not self._text[window.start : line.end].strip()
        )

    def _at_a_fence(self, window: _Window) -> _Cut | None:
        """An end of a line of code after all, be a code block empty or not."""
        for index in range(self._layout.line_at(window.end), -1, -1):
            line = self._lines[index]
            if line.end <= window.start:
                break
            if line.kind is LineKind.CODE:
                cut = self._after_code_line(line, window.start + 1, window.end)
                if cut is not None:
                    return cut
        return None

    def _inside_lines(self, window: _Window, least: int, most: int) -> _Cut | None:
        """The best pause inside a line of prose in [least, most]."""
        layout, text = self._layout, self._text
        best: tuple[_Rank, int] | None = None
        for index in range(layout.line_at(most), layout.line_at(least) - 1, -1):
            line = self._lines[index]
            if line.kind is not LineKind.PROSE:
                continue
            if line.start > window.start and looks_like_opener(text, line.start):
                continue  # its first part alone might open a code block
            start, end = max(line.start, least - 1), min(line.end, most + 1)
            for pause in reversed(list(_PAUSE.finditer(text, start, end))):
                position = pause.start() if pause["blank"] is not None else pause.end()
                if not least <= position <= most or position >= line.end:
                    continue
                rank = self._rank_inside(line.start, position, pause)
                if best is not None and best[0] <= rank:
                    continue
                if joins(text[position - 1], text[position]):
                    continue
                if layout.whole(index, position) is not None:
                    continue
                best = (rank, position)
                if rank is _Rank.SENTENCE:
                    return _Cut(position, position)
        return None if best is None else _Cut(best[1], best[1])

    def _rank_inside(self, line_start: int, position: int, pause: re.Match[str]) -> _Rank:
        text = self._text
        if _READS_AS_BLOCK.match(text, pause.end()):
            return _Rank.WORD_LIKE_BLOCK
        if pause["cjk"] is not None:
            return _Rank.SENTENCE if pause["cjk"] in CJK_ENDS else _Rank.WORD
        before = text[max(line_start, position - _SENTENCE_CONTEXT) : position]
        following = text[pause.end() : pause.end() + 1]
        return _Rank.SENTENCE if ends_sentence(before, following) else _Rank.WORD

    def _anywhere(self, window: _Window) -> _Cut:
        """Nothing good is left: between two grapheme clusters, or inside one that does not fit."""
        index = self._layout.line_at(min(window.end, len(self._text) - 1))
        line = self._lines[index]
        if line.kind is not LineKind.PROSE and line.fence is not None:
            return self._inside_code(window, line.fence)
        position = self._cluster_end(window.start, window.end)
        whole = self._layout.whole(index, position)
        if whole is not None and whole[0] > window.start:
            position = self._cluster_end(window.start, whole[0])
        elif whole is not None:
            # Too long after all, beside a prefix: at least not inside a word.
            blank = max(self._text.rfind(" ", window.start + window.room // 2, position), 0)
            position = blank or position
        return _Cut(self._strip_end(window.start, position), position)

    def _inside_code(self, window: _Window, fence: Fence) -> _Cut:
        """Cut a line of code that does not fit in a message."""
        text = self._text
        closing = f"\n{fence.closing_line}"
        limit = window.end - len(closing) - 1
        index = self._layout.line_at(limit)
        line = self._lines[index]
        start = max(line.start, window.start)
        blank = text.rfind(" ", limit - (limit - start) // 4, limit) + 1
        if blank and not joins(text[blank - 1], text[blank]):
            position = blank
        else:
            position = self._cluster_end(start, limit)
        before = "" if line.kind is LineKind.OPEN else fence.guard(text[start:position])
        after = fence.guard(text[position : line.end])
        return _Cut(position, position, fence, f"{before}{closing}", after)

    def _cluster_end(self, start: int, limit: int) -> int:
        position = boundary_at_or_before(self._text, start, limit)
        return position if position > start else limit
