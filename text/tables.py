"""Tables, which Discord cannot show, become what it can: an aligned code block while they are
narrow, a list of `**header**: value` otherwise (D11).

A table in a code block stays as it is. Works on whole segments: a segment never ends inside a
table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wcwidth import wcswidth, wcwidth

from text.blocks import continues_table, is_table_head, split_row
from text.fences import Line, LineKind, read_lines

MAX_TABLE_COLUMNS = 60
"""Terminal columns of the widest table shown as one: a message on a desktop holds about 80, on a
telephone about 45."""

_GAP = "  "
_LIVE = re.compile(r"<(?:[@#]|a?:\w|t:|/|id:)|https?://|\]\(|\|\|")
"""What a code block would show as raw characters: mentions, emojis, times, links, spoilers."""
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_BACKTICKS = re.compile(r"`{3,}")


def render_tables(text: str) -> str:
    """`text` with each table outside code replaced; everything else is unchanged."""
    if "|" not in text or "-" not in text:
        return text
    lines = read_lines(text)
    parts: list[str] = []
    index = 0
    while index < len(lines):
        end = _table_end(text, lines, index)
        if end is None:
            parts.append(text[lines[index].start : lines[index].next])
            index += 1
            continue
        rows = [text[line.start : line.end] for line in lines[index:end]]
        parts.append(_render(rows))
        parts.append(text[lines[end - 1].end : lines[end - 1].next])
        index = end
    return "".join(parts)


def _table_end(text: str, lines: Sequence[Line], index: int) -> int | None:
    """The index after the last row of the table whose head is line `index`; None: no table."""
    if index + 1 >= len(lines):
        return None
    head, delimiter = lines[index], lines[index + 1]
    if head.kind is not LineKind.PROSE or delimiter.kind is not LineKind.PROSE:
        return None
    if not is_table_head(text[head.start : head.end], text[delimiter.start : delimiter.end]):
        return None
    end = index + 2
    while end < len(lines) and lines[end].kind is LineKind.PROSE:
        row = text[lines[end].start : lines[end].end]
        if not continues_table(row):
            break
        end += 1
    return end


def _render(rows: list[str]) -> str:
    header = split_row(rows[0])
    alignments = [_alignment(cell) for cell in split_row(rows[1])]
    body = [split_row(row) for row in rows[2:]]
    # A row may have more cells than the header: they are shown too, nothing is lost.
    count = max([len(header), *(len(row) for row in body)])
    header += [""] * (count - len(header))
    alignments += ["<"] * (count - len(alignments))
    body = [row + [""] * (count - len(row)) for row in body]

    shown = [[_plain(cell) for cell in row] for row in [header, *body]]
    widths = [max(_width(row[column]) for row in shown) for column in range(count)]
    total = sum(widths) + len(_GAP) * (count - 1)
    live = any(_LIVE.search(cell) for row in [header, *body] for cell in row)
    if live or total > MAX_TABLE_COLUMNS:
        return _as_list(header, body)
    return _as_code(shown, widths, alignments)


def _as_code(shown: list[list[str]], widths: list[int], alignments: list[str]) -> str:
    rule = ["─" * max(width, 1) for width in widths]
    grid = [shown[0], rule, *shown[1:]]
    lines = [
        _GAP.join(
            _pad(cell, width, alignment)
            for cell, width, alignment in zip(row, widths, alignments, strict=True)
        ).rstrip()
        for row in grid
    ]
    longest = max((len(run) for run in _BACKTICKS.findall("\n".join(lines))), default=2)
    marker = "`" * (longest + 1)
    return "\n".join([marker, *lines, marker])


def _as_list(header: list[str], body: list[list[str]]) -> str:
    if not body:
        return " · ".join(f"**{_plain(cell)}**" for cell in header if cell)
    lines: list[str] = []
    for row in body:
        bullet = "- "
        for name, value in zip(header, row, strict=True):
            if not value:
                continue
            label = f"**{_plain(name)}**: " if name else ""
            lines.append(f"{bullet}{label}{value}")
            bullet = "  - "
    return "\n".join(lines)


def _alignment(cell: str) -> str:
    if cell.endswith(":"):
        return "^" if cell.startswith(":") else ">"
    return "<"


def _plain(cell: str) -> str:
    """`cell` without the marks of emphasis and code: in a code block they would show."""
    return _CODE.sub(r"\2", _EMPHASIS.sub(r"\2", cell))


def _width(cell: str) -> int:
    """Terminal columns: two for a CJK character, none for a combining mark."""
    width = wcswidth(cell)
    return width if width >= 0 else sum(max(wcwidth(char), 0) for char in cell)


def _pad(cell: str, width: int, alignment: str) -> str:
    missing = width - _width(cell)
    if alignment == ">":
        return " " * missing + cell
    if alignment == "^":
        return " " * (missing // 2) + cell + " " * (missing - missing // 2)
    return cell + " " * missing
