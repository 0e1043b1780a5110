"""`/persona create|edit|list|remove`, with the real store, by options and by a form."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.client import EverturnClient
from bot.commands import forms
from bot.commands.answers import FAILED
from bot.commands.authorize import MAY_NOT_MANAGE
from bot.commands.config.desk import ONLY_IN_A_SERVER
from bot.commands.naming import persona_named
from bot.commands.persona import add_persona, desk
from bot.commands.persona.desk import GONE, NOT_READ
from bot.commands.persona.form import changes_of, edited_id, filled_form
from bot.directory import ServerDirectory
from storage import Storage, open_storage
from storage.personas import Persona
from tests.bot.interactions import (
    AUTOCOMPLETE,
    COMMAND,
    FORM,
    MANAGE_GUILD,
    SEND,
    answered,
    command,
    form,
    interaction,
)
from tests.bot.loopback import DM_ID, GUILD_ID, Json, LoopbackDiscord, guild
from tests.bot.servers import persona
from tests.bot.waiting import until

FIELDS = {"name": "Luna", "prompt": "You are Luna.", "triggers": "moon, \u6708\u3001Moon"}
AVATAR = "https://pictures.example/luna.png"


class Bot:
    def __init__(self, client: EverturnClient, api: LoopbackDiscord, storage: Storage) -> None:
        self.client, self.api, self.storage = client, api, storage
        self.directory = ServerDirectory(storage.personas, storage.configs)
        add_persona(client, storage.personas, self.directory)
        client._connection._add_guild_from_data(guild())  # type: ignore[arg-type]

    async def use(
        self, path: str, kind: int = COMMAND, focused: str | None = None, **options: Any
    ) -> Json:
        where = {
            name: options.pop(name) for name in ("channel_id", "permissions") if name in options
        }
        return await self.receive(kind, command(path, focused, **options), **where)

    async def submit(self, custom_id: str, fields: dict[str, str], **where: Any) -> str:
        return (await self.receive(FORM, form(custom_id, **fields), **where))["content"]

    async def receive(self, kind: int, data: Json, **where: Any) -> Json:
        self.api.requests.clear()
        body = interaction(kind, data, **{"permissions": MANAGE_GUILD, **where})
        self.client._connection.parse_interaction_create(body)  # type: ignore[arg-type]
        return await answered(self.api)

    async def says(self, path: str, **options: Any) -> str:
        return (await self.use(path, **options))["content"]

    async def own(self) -> dict[str, Persona]:
        found = await self.storage.personas.all(GUILD_ID)
        return {persona.name: persona for persona in found if persona.guild_id}

    async def known(self) -> list[str]:
        return [persona.name for persona in self.directory.known(GUILD_ID)]


@pytest.fixture
async def bot(
    client: EverturnClient, discord_api: LoopbackDiscord, tmp_path: Path
) -> AsyncIterator[Bot]:
    storage = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    await storage.personas.seed(tmp_path / "personas")
    bot = Bot(client, discord_api, storage)
    await bot.directory.refresh([GUILD_ID])
    yield bot
    await storage.close()


def shown_fields(answer: Json) -> dict[str, Json]:
    return {row["components"][0]["custom_id"]: row["components"][0] for row in answer["components"]}


async def test_a_persona_is_made_by_options_and_known_at_once(bot: Bot) -> None:
    said = await bot.says("persona create", avatar=AVATAR, **FIELDS)
    assert said.startswith("Luna lives here")
    luna = (await bot.own())["Luna"]
    assert (luna.prompt, luna.avatar_url) == ("You are Luna.", AVATAR)
    assert luna.triggers == ["moon", "\u6708"]
    assert await bot.known() == ["Nova", "Luna"]


async def test_a_persona_is_made_in_a_form(bot: Bot) -> None:
    shown = await bot.use("persona create", name="Luna")
    assert shown["custom_id"] == "persona/create"
    fields = shown_fields(shown)
    assert fields["name"]["value"] == "Luna"
    assert set(fields) == {"name", "prompt", "triggers", "avatar"}
    said = await bot.submit(shown["custom_id"], {**FIELDS, "avatar": ""})
    assert said.startswith("Luna lives here")
    assert (await bot.own())["Luna"].avatar_url is None
    assert await bot.known() == ["Nova", "Luna"]


async def test_a_form_outlives_the_process_that_showed_it(bot: Bot) -> None:
    """D44: what was written is not lost in a restart; here the form was never shown at all."""
    assert (await bot.submit("persona/create", FIELDS)).startswith("Luna lives here")


async def test_a_persona_is_edited_in_a_form_that_holds_what_there_is(bot: Bot) -> None:
    await bot.says("persona create", avatar=AVATAR, **FIELDS)
    shown = await bot.use("persona edit", persona=" luna ")
    values = {name: field.get("value") for name, field in shown_fields(shown).items()}
    assert values == {
        "name": "Luna",
        "prompt": "You are Luna.",
        "triggers": "moon, \u6708",
        "avatar": AVATAR,
    }
    written = {"name": "Selene", "prompt": "", "triggers": "", "avatar": ""}
    assert (await bot.submit(shown["custom_id"], written)).startswith("Selene is changed")
    selene = (await bot.own())["Selene"]
    assert (selene.prompt, selene.avatar_url) == ("You are Luna.", None)
    assert selene.triggers == ["Selene"]
    assert await bot.known() == ["Nova", "Selene"]


async def test_a_persona_is_edited_by_options(bot: Bot) -> None:
    await bot.says("persona create", **FIELDS)
    await bot.says("persona edit", persona="Luna", triggers="star")
    luna = (await bot.own())["Luna"]
    assert (luna.triggers, luna.prompt) == (["star"], "You are Luna.")


def test_a_prompt_that_no_field_holds_is_kept() -> None:
    """Discord's fields end at 4,000 characters; a form with more is refused whole."""
    persona = Persona(
        id=5, name="Luna", is_main=False, prompt="x" * 5_000, triggers=["y" * 60] * 40
    )
    shown = shown_fields(filled_form(persona).to_dict())
    assert "value" not in shown["prompt"]
    assert not shown["prompt"]["required"]
    assert all(len(field.get("value") or "") <= field["max_length"] for field in shown.values())
    assert "prompt" not in changes_of({"name": "Luna", "prompt": " "}, is_new=False)


