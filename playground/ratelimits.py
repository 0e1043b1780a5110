"""Rate limits as Discord shows them: a bucket for each route and place, and one for everything.

The numbers are those observed on Discord, not promised by it; `/control/settings` changes them.
"""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass


@dataclass
class Limit:
    """`count` requests in `per` seconds."""

    count: int
    per: float


@dataclass(frozen=True)
class _Rule:
    name: str
    pattern: re.Pattern[str]


_RULES = [
    _Rule("messages", re.compile(r"POST /channels/\d+/messages")),
    _Rule("edit", re.compile(r"PATCH /channels/\d+/messages/\d+")),
    _Rule("delete", re.compile(r"DELETE /channels/\d+/messages/\d+")),
    _Rule("typing", re.compile(r"POST /channels/\d+/typing")),
    _Rule("reactions", re.compile(r"(PUT|DELETE) /channels/\d+/messages/\d+/reactions/.*")),
    _Rule("history", re.compile(r"GET /channels/\d+/messages")),
    _Rule("webhooks", re.compile(r"POST /webhooks/\d+/[^/]+")),
]
_PLACE = re.compile(r"/(?:channels|guilds|webhooks)/(\d+)")
_INTERACTIONS = re.compile(r"\w+ /interactions/.*")


def _defaults() -> dict[str, Limit]:
    return {
        "global": Limit(50, 1),
        "messages": Limit(5, 5),
        "edit": Limit(5, 5),
        "delete": Limit(5, 1),
        "typing": Limit(5, 5),
        "reactions": Limit(4, 1),
        "history": Limit(5, 1),
        "webhooks": Limit(5, 2),
        "other": Limit(50, 1),
    }


@dataclass
class _Window:
    used: int
    resets_at: float


@dataclass(frozen=True)
class Verdict:
    """Headers for the answer; `retry_after` in seconds when the request is refused."""

    headers: dict[str, str]
    retry_after: float | None = None
    everywhere: bool = False


class RateLimits:
    def __init__(self) -> None:
        self.limits = _defaults()
        self._windows: dict[tuple[str, str], _Window] = {}

    def take(self, method: str, path: str) -> Verdict:
        """Counts a request. `path` is below `/api/v10`; answers to interactions are free."""
        line = f"{method} {path}"
        if _INTERACTIONS.fullmatch(line):
            return Verdict({})
        name = next((rule.name for rule in _RULES if rule.pattern.fullmatch(line)), "other")
        place = match[1] if (match := _PLACE.match(path)) else ""
        for scope, key in (("global", ""), (name, place)):
            window = self._window(scope, key)
            limit = self.limits[scope]
            if window.used >= limit.count:
                wait = max(window.resets_at - time.time(), 0.001)
                return Verdict(self._headers(scope, key), wait, scope == "global")
            window.used += 1
        return Verdict(self._headers(name, place))

    def reset(self) -> None:
        """Starts every window anew; after the limits have changed."""
        self._windows.clear()

    def _window(self, scope: str, key: str) -> _Window:
        window = self._windows.get((scope, key))
        if window is None or window.resets_at <= time.time():
            window = _Window(0, time.time() + self.limits[scope].per)
            self._windows[scope, key] = window
        return window

    def _headers(self, scope: str, key: str) -> dict[str, str]:
        window, limit = self._windows[scope, key], self.limits[scope]
        return {
            "X-RateLimit-Bucket": hashlib.md5(scope.encode(), usedforsecurity=False).hexdigest(),
            "X-RateLimit-Limit": str(limit.count),
            "X-RateLimit-Remaining": str(max(limit.count - window.used, 0)),
            "X-RateLimit-Reset": f"{window.resets_at:.3f}",
            "X-RateLimit-Reset-After": f"{max(window.resets_at - time.time(), 0):.3f}",
        }
