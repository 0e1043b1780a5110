"""From the JSON text that a model wrote to a tool's arguments, or to a reason it can act on."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json

from activities.tools.results import clean

MAX_ERRORS = 5
"""Wrong fields that are named in one reason."""

Arguments = TypeVar("Arguments", bound=BaseModel)


class ArgumentsRefused(Exception):
    """The arguments do not fit. `reason` names the fields and what is expected of each."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_arguments(model: type[Arguments], text: str) -> Arguments:
    """`text` as a `model`; blank text means no arguments. Raises ArgumentsRefused."""
    try:
        value = from_json(text if text.strip() else "{}", allow_inf_nan=False)
    except ValueError:
        raise ArgumentsRefused("The arguments are not valid JSON.") from None
    if not isinstance(value, dict):
        raise ArgumentsRefused("The arguments must be a JSON object.")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise ArgumentsRefused(_readable(model, error.errors(include_url=False))) from None


def _readable(model: type[BaseModel], errors: list[ErrorDetails]) -> str:
    sentences = [_sentence(model, error) for error in errors[:MAX_ERRORS]]
    if len(errors) > MAX_ERRORS:
        sentences.append(f"and {len(errors) - MAX_ERRORS} more")
    return "The arguments do not fit: " + "; ".join(sentences) + "."


def _sentence(model: type[BaseModel], error: ErrorDetails) -> str:
    field = clean(".".join(str(part) for part in error["loc"]))[:60]
    match error["type"]:
        case "missing":
            return f"`{field}` is required"
        case "extra_forbidden":
            known = ", ".join(f"`{name}`" for name in model.model_fields) or "none"
            return f"`{field}` is not a parameter (parameters: {known})"
        case "value_error":
            expectation = str(error.get("ctx", {}).get("error", error["msg"]))
        case _:
            expectation = error["msg"][:1].lower() + error["msg"][1:]
    expectation = clean(expectation)[:200].rstrip(".")
    return f"`{field}`: {expectation}" if field else expectation
