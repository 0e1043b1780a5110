"""A whole text as the splitter sees it: lines, and what between them belongs together."""

from __future__ import annotations

from bisect import bisect_right

from text.blocks import continues_table, is_table_head, starts_block
from text.fences import LineKind, read_lines
from text.graphemes import joins
from text.inline import unbreakable

Interval = tuple[int, int]


class Layout:
    """Lines of `text`, and on demand the intervals of a paragraph that should stay whole.

    `longest` is the length of the longest interval that is kept whole; `max_opener` and
    `max_closer` are those of `FenceTracker`.
    """

    def __init__(self, text: str, longest: int, max_opener: int, max_closer: int) -> None:
        self.text = text
        self.lines = read_lines(text, max_opener, max_closer)
        self._longest = longest
        self._starts = [line.start for line in self.lines]
        self._whole_blocks = self._find_whole_blocks()
        self._paragraphs: dict[int, tuple[list[Interval], list[int]]] = {}

    def _find_whole_blocks(self) -> dict[int, int]:
        blocks: dict[int, int] = {}
        opened = 0
        for index, line in enumerate(self.lines):
            if line.kind is LineKind.OPEN:
                opened = index
            elif line.kind is LineKind.CLOSE and (
                line.end - self.lines[opened].start <= self._longest
            ):
                # Each block has a fence object of its own, alive as long as its lines.
                blocks[id(line.fence)] = opened
        return blocks

    def line_at(self, position: int) -> int:
        """Index of the line that `position` stands in, its end included."""
        return bisect_right(self._starts, position) - 1

    def content(self, index: int) -> str:
        line = self.lines[index]
        return self.text[line.start : line.end]

    def is_blank(self, index: int) -> bool:
        return not self.content(index).strip()

    def text_end(self, index: int) -> int:
        """Where the last character of the line stands that is not blank, plus one."""
        line = self.lines[index]
        end = line.start + len(self.content(index).rstrip())
        if line.start < end < line.end and joins(self.text[end - 1], self.text[end]):
            end += 1  # a blank that belongs to the character before it
        return end

    def block_ends_after(self, index: int) -> bool:
        """Whether a block ends with this line: a blank line, code or another block follows."""
        if index + 1 >= len(self.lines):
            return True
        following = self.lines[index + 1]
        return (
            self.lines[index].kind is LineKind.CLOSE
            or following.kind is LineKind.OPEN
            or self.is_blank(index)
            or self.is_blank(index + 1)
        )

    def opening(self, index: int) -> int | None:
        """Index of the line that opened the code block around this line, when the block is whole
        and fits in a message."""
        fence = self.lines[index].fence
        return None if fence is None else self._whole_blocks.get(id(fence))

    def whole(self, index: int, position: int) -> Interval | None:
        """The interval that a cut at `position`, in or after the prose line `index`, would tear."""
        if self.lines[index].kind is not LineKind.PROSE or self.is_blank(index):
            return None
        intervals, starts = self._intervals(index)
        found = bisect_right(starts, position) - 1
        if found < 0:
            return None
        start, end = intervals[found]
        return (start, end) if start < position < end else None

    def _intervals(self, index: int) -> tuple[list[Interval], list[int]]:
        known = self._paragraphs.get(index)
        if known is not None:
            return known
        first, last = index, index
        while first > 0 and self._joined(first - 1):
            first -= 1
        while self._joined(last):
            last += 1
        start, end = self.lines[first].start, self.lines[last].end
        intervals = self._tables(first, last)
        intervals += unbreakable(self.text, start, end, self._longest)
        intervals = _outermost(intervals)
        known = (intervals, [low for low, _ in intervals])
        for line in range(first, last + 1):
            self._paragraphs[line] = known
        return known

    def _joined(self, index: int) -> bool:
        """Whether this line and the next are one paragraph, or one table."""
        if index + 1 >= len(self.lines):
            return False
        line, following = self.lines[index], self.lines[index + 1]
        return (
            line.kind is LineKind.PROSE
            and following.kind is LineKind.PROSE
            and not self.is_blank(index)
            and not self.is_blank(index + 1)
            and not starts_block(self.content(index + 1))
        )

    def _tables(self, first: int, last: int) -> list[Interval]:
        tables: list[Interval] = []
        index = first
        while index < last:
            if not is_table_head(self.content(index), self.content(index + 1)):
                index += 1
                continue
            end = index + 1
            while end < last and continues_table(self.content(end + 1)):
                end += 1
            interval = (self.lines[index].start, self.lines[end].end)
            if interval[1] - interval[0] <= self._longest:
                tables.append(interval)
            index = end + 1
        return tables


def _outermost(intervals: list[Interval]) -> list[Interval]:
    """Sorted, without those that begin inside another."""
    kept: list[Interval] = []
    for start, end in sorted(intervals, key=lambda interval: (interval[0], -interval[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept
