"""Short-term memory: what is kept for whom, what ends it, and that nobody reads it in the file."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select
from structlog.testing import capture_logs

from activities.tools.limits import MemoryLimits
from storage import StmEntry, StmRecord, Storage, open_storage, tables
from storage.config import Privacy, UserConfig
from storage.short_term import RETENTION, ShortTermMemories
from storage.short_term.models import (
    MAX_PART_NAME_LENGTH,
    MAX_SUMMARY_LENGTH,
    MAX_SUMMARY_PARTS,
    merged,
)
from storage.vault import Vault
from tests.storage.conftest import KEY, Clock
from worker import run
from worker.database import KEY_FILE, open_database
from worker.errors import SettingsError
from worker.settings import load_settings

PLACE = {
    "server_key": "1",
    "user_id": "5",
    "persona_id": 1,
    "channel_id": "20",
    "channel_name": "general",
    "is_private": False,
}


def said(text: str, at: datetime, author: str = "Ann") -> StmEntry:
    return StmEntry(author=author, text=text, at=at)


def answered(text: str, at: datetime) -> StmEntry:
    return StmEntry(author="Nova", text=text, is_persona=True, at=at)


class Memory:
    """Short-term memory of one storage, with everything at its usual place unless said
    otherwise."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self.repository = storage.short_term
        self.clock = clock
        self.turns = 0

    async def capture(
        self, *texts: str, entries: list[StmEntry] | None = None, **fields: Any
    ) -> bool:
        """A turn now; of `texts`, the first is a member's and the rest the persona's."""
        self.turns += 1
        if entries is None:
            entries = [
                (answered if index else said)(text, self.clock.now)
                for index, text in enumerate(texts)
            ]
        values: dict[str, Any] = {"turn_id": f"turn/{self.turns}", "entries": entries}
        return await self.repository.capture(**(PLACE | values | fields))

    async def summarise(self, text: str = "about tea", **fields: Any) -> bool:
        values: dict[str, Any] = {"values": {"summary": text}}
        return await self.repository.summarise(**(PLACE | values | fields))

    async def load(self, **fields: Any) -> tuple[StmRecord | None, list[StmRecord]]:
        places = ("server_key", "user_id", "persona_id", "channel_id")
        values: dict[str, Any] = {name: PLACE[name] for name in places}
        values["other_servers"] = False
        return await self.repository.load(**(values | fields))

    async def here(self, **fields: Any) -> StmRecord | None:
        return (await self.load(**fields))[0]

    async def texts(self, **fields: Any) -> list[str]:
        record = await self.here(**fields)
        return [entry.text for entry in record.entries] if record else []


@pytest.fixture
def memory(storage: Storage, clock: Clock) -> Memory:
    return Memory(storage, clock)


async def rows(storage: Storage, *names: str) -> int:
    total = 0
    async with storage.database.engine.connect() as connection:
        for name in names:
            query = select(func.count()).select_from(tables.metadata.tables[name])
            total += await connection.scalar(query) or 0
    return total


async def test_a_turn_comes_back(memory: Memory) -> None:
    assert await memory.load() == (None, [])
    assert await memory.capture("hello", "hi Ann")
    record = await memory.here()
    assert record == StmRecord(
        channel_id="20",
        channel_name="general",
        is_private=False,
        server_key="1",
        entries=[said("hello", memory.clock.now), answered("hi Ann", memory.clock.now)],
        summary={},
        summary_at=None,
        newest_at=memory.clock.now,
        turns_since_update=1,
    )


async def test_a_turn_is_captured_once(memory: Memory) -> None:
    await memory.capture("hello", "hi", turn_id="turn/a")
    assert not await memory.capture("hello", "hi", turn_id="turn/a")
    await asyncio.gather(*(memory.capture("you", "yes", turn_id="turn/b") for _ in range(4)))
    record = await memory.here()
    assert record is not None
    assert len(record.entries) == 4
    assert record.turns_since_update == 2


