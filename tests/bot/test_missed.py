"""What was said while the bot was away, against a gateway and a REST API on 127.0.0.1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import discord
import pytest
from discord.gateway import DiscordWebSocket
from discord.http import Route
from pydantic import SecretStr

from bot import missed
from bot.client import EverturnClient
from bot.config import BotConfig
from bot.gateway import log_in, stay_connected, use_api
from bot.missed import MissedMessages
from bot.normalise import is_described
from bot.progress import Progress
from tests.bot.loopback import (
    APPLICATION_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    MEMBER_ID,
    THREAD_ID,
    Json,
    LoopbackDiscord,
    guild,
    message,
    user,
)
from tests.bot.test_progress import Store
from tests.bot.waiting import until

ROLE_ID = "600000000000000001"


def ago(*, number: int = 0, days: float = 0, minutes: float = 0, seconds: float = 0) -> str:
    """The id of message `number` of those written so long ago."""
    return before(timedelta(days=days, minutes=minutes, seconds=seconds), number)


def before(length: timedelta, number: int = 0) -> str:
    return str(discord.utils.time_snowflake(datetime.now(UTC) - length) + number)


FOUR, THREE = timedelta(minutes=4), timedelta(minutes=3)


class Away(LoopbackDiscord):
    """A Discord in which things were said before the bot came."""

    def __init__(self) -> None:
        super().__init__()
        self.gone: set[str] = set()
        self.reads: list[str] = []
        self.read_held = asyncio.Event()
        self.read_held.set()
        self.joined_at = "2026-01-01T00:00:00+00:00"
        self.members: dict[str, list[str]] = {}
        """Roles of those who are still members."""

    def said(
        self, message_id: str, content: str = "nova?", channel_id: str = CHANNEL_ID, **more: Any
    ) -> Json:
        stored = message(message_id, content, channel_id=channel_id, **more)
        self.channels[channel_id].append(stored)
        return stored

    async def hear(self, message_id: str, content: str = "live", **more: Any) -> None:
        """Live, and in the history from now on."""
        stored = self.said(message_id, content, **more)
        live = {**stored, "guild_id": GUILD_ID, "member": _member([])}
        await self.emit("MESSAGE_CREATE", live)

    def describe(self) -> Json:
        described = guild()
        described["members"][0]["joined_at"] = self.joined_at
        for channel in (*described["channels"], *described["threads"]):
            said = self.channels.get(channel["id"])
            channel["last_message_id"] = said[-1]["id"] if said else None
        return described

    async def _gateway(self, request: Any) -> Any:
        self.guilds = [self.describe()]
        return await super()._gateway(request)

    async def _rest(self, request: Any) -> Any:
        path = request.match_info["path"]
        if request.method == "GET" and path.endswith("/messages"):
            self.reads.append(path.split("/")[1])
            await self.read_held.wait()
        return await super()._rest(request)

    def _answer(self, method: str, path: str, body: Any, query: Any) -> tuple[int, Any]:
        match (method, *path.split("/")):
            case ("GET", "channels", channel_id, *_) if channel_id in self.gone:
                return 404, {"code": 10003, "message": "Unknown Channel"}
            case ("GET", "channels", channel_id):
                return 200, {"id": channel_id, "type": 1, "recipients": [user()]}
            case ("GET", "guilds", _, "members", user_id):
                if user_id not in self.members:
                    return 404, {"code": 10007, "message": "Unknown Member"}
                return 200, {"user": user(user_id), **_member(self.members[user_id])}
        return super()._answer(method, path, body, query)


def _member(roles: list[str]) -> Json:
    joined_at = "2026-01-01T00:00:00+00:00"
    return {"roles": roles, "joined_at": joined_at, "deaf": False, "mute": False, "flags": 0}


class Taken:
    """The intake: everything that names Nova concerns us."""

    def __init__(self) -> None:
        self.messages: list[discord.Message] = []
        self.broken: set[str] = set()
        self.undescribed: list[str] = []

    def take(self, client: discord.Client, message: discord.Message, /) -> None:
        if str(message.id) in self.broken:
            raise ValueError("a message that cannot be taken in")
        if not is_described(message):  # as the gates have it
            self.undescribed.append(str(message.id))
            return
        self.messages.append(message)

    def concerns_us(self, client: discord.Client, message: discord.Message, /) -> bool:
        return "nova" in message.content

    def stopped(self, channel_id: str, /) -> None: ...

    @property
    def ids(self) -> list[str]:
        return [str(message.id) for message in self.messages]


class Bot:
    """A bot process, as far as messages come in."""

    def __init__(self, client: EverturnClient, store: Store, **options: Any) -> None:
        self.client = client
        self.taken = Taken()
        self.prepared = 0
        self.progress = Progress(store, lambda channel_id: None)
        self.missed = MissedMessages(self.taken, self.progress, store, self._prepare, **options)
        client.sessions = self.missed
        client.take_messages(self.missed)
        self.connection = asyncio.create_task(stay_connected(client))

    async def _prepare(self) -> None:
        self.prepared += 1

    async def settled(self) -> None:
        """It has looked everywhere."""
        await until(lambda: self.prepared and self.missed.is_through)

    async def end(self) -> None:
        self.client.take_messages(None)
        self.client.sessions = None
        await self.missed.close()
        await self.progress.write()
        await self.client.close()
        self.connection.cancel()
        await asyncio.gather(self.connection, return_exceptions=True)


class Clock:
    def __init__(self) -> None:
        self.later = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.later


@pytest.fixture
async def away() -> AsyncIterator[Away]:
    addresses = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    api = Away()
    await api.start()
    use_api(api.api)
    yield api
    Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = addresses
    await api.close()


@pytest.fixture
def store() -> Store:
    """Of a bot that was here yesterday."""
    return Store(**{APPLICATION_ID: ago(days=1)})


class Starter:
    def __init__(self, away: Away, store: Store) -> None:
        self._config = BotConfig(SecretStr("a-token-for-the-loopback"), away.api)
        self._store = store
        self.bots: list[Bot] = []

    async def __call__(self, **options: Any) -> Bot:
        client = await log_in(self._config)
        client._connection.guild_ready_timeout = 0.1  # two seconds for a real Discord
        self.bots.append(Bot(client, self._store, **options))
        return self.bots[-1]


@pytest.fixture
async def start(away: Away, store: Store) -> AsyncIterator[Starter]:
    starter = Starter(away, store)
    yield starter
    for bot in starter.bots:
        await bot.end()


async def test_what_was_missed_is_taken_in_from_the_oldest(
    away: Away, store: Store, start: Starter
) -> None:
    """D31: in every kind of channel, after its mark, as the gateway would have told it. A channel
    in which nothing was said is not read."""
    seen, first, second = ago(minutes=5), ago(minutes=4), ago(minutes=3)
    for message_id in (seen, first, second):
        away.said(message_id)
    in_thread = ago(minutes=3, number=1)
    away.said(in_thread, channel_id=THREAD_ID)
    in_dm = ago(minutes=2)
    away.said(in_dm, "psst", channel_id=DM_ID)
    quiet_dm, gone_dm = "500000000000000005", "500000000000000006"
    away.gone.add(gone_dm)
    store.marks |= {CHANNEL_ID: seen, DM_ID: ago(days=3), quiet_dm: "7", gone_dm: "8"}
    bot = await start()
    await bot.settled()
    by_channel = {str(message.channel.id): [] for message in bot.taken.messages}
    for each in bot.taken.messages:
        by_channel[str(each.channel.id)].append(str(each.id))
    assert by_channel == {CHANNEL_ID: [first, second], THREAD_ID: [in_thread], DM_ID: [in_dm]}
    kinds = {str(m.channel.id): type(m.channel) for m in bot.taken.messages}
    assert kinds[DM_ID] is discord.DMChannel
    assert kinds[THREAD_ID] is discord.Thread
    assert {m.guild.id for m in bot.taken.messages if m.guild} == {int(GUILD_ID)}
    assert "500000000000000009" not in away.reads
    await bot.progress.write()
    assert (store.marks[CHANNEL_ID], store.marks[DM_ID]) == (second, in_dm)


@pytest.mark.parametrize(
    ("old", "marks", "joined"),
    [
        pytest.param(timedelta(minutes=10, seconds=5), {}, None, id="ten minutes"),
        pytest.param(FOUR, {APPLICATION_ID: THREE}, None, id="first start"),
        pytest.param(FOUR, {CHANNEL_ID: THREE}, None, id="disposed of"),
        pytest.param(FOUR, {}, THREE, id="before it joined"),
    ],
)
async def test_what_is_too_old_does_not_come_back(
    away: Away,
    store: Store,
    start: Starter,
    old: timedelta,
    marks: dict[str, timedelta],
    joined: timedelta | None,
) -> None:
    """D31: the age cap; and what a gate refused, or `/kill` dropped, before the restart."""
    store.marks |= {channel_id: before(length) for channel_id, length in marks.items()}
    if joined is not None:
        away.joined_at = (datetime.now(UTC) - joined).isoformat()
    away.said(before(old))
    late = ago(minutes=1)
    away.said(late)
    bot = await start()
    await bot.settled()
    assert bot.taken.ids == [late]


async def test_the_first_start_answers_nothing_of_before(
    away: Away, store: Store, start: Starter
) -> None:
    """And the second one everything since the first, also where nothing was said before."""
    store.marks.clear()
    away.said(ago(minutes=1))
    bot = await start()
    await bot.settled()
    assert bot.taken.ids == []
    await bot.end()
    assert int(store.marks[APPLICATION_ID]) > int(ago(minutes=1))
    since = ago(seconds=0, number=1)
    away.said(since)
    again = await start()
    await again.settled()
    assert again.taken.ids == [since]


async def test_the_newest_of_many(
    away: Away, start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D31: a limit for each channel, in one request; what is left out is logged."""
    told: list[dict[str, Any]] = []

    class Log:
        def info(self, event: str, **fields: Any) -> None: ...

        def warning(self, event: str, **fields: Any) -> None:
            told.append(fields)

    monkeypatch.setattr(missed, "log", Log())
    ids = [ago(minutes=5, number=number) for number in range(missed.PER_CHANNEL + 20)]
    for message_id in ids:
        away.said(message_id)
    bot = await start()
    await bot.settled()
    assert bot.taken.ids == ids[20:]
    assert away.reads == [CHANNEL_ID]
    assert told == [{"channel": CHANNEL_ID, "left_out": 20, "or_more": False}]


