"""From a stream's events to the segments that people see (behaviour 6.8, state machine).

What comes in: pydantic-ai stream events, in order. What goes out: completed segments, to `emit`.
What always holds: no thought is emitted, whether it came as a part of its own or between tags; text
before a tool call is out before the call is reported (C081).
"""

from __future__ import annotations

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

from activities.generation.stops import StopStrings
from text.segmenter import Segmenter
from text.think import ThinkFilter


class VisibleText:
    """Routes events; `finish` ends the text, whatever ended the stream."""

    def __init__(self, emit: Callable[[str], None], stop_strings: list[str]) -> None:
        self._emit = emit
        self._thoughts = ThinkFilter()
        self._stops = StopStrings(stop_strings)
        self._segmenter = Segmenter()
        self._finished = False
        self.visible_chars = 0
        """Code points in the segments that were emitted."""
        self.received_chars = 0
        """Code points of any kind: text, thoughts, arguments."""

    @property
    def stopped(self) -> bool:
        """A stop string ended the text; nothing that follows is shown."""
        return self._stops.hit

    def accept(self, event: ModelResponseStreamEvent) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                self._text(text)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._text(text)
            case PartStartEvent(part=ToolCallPart() as call):
                self._before_call()
                self._count(call.args)
            case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=arguments)):
                self._count(arguments)
            case PartStartEvent(part=ThinkingPart(content=thought)):
                self._count(thought)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=thought)):
                self._count(thought)
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
        self._count(text)
        visible, _ = self._thoughts.feed(text)
        self._segment(self._stops.feed(visible))

    def _before_call(self) -> None:
        self._drain_filters()
        self._out(self._segmenter.trim_for_call())

    def _drain_filters(self) -> None:
        """A tag or a stop string cannot continue beyond the text that it began in."""
        visible, _ = self._thoughts.finish()
        self._thoughts = ThinkFilter()
        self._segment(self._stops.feed(visible) + self._stops.finish())

    def _segment(self, visible: str) -> None:
        if visible:
            self._out(self._segmenter.feed(visible))

    def _out(self, segments: list[str]) -> None:
        for segment in segments:
            if segment.strip():
                self.visible_chars += len(segment)
                self._emit(segment)

    def _count(self, content: object) -> None:
        if isinstance(content, str):
            self.received_chars += len(content)
