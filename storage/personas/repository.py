"""The personas of the database: who they are, who is main, and how files become rows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from sqlalchemy import Row, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from storage import tables
from storage.database import Database, lock_of
from storage.errors import PersonaConflict, PersonaMissing
from storage.personas.files import PersonaFile, read_folder
from storage.personas.models import Persona, PersonaChanges, PersonaWords
from storage.personas.own import (
    check_name_free,
    check_own,
    check_room,
    fitting,
    with_default_trigger,
)
from text.usernames import told_apart_by

_SEED_LOCK = 0x50657273
"""Key of the lock under which files become rows: "Pers" in ASCII."""


class Personas:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self, guild_id: str | None) -> list[Persona]:
        """Who may answer in a server (None: in a direct message): the main one, then oldest first.

        These are the server's own and those that live everywhere. A server's own main stands
        before the one for everywhere, which is then one among the others there; and a server's own
        persona hides one from everywhere that bears its name, except the main.
        """
        rows = await self._database.read(lambda connection: _living(connection, guild_id))
        return [_persona(row, is_main=is_main) for row, is_main in _answering(rows)]

    async def everywhere(self) -> dict[str | None, list[PersonaWords]]:
        """Who answers and by which words, as `all`: for each server that has personas of its own,
        and under None for all others and for direct messages. One query."""
        columns = tables.personas.c
        called_by = (columns.id, columns.guild_id, columns.name, columns.is_main, columns.triggers)
        query = select(*called_by).where(columns.retired_at.is_(None))
        query = query.order_by(columns.created_at, columns.id)

        async def work(connection: AsyncConnection) -> list[Row[Any]]:
            rows: list[Any] = [*await connection.execute(query)]
            return rows

        aged: dict[str | None, list[tuple[int, Row[Any]]]] = {None: []}
        for age, row in enumerate(await self._database.read(work)):
            aged.setdefault(row.guild_id, []).append((age, row))
        found: dict[str | None, list[PersonaWords]] = {}
        for guild_id, own in aged.items():
            here = _by_age(own, aged[None] if guild_id is not None else ())
            found[guild_id] = [
                PersonaWords(row.id, row.name, is_main, row.triggers)
                for row, is_main in _answering(here)
            ]
        return found

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

    async def create(
        self,
        guild_id: str,
        name: str,
        prompt: str,
        triggers: Sequence[str] = (),
        avatar_url: str | None = None,
    ) -> Persona:
        """A new persona of a server's own; without triggers, its name is one.

        Raises PersonaConflict: a name that cannot be told from another one there, too many, or a
        value that does not fit.
        """
        asked = PersonaChanges(
            name=name, prompt=prompt, triggers=triggers, avatar_url=avatar_url or None
        )
        values = with_default_trigger(fitting(asked), None)
        columns = tables.personas.c
        now = datetime.now(UTC)
        # names this call: an earlier attempt may have been stored although its answer was lost
        this_call = select(tables.personas).where(
            columns.guild_id == guild_id,
            columns.name == values["name"],
            columns.created_at == now,
        )
        made = select(func.count()).select_from(tables.personas).where(columns.guild_id == guild_id)

        async def work(connection: AsyncConnection) -> Persona:
            await self._database.alone(connection, _lock(guild_id))
            known = (await connection.execute(this_call)).one_or_none()
            if known is None:
                here = await _living(connection, guild_id)
                own = [row for row in here if row.guild_id is not None]
                check_room(own, (await connection.execute(made)).scalar_one())
                check_name_free(here, values["name"])
                await connection.execute(
                    insert(tables.personas).values(
                        guild_id=guild_id, is_main=False, created_at=now, **values
                    )
                )
                known = (await connection.execute(this_call)).one()
            return _persona(known, is_main=known.is_main)

        return await self._database.write(work)

    async def edit(
        self, persona_id: int, guild_id: str, **changes: Unpack[PersonaChanges]
    ) -> Persona:
        """A server's own persona with `changes`.

        Raises PersonaMissing when it does not answer there, and PersonaConflict: as `create`, and
        for a persona that a file made.
        """
        fitted = fitting(changes)

        async def work(connection: AsyncConnection) -> Persona:
            await self._database.alone(connection, _lock(guild_id))
            here = {row.id: row for row in await _living(connection, guild_id)}
            before = here.pop(persona_id, None)
            if before is None:
                raise PersonaMissing("there is no such persona here")
            check_own(before)
            values = with_default_trigger(fitted, before)
            name = values.get("name", before.name)
            if name.casefold() != before.name.casefold():
                check_name_free(here.values(), name)
            row = tables.personas.c.id == persona_id
            await connection.execute(update(tables.personas).where(row).values(**values))
            after = (await connection.execute(select(tables.personas).where(row))).one()
            return _persona(after, is_main=after.is_main)

        return await self._database.write(work)

    async def remove(self, persona_id: int, guild_id: str) -> bool:
        """Let a server's own persona answer no more. Whether it did until this call.

        Its row stays for the turns that run; its name is free. Raises PersonaConflict for the main
        one, and for one that a file made.
        """
        removed: list[bool] = []

        async def work(connection: AsyncConnection) -> None:
            await self._database.alone(connection, _lock(guild_id))
            here = {row.id: row for row in await _living(connection, guild_id)}
            if (row := here.get(persona_id)) is None:
                return
            if row.is_main:
                raise PersonaConflict(f'"{row.name}" is a main persona, which cannot be removed')
            check_own(row)
            await connection.execute(
                update(tables.personas)
                .where(tables.personas.c.id == persona_id)
                .values(retired_at=datetime.now(UTC))
            )
            removed.append(True)

        # A repeated attempt finds nothing, and it was this call all the same.
        await self._database.write(work)
        return any(removed)

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
                "avatar_url": file.avatar,
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


def _answering(rows: Sequence[Row[Any]]) -> list[tuple[Row[Any], bool]]:
    """Who answers, and whether as the main one, of the rows of one server and those for everywhere,
    oldest first."""
    mains = sorted((row for row in rows if row.is_main), key=lambda row: row.guild_id is None)
    main_id = mains[0].id if mains else None
    own_names = {told_apart_by(row.name) for row in rows if row.guild_id is not None}
    answering = [
        (row, row.id == main_id)
        for row in rows
        if row.guild_id is not None or row.id == main_id or told_apart_by(row.name) not in own_names
    ]
    # false sorts before true, and sorting keeps the order by age
    return sorted(answering, key=lambda found: not found[1])


def _by_age(*groups: Iterable[tuple[int, Row[Any]]]) -> list[Row[Any]]:
    aged = [pair for group in groups for pair in group]
    return [row for _, row in sorted(aged, key=lambda pair: pair[0])]


def _lock(guild_id: str) -> int:
    return lock_of("personas", guild_id)


async def _living(connection: AsyncConnection, guild_id: str | None) -> Sequence[Row[Any]]:
    """The rows that may answer in a server, oldest first; those of the same name among them."""
    columns = tables.personas.c
    here = columns.guild_id.is_(None)
    if guild_id is not None:
        here = or_(here, columns.guild_id == guild_id)
    query = (
        select(tables.personas)
        .where(here, columns.retired_at.is_(None))
        .order_by(columns.created_at, columns.id)
    )
    return (await connection.execute(query)).all()


def _persona(row: Row[Any], *, is_main: bool) -> Persona:
    return Persona(
        id=row.id,
        name=row.name,
        is_main=is_main,
        prompt=row.prompt,
        triggers=row.triggers,
        avatar_url=row.avatar_url,
        guild_id=row.guild_id,
    )
