"""What was said while the bot was away goes the way of every other message (D31, D26).

For: Discord tells a new session nothing of what was said before it. In: the beginning of each
session, the servers as Discord describes them, and the live messages. Out: everything to the same
intake, so the same gates decide.

At the beginning of a session each channel in which something was said since its mark (`progress`)
is read, from the mark on, at most AWAY_AT_MOST back and the newest PER_CHANNEL messages; direct
messages that are known by a mark are asked one by one. Servers tell with their description what
their channels' newest message is, so a quiet channel costs nothing. A live message of a server that
is not described is left to that reading.

What always holds: a channel's messages are taken in from the oldest to the newest: live ones wait
until the channel has been read, at most for PATIENCE. Nothing is read back that is older than the
bot's first start or than its joining the server. A message that is taken in twice is answered once
(its id is its turn's). What could not be read is read at the beginning of the next session, unless
something newer of its channel was taken in since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import discord
import structlog

from bot.discord_faults import NETWORK_FAULTS, describe, is_transient
from bot.normalise import is_described
from bot.progress import MarkStore, Progress

log = structlog.get_logger(__name__)

AWAY_AT_MOST = timedelta(minutes=10)
"""An answer to something older speaks into another conversation."""
PER_CHANNEL = 50
"""The newest messages."""
AT_A_TIME = 100
"""As many as Discord tells in one request; so it is known how many are left out."""
DIRECT_CHANNELS = 200
"""Direct messages that are asked, those that were active last: each costs a request."""
AT_ONCE = 4
"""Channels that are read at the same time, beside those in which somebody speaks meanwhile."""
PATIENCE = timedelta(seconds=20)
"""How long live messages wait for their channel to be read."""
KNOWN_WITHIN = timedelta(seconds=10)
"""How long all messages wait for the marks and the settings of the servers."""
PAUSE = 0.5
"""Seconds between two attempts."""


class MessageIntake(Protocol):
    """`bot.client.Intake`."""

    def take(self, client: discord.Client, message: discord.Message, /) -> object: ...
    def concerns_us(self, client: discord.Client, message: discord.Message, /) -> bool: ...
    def stopped(self, channel_id: str, /) -> None: ...


@dataclass(frozen=True)
class _Known:
    """Where reading may begin."""

    marks: dict[str, int]
    """By channel."""
    begun_at: int
    """The bot's first start, as an id: before it nothing was for the bot."""


@dataclass
class _Reading:
    """A channel that is being read."""

    held: list[discord.Message] = field(default_factory=list[discord.Message])
    task: asyncio.Task[None] | None = None


