"""The concurrency guard: how many channels are answered at once, of a member and of a server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from storage import Busy, Storage

NOON = datetime(2030, 5, 17, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def answer(**changes: Any) -> dict[str, Any]:
    values = {
        "server_key": "1",
        "user_id": "5",
        "user_limit": 0,
        "server_limit": 10,
        "at": NOON,
        "lasts": HOUR,
    }
    return values | changes


async def test_a_member_is_answered_in_so_many_channels_at_once(storage: Storage) -> None:
    begin = storage.answering.begin
    for channel in ("c1", "c2", "c3"):
        assert await begin(channel, "m", **answer(user_limit=3)) is None
    assert await begin("c4", "m", **answer(user_limit=3)) is Busy.USER
    assert await begin("c4", "m", **answer(user_limit=3, server_key="2")) is Busy.USER
    assert await begin("c4", "m", **answer(user_limit=3, user_id="6")) is None


async def test_the_channel_itself_does_not_count(storage: Storage) -> None:
    """What is planned there is answered instead of what was: planning subtracts the current one."""
    begin = storage.answering.begin
    assert await begin("c1", "m1", **answer(user_limit=1)) is None
    assert await begin("c1", "m1", **answer(user_limit=1)) is None
    assert await begin("c1", "m2", **answer(user_limit=1)) is None
    assert await begin("c2", "m3", **answer(user_limit=1)) is Busy.USER


async def test_a_server_has_a_limit_of_its_own(storage: Storage) -> None:
    begin = storage.answering.begin
    for number in range(2):
        assert await begin(f"c{number}", "m", **answer(user_id=f"{number}", server_limit=2)) is None
    assert await begin("c9", "m", **answer(user_id="9", server_limit=2)) is Busy.SERVER
    assert await begin("c9", "m", **answer(user_id="9", server_limit=2, server_key="2")) is None
    assert await begin("c8", "m", **answer(user_id="8", server_limit=0)) is None


async def test_what_has_ended_counts_no_more(storage: Storage) -> None:
    begin = storage.answering.begin
    await begin("c1", "m1", **answer(user_limit=1))
    await storage.answering.end("c1", "m0")  # an older one's late end
    assert await begin("c2", "m2", **answer(user_limit=1)) is Busy.USER
    await storage.answering.end("c1", "m1")
    await storage.answering.end("c1", "m1")
    assert await begin("c2", "m2", **answer(user_limit=1)) is None


async def test_a_turn_that_died_counts_for_its_time_only(storage: Storage) -> None:
    begin = storage.answering.begin
    await begin("c1", "m1", **answer(user_limit=1))
    later = answer(user_limit=1, at=NOON + HOUR - timedelta(seconds=1))
    assert await begin("c2", "m2", **later) is Busy.USER
    assert await begin("c2", "m2", **(later | {"at": NOON + HOUR})) is None


async def test_the_limits_hold_with_many_at_once(storage: Storage) -> None:
    begin = storage.answering.begin
    answers = await asyncio.gather(
        *(
            begin(f"c{n}", "m", **answer(user_id=str(n % 4), user_limit=3, server_limit=10))
            for n in range(24)
        )
    )
    assert answers.count(None) == 10
    for member in range(4):
        assert [answers[n] for n in range(24) if n % 4 == member].count(None) <= 3
