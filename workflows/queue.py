"""Who waits for a turn in a channel. Pure: no Temporal, no I/O.

In: accepted messages, in the order they arrived. Out: one at a time, in the same order.
What always holds: a message id is accepted once, however often Discord delivers it; the queue never
outgrows what a continue-as-new can carry.
"""

from __future__ import annotations

from enum import StrEnum

from workflows.contracts.invocation import ChatIncoming, Source, is_awaited
from workflows.contracts.turn import ChannelState, QueueEntry

MAX_WAITING = 100
"""Messages that may wait in a channel."""

MAX_BYTES = 1_200_000
"""What waits, in UTF-8. Together with everything else that a continue-as-new carries it stays below
the 2 MB of a payload."""

ENVELOPE = 3_000
"""Bytes of a message beside its content, at most: names, ids, roles."""

MAX_DISMISSED = 100
DISMISSED_CONTENT = 300
"""Messages that are remembered to be told as lost, and the code points kept of each."""

SEEN_LIMIT = 500
"""Message ids remembered for repeated events. A resumed session repeats minutes, not days; a turn's
id catches what is older."""


class Offer(StrEnum):
    """What became of a message that was offered."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    FULL = "full"


class ChannelQueue:
    def __init__(self, state: ChannelState) -> None:
        self._entries = list(state.queue)
        self.dismissed = list(state.dismissed)
        """Messages that lost their turn, and whose sender waits to hear of it."""
        # A dict is an ordered set: iterating a set would not be deterministic.
        self._seen = dict.fromkeys(state.seen_message_ids)

    def __len__(self) -> int:
        return len(self._entries)

    def offer(self, message: ChatIncoming, *, busy: bool) -> Offer:
        """Append a message, unless it was accepted before or too many wait. `busy`: a turn is
        running."""
        if message.message_id in self._seen:
            return Offer.REPEATED
        self._seen[message.message_id] = None
        while len(self._seen) > SEEN_LIMIT:
            del self._seen[next(iter(self._seen))]
        if len(self._entries) >= MAX_WAITING or self._bytes() + _size(message) > MAX_BYTES:
            self._dismiss(message)
            return Offer.FULL
        waits = busy or bool(self._entries)
        source = Source.QUEUE if waits else Source.MESSAGE
        if message.is_synthetic:
            source = Source.MANUAL
        self._entries.append(QueueEntry(invocation=message, source=source))
        return Offer.ACCEPTED

    def take(self) -> QueueEntry:
        return self._entries.pop(0)

    def clear(self) -> int:
        """Drop everything that waits; how many that was. Their ids stay seen."""
        dropped = len(self._entries)
        for entry in self._entries:
            self._dismiss(entry.invocation)
        self._entries.clear()
        return dropped

    def _dismiss(self, message: ChatIncoming) -> None:
        if is_awaited(message) and len(self.dismissed) < MAX_DISMISSED:
            content = message.content[:DISMISSED_CONTENT]
            self.dismissed.append(message.model_copy(update={"content": content}))

    def _bytes(self) -> int:
        return sum(_size(entry.invocation) for entry in self._entries)

    def waiting_ids(self) -> list[str]:
        return [entry.invocation.message_id for entry in self._entries]

    def state(self) -> ChannelState:
        return ChannelState(
            queue=list(self._entries),
            dismissed=list(self.dismissed),
            seen_message_ids=list(self._seen),
        )


def _size(message: ChatIncoming) -> int:
    return len(message.content.encode()) + ENVELOPE
