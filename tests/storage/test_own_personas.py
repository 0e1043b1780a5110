"""A server's own personas: made, changed and removed by its members' commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from storage import Persona, PersonaConflict, PersonaMissing, Storage, tables
from storage.personas import own
from storage.personas.fields import PROMPT_LIMIT
from text.visible import strip_invisible

Write = Callable[..., Path]


@pytest.fixture
async def nova(storage: Storage, write_persona: Write) -> Persona:
    """The main one of all servers, with Echo beside her."""
    write_persona("echo.md", 'name = "Echo"\navatar = "https://cdn.example/echo.png"')
    await storage.personas.seed(write_persona("nova.md", 'name = "Nova"\nmain = true'))
    return await storage.personas.main(None)


async def names(storage: Storage, guild_id: str | None) -> list[str]:
    return [persona.name for persona in await storage.personas.all(guild_id)]


async def test_a_persona_is_made_and_answers_in_its_server(storage: Storage, nova: Persona) -> None:
    luna = await storage.personas.create(
        "1",
        "  Luna  Star ",
        " Be kind. \0",
        ["Luna", "luna ", " moon"],
        "https://cdn.example/l.png",
    )
    assert luna == Persona(
        id=luna.id,
        name="Luna Star",
        is_main=False,
        prompt="Be kind.",
        triggers=["Luna", "moon"],
        avatar_url="https://cdn.example/l.png",
        guild_id="1",
    )
    assert await storage.personas.get(luna.id) == luna
    assert await names(storage, "1") == ["Nova", "Echo", "Luna Star"]
    assert await names(storage, "2") == ["Nova", "Echo"]
    assert (await storage.personas.main("1")).id == nova.id


async def test_a_file_may_name_an_avatar(storage: Storage, nova: Persona) -> None:
    _, echo = await storage.personas.all("1")
    assert (echo.avatar_url, echo.guild_id) == ("https://cdn.example/echo.png", None)
    assert nova.avatar_url is None


@pytest.mark.parametrize("name", ["Luna", "LUNA", " luna ", "nova", "ECHO"])
async def test_a_name_is_taken_in_any_case(storage: Storage, nova: Persona, name: str) -> None:
    await storage.personas.create("1", "Luna", "Be.")
    with pytest.raises(PersonaConflict, match="there is a persona named") as caught:
        await storage.personas.create("1", name, "Be.")
    assert "\n" not in str(caught.value)
    other = await storage.personas.create("1", "Other", "Be.")
    with pytest.raises(PersonaConflict, match="there is a persona named"):
        await storage.personas.edit(other.id, "1", name=name)
    if name.strip().casefold() == "luna":
        assert (await storage.personas.create("2", name, "Be.")).guild_id == "2"


@pytest.mark.parametrize(
    ("name", "other"),
    [("Nova2", "Nova²"), ("Discord Fan", "D-iscord Fan"), ("Luna", "Ｌｕｎａ"), ("VIII", "Ⅷ")],
)
async def test_names_that_cannot_be_told_apart_are_not_both_there(
    storage: Storage, nova: Persona, name: str, other: str
) -> None:
    """D58: a webhook's message is traced to its persona by the name alone."""
    await storage.personas.create("1", name, "Be.")
    with pytest.raises(PersonaConflict, match=f'"{name}" here already, and "{other}" cannot be'):
        await storage.personas.create("1", other, "Be.")
    third = await storage.personas.create("1", "Third", "Be.")
    with pytest.raises(PersonaConflict, match="cannot be told from it"):
        await storage.personas.edit(third.id, "1", name=other)
    assert await names(storage, "1") == ["Nova", "Echo", name, "Third"]
    await storage.personas.create("2", other, "Be.")


