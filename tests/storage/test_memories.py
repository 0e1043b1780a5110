"""Long-term memory: whose a memory is, where it is shown, and how many there may be."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from storage import Memory, MemoryLimitReached, Storage, StorageError, tables


async def add(storage: Storage, text: str = "likes tea", **fields: Any) -> Memory:
    values = {"server_key": "1", "persona_id": 1, "author_id": "9", "limit": 100}
    return await storage.memories.add(text=text, **(values | fields))


async def test_a_memory_comes_back_whole(storage: Storage) -> None:
    memory = await add(storage, user_id="5", tags=["#art", "cat"])
    assert await storage.memories.get(memory.id) == memory
    assert (memory.text, memory.user_id, memory.tags) == ("likes tea", "5", ["#art", "cat"])
    assert (memory.server_key, memory.persona_id, memory.author_id) == ("1", 1, "9")
    assert memory.created_at == memory.updated_at


async def test_each_is_shown_where_it_belongs(storage: Storage) -> None:
    """D78: what is about a member stays in the server where it was said, and with its persona."""
    first = await add(storage, "the server is about tea")
    second = await add(storage, "the rules are in #rules")
    about = await add(storage, "is Ann", user_id="5")
    elsewhere = await add(storage, "is Ann in private", user_id="5", server_key="dm5")
    await add(storage, "another persona's", persona_id=2)
    await add(storage, "another persona's", persona_id=2, user_id="5")

    memories = storage.memories
    assert await memories.of_server("1", 1) == [first, second]
    assert await memories.of_server("dm5", 1) == []
    assert await memories.of_users("1", 1, ["5", "6", "5"]) == {"5": [about]}
    assert await memories.of_users("dm5", 1, {"5"}) == {"5": [elsewhere]}
    assert await memories.of_users("1", 1, []) == {}
    both = await memories.of_server_and_users("1", 1, ["5", "6"])
    assert both == ([first, second], {"5": [about]})


async def test_c100_the_limit_is_each_personas_own(storage: Storage) -> None:
    """C100: 100 rows for A and none for B: A refuses, B saves."""
    now = datetime.now(UTC)
    rows = [
        {
            "token": str(number),
            "server_key": "1",
            "persona_id": 1,
            "text": f"fact {number}",
            "tags": [],
            "author_id": "9",
            "created_at": now,
            "updated_at": now,
        }
        for number in range(99)
    ]
    async with storage.database.engine.begin() as connection:
        await connection.execute(tables.memories.insert(), rows)
    await add(storage)
    with pytest.raises(MemoryLimitReached) as caught:
        await add(storage)
    assert caught.value.limit == 100
    assert isinstance(caught.value, StorageError)
    await add(storage, persona_id=2)
    await add(storage, server_key="2")
    await add(storage, user_id="5")
    assert len(await storage.memories.of_server("1", 1)) == 100


async def test_a_members_memories_count_over_all_servers(storage: Storage) -> None:
    await add(storage, user_id="5", limit=2)
    await add(storage, user_id="5", server_key="2", limit=2)
    with pytest.raises(MemoryLimitReached):
        await add(storage, user_id="5", server_key="3", limit=2)
    await add(storage, user_id="6", server_key="3", limit=2)
    await add(storage, user_id="5", persona_id=2, limit=2)
    await add(storage, server_key="3", limit=2)


async def test_the_limit_holds_for_additions_at_once(storage: Storage) -> None:
    answers = await asyncio.gather(
        *(add(storage, f"fact {n}", limit=3, user_id="5", server_key=str(n)) for n in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, Memory) for answer in answers) == 3
    assert sum(isinstance(answer, MemoryLimitReached) for answer in answers) == 5


async def test_replaced_and_deleted(storage: Storage) -> None:
    memory = await add(storage, user_id="5")
    other = await add(storage, "stays")
    changed = await storage.memories.replace(memory.id, "likes coffee")
    assert changed is not None
    assert changed.text == "likes coffee"
    assert changed.updated_at > changed.created_at == memory.created_at
    assert await storage.memories.delete(memory.id) == changed
    assert await storage.memories.delete(memory.id) is None
    assert await storage.memories.replace(memory.id, "again") is None
    assert await storage.memories.get(memory.id) is None
    assert await storage.memories.of_server("1", 1) == [other]


async def test_an_id_is_never_used_again(storage: Storage) -> None:
    """A model may still name a memory that is gone."""
    memory = await add(storage)
    await storage.memories.delete(memory.id)
    assert (await add(storage)).id > memory.id


async def test_hostile_text_is_stored_as_text(storage: Storage) -> None:
    hostile = "'); DROP TABLE memories;-- \0\ud83d {user} 😀"
    memory = await add(storage, hostile, tags=["\0#a\udc00" + "x" * 100] * 50)
    assert memory.text == "'); DROP TABLE memories;-- \ufffd {user} 😀"
    assert len(memory.tags) == 20
    assert all(len(tag) <= 60 and tag.startswith("#a\ufffd") for tag in memory.tags)
    changed = await storage.memories.replace(memory.id, hostile)
    assert changed is not None
    assert changed.text == memory.text
    assert await storage.memories.of_server("1", 1) == [changed]


async def test_a_write_that_is_repeated_adds_once(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection broke after the commit: the second attempt finds what the first one did."""
    write = storage.database.write

    async def twice(work: Any) -> Any:
        await write(work)
        return await write(work)

    monkeypatch.setattr(storage.database, "write", twice)
    memory = await add(storage, limit=1)
    assert await storage.memories.of_server("1", 1) == [memory]
    assert await storage.memories.delete(memory.id) == memory
    assert await storage.memories.of_server("1", 1) == []
