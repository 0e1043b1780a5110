"""What the bot reads of all servers and members at once, instead of one by one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from sqlalchemy import update

from storage import Storage, tables
from storage.config import Privacy, ServerConfig, UserConfig
from storage.config.repository import KEYS_TOGETHER

Write = Callable[..., Path]


async def test_the_personas_are_those_of_each_server(
    storage: Storage, write_persona: Write
) -> None:
    """Whoever answers in a server by `all` does so by `everywhere`."""
    write_persona("echo.md", 'name = "Echo"')
    await storage.personas.seed(write_persona("nova.md", 'name = "Nova"\nmain = true'))
    luna = await storage.personas.create("1", "Luna", "Be kind.")
    await storage.personas.create("2", "Bob", "Be brief.")
    await storage.personas.create("2", "Echoes", "Shine.", ["shine", "star"])
    write_persona("ivy.md", 'name = "Ivy"')
    write_persona("shade.md", 'name = "luna"')  # hidden where there is one of the name
    await storage.personas.seed(write_persona("nova.md", 'name = "Nova"\nmain = true'))
    everywhere = await storage.personas.everywhere()
    assert set(everywhere) == {None, "1", "2"}
    for guild_id, found in [*everywhere.items(), ("3", everywhere[None])]:
        answering = await storage.personas.all(guild_id)
        assert found == [(each.id, each.name, each.is_main, each.triggers) for each in answering]
    await storage.personas.remove(luna.id, "1")
    assert "1" not in await storage.personas.everywhere()


async def test_the_settings_of_many_servers(storage: Storage) -> None:
    keys = [str(number) for number in range(2 * KEYS_TOGETHER + 1)]
    for key in (keys[0], keys[-1], "another"):
        await storage.configs.change_server(
            key, lambda config, zone=f"UTC+{key}": config.model_copy(update={"timezone": zone})
        )
    found = await storage.configs.servers(keys)
    assert set(found) == {keys[0], keys[-1]}
    assert found[keys[0]] == await storage.configs.server(keys[0])
    assert await storage.configs.servers([]) == {}


async def _damage(storage: Storage, table: str, owner: str) -> None:
    damaged = tables.metadata.tables[table]
    (key,) = damaged.primary_key.columns
    statement = update(damaged).where(key == owner).values(settings={"timezone": [1]})
    await storage.database.write(lambda connection: connection.execute(statement))


async def test_a_damaged_row_is_nobody_elses_trouble(storage: Storage) -> None:
    """A member's counts as fully private, a server's is left out."""
    for owner in ("1", "2"):
        await storage.configs.change_server(owner, lambda config: config)
        await storage.configs.change_user(owner, lambda config: config)
    for table in ("server_settings", "user_settings"):
        await _damage(storage, table, "1")
    assert await storage.configs.servers(["1", "2"]) == {"2": ServerConfig()}
    users, _ = await storage.configs.users_since(None)
    assert users == {"1": UserConfig(privacy=Privacy.FULL), "2": UserConfig()}


async def test_members_are_found_by_when_they_changed_something(storage: Storage) -> None:
    assert await storage.configs.users_since(None) == ({}, None)
    await storage.configs.change_user("1", lambda config: config)
    _, first = await storage.configs.users_since(None)
    assert first is not None
    later = first + timedelta(microseconds=1)
    assert await storage.configs.users_since(later) == ({}, later)
    await storage.configs.change_user(
        "2", lambda config: config.model_copy(update={"spotlights": {"10": 3}})
    )
    found, second = await storage.configs.users_since(later)
    assert found == {"2": UserConfig(spotlights={"10": 3})}
    assert second is not None
    assert second > first