async def test_a_servers_own_hides_what_cannot_be_told_from_it(
    storage: Storage, nova: Persona, write_persona: Write
) -> None:
    await storage.personas.create("1", "Discord Fan", "Be.")
    write_persona("echo.md", 'name = "D-iscord Fan"')
    await storage.personas.seed(write_persona("nova.md", 'name = "Nova"\nmain = true'))
    assert await names(storage, "1") == ["Nova", "Discord Fan"]
    assert await names(storage, "2") == ["Nova", "D-iscord Fan"]


async def test_a_pair_from_before_goes_on(storage: Storage, nova: Persona) -> None:
    """Both answer, and either may be edited, under its own name, and removed."""
    first = await storage.personas.create("1", "Nova2", "Be.")
    second = await storage.personas.create("1", "Later", "Be.")
    async with storage.database.engine.begin() as connection:
        row = tables.personas.c.id == second.id
        await connection.execute(update(tables.personas).where(row).values(name="Nova²"))
    assert await names(storage, "1") == ["Nova", "Echo", "Nova2", "Nova²"]
    edited = await storage.personas.edit(second.id, "1", name="Nova²", prompt="Be terse.")
    assert edited.prompt == "Be terse."
    with pytest.raises(PersonaConflict, match='"Nova2" here already'):
        await storage.personas.edit(second.id, "1", name="NOVA2")
    assert await storage.personas.remove(first.id, "1")
    assert (await storage.personas.edit(second.id, "1", name="NOVA2")).name == "NOVA2"


async def test_an_edit_changes_what_it_names(storage: Storage, nova: Persona) -> None:
    luna = await storage.personas.create("1", "Luna", "Be.", avatar_url="https://a.example/1.png")
    assert luna.triggers == ["Luna"]
    edited = await storage.personas.edit(luna.id, "1", prompt="Be terse.")
    assert edited == luna.model_copy(update={"prompt": "Be terse."})
    # its name is its trigger until somebody chooses others
    edited = await storage.personas.edit(luna.id, "1", name="luna", avatar_url=None)
    assert (edited.name, edited.triggers, edited.avatar_url) == ("luna", ["luna"], None)
    edited = await storage.personas.edit(luna.id, "1", triggers=["moon"])
    edited = await storage.personas.edit(luna.id, "1", name="Lunaria")
    assert (edited.name, edited.triggers) == ("Lunaria", ["moon"])
    edited = await storage.personas.edit(luna.id, "1", triggers=[])
    assert edited.triggers == ["Lunaria"]
    assert await storage.personas.get(luna.id) == edited
    assert edited.id == luna.id


async def test_what_is_not_the_servers_is_not_changed(storage: Storage, nova: Persona) -> None:
    luna = await storage.personas.create("1", "Luna", "Be.")
    (echo,) = [p for p in await storage.personas.all("1") if p.name == "Echo"]
    personas = storage.personas
    with pytest.raises(PersonaMissing, match="no such persona here"):
        await personas.edit(luna.id, "2", prompt="Hacked.")
    assert not await personas.remove(luna.id, "2")
    assert not await personas.remove(987654, "1")
    with pytest.raises(PersonaConflict, match='"Echo" lives in every server'):
        await personas.edit(echo.id, "1", prompt="Hacked.")
    with pytest.raises(PersonaConflict, match='"Echo" lives in every server'):
        await personas.remove(echo.id, "1")
    with pytest.raises(PersonaConflict, match="main persona, which cannot be removed"):
        await personas.remove(nova.id, "1")
    for fixed in ({"is_main": True}, {"source": "x.md"}, {"id": 9}):
        changes: Any = fixed
        with pytest.raises(ValueError, match="that can be changed"):
            await personas.edit(luna.id, "1", **changes)
    assert await names(storage, "1") == ["Nova", "Echo", "Luna"]
    assert await personas.get(luna.id) == luna


async def test_a_servers_own_main_cannot_be_removed(storage: Storage, nova: Persona) -> None:
    luna = await storage.personas.create("1", "Luna", "Be.")
    async with storage.database.engine.begin() as connection:
        row = tables.personas.c.id == luna.id
        await connection.execute(update(tables.personas).where(row).values(is_main=True))
    with pytest.raises(PersonaConflict, match='"Luna" is a main persona'):
        await storage.personas.remove(luna.id, "1")
    assert (await storage.personas.main("1")).id == luna.id


