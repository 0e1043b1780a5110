"""Who waits for a turn in a channel. Pure: no Temporal, no I/O.

In: messages that were accepted, and those that go before all others (stop responses, follow-ups,
further personas of the message that is being answered). Out: one at a time.
What always holds: a message id is accepted once, however often Discord delivers it; within its
class everything keeps the order in which it arrived; the queue never outgrows what a
continue-as-new can carry.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from workflows.contracts.invocation import ChatIncoming, is_awaited
from workflows.contracts.turn import ChannelState, QueueEntry

MAX_WAITING = 100
"""Messages that may wait in a channel."""

MAX_BYTES = 1_200_000
"""What waits, as JSON in UTF-8. Together with everything else that a continue-as-new carries it
stays below the 2 MB of a payload."""

ENVELOPE = 3_000
"""Bytes of a message beside its content and its author's roles, at most: names, ids."""

MAX_DISMISSED = 100
DISMISSED_CONTENT = 300
"""Messages that are remembered to be told as lost, and the code points kept of each."""

SEEN_LIMIT = 500
"""Message ids remembered for repeated events. A resumed session repeats minutes, not days; a turn's
id catches what is older."""


class ChannelQueue:
    def __init__(self, state: ChannelState, *, as_carried: bool = True) -> None:
        """`as_carried`: False for a channel that was begun when only the content was measured, and
        a control character, six bytes in JSON, for one."""
        self._size = _carried if as_carried else _content
        self._entries = list(state.queue)
        self.dismissed = list(state.dismissed)
        """Messages that lost their turn, and whose sender waits to hear of it."""
        # A dict is an ordered set: iterating a set would not be deterministic.
        self._seen = dict.fromkeys(state.seen_message_ids)

    def __len__(self) -> int:
        return len(self._entries)

    def first_time(self, message_id: str) -> bool:
        """Whether this id was never seen here; it is from now on."""
        if message_id in self._seen:
            return False
        self._seen[message_id] = None
        while len(self._seen) > SEEN_LIMIT:
            del self._seen[next(iter(self._seen))]
        return True

    def append(self, entry: QueueEntry) -> bool:
        """The end of the queue; False when it is full, and the message lost."""
        if not self._has_room(entry):
            self.dismiss(entry.invocation)
            return False
        self._entries.append(entry)
        return True

    def push_front(self, entries: list[QueueEntry]) -> None:
        """Before all others, in the order given; a stop response stays the very first (behaviour
        4). Not bounded by what waits: each of them stands for a message that was accepted."""
        first = 0
        if not any(entry.invocation.is_stop_response for entry in entries):
            while first < len(self._entries) and self._entries[first].invocation.is_stop_response:
                first += 1
        self._entries[first:first] = entries

    def drop(self, unwanted: Callable[[QueueEntry], bool]) -> list[ChatIncoming]:
        """Take out what is not wanted any more; who waits for it is told."""
        dropped = [entry.invocation for entry in self._entries if unwanted(entry)]
        self._entries = [entry for entry in self._entries if not unwanted(entry)]
        for message in dropped:
            self.dismiss(message)
        return dropped

    def take(self) -> QueueEntry:
        return self._entries.pop(0)

    def clear(self) -> int:
        """Drop everything that waits; how many that was. Their ids stay seen."""
        return len(self.drop(lambda entry: True))

    def dismiss(self, message: ChatIncoming) -> None:
        """The message has lost its turn: whoever waits for it will hear of it."""
        if is_awaited(message) and len(self.dismissed) < MAX_DISMISSED:
            kept = {"content": message.content[:DISMISSED_CONTENT], "role_ids": list[str]()}
            self.dismissed.append(message.model_copy(update=kept))

    def _has_room(self, entry: QueueEntry) -> bool:
        if len(self._entries) >= MAX_WAITING:
            return False
        waiting = sum(self._size(each.invocation) for each in self._entries)
        return waiting + self._size(entry.invocation) <= MAX_BYTES

    def waiting_ids(self) -> list[str]:
        return [entry.invocation.message_id for entry in self._entries]

    def state(self) -> ChannelState:
        return ChannelState(
            queue=list(self._entries),
            dismissed=list(self.dismissed),
            seen_message_ids=list(self._seen),
        )


def _carried(message: ChatIncoming) -> int:
    content = len(json.dumps(message.content, ensure_ascii=False).encode())
    roles = sum(len(role_id) + len('"",') for role_id in message.role_ids)
    return content + roles + ENVELOPE


def _content(message: ChatIncoming) -> int:
    return len(message.content.encode()) + ENVELOPE