async def test_the_last_ten_entries_stay(memory: Memory) -> None:
    for number in range(7):
        memory.clock.advance(minutes=1)
        await memory.capture(f"question {number}", f"answer {number}")
    assert await memory.texts() == [
        f"{what} {number}" for number in range(2, 7) for what in ("question", "answer")
    ]
    record = await memory.here()
    assert record is not None
    assert record.turns_since_update == 7
    await memory.capture(entries=[said(str(n), memory.clock.now) for n in range(30)])
    assert await memory.texts() == [str(n) for n in range(20, 30)]


async def test_turns_of_one_channel_at_once_are_all_kept(memory: Memory) -> None:
    await asyncio.gather(*(memory.capture(f"q{n}", f"a{n}") for n in range(5)))
    assert sorted(await memory.texts()) == sorted(f"{w}{n}" for w in "qa" for n in range(5))
    record = await memory.here()
    assert record is not None
    assert record.turns_since_update == 5


async def test_c093_a_summary_survives_a_new_turn(memory: Memory) -> None:
    """C093: given a stored summary and a new turn, then the summary survives."""
    await memory.capture("hello", "hi")
    await memory.summarise("Ann said hello")
    written_at = memory.clock.now
    memory.clock.advance(hours=1)
    await memory.capture("still here", "good")
    record = await memory.here()
    assert record is not None
    assert record.summary == {"summary": "Ann said hello"}
    assert record.summary_at == written_at
    assert record.turns_since_update == 1
    assert len(record.entries) == 4


async def test_an_update_replaces_the_parts_it_names(memory: Memory) -> None:
    await memory.capture("hello", "hi")
    await memory.summarise(values={"mood": "merry", "topic": "tea"})
    await memory.summarise(values={"topic": "coffee", "plan": " go out "})
    record = await memory.here()
    assert record is not None
    assert record.summary == {"mood": "merry", "topic": "coffee", "plan": "go out"}
    assert record.turns_since_update == 0
    await memory.summarise(values={"mood": "", "topic": " ", "plan": ""})
    record = await memory.here()
    assert record is not None
    assert (record.summary, record.summary_at) == ({}, None)
    assert not await memory.summarise(values={})


async def test_an_update_before_any_turn_is_kept(memory: Memory) -> None:
    await memory.summarise()
    record = await memory.here()
    assert record is not None
    assert (record.summary, record.entries, record.newest_at) == (
        {"summary": "about tea"},
        [],
        None,
    )


async def test_an_update_does_not_open_a_private_channel(memory: Memory) -> None:
    """A tool may not know who can see the channel; the capture of a turn does."""
    await memory.capture("hello", "hi", is_private=True)
    await memory.summarise(is_private=False)
    record = await memory.here()
    assert record is not None
    assert record.is_private
    await memory.capture("now for all", "yes", is_private=False)
    record = await memory.here()
    assert record is not None
    assert not record.is_private
    await memory.summarise(is_private=True)
    record = await memory.here()
    assert record is not None
    assert record.is_private


async def test_d78_a_channel_that_becomes_private_is_so_in_all_copies(memory: Memory) -> None:
    """D78: also in that of a member who has not spoken there since."""
    await memory.capture("open words", "yes", user_id="6")
    elsewhere = {"server_key": "9", "channel_id": "90", "user_id": "6", "other_servers": True}
    for is_private in (True, False):
        await memory.capture("hello", "hi", is_private=is_private)
        (record,) = (await memory.load(**elsewhere))[1]
        assert record.is_private is is_private
    await memory.summarise(is_private=True)
    (record,) = (await memory.load(**elsewhere))[1]
    assert record.is_private


async def test_deleting_beside_turns(memory: Memory, storage: Storage) -> None:
    """Turns go on while what is old is taken away, and lose nothing of their own."""
    for number in range(12):
        await memory.capture("old", "yes", channel_id=str(100 + number))
    memory.clock.advance(hours=12, minutes=1)
    fresh = [memory.capture("new", "yes", channel_id=str(100 + n)) for n in range(12)]
    await asyncio.gather(*fresh[:6], *(storage.short_term.expire() for _ in range(3)), *fresh[6:])
    for number in range(12):
        record = await memory.here(channel_id=str(100 + number))
        assert record is not None
        assert [entry.text for entry in record.entries] == ["new", "yes"]
        assert record.turns_since_update == 1
    assert await rows(storage, "stm_entries") == 48


