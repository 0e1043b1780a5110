"""One owner of the typing indicator (behaviour 4, D52)."""

from __future__ import annotations

import asyncio

from bot.client import EverturnClient
from bot.typing_sessions import TypingSessions
from tests.bot.loopback import CHANNEL_ID, LoopbackDiscord
from tests.bot.waiting import until


class Posts:
    """Records each post; `gate` holds them back while it is clear."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.finished: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, channel_id: str) -> None:
        self.started.append(channel_id)
        await self.gate.wait()
        self.finished.append(channel_id)


async def test_it_posts_at_once_and_again_until_it_is_ended() -> None:
    posts = Posts()
    typing = TypingSessions(posts, every=0.01)
    typing.begin("t1", "c1")
    await until(lambda: len(posts.started) >= 3)
    await typing.end("t1", "c1")
    count = len(posts.started)
    await asyncio.sleep(0.05)
    assert len(posts.started) == count
    assert typing.active("c1") is None


async def test_the_end_waits_for_a_post_under_way() -> None:
    """D52: a post that arrived after the message would show typing after the answer."""
    posts = Posts()
    posts.gate.clear()
    typing = TypingSessions(posts, every=10)
    typing.begin("t1", "c1")
    await until(lambda: posts.started)
    ending = asyncio.create_task(typing.end("t1", "c1"))
    await asyncio.sleep(0.02)
    assert not ending.done()
    posts.gate.set()
    await ending
    assert posts.finished == ["c1"]


async def test_a_channel_has_one_loop() -> None:
    """D52: the next turn takes over; a late end of the earlier one does not touch it."""
    posts = Posts()
    typing = TypingSessions(posts, every=10)
    typing.begin("t1", "c1")
    typing.begin("t1", "c1")
    await until(lambda: len(posts.started) == 1)
    typing.begin("t2", "c1")
    await until(lambda: len(posts.started) == 2)
    await typing.end("t1", "c1")
    assert typing.active("c1") == "t2"
    await typing.close()
    assert typing.active("c1") is None
    assert len(posts.started) == 2


async def test_a_turn_that_has_ended_its_typing_does_not_begin_again() -> None:
    """A read of the history that is repeated after a `/kill` leaves the channel quiet."""
    posts = Posts()
    typing = TypingSessions(posts, every=10)
    typing.begin("t1", "c1")
    await typing.end_channel("c1")
    before = len(posts.started)
    typing.begin("t1", "c1")
    await asyncio.sleep(0.02)
    assert (typing.active("c1"), len(posts.started)) == (None, before)


async def test_it_ends_by_itself() -> None:
    """D52: a hard limit, whoever forgot it."""
    posts = Posts()
    typing = TypingSessions(posts, every=0.01, longest=0.05)
    typing.begin("t1", "c1")
    await until(lambda: typing.active("c1") is None)
    assert posts.started


async def test_a_refusal_ends_it_and_a_fault_does_not(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    """A loop of 403s counts towards Discord's ban for invalid requests (D41)."""
    typing = TypingSessions(lambda channel_id: client.http.send_typing(int(channel_id)), every=0.01)
    discord_api.fail("POST", "typing", 503)
    typing.begin("t1", CHANNEL_ID)
    await until(lambda: discord_api.calls().count("POST typing") >= 2)
    discord_api.fail("POST", "typing", 403, code=50013)
    await until(lambda: typing.active(CHANNEL_ID) is None)
    count = discord_api.calls().count("POST typing")
    await asyncio.sleep(0.03)
    assert discord_api.calls().count("POST typing") == count
