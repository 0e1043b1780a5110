"""From a stream's events to the segments that people see (behaviour 6.8, state machine).

What comes in: pydantic-ai stream events, in order. What goes out: completed segments, to `emit`.
What always holds: no thought is emitted, whether it came as a part of its own or between tags, nor
what stands in `<details>`, which is kept apart for memory (behaviour 6.7); text
before a tool call is out before the call is reported (C081); what is emitted can be encoded, and is
bounded, however large a single event is.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic_ai.messages import (
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from activities.generation.received import ChunkedText
from activities.generation.stops import StopStrings
from text.segmenter import Segmenter
from text.think import DetailsFilter, ThinkFilter

MOST_CHARACTERS = 400_000
"""Code points of one response, of any kind: far beyond any limit of output tokens. A server that
ignores the limit is cut off here."""


MOST_DETAILS = 2_000
"""Code points of details that are kept of one response: they stand in its result."""


class VisibleText:
    """Routes events; `finish` ends the text, whatever ended the stream."""

    def __init__(self, emit: Callable[[str], None], stop_strings: list[str]) -> None:
        self._emit = emit
        self._chunks = ChunkedText()
        self._thoughts = ThinkFilter()
        self._details = DetailsFilter()
        self.details = ""
        """What stood in `<details>`, at most `MOST_DETAILS` code points."""
        self._stops = StopStrings(stop_strings)
        self._segmenter = Segmenter()
        self._finished = False
        self.visible_chars = 0
        """Code points in the segments that were emitted."""
        self.received_chars = 0
        """Code points of any kind: text, thoughts, calls with their names, ids and arguments."""
        self._calls: set[int] = set()

    @property
    def stopped(self) -> bool:
        """A stop string ended the text; nothing that follows is shown."""
        return self._stops.hit

    @property
    def calls(self) -> int:
        """How many tool calls have begun."""
        return len(self._calls)

    @property
    def ran_on(self) -> bool:
        """More came than is taken; of the text, what was too much is not shown."""
        return self.received_chars > MOST_CHARACTERS

    def accept(self, event: ModelResponseStreamEvent) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                self._show(self._chunks.finish())  # half a character does not go on in a new part
                self._text(text)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._text(text)
            case PartStartEvent(index=index, part=ToolCallPart() as call):
                self._calls.add(index)
                self._before_call()
                self._count(call.tool_name, call.tool_call_id, call.args)
            case PartDeltaEvent(delta=ToolCallPartDelta() as call):
                # Each delta repeats the call's id, which does not grow by it.
                self._count(call.tool_name_delta, call.args_delta)
            case PartStartEvent(part=ThinkingPart() as thought):
                self._count(thought.content, thought.signature)
            case PartDeltaEvent(delta=ThinkingPartDelta() as thought):
                self._count(thought.content_delta, thought.signature_delta)
            case _:
                pass  # ends of parts and results of the provider's own tools show nothing

    def finish(self) -> None:
        """Emit what is left. A second time it does nothing."""
        if self._finished:
            return
        self._finished = True
        self._drain_filters()
        self._out(self._segmenter.finish())

    def _text(self, text: str) -> None:
        room = max(0, MOST_CHARACTERS - self.received_chars)
        self._count(text)
        self._show(self._chunks.feed(text[:room]))

    def _show(self, text: str) -> None:
        visible, _ = self._thoughts.feed(text)
        self._segment(self._stops.feed(self._without_details(*self._details.feed(visible))))

    def _without_details(self, visible: str, details: str) -> str:
        if details and not self._stops.hit:
            self.details = (self.details + details)[:MOST_DETAILS]
        return visible

    def _before_call(self) -> None:
        self._drain_filters()
        self._out(self._segmenter.trim_for_call())

    def _drain_filters(self) -> None:
        """A tag or a stop string cannot continue beyond the text that it began in."""
        self._show(self._chunks.finish())
        visible, _ = self._thoughts.finish()
        self._thoughts = ThinkFilter()
        visible = self._without_details(*self._details.feed(visible))
        visible += self._without_details(*self._details.finish())
        self._details = DetailsFilter()
        self._segment(self._stops.feed(visible) + self._stops.finish())

    def _segment(self, visible: str) -> None:
        if visible:
            self._out(self._segmenter.feed(visible))

    def _out(self, segments: list[str]) -> None:
        for segment in segments:
            if segment.strip():
                self.visible_chars += len(segment)
                self._emit(segment)

    def _count(self, *contents: object) -> None:
        for content in contents:
            if isinstance(content, str):
                self.received_chars += len(content)
            elif content is not None:  # arguments that came as an object
                self.received_chars += len(json.dumps(content, ensure_ascii=False, default=str))
