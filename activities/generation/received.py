"""What a provider sent, made fit to be signalled, stored and replayed.

Two things make a provider's text unfit. JSON can name one half of a surrogate pair, and a server
that escapes by code unit may cut a chunk between the halves: such text has no UTF-8 form, so that
neither a signal nor a result can carry it. And nothing limits the name and the id of a tool call,
which stand in every history.

What comes in: chunks of visible text, and the whole response. What goes out: the same, well-formed.
What always holds: a call has one name and one id, in the result and in the stored response.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from typing import Any, cast

from pydantic_ai.messages import ModelResponse, ToolCallPart

from activities.tools.results import clean

LONGEST_TOOL_NAME = 64
"""Code points: no tool has a longer one, and no provider allows one."""

LONGEST_CALL_ID = 200
"""Code points. Providers' own ids have about 30."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAY_GO_ON = re.compile("[\ud800-\udbff\r]")
"""The first half of a pair, and of a line end."""


def well_formed(text: str) -> str:
    """`text` with the halves of surrogate pairs joined, and U+FFFD for each that is alone."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class ChunkedText:
    """Visible text as it streams: well-formed, with plain line ends, without control characters.

    The result does not depend on how the text was cut into chunks.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, chunk: str) -> str:
        """What may be shown now. A last character that the next chunk may complete waits."""
        text = self._held + chunk
        self._held = text[-1:] if _MAY_GO_ON.match(text[-1:]) else ""
        return _shown(text[: len(text) - len(self._held)])

    def finish(self) -> str:
        """What waited for a second half that did not come."""
        held, self._held = self._held, ""
        return _shown(held)


def fit(response: ModelResponse) -> ModelResponse:
    """`response` well-formed at any depth, its calls with names and ids of bounded length."""
    response = _repaired(response)
    parts = [
        replace(
            part,
            tool_name=_bounded(part.tool_name, LONGEST_TOOL_NAME),
            tool_call_id=_bounded(part.tool_call_id, LONGEST_CALL_ID),
        )
        if isinstance(part, ToolCallPart)
        else part
        for part in response.parts
    ]
    return replace(response, parts=parts)


def _shown(text: str) -> str:
    return clean(well_formed(text))


def _bounded(text: str, most: int) -> str:
    """A longer one ends in its hash, so that two stay two, and none becomes the name of a tool."""
    text = clean(text)
    if len(text) <= most:
        return text
    mark = "-" + sha256(text.encode()).hexdigest()[:16]
    return text[: most - len(mark)] + mark


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {_repaired(key): _repaired(item) for key, item in items}
    if isinstance(value, list):
        return [_repaired(item) for item in cast("list[Any]", value)]
    if is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        new = {name: _repaired(item) for name, item in old.items()}
        return value if new == old else replace(value, **new)
    return value