async def test_d78_everybody_gets_their_own_copy_and_nothing_else(memory: Memory) -> None:
    """D78: what is private to a member or a server is not in the rows of another one."""
    await memory.capture("in the server", "yes")
    await memory.capture(
        "in private", "yes", server_key="dm5", channel_id="30", channel_name="Ann", is_private=True
    )
    await memory.capture("of another server", "yes", server_key="2", channel_id="40")
    await memory.capture("of another member", "yes", server_key="3", channel_id="50", user_id="6")
    await memory.capture("to another persona", "yes", channel_id="60", persona_id=2)

    here, others = await memory.load(channel_id="21")
    assert here is None
    assert [record.channel_id for record in others] == ["20"]
    # another member of the server sees what the server has, and nothing of Ann's
    _, others = await memory.load(channel_id="21", user_id="7", other_servers=True)
    assert [record.channel_id for record in others] == ["20"]
    _, others = await memory.load(channel_id="21", other_servers=True)
    assert {record.channel_id for record in others} == {"20", "30", "40"}
    assert {record.channel_id for record in others if record.is_private} == {"30"}

    dm = {"server_key": "dm5", "channel_id": "30"}
    here, others = await memory.load(**dm)
    assert here is not None
    assert here.entries[0].text == "in private"
    assert others == []
    _, others = await memory.load(**dm, other_servers=True)
    assert {record.channel_id for record in others} == {"20", "40"}
    assert await memory.load(server_key="dm6", user_id="6", channel_id="31") == (None, [])


async def test_a_channel_shows_what_all_members_said(memory: Memory) -> None:
    await memory.capture("from Ann", "yes")
    memory.clock.advance(seconds=1)
    await memory.capture("from Bob", "yes", user_id="6")
    assert await memory.texts() == ["from Ann", "yes", "from Bob", "yes"]
    _, elsewhere = await memory.load(server_key="9", channel_id="90", other_servers=True)
    assert [entry.text for entry in elsewhere[0].entries] == ["from Ann", "yes"]


async def test_a_turn_that_is_nobodys_is_the_servers_only(memory: Memory) -> None:
    await memory.capture("a task", "done", user_id="")
    assert await memory.texts() == ["a task", "done"]
    _, elsewhere = await memory.load(
        server_key="9", channel_id="90", user_id="", other_servers=True
    )
    assert elsewhere == []


async def test_others_are_the_newest_first_and_not_without_end(memory: Memory) -> None:
    for number in range(12):
        memory.clock.advance(minutes=1)
        await memory.capture("open", "yes", channel_id=str(100 + number))
        await memory.capture("closed", "yes", channel_id=str(200 + number), is_private=True)
    memory.clock.advance(minutes=1)
    await memory.summarise(channel_id="105")
    _, others = await memory.load()
    channels = [record.channel_id for record in others if not record.is_private]
    assert channels == ["105", "111", "110", "109", "108"]
    assert len(others) == 10


async def test_crude_text_is_gone_after_twelve_hours(memory: Memory, storage: Storage) -> None:
    """C097: 12 h and a minute later no crude text is left in the database."""
    await memory.capture("old words", "old answer")
    memory.clock.advance(hours=11, minutes=59)
    assert await memory.texts() == ["old words", "old answer"]
    await storage.short_term.expire()
    assert await memory.texts() == ["old words", "old answer"]
    memory.clock.advance(minutes=2)
    assert await memory.load() == (None, [])
    assert await rows(storage, "stm_entries", "stm_records") == 6
    assert await storage.short_term.expire() == 6
    assert await rows(storage, "stm_entries", "stm_records") == 0
    assert await storage.short_term.expire() == 0


