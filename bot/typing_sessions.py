"""The typing indicator: one owner, one loop for a channel, one end (behaviour 4, D52).

A turn begins typing when its history is read and ends it just before its last message is sent. A
session posts at once and then every 8 s (Discord shows a post for 10 s) until it is ended, replaced
by the channel's next turn, refused by Discord, or older than its hard limit. Ending waits for a
post that is under way, since one that arrived after the message would show typing after the answer.
Typing is decoration: its failures are debug lines.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import discord
import structlog
from temporalio import activity

from bot.discord_faults import describe
from workflows.contracts.delivery import END_TYPING, EndTyping, Nothing

log = structlog.get_logger(__name__)

POST_EVERY = 8.0
"""Seconds."""
LONGEST = 15 * 60.0
"""Seconds after which a session ends by itself, whoever forgot it."""
SETTLE = 2.0
"""Seconds that ending waits for a post under way."""
ENDED_TURNS_KEPT = 1000


@dataclass
class _Session:
    turn_id: str
    over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class TypingSessions:
    def __init__(
        self,
        post: Callable[[str], Awaitable[None]],
        *,
        every: float = POST_EVERY,
        longest: float = LONGEST,
    ) -> None:
        """`post` sends one typing indicator to a channel id."""
        self._post = post
        self._every = every
        self._longest = longest
        self._sessions: dict[str, _Session] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def begin(self, turn_id: str, channel_id: str) -> None:
        """Type for a turn. Nothing happens when it types already, or has ended its typing."""
        current = self._sessions.get(channel_id)
        if turn_id in self._ended or (current is not None and current.turn_id == turn_id):
            return
        session = _Session(turn_id)
        if current is not None:
            current.over.set()
        previous = current.task if current is not None else None
        self._sessions[channel_id] = session
        session.task = asyncio.create_task(self._run(session, channel_id, previous))

    async def end(self, turn_id: str, channel_id: str) -> None:
        """End a turn's typing for good; another turn's in the same channel goes on."""
        self._ended[turn_id] = None
        while len(self._ended) > ENDED_TURNS_KEPT:
            self._ended.popitem(last=False)
        session = self._sessions.get(channel_id)
        if session is not None and session.turn_id == turn_id:
            await self._finish(session)

    async def end_channel(self, channel_id: str) -> None:
        """`/kill`: whoever types here has ended."""
        session = self._sessions.get(channel_id)
        if session is not None:
            await self.end(session.turn_id, channel_id)

    async def close(self) -> None:
        sessions = list(self._sessions.values())
        await asyncio.gather(*(self._finish(session) for session in sessions))

    def active(self, channel_id: str) -> str | None:
        """The turn that types in the channel."""
        session = self._sessions.get(channel_id)
        return session.turn_id if session is not None and not session.over.is_set() else None

    @activity.defn(name=END_TYPING.name)
    async def end_typing(self, request: EndTyping) -> Nothing:
        await self.end(request.turn_id, request.channel_id)
        return Nothing()

    async def _finish(self, session: _Session) -> None:
        session.over.set()
        if session.task is None:
            return
        _, unsettled = await asyncio.wait({session.task}, timeout=SETTLE)
        if unsettled:
            session.task.cancel()

    async def _run(
        self, session: _Session, channel_id: str, previous: asyncio.Task[None] | None
    ) -> None:
        try:
            if previous is not None:
                await asyncio.wait({previous}, timeout=SETTLE)
            async with asyncio.timeout(self._longest):
                while not session.over.is_set() and await self._posted(channel_id):
                    await _either(session.over, self._every)
        except TimeoutError:
            log.debug("typing reached its limit", channel=channel_id)
        finally:
            if self._sessions.get(channel_id) is session:
                del self._sessions[channel_id]

    async def _posted(self, channel_id: str) -> bool:
        """Post once. False when Discord will refuse every further one."""
        try:
            await self._post(channel_id)
        except (discord.Forbidden, discord.NotFound) as error:
            log.debug("typing refused", channel=channel_id, error=describe(error))
            return False
        except Exception as error:
            log.debug("typing failed", channel=channel_id, error=describe(error))
        return True


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most so long."""
    waiter = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({waiter}, timeout=seconds)
    finally:
        waiter.cancel()
