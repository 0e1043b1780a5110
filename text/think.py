"""Reasoning that a model writes between tags never reaches the channel (C088, D65).

Tags are `<think>`, `<thinking>`, `<thought>`, `<reasoning>`, in any case, with any namespace
prefix and any attributes, split anywhere over chunks. Text is held back only while it can still
become a tag.

Decisions, where models disagree with themselves:

- In the visible text, a tag inside a code block or a code span is literal. Whether a span is one
  shows at the next run of backticks on the line; the text waits for it, `MAX_LOOKAHEAD` at most.
- In the thoughts, any closing tag of the family closes: an unbalanced code fence there must not
  swallow the reply. Only a tag with a backtick on either side is literal.
- Thoughts may be nested. What follows an inner closing tag waits: another closing tag makes it
  thoughts; the end of the stream makes it visible, since the inner opening tag was then only
  mentioned.
- Thoughts without any closing tag are thoughts to the end.
- A closing tag that was never opened (the opening one stood in the prompt's template): what this
  call was given before it counts as thoughts as long as nothing visible has been released;
  afterwards only the tag is dropped.
- Blank text before the first visible character is dropped when thoughts stand next to it.

`DetailsFilter` keeps `<details>` out by the same rules (C080), but for one: a closing tag that was
never opened takes nothing away but itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import regex

from text.fences import FenceTracker, looks_like_opener

MAX_TAG = 256
"""Code points of the longest tag, attributes included; a longer one is text."""
MAX_LOOKAHEAD = 256
"""Code points to wait for the end of a code span around a tag."""

_TAG = regex.compile(
    r"<(?P<close>/)?(?:[a-z_][\w.\-]*:)*(?:thinking|think|thought|reasoning)"
    r"(?:\s[^<>]*|/)?>",
    regex.IGNORECASE,
)
_DETAILS = regex.compile(r"<(?P<close>/)?details(?:\s[^<>]*|/)?>", regex.IGNORECASE)
_NOTABLE = regex.compile(r"[<`\n]")
_HEAD = 40
_BACKTICKS = regex.compile(r"`+")


@dataclass(slots=True)
class _Line:
    """The line of visible text that is being read."""

    parts: list[str] = field(default_factory=list)
    head: str = ""
    """The first characters: enough to see the marker of a fence."""
    span: int = 0
    """Length of the backtick run that opened a code span on this line; 0: none is open."""
    run: int = 0
    """Backticks read of a run that may go on."""

    def add(self, text: str) -> None:
        self.parts.append(text)
        if len(self.head) < _HEAD:
            self.head = (self.head + text)[:_HEAD]

    @property
    def opens_fence(self) -> bool:
        """Whether the line is, so far, an opening fence: what follows is its info string."""
        return looks_like_opener(self.head) and (self.span >= 3 or "~~~" in self.head)

    def end_run(self) -> None:
        if not self.run:
            return
        if not self.span:
            self.span = self.run
        elif self.span == self.run:
            self.span = 0
        self.run = 0


class ThinkFilter:
    """Splits a stream into what members read and what the model thought.

    `feed` and `finish` return (visible, thoughts); all visible parts joined are the reply.
    """

    _tags = _TAG

    def __init__(self) -> None:
        self._held = ""
        self._depth = 0
        self._tail: list[str] | None = None
        """Text after an inner closing tag, while it may still turn out to be visible."""
        self._fences = FenceTracker()
        self._line = _Line()
        self._leading = ""
        """Blank text from before the first visible character."""
        self._released = False
        self._seen_thought = False
        self._visible: list[str] = []
        self._thoughts: list[str] = []

    def feed(self, chunk: str) -> tuple[str, str]:
        self._read(self._held + chunk, final=False)
        return self._take()

    def finish(self) -> tuple[str, str]:
        """The stream is over: nothing is held back any longer."""
        self._read(self._held, final=True)
        if self._tail is not None:
            tail, self._tail = "".join(self._tail), None
            self._depth = 0
            self._show(tail)
        if not self._seen_thought:
            self._visible.append(self._leading)
        self._leading = ""
        return self._take()

    def _take(self) -> tuple[str, str]:
        visible, thoughts = "".join(self._visible), "".join(self._thoughts)
        self._visible, self._thoughts = [], []
        self._released = self._released or bool(visible)
        return visible, thoughts

    # -- reading -------------------------------------------------------------------------------

    def _read(self, data: str, final: bool) -> None:
        self._held = ""
        index = 0
        while index < len(data):
            step = self._thought_step if self._depth else self._visible_step
            following = step(data, index, final)
            if following is None:
                self._held = data[index:]
                return
            index = following

    def _visible_step(self, data: str, index: int, final: bool) -> int | None:
        """Consume something at `index`; where to go on, or None to wait for more."""
        line = self._line
        notable = _NOTABLE.search(data, index)
        stop = notable.start() if notable else len(data)
        if stop > index:
            line.end_run()
            line.add(data[index:stop])
            self._show(data[index:stop])
            return stop
        char = data[index]
        if char == "`":
            escaped = not line.span and not line.run and line.parts and line.parts[-1][-1] == "\\"
            line.run += 0 if escaped else 1
        elif char == "\n":
            self._fences.feed("".join(line.parts))
            self._line = _Line()
            self._show(char)
            return index + 1
        else:
            line.end_run()
            return self._visible_tag(data, index, final)
        line.add(char)
        self._show(char)
        return index + 1

    def _visible_tag(self, data: str, index: int, final: bool) -> int | None:
        if self._fences.fence is not None or self._line.opens_fence:
            return self._literal(data, index, index + 1)
        tag = _match_tag(self._tags, data, index, final)
        if tag is None:
            return self._literal(data, index, index + 1)
        if tag.partial:
            return None
        if self._line.span:
            spanned = _span_ends(data, tag.end(), self._line.span, final)
            if spanned is None:
                return None
            if spanned:
                return self._literal(data, index, tag.end())
        if tag["close"]:
            self._orphan_close()
        elif not tag[0].endswith("/>"):
            self._depth = 1
            self._begin_thought()
        return tag.end()

    def _literal(self, data: str, start: int, end: int) -> int:
        self._line.add(data[start:end])
        self._show(data[start:end])
        return end

    def _thought_step(self, data: str, index: int, final: bool) -> int | None:
        stop = data.find("<", index)
        if stop < 0:
            stop = len(data)
        if stop > index:
            # A backtick is kept back with the tag after it: it tells whether that is literal.
            self._think(data[index:stop])
            return stop
        tag = _match_tag(self._tags, data, index, final)
        if tag is None:
            self._think("<")
            return index + 1
        if tag.partial:
            return None
        if self._after_backtick:
            if tag.end() == len(data) and not final:
                return None
            if data[tag.end() : tag.end() + 1] == "`":
                self._think(tag[0])
                return tag.end()
        if tag["close"]:
            self._close_thought(tag[0])
        else:
            self._think(tag[0])
            if not tag[0].endswith("/>"):
                self._depth += 1
        return tag.end()

    # -- what becomes of it --------------------------------------------------------------------

    _after_backtick = False

    def _show(self, text: str) -> None:
        if self._released or self._visible:
            self._visible.append(text)
            return
        body = text.lstrip()
        self._leading += text[: len(text) - len(body)]
        if body:
            if not self._seen_thought:
                self._visible.append(self._leading)
            self._leading = ""
            self._visible.append(body)

    def _think(self, text: str) -> None:
        self._after_backtick = text.endswith("`")
        (self._thoughts if self._tail is None else self._tail).append(text)

    def _begin_thought(self) -> None:
        self._after_backtick = False
        self._seen_thought = True
        self._leading = ""

    def _close_thought(self, tag: str) -> None:
        self._after_backtick = False
        self._depth -= 1
        if self._tail is not None:
            self._thoughts.extend(self._tail)
            self._tail = None
        if self._depth:
            self._thoughts.append(tag)
            self._tail = []
        self._seen_thought = True

    def _orphan_close(self) -> None:
        if not self._released:
            self._thoughts.extend(self._visible)
            self._visible = []
            self._begin_thought()


class DetailsFilter(ThinkFilter):
    """Splits a stream into what members read and what stands between `<details>` tags."""

    _tags = _DETAILS

    def _orphan_close(self) -> None:
        pass


def _match_tag(
    tags: regex.Pattern[str], data: str, index: int, final: bool
) -> regex.Match[str] | None:
    """A tag at `index`; a partial match when the rest may still come."""
    bound = index + MAX_TAG
    tag = tags.match(data, index, bound, partial=not final)
    if tag is not None and tag.partial and len(data) >= bound:
        return None
    return tag


def _span_ends(data: str, index: int, length: int, final: bool) -> bool | None:
    """Whether a code span opened by `length` backticks ends on the line; None: not known yet."""
    end = data.find("\n", index)
    known = final or end >= 0 or len(data) - index > MAX_LOOKAHEAD
    stop = end if end >= 0 else len(data)
    for run in _BACKTICKS.finditer(data, index, stop):
        if run.end() == len(data) and not final:
            return None
        if run.end() - run.start() == length:
            return True
    return False if known else None
