"""From the schema of a stranger's tool to one that every provider takes.

In: any JSON. Out: a schema of simple parts, without references, or `Unusable` with the reason: one
bad schema would make a provider refuse the whole request, and with it every turn.

What always holds: the work is bounded before it is begun (the largest schema takes about 3 ms; to
check one against the meta-schema took 140 ms, and up to half a second when it was made for that),
no pattern is compiled, no address is opened, and nothing but `Unusable` is raised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from activities.tools.results import clean

MAX_SCHEMA = 16_000
"""Characters of a schema as JSON: it is sent with every model call."""
MAX_DEPTH = 16
MAX_NODES = 2_000
"""Values in a schema."""

_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What the narrowest provider takes as the name of an argument."""

_COMBINED = frozenset({"oneOf", "anyOf", "allOf", "not", "if", "then", "else"})
"""At the top they only narrow what the properties say, and providers refuse them there."""

_DROPPED = frozenset(
    {"$schema", "$id", "$anchor", "$comment", "$vocabulary", "$dynamicAnchor", "$dynamicRef"}
    | {"$recursiveAnchor", "$recursiveRef", "$defs", "definitions"}
    | {"pattern", "patternProperties", "contentSchema"}
)
"""What tells a model nothing, and what is filled in where it is used. And patterns: to know that a
provider takes one it would have to be compiled, and that alone can take all memory. The server
checks them."""

_ONE_SCHEMA = frozenset(
    {"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_SCHEMAS_BY_NAME = frozenset({"properties", "dependentSchemas"})
_LIST_OF_SCHEMAS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})

_KINDS = frozenset({"string", "boolean", "integer", "number", "array", "object", "null"})


class Unusable(Exception):
    """A listed tool that is not offered. `reason` is for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def usable_schema(schema: Any) -> dict[str, Any]:
    """A copy of `schema` as providers take it. Raises Unusable."""
    try:
        return _usable(schema)
    except Unusable:
        raise
    except Exception:
        raise Unusable("its schema could not be checked") from None


def count_nodes(value: Any, most: int, depth: int) -> int:
    """How many values `value` consists of. Raises Unusable above `most`, or below `depth`."""
    count = 0
    level = [value]
    while level:
        count += len(level)
        if count > most:
            raise Unusable("it is too large")
        if depth == 0:
            raise Unusable("it is nested too deep")
        depth -= 1
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = below
    return count


def _usable(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise Unusable("its schema is not that of an object")
    try:
        count_nodes(schema, MAX_NODES, MAX_DEPTH + 1)
    except Unusable as error:
        raise Unusable(f"its schema: {error.reason}") from None
    _check_size(schema)
    usable = _Filling(schema).filled(
        {key: value for key, value in schema.items() if key not in _COMBINED | {"title"}}
    )
    properties = usable.setdefault("properties", {})
    if not all(map(_PROPERTY.fullmatch, properties)):
        raise Unusable("its arguments have names that providers refuse")
    if not all(name in properties for name in usable.get("required", ())):
        raise Unusable("it requires arguments that it does not have")
    usable["type"] = "object"
    _check_size(usable)
    return usable


def _check_size(schema: Any) -> None:
    try:
        size = len(json.dumps(schema, allow_nan=False, ensure_ascii=False).encode())
    except (ValueError, TypeError, RecursionError):
        raise Unusable("its schema is not JSON") from None
    if size > MAX_SCHEMA:
        raise Unusable("its schema is too large")


class _Filling:
    """One schema, copied with each reference replaced by what it refers to.

    It is measured while it grows: a few references can stand for more than any memory holds.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._room = 2 * MAX_SCHEMA  # a rough measure; the exact one follows

    def filled(
        self, schema: dict[str, Any], depth: int = MAX_DEPTH, within: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        """`within`: the references that have led here."""
        if depth <= 0:
            raise Unusable("its schema is nested too deep")
        while "$ref" in schema:
            reference = schema["$ref"]
            target = self._target(reference)
            if reference in within:
                return {}  # it contains itself: whatever stands there is for the server to judge
            within |= {reference}
            if len(within) > MAX_DEPTH:
                raise Unusable("its references lead too far")
            schema = {**target, **{key: schema[key] for key in schema if key != "$ref"}}
        made: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED:
                continue
            self._spend(len(key) + 4)
            if key in _ONE_SCHEMA:
                made[key] = self._one(value, key, depth - 1, within)
            elif key in _SCHEMAS_BY_NAME:
                made[key] = {
                    name: self._one(item, key, depth - 2, within)
                    for name, item in _members(value, key)
                }
            elif key in _LIST_OF_SCHEMAS:
                made[key] = [self._one(item, key, depth - 2, within) for item in _items(value, key)]
            else:
                made[key] = self._plain(value, key)
        return made

    def _one(self, value: Any, key: str, depth: int, within: frozenset[str]) -> Any:
        self._spend(2)
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict):
            raise _malformed(key)
        return self.filled(value, depth, within)

    def _plain(self, value: Any, key: str) -> Any:
        """A value that is no schema; what we do not know may be anything."""
        fits = _PLAIN.get(key)
        if fits is not None and not fits(value):
            raise _malformed(key)
        if isinstance(value, str):
            self._spend(len(value))
            return clean(value) if key == "description" else value
        self._spend(len(json.dumps(value)) if isinstance(value, dict | list) else 4)
        return value

    def _target(self, reference: Any) -> dict[str, Any]:
        if not isinstance(reference, str):
            raise _malformed("$ref")
        if not reference.startswith("#"):
            raise Unusable("its schema refers to another document")
        target: Any = self._root
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, dict) else None
        if not isinstance(target, dict) or reference[1:2] not in ("", "/"):
            raise Unusable("its schema refers to a part that it does not have")
        self._spend(2)
        return target

    def _spend(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            raise Unusable("its schema is too large")


def _members(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise _malformed(key)
    yield from value.items()


def _items(value: Any, key: str) -> Iterator[Any]:
    if not isinstance(value, list) or not value:
        raise _malformed(key)
    yield from value


def _malformed(key: str) -> Unusable:
    return Unusable(f"its schema is malformed (`{key}`)")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_step(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _are_kinds(value: Any) -> bool:
    if isinstance(value, str):
        return value in _KINDS
    return _are_names(value) and len(value) > 0 and _KINDS.issuperset(value)


def _are_names_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_are_names, value.values()))


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "type": _are_kinds,
    "required": _are_names,
    "enum": _is_choice,
    "examples": lambda value: isinstance(value, list),
    "dependentRequired": _are_names_by_name,
    "multipleOf": _is_step,
    **dict.fromkeys(
        ("title", "description", "format", "contentEncoding", "contentMediaType"), _is_text
    ),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_count),
}
"""The keywords that providers read, and what each must be."""
