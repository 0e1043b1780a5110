"""Opening: migrations, two at once, the future, and everything that can be wrong."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

import storage.database
from storage import Storage, StorageError, open_storage, tables
from storage.address import parse_address
from storage.database import Database
from storage.schema import MIGRATIONS, REVISIONS, VERSION_TABLE
from storage.tables import metadata
from tests.storage.conftest import LOCKED_PASSWORD, at_database


async def message_of(url: str, *, lasting: bool | None = None) -> str:
    """The error of opening `url`, which is one line without a statement or the driver's noise.

    `lasting`: what the error has to say about another attempt.
    """
    with pytest.raises(StorageError) as caught:
        await open_storage(url)
    message = str(caught.value)
    assert "\n" not in message
    assert "SQL" not in message.replace("SQLite", "").replace("PostgreSQL", "")
    assert lasting is None or caught.value.lasting is lasting
    return message


async def test_migrations_make_the_tables_that_the_code_uses(storage: Storage) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        return compare_metadata(context, metadata)

    async with storage.database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


def test_every_revision_is_named_in_order() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert tuple(reversed([each.revision for each in script.walk_revisions()])) == REVISIONS


async def test_many_open_a_new_database_at_once(url: str) -> None:
    opened = await asyncio.gather(*(open_storage(url) for _ in range(5)))
    for each in opened:
        assert await each.personas.all(None) == []
        await each.close()


OPEN_AND_WRITE = """
import asyncio, sys
from storage import open_storage
from workflows.contracts.generation import Usage

async def main(url, who):
    storage = await open_storage(url)
    for number in range(15):
        blob = await storage.blobs.put("test", f"{who} {number}".encode())
        assert await storage.blobs.get(blob)
        await storage.usage.book("t", number, int(who), "p", "m", Usage(input_tokens=1), "ok", 1)
    await storage.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_migrate_once_and_write_side_by_side(url: str) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", OPEN_AND_WRITE, url, str(who), stderr=asyncio.subprocess.PIPE
        )
        for who in (1, 2)
    ]
    for process in processes:
        _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
    opened = await open_storage(url)
    assert (await opened.usage.total("t")).input_tokens == 30
    await opened.close()


OPEN_AGAIN = """
import asyncio, sys
from storage import open_storage

async def main():
    storage = await open_storage(sys.argv[1])
    assert "alembic" not in sys.modules, "alembic was imported for nothing"
    # not closed: leaving must not hang on it

asyncio.run(main())
"""


async def test_an_up_to_date_database_opens_fast_and_without_alembic(url: str) -> None:
    await (await open_storage(url)).close()
    started = time.perf_counter()
    again = await open_storage(url)
    assert time.perf_counter() - started < 0.3
    await again.close()

    process = await asyncio.create_subprocess_exec(sys.executable, "-c", OPEN_AGAIN, url)
    assert await asyncio.wait_for(process.wait(), 20) == 0


