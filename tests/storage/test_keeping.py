"""What is kept: blobs, transcripts, usage, turns; all of it idempotent; and what is taken away."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import BaseModel
from sqlalchemy import delete, func, select, text, update

from storage import BlobMissing, Storage, StorageError, TranscriptMissing, tables
from storage.blobs import TOUCH_INTERVAL
from storage.housekeeping import BATCH
from workflows.contracts.effects import FinishRequest
from workflows.contracts.generation import StreamStatus, Usage
from workflows.contracts.history import ChannelHistory, HistoryMessage
from workflows.contracts.tools import ToolResult, TranscriptEntry


async def count(storage: Storage, table: str) -> int:
    async with storage.database.engine.connect() as connection:
        return await connection.scalar(select(func.count()).select_from(text(table))) or 0


async def grow_old(storage: Storage, age: timedelta, *blob_ids: str) -> None:
    """Pretend that blobs (all of them, when none is named) and transcripts are `age` old."""
    then = datetime.now(UTC) - age
    blobs = update(tables.blobs).values(last_used_at=then)
    if blob_ids:
        blobs = blobs.where(tables.blobs.c.id.in_(blob_ids))
    async with storage.database.engine.begin() as connection:
        await connection.execute(blobs)
        await connection.execute(update(tables.transcript).values(created_at=then))
    storage.blobs.forget_recent()


def entry(number: int) -> TranscriptEntry:
    result = ToolResult(call_id=f"c{number}", name="roll_dice", success=True, content="🎲 é")
    return TranscriptEntry(response_id=f"{number:064x}", results=[result])


async def test_what_was_just_written_is_read_from_memory(storage: Storage) -> None:
    """A turn reads what it has just written; the database need not be asked."""
    blob_id = await storage.blobs.put("test", b"just written")
    async with storage.database.engine.begin() as connection:
        await connection.execute(delete(tables.blobs))
    assert await storage.blobs.get(blob_id) == b"just written"
    storage.blobs.forget_recent()
    with pytest.raises(BlobMissing):
        await storage.blobs.get(blob_id)


async def test_a_blob_is_named_by_its_content_and_stored_once(storage: Storage) -> None:
    data = bytes(range(256)) * 1000
    first = await storage.blobs.put("image", data)
    assert first == hashlib.sha256(data).hexdigest()
    assert await storage.blobs.put("other", data) == first
    assert await storage.blobs.get(first) == data
    assert await count(storage, "blobs") == 1


async def test_the_same_blob_from_many_writers(storage: Storage) -> None:
    ids = await asyncio.gather(*(storage.blobs.put("test", b"same") for _ in range(30)))
    assert len(set(ids)) == 1
    assert await count(storage, "blobs") == 1


async def test_a_missing_blob_says_what_may_have_happened(storage: Storage) -> None:
    with pytest.raises(BlobMissing, match="cleaned up, or bot and worker use different databases"):
        await storage.blobs.get("0" * 64)


async def test_models_come_back_as_they_went(storage: Storage) -> None:
    history = ChannelHistory(
        messages=[
            HistoryMessage(
                id="1",
                author_id="2",
                author_name="Mia 🦞\0",
                content="a\nb\0",
                created_at=datetime(2026, 3, 1, tzinfo=UTC),
            )
        ]
    )
    blob_id = await storage.blobs.put_model("history", history)
    assert await storage.blobs.get_model(blob_id, ChannelHistory) == history


async def test_a_blob_of_another_kind_is_one_line_without_its_content(storage: Storage) -> None:
    class Other(BaseModel):
        number: int

    blob_id = await storage.blobs.put("test", b'{"number": "my diary"}')
    with pytest.raises(StorageError, match="is not a Other") as caught:
        await storage.blobs.get_model(blob_id, Other)
    assert "diary" not in str(caught.value)


async def test_a_transcript_is_appended_once_however_often_it_is_written(storage: Storage) -> None:
    await storage.transcript.append("turn/1", 0, [entry(0), entry(1)])
    await storage.transcript.append("turn/1", 1, [entry(1), entry(2)])
    await storage.transcript.append("turn/1", 1, [entry(1), entry(2)])
    await storage.transcript.append("turn/2", 0, [entry(7)])
    assert await storage.transcript.load("turn/1", 3) == [entry(0), entry(1), entry(2)]
    assert await storage.transcript.load("turn/1", 2) == [entry(0), entry(1)]
    assert await storage.transcript.load("turn/1", 0) == []
    assert await count(storage, "transcript") == 4


async def test_an_attempt_that_went_otherwise_replaces_what_it_wrote(storage: Storage) -> None:
    await storage.transcript.append("turn/1", 0, [entry(0)])
    await storage.transcript.append("turn/1", 0, [entry(9)])
    assert await storage.transcript.load("turn/1", 1) == [entry(9)]


async def test_a_transcript_with_holes_is_an_error(storage: Storage) -> None:
    await storage.transcript.append("turn/1", 2, [entry(2)])
    with pytest.raises(TranscriptMissing, match="has 1 of 3 entries"):
        await storage.transcript.load("turn/1", 3)


async def test_usage_is_booked_once_for_each_attempt(storage: Storage) -> None:
    """T15: what a killed call has booked counts, and booking it again does not count twice."""
    book = storage.usage.book
    part = Usage(input_tokens=100, output_tokens=5)
    whole = Usage(input_tokens=100, output_tokens=20, cost_usd=0.25)
    await book("turn/1", 0, 1, "demo", "demo-1", part, "error", 10)
    await book("turn/1", 0, 1, "demo", "demo-1", whole, "stopped_by_user", 12.5)
    assert await storage.usage.total("turn/1") == whole
    await book("turn/1", 0, 2, "demo", "demo-1", part, "completed", 10)
    await book("turn/1", 1, 1, "demo", "demo-1", part, "completed", 10)
    await book("turn/2", 0, 1, "demo", "demo-1", part, "completed", 10)
    assert await storage.usage.total("turn/1") == Usage(
        input_tokens=300, output_tokens=30, cost_usd=0.25
    )


async def test_usage_of_an_unknown_turn_and_of_one_without_prices(storage: Storage) -> None:
    assert await storage.usage.total("turn/0") == Usage()
    big = Usage(input_tokens=3_000_000_000)
    await storage.usage.book("turn/1", 0, 1, "demo", "demo-1", big, "completed", 1)
    assert await storage.usage.total("turn/1") == big


def finished(**changes: object) -> FinishRequest:
    request = FinishRequest(
        turn_id="turn/1/2/3",
        channel_id="1",
        persona_id=3,
        trigger_message_id="2",
        user_id="4",
        status=StreamStatus.ERROR,
        iterations=2,
        messages_sent=1,
        error="provider said \0 no",
    )
    return request.model_copy(update=changes)


async def test_a_turn_ends_once(storage: Storage) -> None:
    assert await storage.turns.get("turn/1/2/3") is None
    await storage.turns.finish(finished())
    first = await storage.turns.get("turn/1/2/3")
    await asyncio.gather(*(storage.turns.finish(finished()) for _ in range(5)))
    assert first is not None
    assert await storage.turns.get("turn/1/2/3") == first
    assert await count(storage, "turns") == 1
    assert first.status is StreamStatus.ERROR
    assert first.error == "provider said  no"
    assert datetime.now(UTC) - first.finished_at < timedelta(minutes=1)


async def test_a_turn_that_was_reset_ends_as_it_ended_last(storage: Storage) -> None:
    await storage.turns.finish(finished())
    await storage.turns.finish(finished(status=StreamStatus.COMPLETED, error=None))
    record = await storage.turns.get("turn/1/2/3")
    assert record is not None
    assert (record.status, record.error) == (StreamStatus.COMPLETED, None)


async def test_housekeeping_takes_only_what_is_old(storage: Storage) -> None:
    old = [await storage.blobs.put("test", b"old %d" % number) for number in range(3)]
    new = await storage.blobs.put("test", b"new")
    await storage.transcript.append("turn/old", 0, [entry(0)])
    await storage.usage.book("turn/old", 0, 1, "demo", "d", Usage(input_tokens=1), "completed", 1)
    await grow_old(storage, timedelta(days=40), *old)
    await storage.transcript.append("turn/new", 0, [entry(1)])

    assert await storage.housekeeping(timedelta(days=30)) == 4
    for blob_id in old:
        with pytest.raises(BlobMissing):
            await storage.blobs.get(blob_id)
    assert await storage.blobs.get(new) == b"new"
    assert await storage.transcript.load("turn/new", 1) == [entry(1)]
    with pytest.raises(TranscriptMissing):
        await storage.transcript.load("turn/old", 1)
    assert (await storage.usage.total("turn/old")).input_tokens == 1


@pytest.mark.parametrize("use", ["get", "put"])
async def test_a_blob_that_is_used_stays(storage: Storage, use: str) -> None:
    blob_id = await storage.blobs.put("test", b"in use")
    await grow_old(storage, timedelta(days=40))
    if use == "get":
        await storage.blobs.get(blob_id)
    else:
        await storage.blobs.put("test", b"in use")
    assert await storage.housekeeping(timedelta(days=30)) == 0
    assert await storage.blobs.get(blob_id) == b"in use"


async def test_a_use_that_was_too_recent_to_be_written_down_counts(storage: Storage) -> None:
    """The recorded use may lag by `TOUCH_INTERVAL`; a blob read just inside the limit stays."""
    blob_id = await storage.blobs.put("test", b"x")
    lag = TOUCH_INTERVAL - timedelta(seconds=30)
    await grow_old(storage, lag)
    await storage.blobs.get(blob_id)  # used now, and not written down
    await storage.housekeeping(timedelta(minutes=1))
    assert await storage.blobs.get(blob_id) == b"x"


async def test_housekeeping_of_more_than_a_batch_beside_writers(storage: Storage) -> None:
    rows = [
        {"id": f"{number:064x}", "kind": "test", "data": b"x",
         "created_at": datetime.now(UTC), "last_used_at": datetime(2020, 1, 1, tzinfo=UTC)}
        for number in range(2 * BATCH + 7)
    ]  # fmt: skip
    async with storage.database.engine.begin() as connection:
        await connection.execute(tables.blobs.insert(), rows)
    removed, *kept = await asyncio.gather(
        storage.housekeeping(timedelta(days=1)),
        *(storage.blobs.put("test", b"kept %d" % number) for number in range(10)),
    )
    assert removed == len(rows)
    assert await count(storage, "blobs") == len(kept)


async def test_work_that_is_cancelled_leaves_the_database_usable(storage: Storage) -> None:
    """A kill cancels whatever an activity is waiting for; connections come back from it."""
    for step in range(40):
        task = asyncio.create_task(storage.blobs.put("test", b"%d" % step))
        for _ in range(step % 20):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    ids = await asyncio.gather(*(storage.blobs.put("test", b"after %d" % n) for n in range(20)))
    assert await storage.blobs.get(ids[0]) == b"after 0"


async def test_a_restarted_database_is_found_again(storage: Storage) -> None:
    """PostgreSQL cuts every connection when it restarts; the pool's next use does not fail."""
    await asyncio.gather(*(storage.blobs.put("test", b"%d" % n) for n in range(5)))
    if storage.database.address.dialect == "postgresql":
        import asyncpg

        admin = await asyncpg.connect(storage.database.address.dsn)
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await admin.close()
    else:
        await storage.database.engine.dispose()
    ids = await asyncio.gather(*(storage.blobs.put("test", b"again %d" % n) for n in range(5)))
    assert await storage.blobs.get(ids[0]) == b"again 0"


