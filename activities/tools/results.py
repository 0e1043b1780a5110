"""From whatever a tool returned to the JSON text that the model reads.

A result is data: it may come from a stranger's web page. Control characters and lone surrogates
are taken out, and its size is bounded, before anything else sees it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import to_jsonable_python

MAX_RESULT = 4_000_000
"""Code points of a result that are kept in storage; a tool that returns more is cut there."""

MAX_REASON = 1_000

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


def failure_json(tool_name: str, reason: str) -> str:
    """The one shape of every failure that a model sees (behaviour 6.5)."""
    return json.dumps(
        {
            "status": FAILED,
            "tool_name": clean(tool_name)[:64],
            "reason": clean(reason)[:MAX_REASON],
        },
        ensure_ascii=False,
    )


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
