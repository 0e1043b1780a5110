"""Cooldowns and quotas: one step each, whoever else asks, and nothing is taken twice."""

from __future__ import annotations

import asyncio
import random
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import Charge, QuotaUsage, Storage, StorageError, open_storage, tables

NOON = datetime(2030, 5, 17, 12, tzinfo=UTC)
FIVE = timedelta(seconds=5)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def quota(**changes: Any) -> dict[str, Any]:
    values = {
        "server_key": "1",
        "user_id": "5",
        "user_daily": 2,
        "server_pool": 3,
        "pool_days": 10,
        "at": NOON,
    }
    return values | changes


# cooldowns


async def test_a_key_is_taken_from_when_the_message_was_written(storage: Storage) -> None:
    take = storage.limits.take_cooldown
    assert await take("user/5", NOON, FIVE) is None
    assert await take("user/5", after(4.999), FIVE) == after(5)
    assert await take("user/6", after(4.999), FIVE) is None
    assert await take("user/5", after(5), FIVE) is None
    assert await take("user/5", after(6), FIVE) == after(10)


async def test_a_refusal_takes_nothing(storage: Storage) -> None:
    take = storage.limits.take_cooldown
    await take("k", NOON, FIVE)
    for second in (1, 2, 3, 4):
        assert await take("k", after(second), timedelta(hours=1)) == after(5)
    assert await take("k", after(5), FIVE) is None


async def test_the_same_message_may_ask_again(storage: Storage) -> None:
    """An activity that is repeated, since its answer was lost, is not refused by itself."""
    take = storage.limits.take_cooldown
    assert await take("k", NOON, FIVE, holder="m1") is None
    assert await take("k", NOON, FIVE, holder="m1") is None
    assert await take("k", NOON, FIVE, holder="m2") == after(5)
    assert await take("k", NOON, FIVE) == after(5)
    assert await take("k", NOON, FIVE, holder="m1") is None


async def test_a_message_that_waited_is_judged_by_when_it_was_written(storage: Storage) -> None:
    """It was free then, so what was written and answered a minute later is not held against it."""
    take = storage.limits.take_cooldown
    assert await take("k", after(60), FIVE, holder="late") is None
    assert await take("k", after(56), FIVE, holder="near") == after(65)
    assert await take("k", NOON, FIVE, holder="waited") is None
    # and of several that waited not all pass
    assert await take("k", after(1), FIVE, holder="waited too") == after(5)
    assert await take("k", after(-4), FIVE, holder="waited, too") == after(5)
    assert await take("k", after(20), FIVE, holder="another") is None
    assert await take("k", after(64), FIVE, holder="next") == after(65)
    assert await take("k", after(65), FIVE, holder="next") is None


async def test_messages_that_are_judged_in_their_order(storage: Storage) -> None:
    """Each is answered that was written at least the length after the last answered one."""
    written = sorted(random.Random(5).uniform(0, 120) for _ in range(60))
    expected: list[float] = []
    for moment in written:
        if not expected or after(moment) >= after(expected[-1]) + FIVE:
            expected.append(moment)
    answered = [m for m in written if await take_at(storage, m)]
    assert answered == expected


async def test_messages_that_are_judged_in_any_order(storage: Storage) -> None:
    """No two are answered within the length, and nobody is refused for less."""
    chance = random.Random(7)
    for key in range(10):
        written = [second + chance.random() for second in range(0, 40, 2)]
        # several channels, each in its order
        waiting = [sorted(written[number::3]) for number in range(3)]
        answered: list[float] = []
        while any(waiting):
            moment = chance.choice([line for line in waiting if line]).pop(0)
            if await take_at(storage, moment, f"k{key}"):
                answered.append(moment)
        answered.sort()
        assert all(late - early >= 5 for early, late in pairwise(answered))
        for moment in set(written) - set(answered):
            assert any(abs(moment - other) < 5 for other in answered)


async def take_at(storage: Storage, moment: float, key: str = "k") -> bool:
    return await storage.limits.take_cooldown(key, after(moment), FIVE) is None


async def test_looking_takes_nothing(storage: Storage) -> None:
    limits = storage.limits
    assert await limits.peek_cooldown("k", NOON) is None
    assert await limits.take_cooldown("k", NOON, FIVE) is None
    assert await limits.peek_cooldown("k", after(-1)) is None
    assert await limits.peek_cooldown("k", NOON) == after(5)
    assert await limits.peek_cooldown("k", after(4)) == after(5)
    assert await limits.peek_cooldown("k", after(5)) is None
    assert await limits.peek_cooldown("other", NOON) is None