async def test_what_is_said_before_the_server_is_described_comes_after(
    away: Away, store: Store, start: Starter
) -> None:
    """Its roles and channels are not known between READY and GUILD_CREATE, nor while the server is
    down; then it is neither lost nor disposed of."""
    bot = await start()
    await bot.settled()
    await away.emit("GUILD_DELETE", {"id": GUILD_ID, "unavailable": True})
    await until(lambda: bot.client.guilds[0].unavailable)
    early = ago(seconds=1)
    await away.hear(early)
    await until(lambda: bot.taken.undescribed)
    assert (bot.taken.undescribed, bot.taken.ids) == ([early], [])
    assert bot.progress.newest(CHANNEL_ID) == 0
    await away.emit("GUILD_CREATE", {**away.describe(), "unavailable": False})
    await until(lambda: bot.taken.ids == [early])
    assert bot.progress.newest(CHANNEL_ID) == int(early)
    assert bot.taken.messages[0].guild is bot.client.guilds[0]


async def test_live_messages_wait_for_the_missed_ones(away: Away, start: Starter) -> None:
    """Order within a channel; other channels do not wait. One that is in both is taken in once,
    with what only the live one has."""
    early = ago(minutes=1)
    away.said(early)
    away.read_held.clear()
    bot = await start()
    await until(lambda: away.reads)
    one, two = ago(seconds=1), ago(seconds=0, number=1)
    await away.hear(one)
    await away.hear(two)
    elsewhere = ago(seconds=0, number=2)
    await until(lambda: bot.client.guilds and bot.client.guilds[0].get_thread(int(THREAD_ID)))
    await away.hear(elsewhere, channel_id=THREAD_ID)
    await until(lambda: bot.taken.ids)
    assert bot.taken.ids == [elsewhere]
    assert bot.progress.newest(CHANNEL_ID) == 0, "what waits is not disposed of"
    away.read_held.set()
    await until(lambda: len(bot.taken.ids) == 4)
    assert bot.taken.ids == [elsewhere, early, one, two]
    assert [isinstance(m.author, discord.Member) for m in bot.taken.messages[2:]] == [True, True]
    later = ago(seconds=0, number=3)
    await away.hear(later)
    await until(lambda: bot.taken.ids[-1] == later)


