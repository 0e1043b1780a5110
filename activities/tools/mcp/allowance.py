"""How much one MCP server may send while a connection lasts.

What it sends is parsed on the event loop, and cannot be interrupted there. So it is weighed before
it is parsed, by what parsing costs: each object, list, member and line of JSON takes about a
microsecond (measured: 0.3 to 1.4), plain text next to nothing. And what nobody asked for, such as
notices and requests of the server's own, is counted.

Both are budgets that fill up again: a server may say much at once, but not all the time. Whoever
overdraws one is cut off, and rests.
"""

from __future__ import annotations

import time

MAX_WEIGHT = 100_000
"""Of what comes at once: at most about 150 ms of the loop's time (D37: 250 ms)."""
WEIGHT_PER_SECOND = 20_000.0
_BYTES_OF_WEIGHT = 200
"""Bytes of plain text that weigh as much as one member of a list."""

MAX_UNASKED = 200
"""Messages that nobody asked for, at once. One costs the loop up to half a millisecond."""
UNASKED_PER_SECOND = 20.0


class Allowance:
    """Of one connection."""

    def __init__(self) -> None:
        self._weight = _Budget(MAX_WEIGHT, WEIGHT_PER_SECOND)
        self._unasked = _Budget(MAX_UNASKED, UNASKED_PER_SECOND)

    def permits(self, data: bytes) -> bool:
        """Whether `data`, as it came from the server, may be parsed; it counts as sent."""
        return self._weight.take(weight(data))

    def permits_unasked(self) -> bool:
        """Whether one more message that nobody asked for is borne."""
        return self._unasked.take(1)


def weight(data: bytes) -> int:
    """What parsing `data` costs. It reads a megabyte in 3 ms.

    Commas and brackets within text count too: to tell them apart would cost as much as parsing.
    """
    marks = sum(data.count(mark) for mark in (b"{", b"[", b",", b"\n", b"\r"))
    return marks + len(data) // _BYTES_OF_WEIGHT


class _Budget:
    def __init__(self, most: float, per_second: float) -> None:
        self._most = self._left = most
        self._per_second = per_second
        self._at = time.monotonic()

    def take(self, amount: float) -> bool:
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        if amount > self._left:
            return False
        self._left -= amount
        return True