async def test_a_database_of_the_first_revision_keeps_what_is_in_it(url: str) -> None:
    """Upgraded while several processes open it at once."""
    database = Database(parse_address(url))

    def first_tables(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")

    async with database.engine.begin() as connection:
        await connection.run_sync(first_tables)
        await connection.execute(
            tables.personas.insert().values(
                name="Iris",
                is_main=True,
                prompt="Be.",
                triggers=["iris"],
                created_at=datetime.now(UTC),
            )
        )
    await database.close()
    opened = await asyncio.gather(*(open_storage(url) for _ in range(3)))
    iris = await opened[0].personas.main(None)
    assert (iris.name, iris.prompt, iris.triggers) == ("Iris", "Be.", ["iris"])
    memory = await opened[1].memories.add(
        server_key="1", persona_id=iris.id, text="likes tea", author_id="2", limit=1
    )
    assert await opened[2].memories.get(memory.id) == memory
    for each in opened:
        await each.close()


async def test_a_database_of_the_second_revision_keeps_what_is_in_it(url: str) -> None:
    """A server's own persona and settings stay; a name is free again once its persona is gone."""
    database = Database(parse_address(url))

    def second_tables(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")

    row = (
        "INSERT INTO personas (guild_id, name, is_main, prompt, triggers, created_at) "
        "VALUES (:guild, :name, :main, 'Be.', '[\"star\"]', '2026-03-01 12:00:00.000000')"
    )
    async with database.engine.begin() as connection:
        await connection.run_sync(second_tables)
        for guild, name, main in ((None, "Nova", True), ("1", "Luna", False), ("1", "Sol", False)):
            await connection.execute(text(row), {"guild": guild, "name": name, "main": main})
        await connection.execute(
            tables.server_settings.insert().values(
                server_key="1", settings={"timezone": "Asia/Tokyo"}, updated_at=datetime.now(UTC)
            )
        )
    await database.close()
    opened = await asyncio.gather(*(open_storage(url) for _ in range(3)))
    nova, luna, sol = await opened[0].personas.all("1")
    assert [(p.name, p.guild_id, p.avatar_url) for p in (nova, luna, sol)] == [
        ("Nova", None, None),
        ("Luna", "1", None),
        ("Sol", "1", None),
    ]
    assert (await opened[0].configs.server("1")).timezone == "Asia/Tokyo"
    assert await opened[1].personas.remove(luna.id, "1")
    again = await opened[1].personas.create("1", "Luna", "Be.")
    assert again.id == sol.id + 1  # none is used again, also on SQLite
    with pytest.raises(StorageError, match="breaks one of its rules"):
        await opened[2].database.write(
            lambda connection: connection.execute(
                text(row), {"guild": "1", "name": "Luna", "main": False}
            )
        )
    for each in opened:
        await each.close()


async def test_a_database_from_the_future_is_left_alone(url: str) -> None:
    opened = await open_storage(url)
    async with opened.database.engine.begin() as connection:
        await connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    await opened.close()
    message = await message_of(url, lasting=True)
    assert "written by a newer Everturn" in message
    assert "9999" in message
    assert "DATABASE_URL" in message


async def test_a_migration_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Disk full in the middle of the first migration: one line, and the next start succeeds."""
    small = (*storage.database.SQLITE_PRAGMAS, "PRAGMA max_page_count=8")
    file = tmp_path / "e.db"
    with monkeypatch.context() as patch:
        patch.setattr(storage.database, "SQLITE_PRAGMAS", small)
        assert "the disk is full" in await message_of(str(file), lasting=False)
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    await (await open_storage(str(file))).close()


async def test_a_full_disk_is_one_line_and_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "e.db")
    await (await open_storage(file)).close()
    small = (*storage.database.SQLITE_PRAGMAS, "PRAGMA max_page_count=60")
    with monkeypatch.context() as patch:
        patch.setattr(storage.database, "SQLITE_PRAGMAS", small)
        opened = await open_storage(file)
        kept = await opened.blobs.put("test", b"small")
        private = "my diary"
        with pytest.raises(StorageError, match="the disk is full: free some space") as caught:
            await opened.blobs.put(private, bytes(1_000_000))
        logged = "".join(traceback.format_exception(caught.value))
        assert "INSERT" in logged  # the statement helps whoever reads the log
        assert private not in logged  # its values are somebody's words
        assert await opened.blobs.get(kept) == b"small"
        await opened.close()
    opened = await open_storage(file)
    await opened.blobs.put("test", bytes(1_000_000))
    await opened.close()


async def test_a_path_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = await message_of(str(tmp_path / "file/e.db"), lasting=True)
    assert "cannot be opened (not a directory)" in message


async def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    assert "cannot be opened (is a directory)" in await message_of(str(tmp_path), lasting=True)


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("dear diary\n" * 500)
    assert "is not a SQLite database: move it away" in await message_of(str(file), lasting=True)
    assert file.read_text().startswith("dear diary")


async def test_a_database_is_for_its_owner_only(tmp_path: Path) -> None:
    await (await open_storage(str(tmp_path / "new" / "e.db"))).close()
    assert (tmp_path / "new" / "e.db").stat().st_mode & 0o077 == 0


async def test_a_writer_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(tmp_path / "e.db")
    await (await open_storage(file)).close()
    monkeypatch.setattr(storage.database, "RETRY_BUDGET", storage.database.RETRY_BUDGET / 16)
    monkeypatch.setattr(
        storage.database, "SQLITE_PRAGMAS", ("PRAGMA busy_timeout=50", "PRAGMA journal_mode=WAL")
    )
    opened = await open_storage(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StorageError, match="is busy: another process") as caught:
            await opened.blobs.put("test", b"x")
        assert not caught.value.lasting
        waiting = asyncio.create_task(opened.blobs.put("test", b"x"))
        await asyncio.sleep(0.1)  # it has met the lock at least once
    finally:
        other.execute("COMMIT")
        other.close()
    assert await opened.blobs.get(await waiting) == b"x"
    await opened.close()


async def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    message = await message_of(f"postgres://ann:hunter2@127.0.0.1:{port}/chat", lasting=False)
    assert f"postgresql://ann@127.0.0.1:{port}/chat refuses connections" in message
    assert "hunter2" not in message


async def test_a_host_that_does_not_exist() -> None:
    message = await message_of("postgres://ann:hunter2@nowhere.invalid/chat", lasting=False)
    assert "host name does not resolve" in message
    assert "hunter2" not in message


async def test_a_wrong_password(postgres_server: str) -> None:
    url = at_database(postgres_server, "postgres", "locked", "hunter2")
    message = await message_of(url, lasting=True)
    assert "does not accept the user name or password" in message
    assert "hunter2" not in message


async def test_a_role_that_may_not_create_tables(postgres_server: str) -> None:
    url = at_database(postgres_server, "postgres", "locked", LOCKED_PASSWORD)
    assert "grant it the rights" in await message_of(url)


async def test_a_database_that_does_not_exist(postgres_server: str) -> None:
    message = await message_of(at_database(postgres_server, "nowhere"))
    assert "does not exist: create it" in message


async def test_a_postgres_option_that_makes_no_sense(postgres_server: str) -> None:
    url = at_database(postgres_server, "postgres", "locked", "hunter2") + "&sslmode=perhaps"
    message = await message_of(url)
    assert "sslmode" in message
    assert "hunter2" not in message