async def test_a_new_turn_does_not_keep_old_text(memory: Memory, storage: Storage) -> None:
    """C097: an entry's time runs from when it was said, whatever is said later."""
    await memory.capture("morning", "hello")
    memory.clock.advance(hours=7)
    await memory.capture("afternoon", "hello again")
    memory.clock.advance(hours=5, minutes=1)
    assert await memory.texts() == ["afternoon", "hello again"]
    await storage.short_term.expire()
    assert await rows(storage, "stm_entries") == 4
    record = await memory.here()
    assert record is not None
    assert record.turns_since_update == 2


async def test_a_summary_lives_for_a_day(memory: Memory, storage: Storage) -> None:
    await memory.capture("hello", "hi")
    await memory.summarise()
    memory.clock.advance(hours=12, minutes=1)
    await storage.short_term.expire()
    assert await rows(storage, "stm_entries") == 0
    record = await memory.here()
    assert record is not None
    assert (record.entries, record.summary) == ([], {"summary": "about tea"})
    memory.clock.advance(hours=12)
    assert await memory.load() == (None, [])
    await storage.short_term.expire()
    assert await rows(storage, "stm_records") == 0


async def test_what_has_expired_does_not_return_with_a_new_turn(memory: Memory) -> None:
    """Also before anything was deleted: summary and count begin anew."""
    await memory.capture("hello", "hi")
    await memory.summarise()
    memory.clock.advance(hours=24, minutes=1)
    await memory.capture("good morning", "hello")
    record = await memory.here()
    assert record is not None
    assert (record.summary, record.turns_since_update) == ({}, 1)
    memory.clock.advance(hours=24, minutes=1)
    await memory.summarise(values={"mood": "new"})
    record = await memory.here()
    assert record is not None
    assert record.summary == {"mood": "new"}


async def test_past_the_retention_nothing_is_left(memory: Memory, storage: Storage) -> None:
    """A summary that turns kept alive all the time, the marks of turns, and those of clears."""
    assert timedelta(days=90) == RETENTION
    keys = Vault([KEY])
    short = ShortTermMemories(storage.database, keys, memory.clock, timedelta(days=3))
    memory.repository = short
    await short.clear_channel("1", "77")
    await memory.capture("hello", "hi")
    await memory.summarise()
    for _ in range(3):
        memory.clock.advance(hours=23)
        await memory.capture("hello", "hi")
        await short.expire()
    record = await memory.here()
    assert record is not None
    assert record.summary
    assert await rows(storage, "stm_clears", "stm_turns") == 5
    memory.clock.advance(hours=4)
    record = await memory.here()
    assert record is not None
    assert (record.summary, record.summary_at) == ({}, None)
    assert len(record.entries) == 2
    await short.expire()
    assert await rows(storage, "stm_clears", "stm_turns") == 3
    assert await memory.here() == record
    memory.clock.advance(days=3)
    await short.expire()
    assert await rows(storage, "stm_entries", "stm_records", "stm_turns", "stm_clears") == 0


async def test_entries_from_another_time(memory: Memory) -> None:
    """An old entry is not stored at all; one from the future expires as if it were of now."""
    now = memory.clock.now
    old, future = said("old", now - timedelta(hours=12)), said("new", now + timedelta(days=900))
    await memory.capture(entries=[old, future])
    assert await memory.texts() == ["new"]
    memory.clock.advance(hours=12, minutes=1)
    assert await memory.texts() == []
    assert not await memory.capture(entries=[old, said(" \n", memory.clock.now)])


async def test_a_cleared_channel_is_empty_for_everybody(memory: Memory, storage: Storage) -> None:
    """C133: the channel's memory is cleared, of all personas, and no other channel's."""
    await memory.capture("hello", "hi")
    await memory.summarise()
    await memory.capture("hello", "hi", persona_id=2, user_id="6")
    await memory.capture("elsewhere", "yes", channel_id="21")
    memory.clock.advance(seconds=1)
    await storage.short_term.clear_channel("1", "20")
    here, others = await memory.load()
    assert here is None
    assert [record.channel_id for record in others] == ["21"]
    assert await memory.here(persona_id=2, user_id="6") is None
    _, elsewhere = await memory.load(server_key="9", channel_id="90", other_servers=True)
    assert [record.channel_id for record in elsewhere] == ["21"]


