"""Personas: files that people edit, rows, and who is main."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from storage import PersonaFileError, PersonaMissing, Storage, tables
from storage.personas.files import PROMPT_LIMIT, read_folder

Write = Callable[..., Path]


async def add(storage: Storage, guild_id: str | None, name: str, *, main: bool = False) -> int:
    """A persona as a server's own command will add it one day."""
    async with storage.database.engine.begin() as connection:
        added = await connection.execute(
            insert(tables.personas)
            .values(guild_id=guild_id, name=name, is_main=main, prompt="p", triggers=[name],
                    created_at=datetime.now(UTC))
            .returning(tables.personas.c.id)
        )  # fmt: skip
        return added.scalar_one()


async def names(storage: Storage, guild_id: str | None = None) -> list[str]:
    return [persona.name for persona in await storage.personas.all(guild_id)]


async def test_an_empty_folder_gets_nova(storage: Storage, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "personas"
    await storage.personas.seed(folder)
    assert (folder / "nova.md").is_file()
    nova = await storage.personas.main("123")
    assert (nova.name, nova.is_main, nova.triggers) == ("Nova", True, ["nova"])
    assert nova.prompt.startswith("You are warm")
    assert "+++" not in nova.prompt
    assert await storage.personas.get(nova.id) == nova
    assert await storage.personas.main(None) == nova


async def test_an_edited_file_changes_its_persona(storage: Storage, write_persona: Write) -> None:
    folder = write_persona("nova.md", 'name = "Nova"\nmain = true')
    await storage.personas.seed(folder)
    before = await storage.personas.main(None)
    write_persona("nova.md", 'name = "Nova"\nmain = true\ntriggers = ["star"]', "You are terse.")
    await storage.personas.seed(folder)
    after = await storage.personas.main(None)
    assert after.id == before.id
    assert (after.prompt, after.triggers) == ("You are terse.", ["star"])
    assert before.triggers == ["Nova"]


async def test_seeding_again_changes_nothing(storage: Storage, write_persona: Write) -> None:
    write_persona("a.md", 'name = "A"')
    folder = write_persona("nova.md", 'name = "Nova"\nmain = true')
    await storage.personas.seed(folder)
    before = await storage.personas.all(None)
    await asyncio.gather(*(storage.personas.seed(folder) for _ in range(4)))
    assert await storage.personas.all(None) == before


async def test_processes_seed_a_new_database_at_once(
    storage: Storage, write_persona: Write
) -> None:
    folder = write_persona("nova.md", 'name = "Nova"\nmain = true')
    await asyncio.gather(*(storage.personas.seed(folder) for _ in range(5)))
    assert await names(storage) == ["Nova"]


async def test_another_file_becomes_main(storage: Storage, write_persona: Write) -> None:
    folder = write_persona("nova.md", 'name = "Nova"\nmain = true')
    await storage.personas.seed(folder)
    write_persona("nova.md", 'name = "Nova"')
    write_persona("atlas.md", 'name = "Atlas"\nmain = true')
    await storage.personas.seed(folder)
    everyone = await storage.personas.all(None)
    assert [(p.name, p.is_main) for p in everyone] == [("Atlas", True), ("Nova", False)]


async def test_a_persona_renamed_in_its_file_answers_under_one_name(
    storage: Storage, write_persona: Write
) -> None:
    folder = write_persona("nova.md", 'name = "Nova"\nmain = true')
    await storage.personas.seed(folder)
    nova = await storage.personas.main(None)
    write_persona("nova.md", 'name = "Luna"\nmain = true')
    await storage.personas.seed(folder)
    assert await names(storage) == ["Luna"]
    assert (await storage.personas.get(nova.id)).name == "Nova"  # a turn of hers may be running

    write_persona("nova.md", 'name = "Nova"\nmain = true')
    await storage.personas.seed(folder)
    assert await storage.personas.main(None) == nova
    assert await names(storage) == ["Nova"]


async def test_personas_that_no_file_made_are_left_alone(
    storage: Storage, write_persona: Write
) -> None:
    await add(storage, "1", "Own")
    await storage.personas.seed(write_persona("nova.md", 'name = "Nova"\nmain = true'))
    assert await names(storage, "1") == ["Nova", "Own"]
    assert await names(storage, "2") == ["Nova"]


async def test_main_first_then_oldest(storage: Storage, write_persona: Write) -> None:
    await storage.personas.seed(write_persona("zoe.md", 'name = "Zoe"\nmain = true'))
    for name in ("Ben", "Ada"):
        await add(storage, "1", name)
    assert await names(storage, "1") == ["Zoe", "Ben", "Ada"]


async def test_a_servers_own_main_stands_first_there(
    storage: Storage, write_persona: Write
) -> None:
    await storage.personas.seed(write_persona("nova.md", 'name = "Nova"\nmain = true'))
    own = await add(storage, "1", "Own", main=True)
    assert (await storage.personas.main("1")).id == own
    assert [p.is_main for p in await storage.personas.all("1")] == [True, False]
    assert (await storage.personas.main("2")).name == "Nova"


async def test_a_servers_own_persona_hides_its_namesake(
    storage: Storage, write_persona: Write
) -> None:
    await storage.personas.seed(write_persona("nova.md", 'name = "Nova"\nmain = true'))
    own = await add(storage, "1", "Nova", main=True)
    assert [persona.id for persona in await storage.personas.all("1")] == [own]


@pytest.mark.parametrize("guild_id", ["1", None])
async def test_the_database_rejects_a_second_main(storage: Storage, guild_id: str | None) -> None:
    """C135: a second main persona for a server is refused by the database itself."""
    await add(storage, guild_id, "First", main=True)
    await add(storage, guild_id, "Other")
    await add(storage, "2", "First", main=True)
    with pytest.raises(IntegrityError):
        await add(storage, guild_id, "Second", main=True)


@pytest.mark.parametrize("guild_id", ["1", None])
async def test_the_database_rejects_a_second_of_the_same_name(
    storage: Storage, guild_id: str | None
) -> None:
    await add(storage, guild_id, "Nova")
    await add(storage, "2", "Nova")
    with pytest.raises(IntegrityError):
        await add(storage, guild_id, "Nova")


async def test_nobody_is_main(storage: Storage) -> None:
    with pytest.raises(PersonaMissing, match="no persona is main"):
        await storage.personas.main(None)
    with pytest.raises(PersonaMissing, match="persona 7 is not"):
        await storage.personas.get(7)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (
            "main = true\nname = [\nx",
            '/nova.md, line 4: x is not valid TOML (invalid value); write it like name = "Nova"',
        ),
        ("name = Nova\nmain = true", "/nova.md, line 2: name = Nova is not valid TOML"),
        ('name = "Nova', '/nova.md, line 2: name = "Nova is not valid TOML'),
        ("name = [" + "1, " * 50, "1… is not valid TOML"),
        ("main = true", '/nova.md: name is missing: write name = "…" between the two +++ lines'),
        ('main = true\nname = ""', "/nova.md, line 3: name is empty"),
        ('name = " Nova"\nmain = true', "/nova.md, line 2: name must be one line"),
        ('name = "No\\u202Eva"', "/nova.md, line 2: name holds a character that cannot be seen"),
        ('name = "\\u2800"', "/nova.md, line 2: name holds nothing that can be seen"),
        ("name = 5", "/nova.md, line 2: name must be a text in quotes"),
        (f'name = "{"x" * 81}"', "/nova.md, line 2: name is longer than 80 characters"),
        ('name = "Nova"\nmain = "yes"', "/nova.md, line 3: main must be true or false"),
        (
            'name = "Nova"\ntrigers = ["n"]',
            "/nova.md, line 3: trigers is not a field of a persona file",
        ),
        ('name = "Nova"\navatar_url = "https://x"', "line 3: avatar_url is not a field"),
        ('name = "Nova"\ntriggers = "nova"', "line 3: triggers must be a list of texts"),
        ('name = "Nova"\ntriggers = [" "]', "line 3: triggers holds an empty one"),
        ('name = "Nova"\ntriggers = [1]', "line 3: triggers must be a list of texts"),
        ('name = "Nova"\nprompt = "x"', "/nova.md, line 3: prompt is not a field"),
        ('name = "Nova"', "is main: write main = true into exactly one file"),
    ],
)
def test_a_malformed_file_names_file_and_field(write_persona: Write, head: str, says: str) -> None:
    folder = write_persona("nova.md", head)
    with pytest.raises(PersonaFileError) as caught:
        read_folder(folder)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.lasting


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"You are Nova.", "/nova.md: the first line must be +++"),
        (b"", "/nova.md: the first line must be +++"),
        (b'+++\nname = "Nova"', "/nova.md: a second line +++ is missing"),
        (b'+++\nname = "Nova"\nmain = true\n+++\n \n', "/nova.md: the prompt is empty"),
        (b'+++\nname = "Nova"\nmain = true\n+++\nx\0y', "/nova.md: the prompt contains a NUL"),
        (
            b'+++\nname = "Nova"\n+++\n' + b"x" * (PROMPT_LIMIT + 1),
            "the prompt is longer than 16,000 characters",
        ),
        (b'+++\nname = "N\xf6va"\n+++\nx', "save it as UTF-8"),
    ],
)
def test_a_file_that_is_no_persona_file(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "nova.md").write_bytes(content)
    with pytest.raises(PersonaFileError) as caught:
        read_folder(tmp_path)
    assert says in str(caught.value)
    assert "nova.md" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_as_windows_editors_save_it(tmp_path: Path) -> None:
    text = '+++\r\nname = "Nóva"\r\nmain = true\r\n+++\r\nYou are kind.\r\n\r\n+++ is a fence.\r\n'
    (tmp_path / "nova.md").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (tmp_path / ".hidden.md").write_text("not a persona")
    (persona,) = read_folder(tmp_path)
    assert (persona.name, persona.triggers) == ("Nóva", ["Nóva"])
    assert persona.prompt == "You are kind.\n\n+++ is a fence."


