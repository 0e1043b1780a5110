"""Cuts a streamed reply where a reader would pause (behaviour 6.8, "Buffer flush").

A segment is one of

- a paragraph, ended by a blank line. A heading stays with what follows it; a line of nothing but
  punctuation too; the items of a list stay together even with blank lines between them;
- a code block, its fences included: what stands before the opening fence is cut off there;
- with `sentence_split`, a sentence of a running paragraph.

A blank line does not cut while emphasis, a quote, a bracket or a link is open, for
`PATIENCE` code points after it was opened: then it counts as a stray character.

Nothing waits for ever: prose longer than `PROSE_LIMIT` is cut at the best pause in it, code longer
than `CODE_LIMIT` at a line, closed and opened again. A table is never cut.

The segments do not depend on how the text was cut into chunks, and the time is linear: each
character goes once through a small machine, and a second time when an overflow put it back.
"""

from __future__ import annotations

import re
from collections import deque
from enum import IntEnum

import regex

from text.blocks import (
    continues_table,
    is_heading,
    is_list_item,
    is_table_head,
    starts_block,
)
from text.fences import Fence, FenceTracker, LineKind, looks_like_opener
from text.graphemes import boundary_at_or_before, joins
from text.inline import InlineScanner
from text.sentences import (
    CJK_CLOSERS,
    CJK_ENDS,
    CJK_PAUSES,
    CLOSERS,
    TERMINATORS,
    ends_sentence,
    is_broken_off,
)

PROSE_LIMIT = 1_000
"""Code points of prose before a segment is cut without a paragraph's end (behaviour 6.8)."""
CODE_LIMIT = 15_000
"""The same for a code block (behaviour 6.8)."""
PATIENCE = 400
"""Code points that an open mark may hold back a paragraph's end."""

_LONGEST_OPENER = 200
"""A longer opening line is not repeated when a code block is cut: only its marker is."""
_MESSAGE = 2_000
"""Code points of one unbroken run of characters, such as a URL, that may still stay whole."""
_MAYBE_LIST_GOES_ON = regex.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+\S|(?: {2,}|\t)[ \t]*\S")
_LIST_PREFIX = 60
_LEADING_BLANK_LINES = re.compile(r"\A(?:[ \t\r]*\n)+")
_ONLY_PUNCTUATION = re.compile(r"[\s\-*_=~.…·•#]*\Z")
_UNCLEAR_AT_A_START = frozenset("-*+#>`~|_")
"""What may be read as a block at the start of a message, and is not inside a line."""
_SENTENCE_CONTEXT = 40
_PLAIN = "\u0300"
"""Letters below it are alphabetic and do not combine."""


class Pause(IntEnum):
    """Kinds of pause, best first."""

    BLOCK = 0
    """Before a list item or another block."""
    NEWLINE = 1
    SENTENCE = 2
    BLANK = 3
    HELD_NEWLINE = 4
    """From here on: inside something open."""
    HELD_SENTENCE = 5
    HELD_BLANK = 6

    @property
    def held(self) -> Pause:
        return Pause(self + 3) if self in _CAN_BE_HELD else self


_CAN_BE_HELD = (Pause.NEWLINE, Pause.SENTENCE, Pause.BLANK)
Pauses = dict[Pause, int]
"""The last pause of each kind, as an offset in the segment."""