async def test_d78_a_late_write_does_not_bring_it_back(memory: Memory, storage: Storage) -> None:
    """D78: a turn that began before the clear and ends after it."""
    asked_at = memory.clock.now
    memory.clock.advance(seconds=5)
    await storage.short_term.clear_channel("1", "20")
    memory.clock.advance(seconds=5)
    late = [said("before", asked_at), answered("after, to what was before", memory.clock.now)]
    assert not await memory.capture(entries=late)
    assert not await memory.capture(entries=late[1:], as_of=asked_at)
    assert not await memory.summarise(as_of=asked_at)
    assert await memory.load() == (None, [])

    assert await memory.capture("fresh", "yes", as_of=memory.clock.now)
    assert await memory.summarise("fresh", as_of=memory.clock.now)
    assert await memory.texts() == ["fresh", "yes"]
    assert await memory.capture("elsewhere", "yes", channel_id="21", as_of=asked_at)


async def test_a_clear_beside_captures(memory: Memory, storage: Storage) -> None:
    """Whatever the order, nothing of before the clear is left."""
    asked_at = memory.clock.now
    memory.clock.advance(seconds=1)
    writes = [
        memory.capture(entries=[said(f"q{n}", asked_at), answered("a", asked_at)], as_of=asked_at)
        for n in range(6)
    ]
    writes += [memory.summarise(f"s{n}", as_of=asked_at) for n in range(3)]
    await asyncio.gather(*writes[:4], storage.short_term.clear_channel("1", "20"), *writes[4:])
    assert await memory.load() == (None, [])
    assert await rows(storage, "stm_entries", "stm_records") == 0


async def test_a_clear_with_a_slow_clock_does_not_undo_a_later_one(
    memory: Memory, storage: Storage
) -> None:
    later = memory.clock.now
    await storage.short_term.clear_channel("1", "20")
    memory.clock.advance(hours=-1)
    await storage.short_term.clear_channel("1", "20")
    memory.clock.now = later + timedelta(seconds=1)
    assert not await memory.capture("before", "x", as_of=later - timedelta(minutes=1))


SECRETS = ("the safe is behind", "Ann of Tea", "secret-garden", "they plan a party", "moodswing")


async def capture_secrets(memory: Memory) -> None:
    entries = [said(SECRETS[0], memory.clock.now, author=SECRETS[1])]
    await memory.capture(entries=entries, channel_name=SECRETS[2])
    await memory.summarise(channel_name=SECRETS[2], values={SECRETS[4]: SECRETS[3]})


async def test_nothing_is_readable_in_the_database(memory: Memory, storage: Storage) -> None:
    await capture_secrets(memory)
    path = storage.database.address.path
    if path is not None:
        found = b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
        assert b"stm_records" in found
    else:
        names = ("stm_records", "stm_entries")
        async with storage.database.engine.connect() as connection:
            found = b""
            for name in names:
                for row in await connection.execute(select(tables.metadata.tables[name])):
                    found += b"".join(
                        value if isinstance(value, bytes) else str(value).encode() for value in row
                    )
        assert b"turn/1" in found
    for secret in SECRETS:
        assert secret.encode() not in found
        assert secret[:8].encode("utf-16-le") not in found
    record = await memory.here()
    assert record is not None
    assert record.channel_name == SECRETS[2]
    assert record.summary == {SECRETS[4]: SECRETS[3]}


async def test_c097_everything_returns_after_a_restart(url: str, clock: Clock) -> None:
    """C097: summaries, counters and unexpired entries; also with a new key before the old one."""
    opened = await open_storage(url, keys=[KEY], clock=clock)
    memory = Memory(opened, clock)
    await memory.capture("early", "yes")
    clock.advance(hours=6)
    await memory.summarise()
    await memory.capture("late", "yes")
    before = await memory.load()
    await opened.close()

    again = await open_storage(url, keys=[b"n" * 32, KEY], clock=clock)
    assert await Memory(again, clock).load() == before
    clock.advance(hours=6, minutes=1)
    record = await Memory(again, clock).here()
    assert record is not None
    assert [entry.text for entry in record.entries] == ["late", "yes"]
    assert (record.summary, record.turns_since_update) == ({"summary": "about tea"}, 1)
    await again.close()