async def test_of_many_at_once_one_gets_it(storage: Storage) -> None:
    answers = await asyncio.gather(
        *(storage.limits.take_cooldown("k", after(n / 100), FIVE) for n in range(20))
    )
    (free_at,) = {answer for answer in answers if answer is not None}
    assert answers.count(None) == 1
    assert free_at == after(answers.index(None) / 100) + FIVE


# quotas


async def test_an_answer_is_charged_once(storage: Storage) -> None:
    """C045: however many personas answer a message, it counts once."""
    charge = storage.limits.charge
    answers = [await charge("m1", **quota()) for _ in range(3)]
    assert answers == [Charge.CHARGED, Charge.ALREADY, Charge.ALREADY]
    used = await storage.limits.usage("1", "5", pool_days=10, at=NOON)
    assert used == QuotaUsage(user_today=1, pool=1, pool_started_on=NOON.date())
    assert await charge("m1", **quota(server_key="2")) == "charged"  # names the server's own


async def test_both_are_charged_or_neither(storage: Storage) -> None:
    limits = storage.limits
    assert await limits.charge("m1", **quota()) is Charge.CHARGED
    assert await limits.charge("m2", **quota()) is Charge.CHARGED
    assert await limits.charge("m3", **quota()) is Charge.USER_EXHAUSTED
    assert (await limits.usage("1", "5", pool_days=10, at=NOON)).pool == 2
    assert await limits.charge("m4", **quota(user_id="6")) is Charge.CHARGED
    assert await limits.charge("m5", **quota(user_id="7")) is Charge.POOL_EXHAUSTED
    used = await limits.usage("1", "7", pool_days=10, at=NOON)
    assert (used.user_today, used.pool) == (0, 3)
    # what was refused is not remembered as charged
    assert await limits.charge("m5", **quota(user_id="7", server_pool=4)) is Charge.CHARGED


async def test_a_preflight_charges_nothing(storage: Storage) -> None:
    limits = storage.limits
    one = quota(user_daily=1, server_pool=1)
    assert await limits.would_refuse("m1", **one) is None
    assert await limits.would_refuse("m1", **one) is None
    assert await limits.charge("m1", **one) is Charge.CHARGED
    assert await limits.would_refuse("m1", **one) is None  # is paid for
    assert await limits.would_refuse("m2", **one) is Charge.USER_EXHAUSTED
    assert await limits.would_refuse("m2", **quota(user_id="6", server_pool=1)) is (
        Charge.POOL_EXHAUSTED
    )
    assert await limits.would_refuse("m2", **quota(server_key="2")) is None


async def test_a_limit_of_zero_is_none_and_is_not_counted(storage: Storage) -> None:
    """A pool that is set later begins full."""
    limits = storage.limits
    for number in range(4):
        free = quota(user_daily=0, server_pool=0)
        assert await limits.would_refuse(f"a{number}", **free) is None
        assert await limits.charge(f"a{number}", **free) is Charge.CHARGED
        assert await limits.charge(f"b{number}", **quota(user_daily=9, server_pool=0)) == "charged"
    used = await limits.usage("1", "5", pool_days=10, at=NOON)
    assert used == QuotaUsage(user_today=4, pool=0, pool_started_on=None)


async def test_a_member_starts_anew_at_midnight_utc(storage: Storage) -> None:
    limits = storage.limits
    last = quota(user_daily=1, at=datetime(2030, 5, 17, 23, 59, 59, tzinfo=UTC))
    midnight = datetime(2030, 5, 18, tzinfo=UTC)
    first = quota(user_daily=1, at=midnight.astimezone(tz=None))
    assert await limits.charge("m1", **last) is Charge.CHARGED
    assert await limits.charge("m2", **last) is Charge.USER_EXHAUSTED
    assert await limits.charge("m3", **first) is Charge.CHARGED
    # what is charged late counts for its own day
    assert await limits.charge("m4", **last) is Charge.USER_EXHAUSTED
    assert await limits.charge("m5", **(last | {"user_daily": 2})) is Charge.CHARGED
    assert await limits.charge("m6", **first) is Charge.USER_EXHAUSTED


