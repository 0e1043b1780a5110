"""From whatever a tool returned to the JSON text that the model reads.

A result is data: it may come from a stranger's web page. Control characters and lone surrogates
are taken out, and its size is bounded, before anything else sees it.

One that is too long for a history is stored whole. What stands in the history instead is an object
with its beginning, and with the id and the offset at which `read_tool_result` reads on. Offsets
count the code points of the result's `readable` form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from workflows.contracts.tools import INLINE_RESULT_LIMIT

MAX_RESULT = 4_000_000
"""Code points of a result that are kept in storage; a tool that returns more is cut there."""

MAX_REASON = 1_000

_MORE_DIGITS = 10
"""`next_offset` may be this much longer than it was reckoned with."""

RESULT_ID = 12
"""Characters of a blob id that name a result to the model: enough to tell those of one turn
apart, and no more than it can copy without a slip."""

FAILED = "tool_execution_failed"

_UNWANTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with plain line ends, without control characters, and encodable as UTF-8."""
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def success_json(output: object) -> str:
    """The text for the model: an object as it is, anything else as `{"result": …}`.

    Raises ValueError or TypeError when `output` has no JSON form.
    """
    value = _cleaned(to_jsonable_python(output, inf_nan_mode="null"))
    if not isinstance(value, dict):
        value = {"result": value}
    return json.dumps(value, ensure_ascii=False)[:MAX_RESULT]


def failure_json(tool_name: str, reason: str, data: Mapping[str, Any] | None = None) -> str:
    """The one shape of every failure that a model sees (behaviour 6.5), with `data` beside it. Only
    a `status` of its own, such as those of behaviour 7.2, takes the place of the common one.

    Raises ValueError or TypeError when `data` has no JSON form.
    """
    failure = {
        "status": FAILED,
        "tool_name": clean(tool_name)[:64],
        "reason": clean(reason)[:MAX_REASON],
    }
    if data:
        extra = _cleaned(to_jsonable_python(dict(data), inf_nan_mode="null"))
        failure = {"status": FAILED} | extra | {k: failure[k] for k in ("tool_name", "reason")}
    return json.dumps(failure, ensure_ascii=False)[:MAX_RESULT]


def result_id_of(blob_id: str) -> str:
    return blob_id[:RESULT_ID]


def beginning_json(text: str, blob_id: str) -> str:
    """What stands in a history for `text`, a result that is too long for it."""
    return window_json(readable(text), result_id_of(blob_id), 0)


def window_json(whole: str, result_id: str, offset: int) -> str:
    """As much of `whole` from `offset` (code points) as an object of the inline size can hold."""
    rest = whole[offset:]
    frame = _window(whole, result_id, offset, "")
    text = fit(rest, INLINE_RESULT_LIMIT - len(frame) - _MORE_DIGITS)
    return _window(whole, result_id, offset, text)


def _window(whole: str, result_id: str, offset: int, text: str) -> str:
    end = offset + len(text)
    window: dict[str, Any] = {
        "text": text,
        "result_id": result_id,
        "offset": offset,
        "total_length": len(whole),
    }
    if end < len(whole):
        window["next_offset"] = end
        window["note"] = (
            "This is a part of a longer result. If the rest is needed, call read_tool_result with "
            "this result_id and with next_offset as the offset."
        )
    return json.dumps(window, ensure_ascii=False)


def fit(text: str, room: int) -> str:
    """The longest beginning of `text` that takes at most `room` code points inside JSON quotes."""
    taken = 0
    for index, character in enumerate(text):
        taken += len(json.dumps(character, ensure_ascii=False)) - 2
        if taken > room:
            return text[:index]
        if index >= room:
            break
    return text[: max(room, 0)]


def readable(text: str) -> str:
    """A stored result as it is paged through: fields by line, and text without JSON's escapes."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # one that was cut at `MAX_RESULT`
        return text
    if not isinstance(value, dict):
        return text
    if list(value) == ["result"]:
        return _readable(value["result"])
    return "\n".join(f"{key}: {_readable(item)}" for key, item in value.items())


def _readable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
