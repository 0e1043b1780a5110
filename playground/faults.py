"""Faults to order: what goes wrong with which request, and how often."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Action(StrEnum):
    STATUS = "status"
    """Answer `status` (and JSON `code`, `message`) without doing anything."""
    STORE_THEN_STATUS = "store_then_status"
    """Do it, then answer `status` (502 unless told): the reply that got lost."""
    STORE_THEN_DROP = "store_then_drop"
    """Do it, then cut the connection."""
    DROP = "drop"
    """Cut the connection without doing anything."""
    RATE_LIMIT = "429"
    """Answer 429 with `retry_after` seconds."""
    DELAY = "delay"
    """Wait `delay` seconds, then do it."""


_ALIASES = {"store_then_502": Action.STORE_THEN_STATUS}


_MOST = 1_000_000
"""Of anything that a fault counts, seconds included: more is a slip of the pen."""


def _anything(_: object) -> bool:
    return True


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST


def _seconds(value: object) -> bool:
    return _count(value) or (isinstance(value, float) and 0 <= value <= _MOST)


_EXPECTED: dict[str, tuple[str, Callable[[object], bool]]] = {
    "times": (f"a whole number from 0 to {_MOST}", _count),
    "skip": (f"a whole number from 0 to {_MOST}", _count),
    "status": ("an HTTP status such as 502", lambda v: _count(v) and v in range(200, 600)),
    "code": (f"a whole number from 0 to {_MOST}", _count),
    "message": ("a string", lambda v: isinstance(v, str)),
    "retry_after": (f"a number of seconds from 0 to {_MOST}", _seconds),
    "everywhere": ("true or false", lambda v: isinstance(v, bool)),
    "delay": (f"a number of seconds from 0 to {_MOST}", _seconds),
}


@dataclass
class Fault:
    """Meets requests whose `METHOD /path` (below `/api/v10`) the pattern is found in.

    The first `skip` of them pass; the next `times` are hit; then it is spent.
    """

    match: re.Pattern[str]
    action: Action
    times: int = 1
    skip: int = 0
    status: int = 502
    code: int = 0
    message: str = "injected fault"
    retry_after: float = 1.0
    everywhere: bool = False
    delay: float = 1.0
    hits: int = 0

    @classmethod
    def parse(cls, order: dict[str, Any]) -> Fault:
        """A fault from JSON. Raises ValueError saying what is wrong with it."""
        known = set(cls.__dataclass_fields__) - {"hits"}
        if unknown := set(order) - known:
            raise ValueError(f"unknown field {sorted(unknown)[0]!r}; known: {sorted(known)}")
        name = str(order.get("action"))
        try:
            action = _ALIASES.get(name) or Action(name)
            pattern = re.compile(str(order["match"]))
        except KeyError:
            raise ValueError("'match' is missing: a regular expression on 'METHOD /path'") from None
        except re.error as error:
            raise ValueError(f"'match' is no regular expression: {error}") from None
        except ValueError:
            actions = [*Action, *_ALIASES]
            raise ValueError(f"unknown action {name!r}; known: {', '.join(actions)}") from None
        for field_, value in order.items():
            expected, fits = _EXPECTED.get(field_, ("", _anything))
            if not fits(value):
                raise ValueError(f"{field_!r} must be {expected}, not {value!r}")
        return cls(**{**order, "match": pattern, "action": action})

    def describe(self) -> dict[str, Any]:
        return {
            "match": self.match.pattern,
            "action": self.action,
            "times": self.times,
            "skip": self.skip,
            "hits": self.hits,
        }


@dataclass
class Faults:
    """The queue; the first fault that fits a request takes it."""

    queue: list[Fault] = field(default_factory=list)

    def take(self, method: str, path: str) -> Fault | None:
        line = f"{method} {path}"
        for fault in self.queue:
            if fault.hits >= fault.times or not fault.match.search(line):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.hits += 1
            return fault
        return None
