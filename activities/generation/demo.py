"""The demo model: offline, deterministic, and otherwise like a provider's.

It streams word by word at a pace that can be read, calls tools, and can be interrupted between any
two words, so that the whole path of a turn is seen without a key. It reports no usage, since there
is none.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from activities.generation.demo_script import DemoReply, demo_reply

_WORDS = re.compile(r"\s*\S+\s*\Z|\s*\S+")


class DemoModel(Model[None]):
    """`pace` in words per second; 0: without a pause."""

    def __init__(self, pace: float) -> None:
        super().__init__()
        self._pace = pace

    @property
    def model_name(self) -> str:
        return "demo"

    @property
    def system(self) -> str:
        return "demo"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        reply = _reply(messages, model_request_parameters)
        parts: list[ModelResponsePart] = [TextPart(content=reply.text)]
        if reply.call:
            parts.append(ToolCallPart(*_named_call(reply.call, messages)))
        return ModelResponse(
            parts=parts,
            model_name="demo",
            finish_reason="tool_call" if reply.call else "stop",
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        reply = _reply(messages, model_request_parameters)
        yield _DemoStream(
            model_request_parameters=model_request_parameters,
            text=reply.text,
            call=_named_call(reply.call, messages) if reply.call else None,
            pace=self._pace,
        )


def _reply(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> DemoReply:
    return demo_reply(messages, {tool.name for tool in parameters.function_tools})


def _named_call(
    call: tuple[str, dict[str, Any]], messages: Sequence[ModelMessage]
) -> tuple[str, str, str]:
    """(tool, arguments, call id); the id depends only on how far the conversation is."""
    name, arguments = call
    return name, json.dumps(arguments), f"demo-{len(messages)}"


@dataclass
class _DemoStream(StreamedResponse):
    text: str
    call: tuple[str, str, str] | None
    pace: float
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        clock = asyncio.get_running_loop().time
        begun = clock()
        for number, word in enumerate(_WORDS.findall(self.text)):
            # By the clock and not by a pause each: a busy machine must not slow the text down.
            await asyncio.sleep(max(0.0, begun + number / self.pace - clock()) if self.pace else 0)
            for event in self._parts_manager.handle_text_delta(vendor_part_id="text", content=word):
                yield event
        if self.call:
            name, arguments, call_id = self.call
            for event in self._parts_manager.handle_tool_call_delta_events(
                vendor_part_id="call", tool_name=name, args=arguments, tool_call_id=call_id
            ):
                yield event
        self.finish_reason = "tool_call" if self.call else "stop"

    async def close_stream(self) -> None:
        """There is no connection."""

    @property
    def model_name(self) -> str:
        return "demo"

    @property
    def provider_name(self) -> str:
        return "demo"

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self._timestamp