@pytest.mark.parametrize("days", [1, 10, 365])
async def test_a_pool_is_full_again_after_its_days(storage: Storage, days: int) -> None:
    limits = storage.limits
    pool = quota(user_daily=0, server_pool=1, pool_days=days)
    end = datetime(2030, 5, 17, tzinfo=UTC) + timedelta(days=days)
    assert await limits.charge("m1", **pool) is Charge.CHARGED
    before_end = pool | {"at": end - timedelta(seconds=1)}
    assert await limits.charge("m2", **before_end) is Charge.POOL_EXHAUSTED
    assert await limits.charge("m3", **(pool | {"at": end})) is Charge.CHARGED
    assert await limits.charge("m4", **(pool | {"at": end})) is Charge.POOL_EXHAUSTED
    used = await limits.usage("1", "5", pool_days=days, at=end)
    assert (used.pool, used.pool_started_on) == (1, end.date())
    # a message of before the end, charged after it, does not empty the new pool
    late = pool | {"at": NOON, "server_pool": 5}
    assert await limits.charge("m5", **late) is Charge.CHARGED
    assert (await limits.usage("1", "5", pool_days=days, at=end)).pool == 2


async def test_a_pool_holds_with_many_at_once(storage: Storage) -> None:
    limits = storage.limits
    answers = await asyncio.gather(
        *(
            limits.charge(f"m{n % 12}", **quota(user_id=str(n % 12 % 6), server_pool=8))
            for n in range(24)
        )
    )
    assert answers.count(Charge.CHARGED) == 8
    used = await limits.usage("1", "0", pool_days=10, at=NOON)
    assert used.pool == 8
    async with storage.database.engine.connect() as connection:
        by_members = await connection.scalar(select(func.sum(tables.quota_days.c.used)))
    assert by_members == 8


async def test_an_answer_that_was_lost_is_asked_for_again(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write runs again when its connection broke after the commit: this call took it, not
    another one."""
    write = storage.database.write

    async def twice(work: Any) -> Any:
        await write(work)
        return await write(work)

    monkeypatch.setattr(storage.database, "write", twice)
    assert await storage.limits.take_cooldown("k", NOON, FIVE) is None
    assert await storage.limits.take_cooldown("k", NOON, FIVE) == after(5)
    assert await storage.limits.charge("m1", **quota()) is Charge.CHARGED
    assert await storage.limits.charge("m1", **quota()) is Charge.ALREADY
    assert (await storage.limits.usage("1", "5", pool_days=10, at=NOON)).pool == 1


async def test_a_store_that_fails_says_so(storage: Storage) -> None:
    """C047: the planner can tell, and let the turn proceed."""

    async def drop(connection: AsyncConnection) -> None:
        await connection.execute(text("ALTER TABLE cooldowns RENAME TO gone"))
        await connection.execute(text("ALTER TABLE quota_charges RENAME TO gone_too"))

    async def restore(connection: AsyncConnection) -> None:
        await connection.execute(text("ALTER TABLE gone RENAME TO cooldowns"))
        await connection.execute(text("ALTER TABLE gone_too RENAME TO quota_charges"))

    await storage.database.write(drop)
    try:
        for asked in (
            storage.limits.take_cooldown("k", NOON, FIVE),
            storage.limits.peek_cooldown("k", NOON),
            storage.limits.charge("m", **quota()),
            storage.limits.would_refuse("m", **quota()),
        ):
            with pytest.raises(StorageError) as caught:
                await asked
            assert "\n" not in str(caught.value)
    finally:
        await storage.database.write(restore)


TAKE = """
import asyncio, sys
from datetime import timedelta
from storage import PersonaConflict, open_storage
from tests.storage.test_answering import answer
from tests.storage.test_limits import FIVE, NOON, quota

async def main(url, who):
    storage = await open_storage(url)
    got = []
    for n in range(8):
        at = NOON + n * timedelta(seconds=2.5)
        if await storage.limits.take_cooldown("k", at, FIVE) is None:
            got.append("cooldown")
        member = quota(user_id=who, user_daily=20, server_pool=10)
        got.append(await storage.limits.charge(f"{who}/{n}", **member))
        got.append("shared " + await storage.limits.charge(f"m{n}", **member | {"server_key": "2"}))
        busy = await storage.answering.begin(f"{who}{n}", "1", **answer(user_id=who))
        got.append("began" if busy is None else busy)
        try:
            await storage.personas.create("1", f"Persona {n}", "Be.")
            got.append("persona")
        except PersonaConflict:
            pass
    print(",".join(got))
    await storage.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_share_what_there_is(url: str) -> None:
    await (await open_storage(url)).close()
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", TAKE, url, who,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        for who in ("1", "2")
    ]  # fmt: skip
    got: list[str] = []
    for process in processes:
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        got += output.decode().strip().split(",")
    assert got.count("charged") == 10
    assert got.count("pool_exhausted") == 6
    assert got.count("shared charged") == 8
    assert got.count("shared already") == 8
    assert got.count("began") == 10
    assert got.count("persona") == 8
    # written within 17.5 s, five seconds apart at least
    assert 1 <= got.count("cooldown") <= 4