async def test_a_session_that_was_not_resumed(away: Away, start: Starter) -> None:
    """D31: a new READY means that what was said in between is lost; it is read from what was taken
    in last, not from what was written."""
    bot = await start()
    await bot.settled()
    live = ago(seconds=10)
    await away.hear(live)
    await until(lambda: bot.taken.ids == [live])
    lost = ago(seconds=5)
    away.said(lost)
    await away.emit("READY", away._ready())
    await away.emit("GUILD_CREATE", away.describe())
    await until(lambda: bot.taken.ids == [live, lost])


async def test_a_server_that_comes_back_much_later(away: Away, start: Starter) -> None:
    """The age counts from when it is described, and the session is not a new one."""
    clock = Clock()
    bot = await start(now=clock)
    await bot.settled()
    clock.later = timedelta(hours=1)
    away.said(ago(minutes=-49))
    late = ago(minutes=-51)
    away.said(late)
    await away.emit("GUILD_DELETE", {"id": GUILD_ID, "unavailable": True})
    await away.emit("GUILD_CREATE", {**away.describe(), "unavailable": False})
    await until(lambda: bot.taken.ids == [late])


async def test_the_author_of_a_missed_message_has_their_roles(away: Away, start: Starter) -> None:
    """The same gates: a list of roles means what it means for a live message. Nobody is asked for
    whom the message is not for us, and each but once; whoever has left has none."""
    away.members = {MEMBER_ID: [ROLE_ID], "71": []}
    chatter = user("71", name="Ben")
    away.said(ago(minutes=3), "good morning", author=chatter)
    for number in range(2):
        away.said(ago(minutes=2, number=number), "nova, hello")
    away.said(ago(minutes=1), "nova, bye", author=user("72", name="Eve"))
    away.said(
        ago(minutes=1, number=1), "nova said the hook", webhook_id="9", author=user("9", bot=True)
    )
    bot = await start()
    await bot.settled()
    authors = [message.author for message in bot.taken.messages]
    found = [author for author in authors if isinstance(author, discord.Member)]
    assert [[str(role.id) for role in author.roles[1:]] for author in found] == [[ROLE_ID]] * 2
    asked = [r.path for r in away.requests if "/members/" in r.path]
    assert asked == [f"guilds/{GUILD_ID}/members/{MEMBER_ID}", f"guilds/{GUILD_ID}/members/72"]


