"""What a single line of prose is: blank, a list item, a heading, a row of a table."""

from __future__ import annotations

import re

_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+\S")
_HEADING = re.compile(r" {0,3}(?:#{1,6}|-#)[ \t]+\S")
_QUOTE = re.compile(r" {0,3}>")
_INDENTED = re.compile(r"(?: {2,}|\t)[ \t]*\S")
_DELIMITER_CELL = r"[ \t]*:?-+:?[ \t]*"
_DELIMITER_ROW = re.compile(
    rf" {{0,3}}(?:\|{_DELIMITER_CELL}(?:\|{_DELIMITER_CELL})*\|?"
    rf"|{_DELIMITER_CELL}(?:\|{_DELIMITER_CELL})+\|?|{_DELIMITER_CELL}\|)[ \t]*\Z"
)
_CELL_END = re.compile(r"(?<!\\)(?:\\\\)*\|")


def is_list_item(line: str) -> bool:
    return _LIST_ITEM.match(line) is not None


def is_heading(line: str) -> bool:
    """A heading, or Discord's small print (`-# `)."""
    return _HEADING.match(line) is not None


def is_quote(line: str) -> bool:
    return _QUOTE.match(line) is not None


def is_indented(line: str) -> bool:
    return _INDENTED.match(line) is not None


def starts_block(line: str) -> bool:
    """Whether `line` ends the paragraph or the table before it without a blank line."""
    return is_list_item(line) or is_heading(line) or is_quote(line)


def split_row(line: str) -> list[str]:
    """The cells of a table row, stripped, with `\\|` turned into `|`."""
    row = line.strip()
    cells: list[str] = []
    start = 0
    for match in _CELL_END.finditer(row):
        cells.append(row[start : match.end() - 1])
        start = match.end()
    cells.append(row[start:])
    if row.startswith("|"):
        cells = cells[1:]
    if len(cells) > 1 and not cells[-1].strip():
        cells = cells[:-1]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def is_delimiter_row(line: str) -> bool:
    return "-" in line and "|" in line and _DELIMITER_ROW.match(line.rstrip("\r\n")) is not None


def is_table_head(head: str, delimiter: str) -> bool:
    """Whether two lines begin a table as GitHub reads one: as many cells above as below."""
    return (
        "|" in head
        and is_delimiter_row(delimiter)
        and len(split_row(head)) == len(split_row(delimiter))
    )


def continues_table(line: str) -> bool:
    """Whether `line` is one more row. GitHub takes a line without `|` for a row as well; where a
    model writes one, it has gone on to its next sentence."""
    return "|" in line and not starts_block(line)