async def test_what_is_removed_answers_no_more_and_frees_its_name(
    storage: Storage, nova: Persona
) -> None:
    """D78: a new one of the name has another id, and so none of the old one's memories."""
    luna = await storage.personas.create("1", "Luna", "Be.")
    assert await storage.personas.remove(luna.id, "1")
    assert not await storage.personas.remove(luna.id, "1")
    assert await names(storage, "1") == ["Nova", "Echo"]
    assert await storage.personas.get(luna.id) == luna  # a turn of hers may be running
    with pytest.raises(PersonaMissing):
        await storage.personas.edit(luna.id, "1", prompt="Back.")
    again = await storage.personas.create("1", "Luna", "Be.")
    assert again.id != luna.id
    assert await storage.personas.remove(again.id, "1")


async def test_files_leave_a_servers_own_alone_and_a_main_is_never_hidden(
    storage: Storage, nova: Persona, write_persona: Write
) -> None:
    await storage.personas.create("1", "Luna", "Be.")
    write_persona("echo.md", 'name = "luna"')
    folder = write_persona("nova.md", 'name = "Nova"\nmain = true')
    await storage.personas.seed(folder)
    assert await names(storage, "1") == ["Nova", "Luna"]
    assert await names(storage, "2") == ["Nova", "luna"]
    write_persona("echo.md", 'name = "luna"\nmain = true')
    await storage.personas.seed(write_persona("nova.md", 'name = "Nova"'))
    assert await names(storage, "1") == ["luna", "Nova", "Luna"]
    assert (await storage.personas.main("1")).name == "luna"


async def test_a_server_has_so_many(
    storage: Storage, nova: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "MAX_PERSONAS", 5)
    answers = await asyncio.gather(
        *(storage.personas.create("1", f"P{n}", "Be.") for n in range(9)), return_exceptions=True
    )
    refused = [answer for answer in answers if isinstance(answer, PersonaConflict)]
    assert len(refused) == 4
    assert "this server has 5 personas of its own already" in str(refused[0])
    made = [answer for answer in answers if isinstance(answer, Persona)]
    assert await storage.personas.remove(made[0].id, "1")
    await storage.personas.create("1", "Late", "Be.")
    assert len(await storage.personas.all("1")) == 2 + 5
    await storage.personas.create("2", "Late", "Be.")


async def test_a_server_cannot_use_up_the_ids_of_all(
    storage: Storage, nova: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "MAX_MADE", 3)
    for _ in range(3):
        made = await storage.personas.create("1", "Luna", "Be.")
        await storage.personas.remove(made.id, "1")
    with pytest.raises(PersonaConflict, match="no more may be made"):
        await storage.personas.create("1", "Luna", "Be.")
    await storage.personas.create("2", "Luna", "Be.")


async def test_of_the_same_name_at_once_one_is_made(storage: Storage, nova: Persona) -> None:
    answers = await asyncio.gather(
        *(storage.personas.create("1", name, "Be.") for name in ("Luna", "LUNA", "luna", "lunA")),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, Persona) for answer in answers) == 1
    assert sum(isinstance(answer, PersonaConflict) for answer in answers) == 3