@pytest.mark.parametrize(
    ("rest", "persona_id"),
    [("edit/7", 7), ("edit/", None), ("edit/-1", None), ("edit/\u0667", None), ("create", None)],
)
def test_whose_form_it_is(rest: str, persona_id: int | None) -> None:
    assert edited_id(rest) == persona_id


async def test_a_persona_is_removed(bot: Bot) -> None:
    await bot.says("persona create", **FIELDS)
    assert "no more" not in await bot.says("persona remove", persona="LUNA")
    assert await bot.own() == {}
    assert await bot.known() == ["Nova"]
    assert "no persona named" in await bot.says("persona remove", persona="Luna")


def test_of_names_that_look_alike_the_exact_one_is_meant() -> None:
    """As a database of before may hold them."""
    known = [persona(1, "Nova2", is_main=True), persona(2, "Nova²")]
    for typed, meant in [("Nova2", 1), (" Nova² ", 2), ("nova2", 1), ("ＮＯＶＡ２", 1)]:
        found = persona_named(known, typed)
        assert found is not None
        assert found.persona_id == meant
    assert persona_named(known, "Nova") is None


async def test_what_cannot_be_is_said_in_one_line(bot: Bot) -> None:
    await bot.says("persona create", **FIELDS)
    refusals = [
        await bot.says("persona create", name="LUNA", prompt="x"),
        await bot.says("persona create", name="nova", prompt="x"),
        await bot.says("persona create", name="Sol", prompt="x", avatar="http://pictures.example"),
        await bot.says("persona edit", persona="Nova", triggers="x"),
        await bot.says("persona edit", persona="Luna", name="Nova"),
        await bot.says("persona remove", persona="Nova"),
        await bot.submit("persona/create", {"name": " ", "prompt": " "}),
        await bot.submit("persona/create", {}),
    ]
    for said in refusals:
        assert said.startswith("Not done: ")
        assert "\n" not in said
    assert set(await bot.own()) == {"Luna"}