class MissedMessages:
    """Stands before the intake; one for the life of the process."""

    def __init__(
        self,
        intake: MessageIntake,
        progress: Progress,
        store: MarkStore,
        prepare: Callable[[], Awaitable[None]],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        patience: timedelta = PATIENCE,
    ) -> None:
        """`prepare`: reads what the gates go by, so that nothing is judged without it."""
        self._intake = intake
        self._progress = progress
        self._store = store
        self._prepare = prepare
        self._now = now
        self._patience = patience.total_seconds()
        self._session = 0
        self._known: asyncio.Task[_Known | None] | None = None
        self._settled = True
        """Whether it is decided for every channel whether it is read, but for `_deciding`."""
        self._decided: set[int] = set()
        self._deciding: set[int] = set()
        """Servers."""
        self._through: set[str] = set()
        self._to_read: dict[str, None] = {}
        """Channels that are read as soon as there is room, in that order."""
        self._reading: dict[str, _Reading] = {}
        self._gone: set[str] = set()
        """Channels that exist no more, or are closed to us."""
        self._members: dict[tuple[int, int], discord.Member | None] = {}
        self._sweepers = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    # the messages

    def take(self, client: discord.Client, message: discord.Message) -> None:
        """A live message: at once, or when its channel has been read."""
        reading = self._waits_for(client, message) if is_described(message) else None
        if reading is None:
            self._pass_on(client, message)
        else:
            reading.held.append(message)

    def stopped(self, channel_id: str) -> None:
        self._intake.stopped(channel_id)

    def _waits_for(self, client: discord.Client, message: discord.Message) -> _Reading | None:
        channel_id = str(message.channel.id)
        reading = self._reading.get(channel_id)
        quiet = self._settled and not self._to_read and not self._deciding
        if reading is not None or quiet:
            return reading
        guild_id = message.guild.id if message.guild is not None else 0
        undecided = guild_id in self._deciding or not (self._settled or guild_id in self._decided)
        wanted = channel_id in self._to_read
        if wanted or (undecided and channel_id not in self._through):
            return self._begin(client, channel_id)
        return None

    def _pass_on(self, client: discord.Client, message: discord.Message) -> None:
        self._intake.take(client, message)
        if is_described(message):  # else it is read again
            self._progress.taken(str(message.channel.id), message.id)

    @property
    def is_through(self) -> bool:
        """Whether everything that was missed has been taken in."""
        return self._settled and not (self._deciding or self._to_read or self._reading)

    # the session

    def session_began(self, client: discord.Client) -> None:
        """READY: whatever was said before it reaches us only by reading."""
        self._session += 1
        self._settled = False
        self._decided.clear()
        self._deciding.clear()
        self._through.clear()
        self._to_read.clear()
        self._members.clear()
        if self._known is not None:
            self._known.cancel()
        self._known = asyncio.create_task(self._learn(client))

    def server_described(self, client: discord.Client, guild: discord.Guild) -> None:
        """GUILD_CREATE of a server that was unavailable, as all are when a session begins."""
        self._deciding.add(guild.id)
        self._spawn(self._server(client, guild, self._session))

    def all_described(self, client: discord.Client) -> None:
        """No more servers are to be expected for now."""
        self._spawn(self._settle(client, self._session))

    async def close(self) -> None:
        """Read no more. What is held comes again with the next start."""
        tasks = [*self._tasks, *([self._known] if self._known is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _learn(self, client: discord.Client) -> _Known | None:
        """None: nothing is read back in this session, since nobody knows from where."""
        began = self._now()
        deadline = asyncio.get_running_loop().time() + KNOWN_WITHIN.total_seconds()
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._prepare()
                    return await self._read_marks(str(client.application_id), began)
            except Exception as error:
                if asyncio.get_running_loop().time() + PAUSE > deadline:
                    log.error(
                        "what was said while away is not read: the database does not answer",
                        error=str(error) or type(error).__name__,
                    )
                    return None
            await asyncio.sleep(PAUSE)

    async def _read_marks(self, application_id: str, began: datetime) -> _Known:
        marks = {key: int(mark) for key, mark in (await self._store.seen()).items()}
        oldest = self._oldest()
        # The first start is kept among the marks, under an id that no channel has.
        begun_at = marks.pop(application_id, None)
        if begun_at is None:
            begun_at = oldest if marks else discord.utils.time_snowflake(began)
        begun_at = max(begun_at, oldest)
        await self._store.note({application_id: str(begun_at)})
        return _Known(marks, begun_at)

    # what is to be read

    async def _server(self, client: discord.Client, guild: discord.Guild, session: int) -> None:
        known = await self._knowledge(session)
        if session != self._session:
            return
        self._deciding.discard(guild.id)
        self._decided.add(guild.id)
        if known is None:
            return
        channels = [*guild.text_channels, *guild.voice_channels, *guild.threads]
        self._want(
            client,
            [
                str(channel.id)
                for channel in channels
                if (channel.last_message_id or 0) > self._floor(known, channel)
                and _is_open(channel)
            ],
        )

    async def _settle(self, client: discord.Client, session: int) -> None:
        """What is left: direct messages, and threads that were archived. Nobody describes them."""
        known = await self._knowledge(session)
        if session != self._session:
            return
        self._settled = True
        if known is None:
            return
        newest_first = sorted(known.marks, key=lambda key: known.marks[key], reverse=True)
        undescribed = [
            channel_id
            for channel_id in newest_first
            if channel_id not in self._gone and client.get_channel(int(channel_id)) is None
        ]
        self._want(client, undescribed[:DIRECT_CHANNELS])

    async def _knowledge(self, session: int) -> _Known | None:
        """Of this session; None also when another one has begun."""
        task = self._known
        if task is None or session != self._session:
            return None
        await asyncio.wait({task})
        return None if task.cancelled() else task.result()

    def _oldest(self) -> int:
        """AWAY_AT_MOST ago, as an id."""
        return discord.utils.time_snowflake(self._now() - AWAY_AT_MOST)

    def _floor(self, known: _Known, channel: object) -> int:
        """Only what is newer than this message is read."""
        channel_id = str(getattr(channel, "id", 0))
        guild = getattr(channel, "guild", None)
        # Typed as a Member, but None until the guild's own event has filled the cache.
        me: discord.Member | None = guild.me if guild is not None else None
        joined_at = me.joined_at if me is not None else None
        return max(
            self._oldest(),  # by now: a server may be described hours after the session began
            known.marks.get(channel_id, known.begun_at),
            self._progress.newest(channel_id),
            discord.utils.time_snowflake(joined_at) if joined_at is not None else 0,
        )

    def _want(self, client: discord.Client, channel_ids: Iterable[str]) -> None:
        for channel_id in channel_ids:
            if channel_id not in self._reading:
                self._to_read[channel_id] = None
        while self._sweepers < min(AT_ONCE, len(self._to_read)):
            self._sweepers += 1
            self._spawn(self._sweep(client))

    async def _sweep(self, client: discord.Client) -> None:
        try:
            while self._to_read:
                reading = self._begin(client, next(iter(self._to_read)))
                if reading.task is not None:
                    await asyncio.wait({reading.task})
        finally:
            self._sweepers -= 1

    # one channel

    def _begin(self, client: discord.Client, channel_id: str) -> _Reading:
        self._to_read.pop(channel_id, None)
        reading = self._reading[channel_id] = _Reading()
        reading.task = self._spawn(self._catch_up(client, channel_id, reading))
        return reading

    async def _catch_up(self, client: discord.Client, channel_id: str, reading: _Reading) -> None:
        while True:
            session = self._session
            missed = await self._read_in_time(client, channel_id, session)
            if session == self._session:
                break  # else more may have been missed meanwhile
        held = {message.id: message for message in reading.held}
        missed = [message for message in missed if message.id not in held]
        if missed:
            log.info("messages were missed while away", channel=channel_id, count=len(missed))
        # From here on without a pause: what comes live now comes after these.
        self._through.add(channel_id)
        del self._reading[channel_id]
        for message in sorted([*missed, *held.values()], key=lambda message: message.id):
            try:
                self._pass_on(client, message)
            except Exception:
                log.exception("a message could not be taken in", message=str(message.id))

    async def _read_in_time(
        self, client: discord.Client, channel_id: str, session: int
    ) -> list[discord.Message]:
        known = await self._knowledge(session)
        if known is None:
            return []
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    try:
                        return await self._read(client, channel_id, known)
                    except discord.HTTPException as error:
                        if not is_transient(error):
                            log.debug("not read back", channel=channel_id, why=describe(error))
                            self._gone.add(channel_id)
                            return []
                    except NETWORK_FAULTS as error:
                        log.debug("not read back yet", channel=channel_id, why=describe(error))
                    await asyncio.sleep(PAUSE)
        except TimeoutError:
            log.warning("what was said while away could not be read in time", channel=channel_id)
            return []
        except Exception:
            # Whatever it is, what is said here from now on must not wait for it.
            log.exception("what was said while away could not be read", channel=channel_id)
            return []

    async def _read(
        self, client: discord.Client, channel_id: str, known: _Known
    ) -> list[discord.Message]:
        """Oldest first, with what the gates need to know of their authors."""
        channel = client.get_channel(int(channel_id))
        if channel is None:
            place = client.get_partial_messageable(int(channel_id))
            if not await _newer(place, self._floor(known, place), 1):
                return []
            channel = await client.fetch_channel(int(channel_id))
        if not isinstance(channel, discord.abc.Messageable):
            return []
        found = await _newer(channel, self._floor(known, channel), AT_A_TIME)
        messages = found[-PER_CHANNEL:]
        for message in messages:
            # A live message comes with its author's roles, one that is read does not.
            guild = message.guild
            if guild is None or isinstance(message.author, discord.Member):
                continue
            if message.webhook_id is None and self._may_concern_us(client, message, guild):
                member = await self._member(guild, message.author.id)
                message.author = member or message.author
        if len(found) > len(messages):
            log.warning(
                "more was said while away than is looked at; the oldest messages are left out",
                channel=channel_id,
                left_out=len(found) - len(messages),
                or_more=len(found) == AT_A_TIME,
            )
        return messages

    def _may_concern_us(
        self, client: discord.Client, message: discord.Message, guild: discord.Guild
    ) -> bool:
        """Also what somebody says after something that does."""
        known = (guild.id, message.author.id) in self._members
        return known or self._intake.concerns_us(client, message)

    async def _member(self, guild: discord.Guild, user_id: int) -> discord.Member | None:
        """None: no longer a member."""
        key = (guild.id, user_id)
        if key not in self._members:
            try:
                self._members[key] = await guild.fetch_member(user_id)
            except discord.HTTPException as error:
                if is_transient(error):
                    raise
                self._members[key] = None
        return self._members[key]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what was said while away could not be looked at", exc_info=error)


def _is_open(channel: discord.TextChannel | discord.VoiceChannel | discord.Thread) -> bool:
    """As far as the cache knows."""
    # Typed as a Member, but None until the guild's own event has filled the cache.
    me: discord.Member | None = channel.guild.me
    if me is None or (isinstance(channel, discord.Thread) and channel.parent is None):
        return True
    return channel.permissions_for(me).view_channel


async def _newer(place: discord.abc.Messageable, floor: int, limit: int) -> list[discord.Message]:
    """The newest `limit` messages after `floor`, oldest first. One request."""
    after = discord.Object(floor)
    found = [m async for m in place.history(limit=limit, after=after, oldest_first=False)]
    return found[::-1]
