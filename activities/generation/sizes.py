"""A result that Temporal takes.

Temporal refuses a payload beyond 2 MB, and takes an activity whose result it refused for one whose
worker died: the call would be made, and paid for, again. So a result is measured, in the form in
which it travels, before the activity ends.
"""

from __future__ import annotations

from pydantic_core import to_json

from activities.generation import errors
from workflows.contracts.generation import ModelResult, Segment, StreamStatus

LARGEST_RESULT = 1_000_000
"""Bytes of a result as it travels: half of what Temporal takes, since a codec may add to it."""


def encoded_size(value: object) -> int:
    """Bytes of `value` as a payload. Raises ValueError when it has no JSON form in UTF-8."""
    return len(to_json(value))


def fitting(result: ModelResult, where: str) -> ModelResult:
    """`result`, or an error with as much of its text as fits. Raises as `encoded_size` does."""
    size = encoded_size(result)
    if size <= LARGEST_RESULT:
        return result
    bare = result.model_copy(
        update={
            "status": StreamStatus.ERROR,
            "error": errors.too_large(where, size, LARGEST_RESULT),
            "calls": [],
            "response_id": None,
            "tail": [],
        }
    )
    kept: list[Segment] = []
    room = LARGEST_RESULT - encoded_size(bare)
    for segment in result.tail:
        room -= encoded_size(segment) + 1
        if room < 0:
            break
        kept.append(segment)
    return bare.model_copy(update={"tail": kept})
