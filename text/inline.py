"""What is open inside a paragraph: emphasis, code spans, quotes, brackets, a URL.

One pass, one character at a time, so that a stream and a whole text are read alike. It is a
reader's eye and not a renderer: it says where a pause would tear something apart.

- emphasis (`*`, `_`, `~~`, `||`) opens and closes by CommonMark's flanking rules;
- in a code span nothing counts but the run of backticks that ends it;
- brackets that were never opened are ignored, so the depth never falls below zero;
- a closing mark takes with it what was opened inside and left open: those were plain characters;
- an apostrophe is not a quote. Single quotes are `weak`: too easily mistaken to hold text back;
- inside a URL only the end of an emphasis around it, or of a bracket around it, counts.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass

_OPENING = {
    "(": ")",
    "[": "]",
    "（": "）",
    "「": "」",
    "『": "』",
    "【": "】",
    "《": "》",
    "〈": "〉",
    "“": "”",
    "„": "“",
    "‘": "’",
    "«": "»",
}
_CLOSING = frozenset(_OPENING.values())
_EMPHASIS = "*_~|"
_RUNS = frozenset("*_~|`\"'’")
_SPECIAL = re.compile("[" + re.escape("".join([*_RUNS, *_OPENING, *_CLOSING]) + "\\:/<>") + r"\s]")
_EYES = ":;="
_SCHEMES = ("http", "https")
_LONGEST_EMPHASIS = 3
_DEEPEST = 64
"""Marks open inside each other; beyond this they are noise, and searching them would be slow."""
_FIRST_CJK = "\u2e80"


def _is_punctuation(char: str) -> bool:
    return not char.isalnum() and unicodedata.category(char)[0] in "PS"


def _is_blank(char: str) -> bool:
    """The edges of the text count as blank."""
    return not char or char.isspace()


@dataclass(slots=True)
class _Open:
    char: str
    """The opening character, or the closing one for brackets."""
    length: int
    start: int
    weak: bool = False


class InlineScanner:
    """Follows a paragraph. `position` counts what was read since the last `reset`."""

    def __init__(self, collect: bool = False) -> None:
        self._collect = collect
        self.spans: list[tuple[int, int]] = []
        """With `collect`: (start, end) of everything that was opened and closed again."""
        self.position = 0
        self._restart()

    def _restart(self) -> None:
        self._stack: list[_Open] = []
        self._code = 0
        self._code_start = 0
        self._url = False
        self._url_depth = 0
        self._scheme = ""
        self._escaped = False
        self._run = ""
        self._run_length = 0
        self._before_run = ""
        self._previous = ""
        self._before_previous = ""
        self._link_text: tuple[int, int] | None = None

    def reset(self, position: int = 0) -> None:
        """Start a new paragraph at `position`."""
        self._restart()
        self.position = position

    def push(self, char: str) -> None:
        run = self._run
        if run:
            if char == run and not self._escaped:
                self._run_length += 1
                self.position += 1
                return
            self._end_run(char)
        if self._escaped:
            self._escaped = False
        elif char in _RUNS:
            self._run = char
            self._run_length = 1
            self._before_run = self._previous
            self.position += 1
            self._before_previous, self._previous = self._previous, char
            return
        elif self._code:
            pass
        elif char == "\\":
            self._escaped = not self._url
        elif self._url:
            self._in_url(char)
        elif char in _OPENING:
            self._open_bracket(char)
        elif char in _CLOSING:
            self._close_bracket(char)
        self._follow_scheme(char)
        self.position += 1
        self._before_previous, self._previous = self._previous, char

    def push_inside_word(self, char: str) -> None:
        """`push` for a letter or digit that follows another one."""
        if char in "htpsHTPS" or self._scheme:
            self._follow_scheme(char)
        self.position += 1
        self._before_previous, self._previous = self._previous, char

    def scan(self, text: str, start: int, end: int) -> None:
        """`push` for each character of `text[start:end]`, and quick over plain ones."""
        index = start
        while index < end:
            match = _SPECIAL.search(text, index, end)
            special = match.start() if match is not None else end
            if special > index:
                plain = special - index
                # The first ends what was pending; of the others only the last few can matter.
                self.push(text[index])
                skipped = plain - 1 - 6
                if skipped > 0:
                    self.position += skipped
                    self._scheme = ""
                for at in range(special - min(plain - 1, 6), special):
                    self.push(text[at])
            if special < end:
                self.push(text[special])
            index = special + 1

    def break_paragraph(self) -> None:
        """A blank line: code spans, URLs and weak quotes end with their paragraph."""
        self.finish()
        self._code = 0
        self._url = False
        self._stack = [entry for entry in self._stack if not entry.weak]

    def finish(self) -> None:
        """The paragraph ends here: what is pending has nothing after it."""
        if self._run:
            self._end_run("")

    @property
    def neutral(self) -> bool:
        """Whether nothing is open, so that a pause here tears nothing apart."""
        return not (self._stack or self._code or self._url or self._run)

    def open_since(self) -> int | None:
        """Where the oldest mark stands that is open and not weak."""
        for entry in self._stack:
            if not entry.weak:
                return entry.start
        return None

    def closers(self) -> str:
        """The markers that would close what is open, innermost first. Call `finish` before."""
        closing = "`" * self._code
        for entry in reversed(self._stack):
            if entry.char in _EMPHASIS:
                closing += entry.char * entry.length
        return closing

    # -- marks ---------------------------------------------------------------------------------

    def _end_run(self, after: str) -> None:
        char, length, before = self._run, self._run_length, self._before_run
        start = self.position - length
        self._run = ""
        if char == "`":
            self._end_backticks(length, start)
        elif self._code:
            return
        elif char in _EMPHASIS:
            if char in "~|" and length != 2:
                return
            self._end_emphasis(char, length, before, after, start)
        elif length == 1:
            self._end_quote(char, before, after, start)

    def _end_backticks(self, length: int, start: int) -> None:
        if self._code == length:
            self._code = 0
            self._span(self._code_start, start + length)
        elif not self._code and not self._url:
            self._code = length
            self._code_start = start

    def _end_emphasis(self, char: str, length: int, before: str, after: str, start: int) -> None:
        if length > _LONGEST_EMPHASIS:
            return
        left = not _is_blank(after) and (
            not _is_punctuation(after) or _is_blank(before) or _is_punctuation(before)
        )
        right = not _is_blank(before) and (
            not _is_punctuation(before) or _is_blank(after) or _is_punctuation(after)
        )
        if char == "_":
            left = left and not before.isalnum()
            right = right and not after.isalnum()
        if right or (self._url and char != "_"):
            length = self._close_emphasis(char, length, start)
        if left and length and not self._url:
            self._push_open(_Open(char, length, self.position - length))

    def _close_emphasis(self, char: str, length: int, start: int) -> int:
        """Close what a run can close; how many of its characters are left."""
        while length:
            depth = self._find(char)
            if depth is None:
                return length
            entry = self._stack[depth]
            used = min(length, entry.length)
            del self._stack[depth + 1 :]
            length -= used
            start += used
            entry.length -= used
            if not entry.length:
                self._stack.pop()
                self._span(entry.start, start)
            self._url = False
        return 0

    def _end_quote(self, char: str, before: str, after: str, start: int) -> None:
        if self._url:
            self._url = False
        depth = self._find(char)
        if char == "’" or (char == "'" and depth is not None):
            # An apostrophe has a letter after it; a closing quote has not.
            if depth is not None and not after.isalnum() and not _is_blank(before):
                self._close(depth, start + 1)
            return
        if char == '"' and depth is not None:
            if not _is_blank(before):
                self._close(depth, start + 1)
            return
        opens = _is_blank(before) or before >= _FIRST_CJK or before in "([{“„—–-/*_~|>"
        if opens and not _is_blank(after):
            if char == '"':
                self._push_open(_Open(char, 1, start))
            elif char == "'" and after.isalnum():
                self._push_open(_Open(char, 1, start, weak=True))

    # -- brackets ------------------------------------------------------------------------------

    def _open_bracket(self, char: str) -> None:
        position = self.position
        if char == "“" and self._find("“") is not None:
            self._close_bracket(char)  # German: „…“
            return
        if char == "(":
            if self._previous and self._previous in _EYES:
                return
            if self._previous == "-" and self._before_previous and self._before_previous in _EYES:
                return
            if self._link_text is not None and self._link_text[1] == position:
                position = self._link_text[0]
        elif char == "«" and not (_is_blank(self._previous) or _is_punctuation(self._previous)):
            return
        self._push_open(_Open(_OPENING[char], 1, position, weak=char == "‘"))

    def _close_bracket(self, char: str) -> None:
        depth = self._find(char)
        if depth is None:
            return
        if char == "]":
            self._link_text = (self._stack[depth].start, self.position + 1)
        self._close(depth, self.position + 1)

    def _push_open(self, entry: _Open) -> None:
        if len(self._stack) < _DEEPEST:
            self._stack.append(entry)

    def _find(self, char: str) -> int | None:
        stack = self._stack
        for depth in range(len(stack) - 1, -1, -1):
            if stack[depth].char == char:
                return depth
        return None

    def _close(self, depth: int, end: int) -> None:
        start = self._stack[depth].start
        del self._stack[depth:]
        self._span(start, end)

    def _span(self, start: int, end: int) -> None:
        if self._collect:
            self.spans.append((start, end))

    # -- addresses -----------------------------------------------------------------------------

    def _follow_scheme(self, char: str) -> None:
        if self._url or self._code:
            self._scheme = ""
        elif char in "htpsHTPS":
            self._scheme = (self._scheme + char.lower())[-6:]
        elif char == ":" and self._scheme.endswith(_SCHEMES):
            self._scheme = ":"
        elif char == "/" and self._scheme == ":":
            self._scheme = ":/"
        elif char == "/" and self._scheme == ":/":
            self._scheme = ""
            self._url = True
            self._url_depth = 0
        else:
            self._scheme = ""

    def _in_url(self, char: str) -> None:
        if char.isspace() or char in "<>":
            self._url = False
        elif char == "(":
            self._url_depth += 1
        elif char == ")" and self._url_depth:
            self._url_depth -= 1
        elif char in _CLOSING and self._find(char) is not None:
            self._url = False
            self._close_bracket(char)


_ANY_MARK = re.compile("[" + re.escape("".join([*_RUNS, *_OPENING])) + "<]|://")
_ADDRESS = re.compile(r"https?://[^\s<>]+", re.IGNORECASE)
_TOKEN = re.compile(
    r"<(?:a?:\w+:\d+|@[!&]?\d+|#\d+|t:-?\d+(?::[A-Za-z])?|id:\w+|/[^<>\n]{1,100}:\d+"
    r"|https?://[^\s<>]+)>"
)


def unbreakable(text: str, start: int, end: int, longest: int) -> list[tuple[int, int]]:
    """What should stay in one piece in the paragraph `text[start:end]`: as sorted intervals that
    do not overlap, none longer than `longest`.

    Emphasis, code spans, quotes, brackets, links, URLs, and Discord's `<…>` tokens.
    """
    if _ANY_MARK.search(text, start, end) is None:
        return []
    scanner = InlineScanner(collect=True)
    scanner.reset(start)
    scanner.scan(text, start, end)
    scanner.finish()
    spans = scanner.spans
    for pattern in (_ADDRESS, _TOKEN):
        spans.extend(match.span() for match in pattern.finditer(text, start, end))
    kept: list[tuple[int, int]] = []
    for low, high in sorted(spans, key=lambda span: (span[0], -span[1])):
        if high - low > longest:
            continue
        if kept and low < kept[-1][1]:
            # One that crosses the end of another joins it while both still fit.
            if kept[-1][1] < high <= kept[-1][0] + longest:
                kept[-1] = (kept[-1][0], high)
            continue
        kept.append((low, high))
    return kept


_BACKTICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t\r]*(?=\n)")


def code_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The code spans of the prose `text[start:end]`, backticks included, in order.

    A span ends at the next run of as many backticks within the paragraph. Linear time.
    """
    runs = [
        match.span()
        for match in _BACKTICKS.finditer(text, start, end)
        if match.start() == start or text[match.start() - 1] != "\\"
    ]
    breaks = [match.start() for match in _BLANK_LINE.finditer(text, start, end)]
    by_length: dict[int, list[int]] = {}
    for index, (low, high) in enumerate(runs):
        by_length.setdefault(high - low, []).append(index)
    spans: list[tuple[int, int]] = []
    index = 0
    while index < len(runs):
        low, high = runs[index]
        same = by_length[high - low]
        after = bisect_left(same, index + 1)
        index += 1
        if after == len(same):
            continue
        closing = runs[same[after]]
        paragraph_end = bisect_left(breaks, high)
        if paragraph_end < len(breaks) and breaks[paragraph_end] < closing[0]:
            continue
        spans.append((low, closing[1]))
        index = same[after] + 1
    return spans
