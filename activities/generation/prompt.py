"""The request to the model: the stored context, then what this turn has done so far.

What comes in: a `ContextDocument` and the turn's transcript entries, from `storage`. What goes out:
pydantic-ai messages. What always holds: every call of a replayed response is answered, and the text
a response had before its calls stands in it once and nowhere else (C074).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as RequestMessage

from activities.context.document import ContextDocument
from text.think import ThinkFilter
from workflows.contracts.tools import ToolResult, TranscriptEntry

NO_RESULT = '{"status": "tool_execution_failed", "reason": "the call was not carried out"}'

HEAD_OF_LONGER = "\n\n(This is the beginning of a longer result; the rest is not shown.)"


def context_messages(document: ContextDocument) -> list[ModelMessage]:
    """System prompt and dialogue; neighbours of the same role become one message.

    A document begins and ends with the user's words, which is what every provider accepts.
    """
    messages: list[ModelMessage] = []
    request: list[ModelRequestPart] = []
    response: list[TextPart] = []
    if document.system.strip():
        request.append(SystemPromptPart(content=document.system))

    def close() -> None:
        if request:
            messages.append(RequestMessage(parts=list(request)))
        if response:
            messages.append(ModelResponse(parts=list(response)))
        request.clear()
        response.clear()

    for item in document.items:
        if not item.text.strip():
            continue
        if item.role == "model":
            if request:
                close()
            response.append(TextPart(content=item.text))
        else:
            if response:
                close()
            request.append(UserPromptPart(content=item.text))
    close()
    return messages


def transcript_messages(
    entries: Sequence[TranscriptEntry], responses: Sequence[ModelResponse]
) -> list[ModelMessage]:
    """The turn so far. `responses[i]` is the stored response of `entries[i]`."""
    messages: list[ModelMessage] = []
    for entry, response in zip(entries, responses, strict=True):
        cleared = set(entry.cleared_call_ids)
        parts = [
            replace(part, args="{}")
            if isinstance(part, ToolCallPart) and part.tool_call_id in cleared
            else part
            for part in response.parts
        ]
        messages.append(replace(response, parts=parts))
        results = {result.call_id: result for result in entry.results}
        answers: list[ModelRequestPart] = [
            _answer(part, results.get(part.tool_call_id))
            for part in parts
            if isinstance(part, ToolCallPart)
        ]
        if answers:
            messages.append(RequestMessage(parts=answers))
    return messages


def _answer(call: ToolCallPart, result: ToolResult | None) -> ToolReturnPart:
    if result is None:
        return ToolReturnPart(call.tool_name, NO_RESULT, call.tool_call_id, outcome="interrupted")
    content = result.content + (HEAD_OF_LONGER if result.content_id else "")
    return ToolReturnPart(
        call.tool_name,
        content,
        call.tool_call_id,
        outcome="success" if result.success else "failed",
    )


def response_to_bytes(response: ModelResponse) -> bytes:
    """A response as `storage` keeps it: whole, but without thoughts that stood in its text."""
    parts = [
        replace(part, content=_without_thoughts(part.content))
        if isinstance(part, TextPart)
        else part
        for part in response.parts
    ]
    kept = [part for part in parts if not (isinstance(part, TextPart) and not part.content.strip())]
    return ModelMessagesTypeAdapter.dump_json([replace(response, parts=kept)])


def response_from_bytes(data: bytes) -> ModelResponse:
    """The inverse of `response_to_bytes`. Raises ValueError when `data` is something else."""
    messages = ModelMessagesTypeAdapter.validate_json(data)
    if len(messages) != 1 or not isinstance(messages[0], ModelResponse):
        raise ValueError("the stored blob is not one model response")
    return messages[0]


def _without_thoughts(text: str) -> str:
    tags = ThinkFilter()
    visible, _ = tags.feed(text)
    rest, _ = tags.finish()
    return visible + rest
