"""Gateway sessions: numbered events, kept so that a lost connection can be resumed.

A session belongs to an IDENTIFY. While its connection is away its events are kept, for a few
minutes; RESUME plays them in order. A new IDENTIFY starts a new session, and what happened before
it is lost to it, as on Discord.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from playground import wire
from playground.events import Event
from playground.gateway import intents
from playground.world import World

RESUMABLE_SECONDS = 180.0
_KEPT_EVENTS = 5000


class Connection(Protocol):
    """What carries a session's events, as long as it lasts."""

    def send(self, text: str) -> None: ...

    def close(self, code: int, *, abort: bool = False) -> None: ...


@dataclass
class Session:
    intents: int
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    sequence: int = 0
    connection: Connection | None = None
    left_at: float | None = None
    """Monotonic time at which the connection went away."""
    replay_extra: int = 0
    """How many events, delivered already, the next RESUME plays again: an injected fault."""
    answers_heartbeats: bool = True
    sent: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_KEPT_EVENTS))

    @property
    def connected(self) -> bool:
        return self.connection is not None

    def dispatch(self, name: str, data: Any) -> None:
        self.sequence += 1
        text = json.dumps({"op": 0, "t": name, "s": self.sequence, "d": data})
        self.sent.append((self.sequence, text))
        if self.connection is not None:
            self.connection.send(text)

    def can_resume_from(self, sequence: int) -> bool:
        oldest = self.sent[0][0] if self.sent else self.sequence + 1
        return oldest - 1 <= sequence <= self.sequence

    def replay(self, sequence: int) -> None:
        """Sends again what came after `sequence`."""
        start, self.replay_extra = sequence - self.replay_extra, 0
        for number, text in list(self.sent):
            if number > start and self.connection is not None:
                self.connection.send(text)
        self.dispatch("RESUMED", {"_trace": ["playground"]})


class Gateway:
    """All sessions of the bot."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.sessions: dict[str, Session] = {}
        self.refusing_until = 0.0
        """Monotonic time until which connections are refused: an injected outage."""
        self._last_message: Event | None = None
        self._was_online = False
        world.hub.listen(self._on_event)

    @property
    def online(self) -> bool:
        return any(session.connected for session in self.sessions.values())

    # the life of a session

    def identify(self, connection: Connection, wanted: int, url: str) -> Session:
        """A new session: READY, then the guild."""
        self._forget_old()
        session = Session(wanted, connection=connection)
        self.sessions[session.id] = session
        world = self._world
        session.dispatch(
            "READY",
            {
                "v": 10,
                "user": wire.me(world),
                "guilds": [{"id": str(world.guild_id), "unavailable": True}],
                "private_channels": [],
                "session_id": session.id,
                "resume_gateway_url": url,
                "session_type": "normal",
                "shard": [0, 1],
                "application": {
                    "id": str(world.bot_id),
                    "flags": wire.application_flags(world),
                },
                "_trace": ["playground"],
            },
        )
        if wanted & intents.GUILDS:
            members = bool(wanted & intents.GUILD_MEMBERS)
            session.dispatch("GUILD_CREATE", wire.guild_create(world, with_members=members))
        self._presence_changed()
        return session

    def resume(self, connection: Connection, session_id: str, sequence: int) -> Session | None:
        """The session continued, with what it missed; None when it cannot be."""
        self._forget_old()
        session = self.sessions.get(session_id)
        if session is None or not session.can_resume_from(sequence):
            return None
        if session.connection is not None:
            session.connection.close(4000)
        session.connection, session.left_at = connection, None
        session.replay(sequence)
        self._presence_changed()
        return session

    def left(self, session: Session, connection: Connection, code: int | None) -> None:
        """The connection is gone. A client that closed with 1000 or 1001 ends its session."""
        if session.connection is not connection:
            return
        session.connection, session.left_at = None, time.monotonic()
        if code in (1000, 1001):
            self.sessions.pop(session.id, None)
        self._presence_changed()

    def end(self, session: Session) -> None:
        """The session can never be resumed."""
        self.sessions.pop(session.id, None)

    def _forget_old(self) -> None:
        limit = time.monotonic() - RESUMABLE_SECONDS
        for session in list(self.sessions.values()):
            if session.left_at is not None and session.left_at < limit:
                self.end(session)

    def _presence_changed(self) -> None:
        if self.online != self._was_online:
            self._was_online = self.online
            self._world.hub.publish(Event("PLAYGROUND_BOT"))

    # events

    def _on_event(self, event: Event) -> None:
        if event.name == "MESSAGE_CREATE":
            self._last_message = event
        for session in list(self.sessions.values()):
            self._tell(session, event)

    def _tell(self, session: Session, event: Event) -> None:
        if not intents.wants(session.intents, event.name, event.channel):
            return
        bot = self._world.bot_id
        gone = event.name in ("CHANNEL_DELETE", "THREAD_DELETE")
        if event.channel is not None and not gone and event.name != "INTERACTION_CREATE":
            changed = event.name in ("CHANNEL_UPDATE", "THREAD_UPDATE")
            if not changed and not self._world.can(bot, event.channel, "VIEW_CHANNEL"):
                return
        data = event.data
        hidden = not session.intents & intents.MESSAGE_CONTENT
        if hidden and event.message is not None and "content" in data:
            data = wire.without_content(self._world, data, event.message)
        session.dispatch(event.name, data)

    def redeliver(self, message_id: int | None = None) -> bool:
        """Sends the MESSAGE_CREATE of a message (else: the last one) again, under a new number.

        False when there is no such message.
        """
        event = self._last_message
        if message_id is not None:
            event = self._creation_of(message_id)
        if event is None:
            return False
        for session in list(self.sessions.values()):
            self._tell(session, event)
        return True

    def _creation_of(self, message_id: int) -> Event | None:
        for channel in self._world.channels.values():
            message = self._world.store.message(channel.id, message_id)
            if message is not None:
                data = wire.message(self._world, message, for_gateway=True)
                return Event("MESSAGE_CREATE", data, channel, message)
        return None
