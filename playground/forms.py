"""Forms (Discord's modals): shown by the bot, filled in by a member, sent back as they were built.

In: the `data` of an interaction's answer of type 9, and later what was written into its fields.
Out: a `Form`, and the `data` of the MODAL_SUBMIT interaction. Only text fields are known here.

Source of the limits: Discord's API reference, "Modal" and "Text Input".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

from playground.errors import DiscordError, invalid_form

FIELDS_LIMIT = 5
TITLE_LIMIT = 45
LABEL_LIMIT = 45
DESCRIPTION_LIMIT = 100
PLACEHOLDER_LIMIT = 100
CUSTOM_ID_LIMIT = 100
VALUE_LIMIT = 4000
"""Characters that a field can hold."""


class _Part(IntEnum):
    ROW = 1
    TEXT_INPUT = 4
    LABEL = 18


class _Style(IntEnum):
    SHORT = 1
    PARAGRAPH = 2


class NotFilledIn(Exception):
    """A member's form is not complete; `problems` says what is wrong, by custom id."""

    def __init__(self, problems: dict[str, str], labels: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{labels.get(key, key)}: {problems[key]}" for key in problems))
        self.problems = problems


@dataclass(frozen=True)
class Field:
    custom_id: str
    label: str
    description: str
    paragraph: bool
    required: bool
    min_length: int
    max_length: int
    value: str
    placeholder: str

    def problem(self, text: str) -> str | None:
        """Why this field does not take `text`. An optional one may always be left empty."""
        if not text:
            return "needs to be filled in" if self.required else None
        if len(text) < self.min_length:
            return f"needs {self.min_length} characters or more, not {len(text)}"
        if len(text) > self.max_length:
            return f"takes {self.max_length} characters at most, not {len(text)}"
        return None


@dataclass(frozen=True)
class Form:
    custom_id: str
    title: str
    fields: tuple[Field, ...]
    parts: list[dict[str, Any]]
    """The components as they were sent."""

    def view(self) -> dict[str, Any]:
        return {"title": self.title, "fields": [asdict(field) for field in self.fields]}

    def submission(self, given: Mapping[str, str]) -> dict[str, Any]:
        """`given` by custom id; what is missing is empty. Raises NotFilledIn."""
        labels = {field.custom_id: field.label for field in self.fields}
        problems = {key: "there is no such field" for key in given if key not in labels}
        for field in self.fields:
            problem = field.problem(given.get(field.custom_id, ""))
            if problem is not None:
                problems[field.custom_id] = problem
        if problems:
            raise NotFilledIn(problems, labels)
        parts = [_filled(part, given) for part in self.parts]
        return {"custom_id": self.custom_id, "components": parts}


def _filled(part: dict[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    if part["type"] == _Part.ROW:
        inner = [_filled(each, given) for each in part["components"]]
        return {"type": part["type"], "components": inner}
    if part["type"] == _Part.LABEL:
        return {"type": part["type"], "component": _filled(part["component"], given)}
    key = part["custom_id"]
    return {"type": part["type"], "custom_id": key, "value": given.get(key, "")}


def read_form(data: dict[str, Any]) -> Form:
    """Raises DiscordError (50035) for what Discord does not show."""
    parts = list(data.get("components") or [])
    if not 1 <= len(parts) <= FIELDS_LIMIT:
        raise _wrong_length("data.components", 1, FIELDS_LIMIT)
    fields = tuple(_field(f"data.components.{at}", part) for at, part in enumerate(parts))
    if len({field.custom_id for field in fields}) < len(fields):
        raise invalid_form(
            "data.components",
            "COMPONENT_CUSTOM_ID_DUPLICATED",
            "Component custom id cannot be duplicated",
        )
    custom_id = _text("data.custom_id", data.get("custom_id"), 1, CUSTOM_ID_LIMIT)
    title = _text("data.title", data.get("title"), 1, TITLE_LIMIT)
    return Form(custom_id, title, fields, parts)


def _field(where: str, part: dict[str, Any]) -> Field:
    """The text field of a row, which has its label itself, or of a label."""
    inner, label = part, part
    if part.get("type") == _Part.ROW and len(part.get("components") or []) == 1:
        (inner,) = part["components"]
        label = inner
    elif part.get("type") == _Part.LABEL:
        inner = part.get("component") or {}
    if inner is part or inner.get("type") != _Part.TEXT_INPUT:
        raise invalid_form(where, "BASE_TYPE_CHOICES", "The playground shows text fields only.")
    least = _number(f"{where}.min_length", inner.get("min_length"), 0, absent=0)
    most = _number(f"{where}.max_length", inner.get("max_length"), 1, absent=VALUE_LIMIT)
    style = _number(f"{where}.style", inner.get("style"), 1, absent=1)
    return Field(
        custom_id=_text(f"{where}.custom_id", inner.get("custom_id"), 1, CUSTOM_ID_LIMIT),
        label=_text(f"{where}.label", label.get("label"), 1, LABEL_LIMIT),
        description=_text(f"{where}.description", part.get("description"), 0, DESCRIPTION_LIMIT),
        paragraph=style == _Style.PARAGRAPH,
        required=inner.get("required") is not False,
        min_length=least,
        max_length=most,
        value=_text(f"{where}.value", inner.get("value"), 0, most),
        placeholder=_text(f"{where}.placeholder", inner.get("placeholder"), 0, PLACEHOLDER_LIMIT),
    )


def _text(where: str, given: object, least: int, most: int) -> str:
    text = "" if given is None else str(given)
    if not least <= len(text) <= most:
        raise _wrong_length(where, least, most)
    return text


def _number(where: str, given: object, least: int, *, absent: int) -> int:
    if given is None:
        return absent
    if not isinstance(given, int) or not least <= given <= VALUE_LIMIT:
        message = f"int value should be between {least} and {VALUE_LIMIT}."
        raise invalid_form(where, "NUMBER_TYPE_RANGE", message)
    return given


def _wrong_length(where: str, least: int, most: int) -> DiscordError:
    return invalid_form(
        where, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length."
    )
