"""The personas of the database: who they are, who is main, and how files become rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Row, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database
from storage.errors import PersonaMissing
from storage.personas.files import PersonaFile, read_folder

_SEED_LOCK = 0x50657273
"""Key of the lock under which files become rows: "Pers" in ASCII."""


class Persona(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: int
    """At most 36**4 - 1; never used again, also when the persona is gone."""
    name: str
    is_main: bool
    prompt: str
    triggers: list[str]
    """Words that make it answer."""


class Personas:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self, guild_id: str | None) -> list[Persona]:
        """Who may answer in a server (None: in a direct message): the main one, then oldest first.

        These are the server's own and those that live everywhere. A server's own main stands
        before the one for everywhere, which is then one among the others there; and a server's own
        persona hides one of the same name from everywhere.
        """
        columns = tables.personas.c
        here = columns.guild_id.is_(None)
        if guild_id is not None:
            here = or_(here, columns.guild_id == guild_id)
        query = (
            select(tables.personas)
            .where(here, columns.retired_at.is_(None))
            .order_by(columns.created_at, columns.id)
        )

        async def work(connection: AsyncConnection) -> Sequence[Row[Any]]:
            return (await connection.execute(query)).all()

        rows = await self._database.read(work)
        own_names = {row.name for row in rows if row.guild_id is not None}
        rows = [row for row in rows if row.guild_id is not None or row.name not in own_names]
        # false sorts before true, and sorting keeps the order by age
        rows.sort(key=lambda row: (not row.is_main, row.guild_id is None))
        return [
            _persona(row, is_main=row.is_main and position == 0)
            for position, row in enumerate(rows)
        ]

    async def main(self, guild_id: str | None) -> Persona:
        """Raises PersonaMissing when none is main."""
        for persona in await self.all(guild_id):
            if persona.is_main:
                return persona
        raise PersonaMissing(
            "no persona is main: start the worker once, it reads the persona files"
        )

    async def get(self, persona_id: int) -> Persona:
        """Also one that is retired: its turns may still be running. Raises PersonaMissing."""
        query = select(tables.personas).where(tables.personas.c.id == persona_id)

        async def work(connection: AsyncConnection) -> Row[Any] | None:
            return (await connection.execute(query)).one_or_none()

        row = await self._database.read(work)
        if row is None:
            raise PersonaMissing(f"persona {persona_id} is not in the database")
        return _persona(row, is_main=row.is_main)

    async def seed(self, path: Path | str) -> None:
        """Bring the personas that live everywhere in line with the files in the folder `path`.

        The name is the key: an edited file changes its persona, a new name makes a new one. A
        persona whose file is gone, or has been given another name, no longer answers, and returns
        as it was with its file. An empty folder first gets the default, Nova. Raises
        PersonaFileError, and changes nothing then.
        """
        files = await asyncio.to_thread(read_folder, Path(path))
        await self._database.write(lambda connection: self._apply(connection, files))

    async def _apply(self, connection: AsyncConnection, files: list[PersonaFile]) -> None:
        await self._database.alone(connection, _SEED_LOCK)
        columns = tables.personas.c
        now = datetime.now(UTC)
        rows = await connection.execute(
            select(columns.id, columns.name).where(columns.guild_id.is_(None))
        )
        known = {row.name: row.id for row in rows}

        # The old main steps down before the new one steps up: never two, also within a statement.
        new_main = next(file.name for file in files if file.main)
        await connection.execute(
            update(tables.personas)
            .where(columns.guild_id.is_(None), columns.is_main, columns.name != new_main)
            .values(is_main=False)
        )
        for file in files:
            values = {
                "prompt": file.prompt,
                "triggers": file.triggers,
                "is_main": file.main,
                "source": file.source,
                "retired_at": None,
            }
            if file.name in known:
                await connection.execute(
                    update(tables.personas).where(columns.id == known[file.name]).values(**values)
                )
            else:
                await connection.execute(
                    insert(tables.personas).values(name=file.name, created_at=now, **values)
                )
        await connection.execute(
            update(tables.personas)
            .where(
                columns.guild_id.is_(None),
                columns.source.is_not(None),
                columns.retired_at.is_(None),
                columns.name.not_in([file.name for file in files]),
            )
            .values(retired_at=now)
        )


def _persona(row: Row[Any], *, is_main: bool) -> Persona:
    return Persona(
        id=row.id,
        name=row.name,
        is_main=is_main,
        prompt=row.prompt,
        triggers=row.triggers,
    )
