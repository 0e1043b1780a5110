"""Settings of servers and members: only what was set is stored, and no change is lost."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest
from pydantic import ValidationError
from sqlalchemy import select

from storage import ServerConfig, Storage, StorageError, open_storage, tables
from storage.config import Privacy, StmCategory, Toggle, UserConfig


def blocking(channel: str, config: ServerConfig) -> ServerConfig:
    blocked = [*config.cross_channel.blocked_channel_ids, channel]
    section = config.cross_channel.model_copy(update={"blocked_channel_ids": blocked})
    return config.model_copy(update={"cross_channel": section})


def without_search(config: ServerConfig) -> ServerConfig:
    return config.model_copy(
        update={"tools": config.tools.model_copy(update={"web_search": False})}
    )


async def test_without_a_row_everything_has_its_default(storage: Storage) -> None:
    assert await storage.configs.server("1") == ServerConfig()
    assert await storage.configs.user("2") == UserConfig()


async def test_a_change_is_kept_and_is_one_servers_only(storage: Storage) -> None:
    changed = await storage.configs.change_server("1", without_search)
    assert not changed.tools.web_search
    assert await storage.configs.server("1") == changed
    assert (await storage.configs.server("2")).tools.web_search
    assert (await storage.configs.server("dm1")).tools.web_search


async def test_only_what_was_set_is_stored(storage: Storage) -> None:
    """A default that changes later holds for a server that never chose."""
    await storage.configs.change_server("1", without_search)
    await storage.configs.change_server("1", lambda config: config)
    async with storage.database.engine.connect() as connection:
        stored = (await connection.execute(select(tables.server_settings.c.settings))).scalar_one()
    assert stored == {"tools": {"web_search": False}}


async def test_members_have_their_own(storage: Storage) -> None:
    await storage.configs.change_user(
        "5",
        lambda user: user.model_copy(update={"privacy": Privacy.FULL, "deliberate": Toggle.ON}),
    )
    user = await storage.configs.user("5")
    assert (user.privacy, user.deliberate) == (Privacy.FULL, Toggle.ON)
    assert (await storage.configs.user("6")).privacy is Privacy.NONE


async def test_the_settings_of_several_members(storage: Storage) -> None:
    """Those of whoever has set something; who cannot be understood is taken for fully private."""
    assert await storage.configs.users(["5", "6"]) == {}
    assert await storage.configs.users([]) == {}
    partial, full = (UserConfig(privacy=p) for p in (Privacy.PARTIAL, Privacy.FULL))
    for user_id, config in (("5", partial), ("6", full), ("7", full), ("8", partial)):
        await storage.configs.change_user(user_id, lambda _, c=config: c)
    async with storage.database.engine.begin() as connection:
        await connection.execute(
            tables.user_settings.update()
            .where(tables.user_settings.c.user_id == "8")
            .values(settings={"privacy": "no such thing"})
        )
    found = await storage.configs.users(["6", "5", "8", "9", "5"])
    assert found == {"5": partial, "6": full, "8": full}


async def test_nested_values_come_back_as_they_were(storage: Storage) -> None:
    def change(config: ServerConfig) -> ServerConfig:
        stm = config.memory.short_term.model_copy(
            update={"categories": [StmCategory(slug="mood", description="für später \0 😀")]}
        )
        memory = config.memory.model_copy(update={"short_term": stm})
        deliberate = config.deliberate.model_copy(update={"triggers": {"search": ["such*"]}})
        return config.model_copy(update={"memory": memory, "deliberate": deliberate})

    changed = await storage.configs.change_server("1", change)
    assert await storage.configs.server("1") == changed
    assert changed.deliberate.triggers == {"search": ["such*"]}


async def test_what_is_not_valid_is_not_stored(storage: Storage) -> None:
    def bad(config: ServerConfig) -> ServerConfig:
        section = config.deliberate.model_copy(update={"context_turns": 99})
        return config.model_copy(update={"deliberate": section})

    with pytest.raises(ValidationError):
        await storage.configs.change_server("1", bad)

    def broken(_config: ServerConfig) -> ServerConfig:
        raise LookupError("no such ability")

    with pytest.raises(LookupError):
        await storage.configs.change_server("1", broken)
    assert await storage.configs.server("1") == ServerConfig()
    assert (await storage.configs.change_server("1", without_search)).deliberate.context_turns == 4


async def test_changes_at_once_are_all_kept(storage: Storage) -> None:
    await asyncio.gather(
        *(
            storage.configs.change_server("1", lambda config, n=n: blocking(str(n), config))
            for n in range(12)
        )
    )
    config = await storage.configs.server("1")
    assert sorted(config.cross_channel.blocked_channel_ids, key=int) == [str(n) for n in range(12)]


CHANGE = """
import asyncio, sys
from storage import MemoryLimitReached, ReminderLimitReached, open_storage
from tests.storage.test_configs import blocking
from tests.storage.test_reminders import reminder

async def main(url, who):
    storage = await open_storage(url)
    for n in range(10):
        await storage.configs.change_server("1", lambda config: blocking(f"{who}{n}", config))
        try:
            await storage.memories.add(
                server_key="1", persona_id=1, text=f"{who} {n}", author_id="3", limit=15
            )
        except MemoryLimitReached:
            pass
        try:
            await storage.reminders.add(limit=15, **reminder())
        except ReminderLimitReached:
            pass
    await storage.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_lose_no_change_and_keep_the_limits(url: str) -> None:
    await (await open_storage(url)).close()
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", CHANGE, url, str(who), stderr=asyncio.subprocess.PIPE
        )
        for who in (1, 2)
    ]
    for process in processes:
        _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
    opened = await open_storage(url)
    blocked = (await opened.configs.server("1")).cross_channel.blocked_channel_ids
    assert sorted(blocked) == sorted(f"{who}{n}" for who in (1, 2) for n in range(10))
    assert len(await opened.memories.of_server("1", 1)) == 15
    assert len(await opened.reminders.pending("1")) == 15
    await opened.close()


async def test_a_newer_field_is_ignored_and_a_broken_row_is_no_default(storage: Storage) -> None:
    """Defaults would allow what the server has switched off."""

    async def store(settings: object) -> None:
        async with storage.database.engine.begin() as connection:
            await connection.execute(
                tables.server_settings.update().values(settings=json.loads(json.dumps(settings)))
            )

    await storage.configs.change_server("1", without_search)
    await store({"tools": {"web_search": False, "teleport": True}, "weather": {}})
    assert await storage.configs.server("1") == without_search(ServerConfig())
    await store({"tools": {"web_search": "private words"}})
    with pytest.raises(StorageError, match="row 1 of the table server_settings") as caught:
        await storage.configs.server("1")
    assert "private" not in str(caught.value)
    assert caught.value.lasting
