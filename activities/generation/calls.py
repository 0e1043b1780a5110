"""The tool calls of a response, looked at before anything runs (D68).

In: a response, and what this turn may use. Out: `FunctionCall`s, each with what the registry can
say of it without running it. What always holds: a call whose arguments were cut off is never
examined further; of them only the names of the parameters that arrived go on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Protocol, cast

from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_core import from_json

from activities.tools.results import failure_json
from workflows.contracts.context import ToolSet
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
    @property
    def requires_follow_up(self) -> bool: ...
    @property
    def ends_turn(self) -> bool: ...


class Examiner(Protocol):
    def examine(
        self,
        name: str,
        arguments: str,
        provider: str = ...,
        tools: ToolSet = ...,
        withheld: Sequence[str] = ...,
    ) -> ExaminedCall: ...

    def parameters(self, name: str) -> frozenset[str]: ...


BY_LENGTH = "the answer reached its length limit"
BY_ITSELF = "they ended before they were complete"

MOST_ARRIVED = 20
"""Parameters of a cut-off call that are named."""


def function_calls(
    response: ModelResponse,
    registry: Examiner,
    provider: str = "",
    tools: ToolSet | None = None,
    withheld: Sequence[str] = (),
) -> list[FunctionCall]:
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
                    arrived=arrived(arguments, registry.parameters(part.tool_name)),
                    cut_by=BY_LENGTH if cut_by_length else BY_ITSELF,
                    summary=f"{part.tool_name} (arguments cut off)",
                )
            )
            continue
        examined = registry.examine(
            part.tool_name, arguments, provider, tools or ToolSet(), withheld
        )
        calls.append(
            FunctionCall(
                call_id=part.tool_call_id,
                name=part.tool_name,
                arguments=arguments,
                refusal=examined.refusal,
                summary=examined.summary,
                task_queue=examined.task_queue,
                requires_follow_up=examined.requires_follow_up,
                ends_turn=examined.ends_turn,
            )
        )
    return calls


def arrived(arguments: str, parameters: frozenset[str]) -> list[str]:
    """Which of `parameters` stand in arguments that were cut off, each with a whole value.

    Only what a comma follows is known to be whole: a number at the very end may have had more
    digits. The values themselves are not used for anything.
    """
    end = 0
    depth = 0
    for token in _TOKEN.finditer(arguments):
        match token.group()[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
            case ",":
                end = token.start() if depth == 1 else end
            case _:
                continue
    try:
        value: Any = from_json(arguments[:end] + "}")
    except ValueError:
        return []
    if not isinstance(value, dict):
        return []
    names = [name for name in cast("dict[str, Any]", value) if name in parameters]
    return names[:MOST_ARRIVED]


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],]', re.DOTALL)
"""A string, whole or cut off, or a mark between entries."""


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
