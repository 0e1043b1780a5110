"""The tool calls of a response, looked at before anything runs (D68)."""

from __future__ import annotations

import json
from typing import Protocol

from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_core import from_json

from activities.tools.results import failure_json
from workflows.contracts.generation import FunctionCall

MOST_ARGUMENTS = 100_000
"""Code points of the arguments of all calls of one response: they stand in the history twice, in
the result and in the call of the tool. Even if each had to be escaped, that is 0.6 MB of the 2 MB
that Temporal takes."""


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
    Arguments for which there is no room are left out, and count as truncated: replayed empty.
    """
    cut_by_length = response.finish_reason == "length"
    calls: list[FunctionCall] = []
    room = MOST_ARGUMENTS
    for part in response.parts:
        if not isinstance(part, ToolCallPart):
            continue
        arguments = _as_json_text(part)
        if len(arguments) > room:
            calls.append(_without_arguments(part, len(arguments)))
            continue
        room -= len(arguments)
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

    JSON that is merely wrong is not incomplete: the registry refuses that, with its reason. So
    does it with what is nested too deep to be read, or has a number too long to be one.
    """
    try:
        json.loads(arguments)
    except RecursionError:
        return False
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError):
            return False
        if error.msg == "Extra data":
            return False  # more than all of one
        try:
            from_json(arguments, allow_partial="trailing-strings")
        except ValueError:
            return False
        return True
    return False


def _without_arguments(part: ToolCallPart, length: int) -> FunctionCall:
    reason = (
        f"Arguments too long ({length} characters, at most {MOST_ARGUMENTS} for all calls of one "
        "response), so the tool was not run. Call it again with shorter arguments."
    )
    return FunctionCall(
        call_id=part.tool_call_id,
        name=part.tool_name,
        truncated=True,
        refusal=failure_json(part.tool_name, reason),
        summary=f"{part.tool_name} (arguments too long)",
    )


def _as_json_text(part: ToolCallPart) -> str:
    if isinstance(part.args, str):
        # Several servers send nothing at all for a call without arguments.
        return part.args if part.args.strip() else "{}"
    return json.dumps(part.args or {}, ensure_ascii=False)