async def test_without_its_key_a_record_is_absent_and_logged_once(
    tmp_path: Path, clock: Clock
) -> None:
    url = f"sqlite:///{tmp_path / 'e.db'}"
    opened = await open_storage(url, keys=[KEY], clock=clock)
    await capture_secrets(Memory(opened, clock))
    await opened.close()

    other = await open_storage(url, keys=[b"o" * 32], clock=clock)
    memory = Memory(other, clock)
    memory.turns = 1
    with capture_logs() as logs:
        assert await memory.load() == (None, [])
        assert await memory.load() == (None, [])
    assert len(logs) == 1
    clock.advance(seconds=1)
    await memory.capture("new", "words")
    await memory.summarise("new")
    record = await memory.here()
    assert record is not None
    assert [entry.text for entry in record.entries] == ["new", "words"]
    assert record.summary == {"summary": "new"}
    assert record.channel_name == "general"
    await other.close()


async def test_a_sealed_text_opens_in_its_own_row_only(memory: Memory, storage: Storage) -> None:
    """Somebody who can write the database, and has no key, moves rows to where they may read."""
    await memory.capture("for the server", "yes")
    table = tables.stm_entries
    async with storage.database.engine.begin() as connection:
        await connection.execute(
            table.update().where(table.c.scope == "server:1").values(scope="user:6")
        )
        records = tables.stm_records
        await connection.execute(
            records.update().where(records.c.scope == "server:1").values(scope="user:6")
        )
    moved = {"server_key": "9", "channel_id": "90", "user_id": "6", "other_servers": True}
    assert await memory.load(**moved) == (None, [])


async def test_hostile_text_is_bounded(memory: Memory) -> None:
    entry = said("\0\ud800" + "x" * 50_000, memory.clock.now, author="a\0" * 500)
    await memory.capture(entries=[entry], channel_name="c\udfff" * 500)
    await memory.summarise(values={"k\0" * 99: "s" * 9000})
    record = await memory.here()
    assert record is not None
    assert record.entries[0].text.startswith("\ufffdxx")
    assert len(record.entries[0].text) <= 16_000
    assert len(record.entries[0].author) <= 100
    assert [len(text) for text in record.summary.values()] == [1500]


PARTS = st.dictionaries(st.text(max_size=60), st.text(max_size=40), max_size=12)


@given(old=PARTS, new=PARTS)
def test_a_merged_summary_is_bounded_and_prefers_what_is_new(
    old: dict[str, str], new: dict[str, str]
) -> None:
    found = merged(old, new)
    assert len(found) <= MAX_SUMMARY_PARTS
    fresh = merged({}, new)
    assert fresh.items() <= found.items()
    for name, text in fresh.items():
        assert len(name) <= MAX_PART_NAME_LENGTH
        assert 0 < len(text) <= MAX_SUMMARY_LENGTH
    assert set(found) - set(fresh) <= set(old)


