"""Who waits for a turn in a channel. Pure: no Temporal, no I/O.

In: accepted messages, in the order they arrived. Out: one at a time, in the same order.
What always holds: a message id is accepted once, however often Discord delivers it.
"""

from __future__ import annotations

from workflows.contracts.invocation import ChatIncoming, Source
from workflows.contracts.turn import ChannelState, QueueEntry

SEEN_LIMIT = 500
"""Message ids remembered for repeated events. A resumed session repeats minutes, not days; a turn's
id catches what is older."""


class ChannelQueue:
    def __init__(self, state: ChannelState) -> None:
        self._entries = list(state.queue)
        # A dict is an ordered set: iterating a set would not be deterministic.
        self._seen = dict.fromkeys(state.seen_message_ids)

    def __len__(self) -> int:
        return len(self._entries)

    def offer(self, message: ChatIncoming, *, busy: bool) -> bool:
        """Append a message; False when it was accepted before. `busy`: a turn is running."""
        if message.message_id in self._seen:
            return False
        self._seen[message.message_id] = None
        while len(self._seen) > SEEN_LIMIT:
            del self._seen[next(iter(self._seen))]
        waits = busy or bool(self._entries)
        source = Source.QUEUE if waits else Source.MESSAGE
        self._entries.append(QueueEntry(invocation=message, source=source))
        return True

    def take(self) -> QueueEntry:
        return self._entries.pop(0)

    def clear(self) -> int:
        """Drop everything that waits; how many that was. Their ids stay seen."""
        dropped = len(self._entries)
        self._entries.clear()
        return dropped

    def waiting_ids(self) -> list[str]:
        return [entry.invocation.message_id for entry in self._entries]

    def state(self) -> ChannelState:
        return ChannelState(queue=list(self._entries), seen_message_ids=list(self._seen))