async def test_a_persona_that_is_gone_meanwhile(bot: Bot) -> None:
    """The name was completed, or the form shown, before somebody removed it."""
    await bot.says("persona create", **FIELDS)
    luna = (await bot.own())["Luna"]
    await bot.storage.personas.remove(luna.id, GUILD_ID)
    assert await bot.says("persona edit", persona="Luna") == GONE
    assert await bot.submit(f"persona/edit/{luna.id}", FIELDS) == GONE
    assert await bot.says("persona remove", persona="Luna") == GONE
    assert await bot.known() == ["Nova"]


async def test_the_form_of_another_servers_persona_changes_nothing(bot: Bot) -> None:
    """A custom id is written by whoever submits it."""
    other = await bot.storage.personas.create("999", "Eve", "You are Eve.")
    assert await bot.submit(f"persona/edit/{other.id}", FIELDS) == GONE
    assert (await bot.storage.personas.get(other.id)).name == "Eve"


async def test_personas_are_listed(bot: Bot) -> None:
    await bot.says("persona create", name="Lu*na*", prompt="x")
    (card,) = (await bot.use("persona list"))["embeds"]
    nova, luna = card["description"].splitlines()
    assert "main, in every server" in nova
    assert r"Lu\*na\*" in luna
    (card,) = (await bot.use("persona list", channel_id=DM_ID))["embeds"]
    assert card["description"] == nova


@pytest.mark.parametrize("path", ["create", "edit", "remove"])
async def test_in_direct_messages_there_are_none_of_ones_own(bot: Bot, path: str) -> None:
    options = {} if path == "create" else {"persona": "Nova"}
    said = await bot.says(f"persona {path}", channel_id=DM_ID, **options)
    assert said == ONLY_IN_A_SERVER
    assert await bot.submit("persona/create", FIELDS, channel_id=DM_ID) == ONLY_IN_A_SERVER


async def test_only_managers_change_personas_whichever_way(bot: Bot) -> None:
    """D75: by options, by a form that is asked for, by one that is submitted, by completion."""
    may = {"permissions": SEND}
    assert await bot.says("persona create", **may, **FIELDS) == MAY_NOT_MANAGE
    assert await bot.says("persona create", **may) == MAY_NOT_MANAGE
    assert await bot.says("persona edit", persona="Nova", **may) == MAY_NOT_MANAGE
    assert await bot.submit("persona/create", FIELDS, **may) == MAY_NOT_MANAGE
    found = await bot.use("persona edit", AUTOCOMPLETE, "persona", persona="", **may)
    assert found["choices"] == []
    assert await bot.own() == {}


async def test_names_are_completed_from_memory(bot: Bot) -> None:
    """D44: no database is asked."""
    await bot.says("persona create", **FIELDS)
    await bot.storage.close()
    found = await bot.use("persona remove", AUTOCOMPLETE, "persona", persona="LU")
    assert [choice["value"] for choice in found["choices"]] == ["Luna"]


async def test_a_form_that_cannot_be_filled_in_time_is_refused(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D44: Discord gives up on a form after three seconds."""

    async def never(guild_id: str | None) -> list[Persona]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(desk, "FORM_WITHIN", 0.02)
    monkeypatch.setattr(bot.storage.personas, "all", never)
    assert await bot.says("persona edit", persona="Nova") == NOT_READ


async def test_a_form_that_fails_is_answered(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(desk, "changes_of", broken)
    assert await bot.submit("persona/create", FIELDS) == FAILED


async def test_a_form_of_nobodys_is_left_alone(bot: Bot) -> None:
    body = interaction(FORM, form("elsewhere/1", name="x"), permissions=MANAGE_GUILD)
    bot.client._connection.parse_interaction_create(body)  # type: ignore[arg-type]
    await bot.submit("persona/create", FIELDS)
    await until(lambda: len(bot.api.requests) >= 2)
    assert set(await bot.own()) == {"Luna"}


def test_what_was_written_is_found_wherever_it_stands() -> None:
    """In rows, as discord.py sends forms, and below labels, as Discord also answers."""
    labelled = {"type": 18, "component": {"type": 4, "custom_id": "name", "value": "Luna"}}
    odd = {"components": [labelled, {"type": 10}, None, {"component": None}, "x"]}
    assert dict(forms.written(odd)) == {"name": "Luna"}
