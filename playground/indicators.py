"""Who is typing where. An indicator lasts ten seconds, or until that user's next message."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from dataclasses import asdict, dataclass
from typing import Any

from playground import wire
from playground.events import Event
from playground.records import Channel
from playground.world import World

TYPING_SECONDS = 10.0
"""Source: Discord's API reference, "Trigger Typing Indicator"."""

_KEPT = 1000


@dataclass(frozen=True)
class TypingNote:
    """`what` is `typing` (a request arrived) or `message` (a message ended it). Unix seconds."""

    at: float
    user_id: str
    what: str
    message_id: str | None = None


class Typing:
    def __init__(self, world: World) -> None:
        self._world = world
        self._until: dict[int, dict[int, float]] = defaultdict(dict)
        self._history: dict[int, deque[TypingNote]] = defaultdict(lambda: deque(maxlen=_KEPT))

    def start(self, channel: Channel, user_id: int) -> None:
        now = time.time()
        self._until[channel.id][user_id] = now + TYPING_SECONDS
        self._history[channel.id].append(TypingNote(now, str(user_id), "typing"))
        data: dict[str, Any] = {
            "channel_id": str(channel.id),
            "user_id": str(user_id),
            "timestamp": int(now),
        }
        if channel.guild_id is not None:
            data["guild_id"] = str(channel.guild_id)
            data["member"] = wire.member(self._world, self._world.members[user_id])
        self._world.hub.publish(Event("TYPING_START", data, channel=channel))

    def end(self, channel: Channel, user_id: int, message_id: int) -> None:
        """The user's message arrived: clients drop the indicator, and so does this."""
        self._until[channel.id].pop(user_id, None)
        note = TypingNote(time.time(), str(user_id), "message", str(message_id))
        self._history[channel.id].append(note)

    def active(self, channel_id: int) -> dict[int, float]:
        """User ids and the Unix time at which each indicator goes out."""
        now = time.time()
        return {user: until for user, until in self._until[channel_id].items() if until > now}

    def history(self, channel_id: int) -> list[dict[str, Any]]:
        return [asdict(note) for note in self._history[channel_id]]
