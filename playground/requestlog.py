"""Every REST request that was made, for whoever asserts on calls. Tokens are never kept."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

_KEPT = 10_000


@dataclass(frozen=True)
class LoggedRequest:
    """`number` counts from 1; `at` is Unix seconds; `fault` is the injected one, if any."""

    number: int
    at: float
    method: str
    path: str
    status: int | None
    fault: str | None
    body: Any


class RequestLog:
    def __init__(self) -> None:
        self._requests: deque[LoggedRequest] = deque(maxlen=_KEPT)
        self._count = 0

    def add(
        self, at: float, method: str, path: str, status: int | None, fault: str | None, body: Any
    ) -> None:
        """`status` None: the connection was cut without an answer."""
        self._count += 1
        path = re.sub(r"^(/(?:webhooks|interactions)/\d+)/[^/]{20,}", r"\1/…", path)
        self._requests.append(LoggedRequest(self._count, at, method, path, status, fault, body))

    def find(self, match: str = "", since: int = 0) -> list[dict[str, Any]]:
        """Requests after number `since` whose `METHOD /path` the pattern is found in."""
        pattern = re.compile(match)
        return [
            asdict(request)
            for request in self._requests
            if request.number > since and pattern.search(f"{request.method} {request.path}")
        ]

    def clear(self) -> None:
        self._requests.clear()