async def test_the_worker_deletes_what_has_expired(
    memory: Memory, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C097: at least every ten minutes, without anybody reading or writing."""
    assert timedelta(minutes=10) >= run.FORGET_INTERVAL
    monkeypatch.setattr(run, "FORGET_INTERVAL", timedelta(milliseconds=10))
    await memory.capture("hello", "hi")
    forgetting = asyncio.create_task(run._forget(storage))
    try:
        memory.clock.advance(hours=12, minutes=1)
        async with asyncio.timeout(10):
            while await rows(storage, "stm_entries", "stm_records"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    finally:
        forgetting.cancel()
        await asyncio.wait({forgetting})  # before the storage that it uses is closed


async def test_processes_of_one_home_read_what_the_other_wrote(tmp_path: Path) -> None:
    """The key is made once, in EVERTURN_HOME; a bot and a worker that start together share it."""
    settings = load_settings({"EVERTURN_HOME": str(tmp_path)}, None)
    one, other = await asyncio.gather(open_database(settings), open_database(settings))
    clock = Clock()
    await Memory(one, clock).capture("hello", "hi")
    assert await Memory(other, clock).texts() == ["hello", "hi"]
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    await one.close()
    await other.close()


async def test_the_key_of_the_setting_is_used_and_checked(tmp_path: Path) -> None:
    home = {"EVERTURN_HOME": str(tmp_path)}
    key = base64.b64encode(b"k" * 32).decode()
    old = base64.b64encode(b"o" * 32).decode()
    settings = load_settings({**home, "EVERTURN_STORAGE_KEY": f"{key}, {old}"}, None)
    assert {key, old} <= set(settings.secrets())
    assert key not in repr(settings)
    await (await open_database(settings)).close()
    assert not (tmp_path / KEY_FILE).exists()
    wrong = load_settings({**home, "EVERTURN_STORAGE_KEY": "hunter2"}, None)
    with pytest.raises(
        SettingsError, match="EVERTURN_STORAGE_KEY is not valid: each key"
    ) as caught:
        await open_database(wrong)
    assert str(caught.value).count("valid") == 1
    assert "hunter2" not in str(caught.value)


async def test_the_operators_limits_arrive(tmp_path: Path) -> None:
    environ = {
        "EVERTURN_HOME": str(tmp_path),
        "STM_JANITOR_RETENTION_DAYS": "1",
        "MAX_PERSONAL_MEMORIES": "7",
        "MAX_SERVER_MEMORIES": "8",
        "MAX_MEMORY_LENGTH": "99",
    }
    settings = load_settings(environ, None)
    assert settings.memory_limits() == MemoryLimits(personal=7, server=8, length=99)
    _, resources = run.make_tools(settings)
    assert resources.memory_limits == settings.memory_limits()
    await resources.aclose()
    opened = await open_database(settings)
    await Memory(opened, Clock()).capture("hello", "hi")
    assert await opened.short_term.expire(datetime.now(UTC) + timedelta(hours=23)) == 6
    assert await rows(opened, "stm_turns") == 1
    assert await opened.short_term.expire(datetime.now(UTC) + timedelta(hours=25)) == 1
    await opened.close()


async def test_who_chooses_full_privacy_is_forgotten_everywhere(
    storage: Storage, memory: Memory
) -> None:
    """Behaviour 7.1: their turns leave every record, also those that were kept without an id; what
    others said stays, and what was said under another level."""
    for user_id, channel_id in (("5", "20"), ("6", "20"), ("5", "21")):
        await memory.capture(
            f"of {user_id}", f"to {user_id}", user_id=user_id, channel_id=channel_id
        )
    await memory.summarise("what 5 likes", user_id="5", channel_id="21")
    await memory.capture("in private", user_id="5", server_key="dm5", channel_id="22")

    async def choose(level: Privacy) -> None:
        await storage.configs.change_user("5", lambda _: UserConfig(privacy=level))

    await choose(Privacy.PARTIAL)
    assert await memory.texts() == ["of 5", "to 5", "of 6", "to 6"]
    await choose(Privacy.FULL)
    assert await memory.texts() == ["of 6", "to 6"]
    assert await memory.here(channel_id="21") is None  # nor a summary
    assert await memory.here(server_key="dm5", channel_id="22") is None
    async with storage.database.engine.connect() as connection:
        for table in (tables.stm_entries, tables.stm_records):
            scopes = await connection.execute(select(table.c.scope).distinct())
            assert "user:5" not in set(scopes.scalars())


async def test_an_entry_says_whose_words_it_holds(memory: Memory) -> None:
    entry = StmEntry(author="Ann", text="tea", user_id="5", at=memory.clock.now)
    await memory.capture(entries=[entry])
    record = await memory.here()
    assert record is not None
    assert record.entries == [entry]
