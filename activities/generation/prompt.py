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
    ModelResponsePart,
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

GO_ON = "[The conversation above now shows more. Go on from what you have said; do not repeat it.]"

NO_RESULT = '{"status": "tool_execution_failed", "reason": "the call was not carried out"}'


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
        parts = _replayed(entry, response)
        if not parts:
            continue
        messages.append(replace(response, parts=parts))
        results = {result.call_id: result for result in entry.results}
        answers: list[ModelRequestPart] = [
            _answer(part, results.get(part.tool_call_id))
            for part in parts
            if isinstance(part, ToolCallPart)
        ]
        if not answers and entry.dropped_call_ids:
            # Otherwise the text would stand last, and be taken for a beginning to be continued.
            answers.append(UserPromptPart(content=GO_ON))
        if answers:
            messages.append(RequestMessage(parts=answers))
    return messages


def _replayed(entry: TranscriptEntry, response: ModelResponse) -> list[ModelResponsePart]:
    """What is left of a response: calls that arrived cut off have no arguments, calls that
    restarted the context are gone (C069, C078)."""
    cleared, dropped = set(entry.cleared_call_ids), set(entry.dropped_call_ids)
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in dropped:
                continue
            if part.tool_call_id in cleared:
                part = replace(part, args="{}")
        elif dropped and not isinstance(part, TextPart):
            # Thoughts are signed together with the calls they led to, and those are gone.
            continue
        parts.append(part)
    return parts


def _answer(call: ToolCallPart, result: ToolResult | None) -> ToolReturnPart:
    if result is None:
        return ToolReturnPart(call.tool_name, NO_RESULT, call.tool_call_id, outcome="interrupted")
    return ToolReturnPart(
        call.tool_name,
        result.content,
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
