"""What the bot knows of the servers, beside the message path."""

from __future__ import annotations

import asyncio

import pytest

from bot import directory as directory_module
from bot.directory import CLOCKS_APART, ServerDirectory
from bot.triggers import PersonaTriggers
from storage.config.models import Privacy, ServerConfig, Toggle
from tests.bot.servers import Persona, Source, directory_of
from tests.bot.waiting import until

ALWAYS = ServerConfig.model_validate({"triggers": {"always_reply": True}})


def ids(found: tuple[PersonaTriggers, ...]) -> list[int]:
    return [persona.persona_id for persona in found]


@pytest.fixture
def source() -> Source:
    source = Source()
    source.rows = {None: [Persona(1, "Nova")]}
    return source


async def test_each_server_has_its_own_and_a_new_one_has_the_default(source: Source) -> None:
    source.rows["5"] = [Persona(2, "Bob"), Persona(1, "Nova", False)]
    source.configs = {"5": ALWAYS}
    directory = directory_of(source)
    await directory.refresh(["5"])
    assert ids(directory.known(None)) == [1]
    assert ids(directory.known("5")) == [2, 1]
    assert ids(directory.known("6")) == [1]
    assert directory.server("5").config.triggers.always_reply
    assert not directory.server("6").config.triggers.always_reply
    await directory.refresh([])
    assert ids(directory.known("5")) == [1]


async def test_what_has_not_changed_is_kept(source: Source) -> None:
    """What a server has worked out for itself, its words among them, is worked out once."""
    directory = directory_of(source)
    await directory.refresh(["5", "6"])
    before, other = directory.server("5"), directory.server("6")
    source.configs = {"6": ALWAYS}
    await directory.refresh(["5", "6"])
    assert directory.server("5") is before
    assert directory.server("6") is not other


async def test_a_change_of_this_process_is_known_at_once(source: Source) -> None:
    directory = directory_of(source)
    await directory.refresh(["5"])
    source.rows["5"] = [Persona(1, "Nova"), Persona(2, "Bob", False, ["robert"])]
    source.configs["5"] = ALWAYS
    source.set_user("7", deliberate_triggers="off")
    await directory.reload("5")
    assert ids(directory.known("5")) == [1, 2]
    for word in ("robert?", "bob?"):  # its name calls it, whatever other words do
        assert [each.persona_id for each in directory.server("5").triggers.named(word)] == [2]
    assert directory.server("5").config == ALWAYS
    assert directory.member("7").deliberate_triggers is Toggle.OFF
    await directory.reload(None)
    assert ids(directory.known("5")) == [1, 2]


async def test_a_refresh_that_began_before_a_change_does_not_undo_it(source: Source) -> None:
    directory = directory_of(source)
    await directory.refresh(["5"])
    held, go = asyncio.Event(), asyncio.Event()
    read = source.users_since

    async def slowly(moment: object) -> object:
        source.users_since = read  # type: ignore[method-assign]
        held.set()
        await go.wait()
        return await read(None)

    source.users_since = slowly  # type: ignore[method-assign, assignment]
    refreshing = asyncio.create_task(directory.refresh(["5"]))
    await held.wait()
    source.configs["5"] = ALWAYS
    await directory.reload("5")
    go.set()
    await refreshing
    assert directory.server("5").config == ALWAYS


@pytest.mark.parametrize("guild_id", [None, "5"])
async def test_an_older_reading_of_members_does_not_undo_a_newer_one(
    source: Source, guild_id: str | None
) -> None:
    """A refresh that asked before a member chose full privacy, and is told after."""
    directory = directory_of(source)
    held, go = asyncio.Event(), asyncio.Event()
    read = source.users_since
    source.set_user("7", privacy="none")

    async def slowly(moment: object) -> object:
        source.users_since = read  # type: ignore[method-assign]
        found = await read(None)
        held.set()
        await go.wait()
        return found

    source.users_since = slowly  # type: ignore[method-assign, assignment]
    refreshing = asyncio.create_task(directory.refresh())
    await held.wait()
    source.set_user("7", privacy="full")
    await directory.reload(guild_id)
    assert directory.member("7").privacy is Privacy.FULL
    go.set()
    while not refreshing.done():
        await asyncio.sleep(0)
        assert directory.member("7").privacy is Privacy.FULL
    await refreshing


