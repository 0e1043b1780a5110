"""The values in a request's body, each held against the type it has to have.

Every function takes the value and the name it goes by, and raises `ControlError` (400), which says
what was expected, for anything else. JSON's `true` is no number here.
"""

from __future__ import annotations

from typing import Any


class ControlError(Exception):
    """A request that makes no sense; the message says why."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


_LARGEST = 1 << 53
"""Numbers beyond are no longer exact in JSON, and mean nothing anywhere in `/control`."""


def text(given: object, name: str) -> str:
    if not isinstance(given, str):
        raise _wrong(given, name, "a string")
    return given


def number(given: object, name: str, *, least: float = 0) -> float:
    """From `least` on, and finite."""
    wrong = _wrong(given, name, f"a number from {least:g} on")
    if not isinstance(given, int | float) or isinstance(given, bool):
        raise wrong
    if not least <= given <= _LARGEST:  # nor is NaN between any two numbers
        raise wrong
    return float(given)


def whole(given: object, name: str, *, least: int = 0) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= _LARGEST:
        raise _wrong(given, name, f"a whole number from {least} on")
    return given


def flag(given: object, name: str) -> bool:
    if not isinstance(given, bool):
        raise _wrong(given, name, "true or false")
    return given


def table(given: object, name: str, example: str = "{name: value}") -> dict[str, Any]:
    """A JSON object; `example` shows what belongs in it."""
    if not isinstance(given, dict):
        raise _wrong(given, name, f"an object such as {example}")
    return given


def texts(given: object, name: str) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise _wrong(given, name, "a list of strings")
    return given


def snowflake(given: object, name: str) -> int:
    """An id or a count: digits in a string, as ids are in JSON, or a number."""
    digits = str(given)
    plain = isinstance(given, str | int) and digits.isascii() and digits.isdecimal()
    if not plain or len(digits) > 20 or int(digits) >= 1 << 63:
        raise _wrong(given, name, "a number in digits")
    return int(digits)


def _wrong(given: object, name: str, expected: str) -> ControlError:
    shown = repr(given)
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    return ControlError(f"{name!r} must be {expected}, not {shown}")