def test_two_files_of_one_name_and_two_that_are_main(write_persona: Write) -> None:
    write_persona("a.md", 'name = "Nova"\nmain = true')
    folder = write_persona("b.md", 'name = "nova"')
    with pytest.raises(PersonaFileError, match=r'b\.md: a\.md has the name "Nova" already'):
        read_folder(folder)
    write_persona("b.md", 'name = "Ｎova"')
    with pytest.raises(PersonaFileError) as caught:
        read_folder(folder)
    assert str(caught.value).endswith(
        '/b.md: a.md has the name "Nova" already, and "Ｎova" cannot be told from it: '
        "change one of them"
    )
    write_persona("b.md", 'name = "Luna"\nmain = true')
    with pytest.raises(PersonaFileError, match=r"b\.md: a\.md is main already"):
        read_folder(folder)


async def test_a_bad_file_changes_nothing(storage: Storage, write_persona: Write) -> None:
    folder = write_persona("nova.md", 'name = "Nova"\nmain = true')
    await storage.personas.seed(folder)
    before = await storage.personas.all(None)
    write_persona("nova.md", 'name = "Nova"\nmain = true', "Changed.")
    write_persona("other.md", "name = ")
    with pytest.raises(PersonaFileError):
        await storage.personas.seed(folder)
    assert await storage.personas.all(None) == before


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PersonaFileError, match="not a directory"):
        read_folder(tmp_path / "file" / "personas")
