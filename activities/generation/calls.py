"""The tool calls of a response, looked at before anything runs (D68)."""

from __future__ import annotations

import json
from typing import Protocol

from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_core import from_json

from workflows.contracts.generation import FunctionCall


class ExaminedCall(Protocol):
    """What the tool registry can say about a call without running it."""

    @property
    def refusal(self) -> str | None: ...
    @property
    def summary(self) -> str: ...
    @property
    def task_queue(self) -> str | None: ...


class Examiner(Protocol):
    def examine(self, name: str, arguments: str) -> ExaminedCall: ...


def function_calls(response: ModelResponse, registry: Examiner) -> list[FunctionCall]:
    """The calls in the order in which the model made them.

    A response that was cut off by length makes every call of it suspect: none may be dispatched.
    """
    cut_by_length = response.finish_reason == "length"
    calls: list[FunctionCall] = []
    for part in response.parts:
        if not isinstance(part, ToolCallPart):
            continue
        arguments = _as_json_text(part)
        if cut_by_length or is_incomplete(arguments):
            calls.append(
                FunctionCall(
                    call_id=part.tool_call_id,
                    name=part.tool_name,
                    arguments=arguments,
                    truncated=True,
                    summary=f"{part.tool_name} (arguments cut off)",
                )
            )
            continue
        examined = registry.examine(part.tool_name, arguments)
        calls.append(
            FunctionCall(
                call_id=part.tool_call_id,
                name=part.tool_name,
                arguments=arguments,
                refusal=examined.refusal,
                summary=examined.summary,
                task_queue=examined.task_queue,
            )
        )
    return calls


def is_incomplete(arguments: str) -> bool:
    """Whether `arguments` is the beginning of a JSON text, but not all of one.

    JSON that is merely wrong is not incomplete: the registry refuses that, with its reason.
    """
    try:
        json.loads(arguments)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return False  # more than all of one
        try:
            from_json(arguments, allow_partial="trailing-strings")
        except ValueError:
            return False
        return True
    return False


def _as_json_text(part: ToolCallPart) -> str:
    if isinstance(part.args, str):
        # Several servers send nothing at all for a call without arguments.
        return part.args if part.args.strip() else "{}"
    return json.dumps(part.args or {}, ensure_ascii=False)