async def test_a_discord_that_fails_is_asked_again(away: Away, start: Starter) -> None:
    expected = ago(minutes=1)
    away.said(expected)
    away.fail("GET", "messages", 503, times=6)  # five of them are discord.py's own attempts
    bot = await start()
    bot.client.http.max_ratelimit_timeout = None
    await until(lambda: bot.taken.ids == [expected], seconds=40)


async def test_a_closed_channel_holds_nobody_up(away: Away, start: Starter) -> None:
    away.said(ago(minutes=1))
    away.fail("GET", "messages", 403, code=50001)
    bot = await start()
    await bot.settled()
    live = ago(seconds=0)
    await away.hear(live)
    await until(lambda: bot.taken.ids == [live])


async def test_patience_has_an_end(away: Away, start: Starter) -> None:
    """A channel that cannot be read speaks again all the same."""
    away.said(ago(minutes=1))
    away.read_held.clear()
    bot = await start(patience=timedelta(seconds=1))
    await until(lambda: away.reads)
    live = ago(seconds=0)
    await away.hear(live)
    await until(lambda: bot.taken.ids == [live])
    away.read_held.set()


async def test_a_database_that_is_away_holds_messages_up_for_a_while(
    away: Away, store: Store, start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read back then, and the next session looks again."""
    monkeypatch.setattr(missed, "KNOWN_WITHIN", timedelta(milliseconds=300))
    monkeypatch.setattr(missed, "PAUSE", 0.05)
    lost = ago(minutes=1)
    away.said(lost, channel_id=THREAD_ID)
    store.away = True
    bot = await start()
    await until(lambda: bot.client.guilds and not bot.client.guilds[0].unavailable)
    live = ago(seconds=0)
    await away.hear(live)
    await until(lambda: bot.taken.ids == [live])
    await bot.settled()
    assert away.reads == []
    store.away = False
    again = await start()
    await until(lambda: lost in again.taken.ids)


async def test_one_message_that_cannot_be_taken_in_loses_no_other(
    away: Away, start: Starter
) -> None:
    first, second = ago(minutes=2), ago(minutes=1)
    away.said(first)
    away.said(second)
    away.read_held.clear()
    bot = await start()
    bot.taken.broken.add(first)
    away.read_held.set()
    await until(lambda: bot.taken.ids == [second])