async def test_a_lost_answer_makes_one_and_removes_one(
    storage: Storage, nova: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = storage.database.write

    async def twice(work: Any) -> Any:
        await write(work)
        return await write(work)

    monkeypatch.setattr(storage.database, "write", twice)
    luna = await storage.personas.create("1", "Luna", "Be.")
    assert await names(storage, "1") == ["Nova", "Echo", "Luna"]
    assert await storage.personas.remove(luna.id, "1")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": " "}, "name is empty"),
        ({"name": "x" * 81}, "name is longer than 80 characters"),
        ({"name": "a\x07b"}, r"name holds a character that cannot be seen \(U\+0007\)"),
        ({"name": "a\u202eb"}, r"name holds a character that cannot be seen \(U\+202E\)"),
        ({"name": "a\ud800b"}, r"name holds a character that cannot be seen \(U\+D800\)"),
        ({"name": "Lu\u200dna"}, r"name holds a character that cannot be seen \(U\+200D\)"),
        ({"name": "\u200cنوا"}, r"name holds a character that cannot be seen \(U\+200C\)"),
        ({"name": "\u2800"}, "name holds nothing that can be seen"),
        ({"name": "\u200d\u3164"}, "name holds nothing that can be seen"),
        ({"prompt": " \n"}, "the prompt is empty"),
        ({"prompt": "x" * (PROMPT_LIMIT + 1)}, "the prompt is longer than 16,000 characters"),
        ({"triggers": ["a", " "]}, "triggers holds an empty one"),
        ({"triggers": ["x" * 61]}, "a trigger is longer than 60 characters"),
        ({"triggers": ["a\nb"]}, "a trigger must be one line"),
        ({"triggers": ["a\u202eb"]}, r"a trigger holds a character that cannot be seen"),
        ({"triggers": ["\u200d"]}, "a trigger holds nothing that can be seen"),
        ({"triggers": [str(n) for n in range(33)]}, "at most 32 triggers"),
        ({"avatar_url": "http://cdn.example/a.png"}, "avatar must be an address"),
        ({"avatar_url": "javascript:alert(1)"}, "avatar must be an address"),
        ({"avatar_url": "https://"}, "avatar must be an address"),
        ({"avatar_url": "https://me:secret@cdn.example/a.png"}, "avatar must be an address"),
        ({"avatar_url": "https://[::1/a.png"}, "avatar must be an address"),
        ({"avatar_url": "https://cdn.example:99999/a.png"}, "avatar must be an address"),
        ({"avatar_url": "https://cdn.example/a b.png"}, "avatar must be an address"),
        ({"avatar_url": "https://cdn.example/" + "a" * 512}, "avatar is longer than 512"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(changes: Any, says: str) -> None:
    with pytest.raises(PersonaConflict, match=says) as caught:
        own.fitting(changes)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["👨\u200d👩\u200d👧 Fam", "نوا\u200cها", "क्\u200dष", "❤️", "🏴\U000e0067\U000e0062\U000e007f"],
)
def test_joiners_stay_where_writing_needs_them(name: str) -> None:
    fitted = own.fitting({"name": name, "triggers": [name]})
    assert fitted == {"name": name, "triggers": [name]}


@given(
    name=st.text(max_size=100),
    prompt=st.text(max_size=100),
    triggers=st.lists(st.text(max_size=70), max_size=40),
    avatar=st.one_of(st.none(), st.text(max_size=60), st.from_regex(r"https://\S{0,40}")),
)
def test_what_is_stored_always_fits(
    name: str, prompt: str, triggers: list[str], avatar: str | None
) -> None:
    """Whatever a member writes: it is stored as both databases and Discord can hold it, or refused
    with a line."""
    asked: Any = {"name": name, "prompt": prompt, "triggers": triggers, "avatar_url": avatar}
    try:
        values = own.fitting(asked)
    except PersonaConflict:
        return
    assert 1 <= len(values["name"]) <= 80
    assert strip_invisible(values["name"]) == values["name"]
    assert 1 <= len(values["prompt"]) <= PROMPT_LIMIT
    assert "\0" not in values["prompt"]
    assert len(values["triggers"]) <= own.MAX_TRIGGERS
    for trigger in values["triggers"]:
        assert 1 <= len(trigger) <= own.TRIGGER_LIMIT
        assert strip_invisible(trigger) == trigger
    folded = [trigger.casefold() for trigger in values["triggers"]]
    assert len(set(folded)) == len(folded)
    assert values["avatar_url"] is None or values["avatar_url"].startswith("https://")
    assert own.fitting(asked | values) == values
