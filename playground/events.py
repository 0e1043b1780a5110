"""What happened, told to everybody who listens: gateway sessions, the page, waiting tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from playground.records import Channel, Message

Found = TypeVar("Found")


@dataclass(frozen=True)
class Event:
    """`name` is the gateway's (MESSAGE_CREATE, …), or the page's own (PLAYGROUND_…).

    `data` is the gateway payload as an application with every intent sees it.
    """

    name: str
    data: dict[str, Any] = field(default_factory=dict)
    channel: Channel | None = None
    message: Message | None = None


class Hub:
    """Passes each event to every listener, in order, and wakes those who wait."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Event], None]] = []
        self._waiting: set[asyncio.Event] = set()

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Adds a listener and returns the function that removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, event: Event) -> None:
        for listener in list(self._listeners):
            listener(event)
        self.wake()

    def wake(self) -> None:
        """Has every waiting check look again; for changes that are no event."""
        for waiting in self._waiting:
            waiting.set()

    async def until(self, check: Callable[[], Found | None], seconds: float) -> Found | None:
        """The first truthy value of `check`, looked at after every event; None at the deadline."""
        woken = asyncio.Event()
        self._waiting.add(woken)
        try:
            async with asyncio.timeout(seconds):
                while not (found := check()):
                    await woken.wait()
                    woken.clear()
                return found
        except TimeoutError:
            return check() or None
        finally:
            self._waiting.discard(woken)