async def test_limits_that_are_over_go_and_the_others_stay(storage: Storage) -> None:
    now = datetime.now(UTC)
    day, five = timedelta(days=1), timedelta(seconds=5)
    limits, answering = storage.limits, storage.answering

    async def fill(age: timedelta) -> None:
        at, name = now - age, f"{age.days}"
        await limits.take_cooldown(f"k{name}", at, five)
        quota = {"server_key": name, "user_id": "5", "user_daily": 9, "server_pool": 9}
        await limits.charge("m", **quota, pool_days=365, at=at)
        busy = {"server_key": "1", "user_id": "5", "user_limit": 0, "server_limit": 0}
        await answering.begin(f"c{name}", "m", **busy, at=at, lasts=five)

    await fill(400 * day)
    await fill(10 * day)
    await fill(timedelta())
    await storage.marks.note({"old": "1", "new": "2"})
    await storage.marks.refresh("old", "1")
    seen = tables.seen_messages
    async with storage.database.engine.begin() as connection:
        old = update(seen).where(seen.c.channel_id == "old").values(noted_at=now - 91 * day)
        await connection.execute(old)

    # two each of cooldowns, charges, days and answers; a pool; a mark
    assert await storage.housekeeping(30 * day) == 10
    assert await storage.housekeeping(30 * day) == 0
    assert await limits.peek_cooldown("k0", now) is not None
    assert (await limits.usage("0", "5", pool_days=365, at=now)).user_today == 1
    assert (await limits.usage("10", "5", pool_days=365, at=now)).pool == 1
    assert await count(storage, "quota_pools") == 2
    assert await count(storage, "answering") == 1
    assert await storage.marks.seen() == {"new": "2"}
    assert await storage.marks.refreshed("old") == "1"