async def test_only_members_settings_that_matter_are_kept(source: Source) -> None:
    directory = directory_of(source)
    source.set_user("7", spotlights={"10": 2})
    source.set_user("8", timezone="Europe/Berlin")
    source.set_user("9", privacy="full")
    await directory.refresh()
    assert set(directory.members) == {"7", "9"}
    assert directory.member("7").spotlights == {"10": 2}
    assert directory.member("9").privacy is Privacy.FULL
    assert directory.member("8") == directory.member("unheard of")
    source.set_user("7", spotlights={})
    await directory.refresh()
    assert set(directory.members) == {"9"}


async def test_members_are_read_once_and_then_only_those_who_changed(source: Source) -> None:
    """Another process's clock may be behind, so a little of what is known is read again."""
    directory = directory_of(source)
    source.set_user("7", privacy="full")
    await directory.refresh()
    await directory.refresh()
    assert source.asked_since == [None, source.now - CLOCKS_APART]


@pytest.mark.parametrize(
    ("settings", "operator", "expected"),
    [
        ({}, (), ["nova"]),
        ({}, ("robot",), ["nova", "robot"]),
        ({"triggers": {"base_words": ["computer"]}}, ("robot",), ["nova", "computer"]),
        ({"triggers": {"base_words": []}}, ("robot",), ["nova"]),
    ],
)
async def test_base_words_are_the_servers_else_the_operators(
    source: Source, settings: dict[str, object], operator: tuple[str, ...], expected: list[str]
) -> None:
    """Behaviour 5.1: `BASE_TRIGGER_WORDS`, by default the main persona's name."""
    source.configs["5"] = ServerConfig.model_validate(settings)
    directory = directory_of(source, *operator)
    await directory.refresh(["5"])
    words = ["nova", "robot", "computer"]
    triggers = directory.server("5").triggers
    assert [word for word in words if triggers.named(word)] == expected


async def test_what_is_known_outlives_the_database(source: Source) -> None:
    directory = directory_of(source)
    await directory.refresh()
    source.broken = True
    before = source.reads
    keeping = asyncio.create_task(directory.keep_fresh(list))
    await until(lambda: source.reads > before)
    await directory.reload("5")
    assert ids(directory.known(None)) == [1]
    assert not keeping.done()
    keeping.cancel()


async def test_personas_that_are_seeded_late_are_found_soon() -> None:
    """The worker that reads the persona files starts beside the bot."""
    source = Source()
    directory = directory_of(source)
    keeping = asyncio.create_task(directory.keep_fresh(list))
    await until(lambda: source.reads)
    assert not directory.found.is_set()
    source.rows[None] = [Persona(1, "Nova")]
    await until(directory.found.is_set, seconds=directory_module.LOOK_AGAIN_AFTER + 4)
    keeping.cancel()


async def test_personas_that_are_seeded_after_the_first_are_found_soon(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bot may look while the worker is half way through the persona files."""
    monkeypatch.setattr(directory_module, "SETTLE_EVERY", 0.01)
    monkeypatch.setattr(directory_module, "SETTLE_FOR", 0.2)
    directory: ServerDirectory = directory_of(source)
    keeping = asyncio.create_task(directory.keep_fresh(list))
    await until(lambda: directory.known(None))
    source.rows[None] = [Persona(1, "Nova"), Persona(2, "Bob", False)]
    await until(lambda: ids(directory.known(None)) == [1, 2])
    keeping.cancel()
