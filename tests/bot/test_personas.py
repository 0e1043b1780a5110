"""What the bot knows of the personas, beside the message path."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from bot import personas
from bot.personas import PersonaDirectory
from bot.triggers import PersonaTriggers
from tests.bot.waiting import until


@dataclass
class Persona:
    id: int
    name: str
    is_main: bool = True
    triggers: list[str] = field(default_factory=list)


class Source:
    def __init__(self) -> None:
        self.rows: dict[str | None, list[Persona]] = {None: []}
        self.broken = False
        self.reads = 0

    async def all(self, guild_id: str | None) -> list[Persona]:
        self.reads += 1
        if self.broken:
            raise OSError("the database is away")
        return self.rows.get(guild_id, self.rows[None])


def ids(found: tuple[PersonaTriggers, ...]) -> list[int]:
    return [persona.persona_id for persona in found]


async def test_each_server_has_its_own_and_a_new_one_has_the_default() -> None:
    source = Source()
    source.rows = {None: [Persona(1, "Nova")], "5": [Persona(2, "Bob"), Persona(1, "Nova", False)]}
    directory = PersonaDirectory(source)
    await directory.refresh(["5"])
    assert ids(directory.known(None)) == [1]
    assert ids(directory.known("5")) == [2, 1]
    assert ids(directory.known("6")) == [1]
    await directory.refresh([])
    assert ids(directory.known("5")) == [1]


async def test_what_is_known_outlives_the_database() -> None:
    source = Source()
    source.rows = {None: [Persona(1, "Nova")]}
    directory = PersonaDirectory(source)
    await directory.refresh()
    source.broken = True
    keeping = asyncio.create_task(directory.keep_fresh(list))
    await until(lambda: source.reads > 1)
    assert ids(directory.known(None)) == [1]
    assert not keeping.done()
    keeping.cancel()


async def test_personas_that_are_seeded_late_are_found_soon() -> None:
    """The worker that reads the persona files starts beside the bot."""
    source = Source()
    directory = PersonaDirectory(source)
    keeping = asyncio.create_task(directory.keep_fresh(list))
    await until(lambda: source.reads)
    source.rows[None] = [Persona(1, "Nova")]
    await until(lambda: directory.known(None), seconds=personas.LOOK_AGAIN_AFTER + 4)
    keeping.cancel()


async def test_personas_that_are_seeded_after_the_first_are_found_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bot may look while the worker is half way through the persona files."""
    monkeypatch.setattr(personas, "SETTLE_EVERY", 0.01)
    monkeypatch.setattr(personas, "SETTLE_FOR", 0.2)
    source = Source()
    source.rows[None] = [Persona(1, "Nova")]
    directory = PersonaDirectory(source)
    keeping = asyncio.create_task(directory.keep_fresh(list))
    await until(lambda: directory.known(None))
    source.rows[None] = [Persona(1, "Nova"), Persona(2, "Bob", False)]
    await until(lambda: ids(directory.known(None)) == [1, 2])
    keeping.cancel()