class Segmenter:
    """Text in as it streams, whole segments out.

    All segments together hold everything but blank text from between them, plus the markers that
    had to be closed (`finish`, `trim_for_call`) or repeated (an overflowing code block).
    """

    def __init__(self, sentence_split: bool = False) -> None:
        self._sentence_split = sentence_split
        self._put_back: deque[str] = deque()
        self._done: list[str] = []
        self._inline = InlineScanner()
        self._begin(mid_line=False)

    def feed(self, text: str) -> list[str]:
        """Take a chunk of any size; the segments it completed."""
        for char in text:
            self._push(char)
            if self._put_back:
                self._drain()
        return self._take()

    def finish(self) -> list[str]:
        """The reply is over: the rest, with open emphasis, code spans and code blocks closed."""
        self._end(trim=False)
        return self._take()

    def trim_for_call(self) -> list[str]:
        """A tool call follows: like `finish`, without the clause that was broken off by it.

        Only words after the end of a sentence in the same line can be such a clause. A reply that
        is nothing but a few words stays whole (C081), and so does a line of a list.
        """
        self._end(trim=True)
        return self._take()

    # -- the segment being built ---------------------------------------------------------------

    def _begin(self, mid_line: bool) -> None:
        self._buffer: list[str] = []
        self._mid_line = mid_line
        """The first line is the rest of one that was cut: it opens no block."""
        self._fences = FenceTracker()
        self._inline.reset()
        self._limit = PROSE_LIMIT
        self._pauses: Pauses = {}
        self._substance = mid_line
        """There is more than headings and rules."""
        self._in_table = False
        self._in_list = False
        self._list_end: int | None = None
        """Where a list may have ended: after a blank line that followed it."""
        self._line_before = ""
        self._pause_before: tuple[Pause, int] | None = None
        """The pause after a line that may still turn out to be a table's head."""
        self._code_start = 0
        self._begin_line()

    def _begin_line(self) -> None:
        self._line_start = len(self._buffer)
        self._line_pauses: Pauses = {}
        self._line_has_text = False
        self._line_has_pipe = False
        self._unclear: tuple[Pause, int] | None = None
        """A pause before a mark that the next character will explain."""

    def _line(self) -> str:
        return "".join(self._buffer[self._line_start :])

    def _drain(self) -> None:
        while self._put_back:
            self._push(self._put_back.popleft())

    def _take(self) -> list[str]:
        done, self._done = self._done, []
        return done

    def _emit(self, text: str) -> None:
        text = _LEADING_BLANK_LINES.sub("", text).rstrip()
        if self._mid_line:
            text = text.lstrip()
        if text.strip():
            self._done.append(text)

    def _cut(self, position: int) -> None:
        """The segment ends at `position`; what is after it will be read again."""
        rest = self._buffer[position:]
        self._emit("".join(self._buffer[:position]))
        mid_line = position > 0 and self._buffer[position - 1] != "\n"
        self._begin(mid_line)
        self._put_back.extendleft(reversed(rest))

    # -- reading -------------------------------------------------------------------------------

    def _push(self, char: str) -> None:
        buffer = self._buffer
        if self._fences.fence is not None:
            buffer.append(char)
            self._push_code(char)
            return
        if char.isalnum() and char < _PLAIN and buffer and self._list_end is None:
            before = buffer[-1]
            if before.isalnum() and before < _PLAIN:
                # Most of every text, and nothing can pause or open between two such letters.
                buffer.append(char)
                self._inline.push_inside_word(char)
                if len(buffer) > self._limit and not self._in_table:
                    self._overflow()
                return
        buffer.append(char)
        if char == "\n":
            self._inline.push(char)
            self._end_line()
            return
        if self._list_end is not None and not self._list_may_go_on():
            self._cut(self._list_end)
            return
        if self._unclear is not None and self._settle_unclear(char):
            return
        pause = self._pause_before_char(char) if self._line_has_text else None
        if not char.isspace():
            self._line_has_text = True
            if char == "|":
                self._line_has_pipe = True
        position = len(buffer) - 1
        if pause is not None:
            kind = pause if self._inline.neutral else pause.held
            if char in _UNCLEAR_AT_A_START:
                self._unclear = (kind, position)
            elif self._pause_at(kind, position):
                return
        self._inline.push(char)
        if position >= self._limit and not self._in_table:
            self._overflow()

    def _settle_unclear(self, char: str) -> bool:
        """`char` shows whether the mark before it, at a pause, would begin a block there."""
        unclear, self._unclear = self._unclear, None
        mark = self._buffer[-2]
        harmless = not char.isspace() and (
            mark in "*_-+" or (mark in "`~#" and char != mark) or (mark == char == "|")
        )
        return unclear is not None and harmless and self._pause_at(*unclear)

    def _pause_at(self, kind: Pause, position: int) -> bool:
        """Note a pause inside a line; True when the segment was cut at it."""
        if kind is Pause.SENTENCE and self._sentence_split and self._is_running_text():
            self._cut(position)
            return True
        self._line_pauses[kind] = position
        return False

    def _pause_before_char(self, char: str) -> Pause | None:
        """The pause between the last character and `char`, on a line that has text already."""
        before = self._buffer[-2]
        if before.isspace():
            if char.isspace() or joins(before, char):
                return None
            return Pause.SENTENCE if self._sentence_ends(char) else Pause.BLANK
        if before in CJK_ENDS or before in CJK_PAUSES:
            if char.isspace() or char in CJK_CLOSERS or joins(before, char):
                return None
            return Pause.SENTENCE if before in CJK_ENDS else Pause.BLANK
        return None

    def _sentence_ends(self, after: str) -> bool:
        buffer = self._buffer
        index = len(buffer) - 2
        while index > self._line_start and buffer[index].isspace():
            index -= 1
        if buffer[index] not in TERMINATORS and buffer[index] not in CLOSERS:
            return False
        start = max(self._line_start, index - _SENTENCE_CONTEXT)
        return ends_sentence("".join(buffer[start : index + 1]), after)

    def _is_running_text(self) -> bool:
        if self._in_list or self._in_table or self._line_has_pipe:
            return False
        first_line = self._mid_line and self._line_start == 0
        return first_line or not starts_block(self._line())

    def _list_may_go_on(self) -> bool:
        """False when the line after a blank line is known not to belong to the list."""
        line = self._line()
        match = _MAYBE_LIST_GOES_ON.match(line, partial=True)
        if match is None or len(line) > _LIST_PREFIX:
            return False
        if not match.partial:
            self._list_end = None
        return True

    # -- lines of prose ------------------------------------------------------------------------

    def _end_line(self) -> None:
        start, end = self._line_start, len(self._buffer)
        line = self._line().rstrip("\r\n")
        rest_of_line = self._mid_line and start == 0
        if not line.strip():
            if not rest_of_line:
                self._fences.feed(line)
            self._end_paragraph()
            return
        if self._list_end is not None:
            self._cut(self._list_end)
            return
        if not rest_of_line:
            if self._fences.feed(line) is LineKind.OPEN:
                self._open_code(start)
                return
            self._follow_blocks(line, start)
        self._substance = self._substance or not (is_heading(line) or _ONLY_PUNCTUATION.match(line))
        self._keep_pauses(line, end)
        cut = (
            self._sentence_split
            and self._inline.neutral
            and self._is_running_text()
            and ends_sentence(line.rstrip()[-_SENTENCE_CONTEXT:])
        )
        self._line_before = line
        self._begin_line()
        if cut:
            self._cut(end)
        elif end > self._limit and not self._in_table:
            self._overflow()

    def _open_code(self, start: int) -> None:
        if start:
            self._cut(start)
            return
        self._limit = CODE_LIMIT
        self._begin_line()
        self._code_start = self._line_start

    def _follow_blocks(self, line: str, start: int) -> None:
        block = starts_block(line)
        if self._in_table and not continues_table(line):
            self._in_table = False
            self._pauses[Pause.BLOCK] = start
            self._restart_inline(start)
        elif not self._in_table and is_table_head(self._line_before, line):
            self._in_table = True
            self._pause_before = None
        if block and start:
            self._pauses[Pause.BLOCK] = start
            self._restart_inline(start)
        if is_list_item(line):
            self._in_list = True
        elif block:
            self._in_list = False

    def _restart_inline(self, start: int) -> None:
        """What is open ends with its block."""
        self._inline.reset(start)
        for char in self._buffer[start:]:
            self._inline.push(char)

    def _keep_pauses(self, line: str, end: int) -> None:
        """The pauses of a line count once it is known not to be part of a table."""
        if self._in_table:
            self._inline.reset(end)
            return
        if self._pause_before is not None:
            kind, position = self._pause_before
            self._pauses[kind] = position
            self._pause_before = None
        self._pauses.update(self._line_pauses)
        if is_heading(line):
            return
        kind = Pause.NEWLINE if self._inline.neutral else Pause.HELD_NEWLINE
        if self._line_has_pipe:
            self._pause_before = (kind, end)
        else:
            self._pauses[kind] = end

    def _end_paragraph(self) -> None:
        end = len(self._buffer)
        self._line_before = ""
        self._pause_before = None
        self._in_table = False
        self._begin_line()
        self._inline.break_paragraph()
        since = self._inline.open_since()
        if since is not None and end - since <= PATIENCE:
            self._pauses[Pause.HELD_NEWLINE] = end
            return
        self._inline.reset(end)
        if self._in_list:
            self._list_end = self._list_end or end
        elif self._substance or not "".join(self._buffer).strip():
            self._cut(end)
        elif end > self._limit:
            self._overflow()

    def _overflow(self) -> None:
        """Prose has become too long without a paragraph's end."""
        pauses = dict(self._pauses)
        line_length = len(self._buffer) - self._line_start
        line = self._line() if self._line_has_text else ""
        maybe_block = not (self._mid_line and self._line_start == 0) and (
            line.lstrip().startswith("|") or looks_like_opener(line)
        )
        if not maybe_block and (not self._line_has_pipe or line_length > PROSE_LIMIT):
            pauses.update(self._line_pauses)
        for least in (PROSE_LIMIT // 2, 1):
            for kind in Pause:
                position = pauses.get(kind, 0)
                if position >= least:
                    self._cut(position)
                    return
        if len(self._buffer) >= CODE_LIMIT:
            self._cut(len(self._buffer) - 1)
        elif maybe_block or len(self._buffer) <= _MESSAGE:
            self._limit = max(_MESSAGE, min(2 * self._limit, CODE_LIMIT))
        else:
            position = boundary_at_or_before("".join(self._buffer), 0, len(self._buffer) - 1)
            if position:
                self._cut(position)
            else:
                self._limit = min(2 * self._limit, CODE_LIMIT)

    # -- code ----------------------------------------------------------------------------------

    def _push_code(self, char: str) -> None:
        if char == "\n":
            kind = self._fences.feed(self._line())
            self._begin_line()
            if kind is LineKind.CLOSE:
                self._cut(len(self._buffer))
        elif len(self._buffer) > self._limit and self._fences.fence is not None:
            self._overflow_code(self._fences.fence)

    def _overflow_code(self, fence: Fence) -> None:
        """Close the block at a line's end, or inside a line of thousands; open it again."""
        position, before, after = self._line_start, "\n", ""
        if position <= self._code_start or position < CODE_LIMIT // 2:
            text = "".join(self._buffer)
            position = boundary_at_or_before(text, self._line_start, len(text) - 1)
            if position == self._line_start:
                self._limit *= 2
                return
            before = fence.guard(text[self._line_start : position]) + "\n"
            after = fence.guard(text[position:])
        rest = self._buffer[position:]
        head = "".join(self._buffer[:position]).removesuffix("\n").removesuffix("\r")
        self._emit(f"{head}{before}{fence.closing_line}")
        opening = fence.opening_line
        if len(opening) > _LONGEST_OPENER:
            opening = fence.closing_line
        self._buffer = [*opening, "\n"]
        self._mid_line = False
        self._limit = CODE_LIMIT
        self._begin_line()
        self._code_start = self._line_start
        self._buffer += [*after, *rest]

    # -- the end -------------------------------------------------------------------------------

    def _end(self, trim: bool) -> None:
        if self._fences.fence is not None:
            self._end_code(self._fences.fence)
        else:
            self._end_prose(trim)
        self._begin(mid_line=False)

    def _end_code(self, fence: Fence) -> None:
        text = "".join(self._buffer)
        line = self._line()
        stripped = line.strip()
        if not line:
            text += fence.closing_line
        elif stripped and stripped == fence.marker[: len(stripped)]:
            text += fence.marker[len(stripped) :]
        elif not fence.closed_by(line):
            text += f"\n{fence.closing_line}"
        self._emit(text)

    def _end_prose(self, trim: bool) -> None:
        line = self._line()
        if line.strip():
            if self._list_end is not None:
                self._cut(self._list_end)
                self._drain()
                self._end(trim)
                return
            if not (self._mid_line and self._line_start == 0):
                if self._fences.feed(line) is LineKind.OPEN and self._fences.fence is not None:
                    self._emit("".join(self._buffer[: self._line_start]))
                    self._emit(f"{line.rstrip()}\n{self._fences.fence.closing_line}")
                    return
                if starts_block(line) or (self._in_table and not continues_table(line)):
                    self._restart_inline(self._line_start)
        sentence_end = self._line_pauses.get(Pause.SENTENCE)
        if trim and sentence_end is not None and self._is_running_text():
            clause = "".join(self._buffer[sentence_end:])
            if is_broken_off(clause):
                self._emit("".join(self._buffer[:sentence_end]))
                return
        self._inline.finish()
        text = "".join(self._buffer).rstrip()
        closers = self._inline.closers()
        # Next to a mark of its own kind a closer makes a longer run, which closes nothing and, on
        # a line of its own, would open a code block.
        self._emit(text if text[-1:] == closers[:1] else text + closers)
