"""Slash commands and buttons, from a member to discord.py's command tree and back."""

from __future__ import annotations

import asyncio
from typing import Any

import discord
import pytest
from discord import app_commands

from playground.control.answers import said
from playground.errors import DiscordError
from playground.forms import read_form
from tests.playground.conftest import Bot


class CommandBot(Bot):
    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)
        self.release = asyncio.Event()

        @self.tree.command(description="Stops")
        async def kill(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("stopped", ephemeral=True)

        @self.tree.command(description="Adds")
        async def add(interaction: discord.Interaction, one: int, who: discord.Member) -> None:
            await interaction.response.send_message(f"{one + 1} {who.display_name}")

        @self.tree.command(description="Thinks")
        async def think(interaction: discord.Interaction) -> None:
            await interaction.response.defer(ephemeral=True)
            await self.release.wait()
            await interaction.followup.send("thought")
            await interaction.followup.send("and more", ephemeral=True)

        @self.tree.command(description="Says nothing")
        async def silent(interaction: discord.Interaction) -> None:
            return

        @self.tree.command(description="Shows a form")
        async def write(interaction: discord.Interaction) -> None:
            await interaction.response.send_modal(Letter())

    async def setup_hook(self) -> None:
        await self.tree.sync()


class Letter(discord.ui.Modal, title="A letter"):
    name = discord.ui.TextInput[Any](label="Name", default="Nova", min_length=2, max_length=5)
    text = discord.ui.Label[Any](
        text="Text",
        description="What you want to say",
        component=discord.ui.TextInput(style=discord.TextStyle.paragraph, required=False),
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        assert isinstance(self.text.component, discord.ui.TextInput)
        said = f"{self.name.value}: {self.text.component.value}"
        if said.startswith("mute"):
            return
        if said.startswith("again"):
            with pytest.raises(discord.HTTPException):
                await interaction.response.send_modal(Letter())
        await interaction.response.send_message(said, ephemeral=True)


@pytest.fixture
async def bot(start_bot) -> CommandBot:
    return await start_bot(bot=CommandBot())


async def test_an_ephemeral_answer_is_only_the_callers(bot, hand):
    answer = await hand("POST", "/commands", channel="general", member="Ada", name="kill")
    assert answer["status"] == "answered"
    assert answer["ephemeral"]
    assert answer["response"]["content"] == "stopped"
    assert await hand.messages() == []


async def test_options_are_typed_and_resolved(bot, hand):
    answer = await hand(
        "POST",
        "/commands",
        channel="side talk",
        member="Ben",
        name="add",
        options={"one": "41", "who": (await _member_id(hand, "Ada"))},
    )
    assert answer["response"]["content"] == "42 Ada"
    (seen,) = await hand.messages("side talk")
    assert seen["interaction"]["member"] == "Ben"
    refused = await hand(
        "POST", "/commands", expect=400, channel="general", member="Ben", name="add", options={}
    )
    assert "required" in refused["error"]


async def test_a_deferred_answer(bot, hand):
    waiting = await hand(
        "POST", "/commands", channel="dm:Ada", member="Ada", name="think", wait=0.3
    )
    assert (waiting["status"], waiting["response"]["thinking"]) == ("deferred", True)
    bot.release.set()
    answer = await hand("GET", f"/interactions/{waiting['id']}?wait=5")
    assert (answer["status"], answer["response"]["content"]) == ("answered", "thought")
    assert answer["ephemeral"]
    assert await hand.messages("dm:Ada") == []


async def test_no_answer_in_three_seconds_is_none(bot, hand, playground, monkeypatch):
    """D44"""
    monkeypatch.setattr("playground.interactions.RESPONSE_SECONDS", 0.2)
    answer = await hand(
        "POST", "/commands", channel="general", member="Ada", name="silent", wait=0.3
    )
    assert (answer["status"], answer["response"]) == ("unanswered", None)


async def test_a_button(bot, hand):
    pressed: list[str] = []

    class Stop(discord.ui.View):
        @discord.ui.button(label="Stop", custom_id="stop")
        async def stop_turn(self, interaction: discord.Interaction, button: discord.ui.Button):
            pressed.append(interaction.user.display_name)
            await interaction.response.edit_message(content="stopped", view=None)

    message = await bot.text_channel().send("running", view=Stop())
    press = {"channel": "general", "member": "Ben", "message": str(message.id)}
    answer = await hand("POST", "/components", custom_id="stop", **press)
    assert answer["status"] == "answered"
    assert pressed == ["Ben"]
    (seen,) = await hand.messages()
    assert (seen["content"], seen["components"]) == ("stopped", [])
    await hand("POST", "/components", expect=404, custom_id="stop", **press)


async def test_a_press_is_not_shown_as_a_command(bot, hand):
    class Stop(discord.ui.View):
        @discord.ui.button(label="Stop", custom_id="stop")
        async def stop_turn(self, interaction: discord.Interaction, button: discord.ui.Button):
            await interaction.response.send_message("stopping", ephemeral=True)

    message = await bot.text_channel().send("running", view=Stop())
    press = {"channel": "general", "member": "Ben", "message": str(message.id)}
    answer = await hand("POST", "/components", custom_id="stop", **press)
    assert answer["response"]["interaction"]["pressed"] is True


async def test_commands_keep_their_ids_when_registered_again(bot, hand):
    """D74"""
    first = {c.name: c.id for c in await bot.tree.fetch_commands()}
    await bot.tree.sync()
    assert {c.name: c.id for c in await bot.tree.fetch_commands()} == first
    names = [c["name"] for c in (await hand("GET", "/state"))["commands"]]
    assert names == ["kill", "add", "think", "silent", "write"]


async def _open_form(hand) -> tuple[dict[str, Any], dict[str, Any]]:
    """The form, and what it takes to send it."""
    shown = await hand("POST", "/commands", channel="general", member="Ada", name="write")
    assert (shown["status"], shown["response"]) == ("answered", None)
    return shown["form"], {"member": "Ada", "interaction": shown["id"]}


async def test_a_form(bot, hand):
    form, to_it = await _open_form(hand)
    name, text = form["fields"]
    assert form["title"] == "A letter"
    assert (name["label"], name["required"], name["value"]) == ("Name", True, "Nova")
    assert (name["paragraph"], name["min_length"], name["max_length"]) == (False, 2, 5)
    assert (text["label"], text["required"], text["value"]) == ("Text", False, "")
    assert (text["paragraph"], text["description"]) == (True, "What you want to say")
    values = {name["custom_id"]: "Mira", text["custom_id"]: "Dear\nall"}
    await hand("POST", "/forms", expect=403, **to_it | {"member": "Ben"}, values=values)
    answer = await hand("POST", "/forms", **to_it, values=values)
    assert (answer["status"], answer["response"]["content"]) == ("answered", "Mira: Dear\nall")
    assert answer["response"]["interaction"]["name"] == "write"
    await hand("POST", "/forms", expect=409, **to_it, values=values)


async def test_a_form_that_is_not_filled_in_stays_open(bot, hand):
    form, to_it = await _open_form(hand)
    name, text = (field["custom_id"] for field in form["fields"])
    for values, problems in (
        ({}, {name: "needs to be filled in"}),
        ({name: "x"}, {name: "needs 2 characters or more, not 1"}),
        (
            {name: "x" * 6, text: "y" * 4001},
            {
                name: "takes 5 characters at most, not 6",
                text: "takes 4000 characters at most, not 4001",
            },
        ),
        ({name: "Nova", "other": "z"}, {"other": "there is no such field"}),
    ):
        refused = await hand("POST", "/forms", expect=400, **to_it, values=values)
        assert refused["fields"] == problems
    assert refused["error"] == "other: there is no such field"
    answer = await hand("POST", "/forms", **to_it, values={name: "👍" * 5})
    assert answer["response"]["content"] == "👍👍👍👍👍:"


async def test_a_form_that_nobody_took_in_can_be_sent_again(bot, hand, monkeypatch):
    """D44"""
    monkeypatch.setattr("playground.interactions.RESPONSE_SECONDS", 0.2)
    form, to_it = await _open_form(hand)
    values = {form["fields"][0]["custom_id"]: "mute"}
    first = await hand("POST", "/forms", **to_it, values=values, wait=0.3)
    assert first["status"] == "unanswered"
    again = await hand("POST", "/forms", **to_it, values=values, wait=0)
    assert (again["status"], again["id"] == first["id"]) == ("waiting", False)


async def test_a_form_is_not_answered_with_another(bot, hand):
    form, to_it = await _open_form(hand)
    answer = await hand("POST", "/forms", **to_it, values={form["fields"][0]["custom_id"]: "again"})
    assert (answer["response"]["content"], answer["form"]) == ("again:", None)


def _input(**more: Any) -> dict[str, Any]:
    return {"type": 4, "custom_id": "a", "label": "A", "style": 1, **more}


def _form(*inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    rows = [{"type": 1, "components": [part]} for part in inputs]
    return {"title": "T", "custom_id": "c", "components": rows, **more}


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (_form(), "data.components"),
        (_form(*(_input(custom_id=str(n)) for n in range(6))), "data.components"),
        (_form(_input(), _input()), "data.components"),
        (_form(_input(), title="x" * 46), "data.title"),
        (_form(_input(), custom_id=""), "data.custom_id"),
        (_form(_input(label="x" * 46)), "data.components.0.label"),
        (_form(_input(max_length=4001)), "data.components.0.max_length"),
        (_form(_input(min_length=-1)), "data.components.0.min_length"),
        (_form(_input(max_length=3, value="abcd")), "data.components.0.value"),
        (_form(_input(placeholder="x" * 101)), "data.components.0.placeholder"),
        (_form(_input(type=2)), "data.components.0"),
        (_form(_input(), components=[_input()]), "data.components.0"),
        (_form(components=[{"type": 18, "label": "", "component": _input()}]), "data.comp"),
    ],
)
def test_a_form_that_discord_does_not_show(data: dict[str, Any], where: str) -> None:
    with pytest.raises(DiscordError) as error:
        read_form(data)
    assert error.value.code == 50035
    assert where in said(error.value)


async def test_a_completion_goes_without_what_is_not_right_yet(start_bot, hand):
    bot = Bot()
    tree = app_commands.CommandTree(bot)

    @tree.command(description="Finds")
    async def find(interaction: discord.Interaction, who: discord.Member, word: str) -> None: ...

    @find.autocomplete("word")
    async def offer(interaction: discord.Interaction, typed: str) -> list[Any]:
        given = sorted(vars(interaction.namespace))
        return [app_commands.Choice(name=f"{typed} {' '.join(given)}", value="x")]

    await start_bot(bot=bot)
    await tree.sync()
    where = {"channel": "general", "member": "Ada", "name": "find", "focused": "word"}
    options = {"who": "Be", "word": "no"}
    answer = await hand("POST", "/autocomplete", **where, options=options)
    assert [choice["name"] for choice in answer["choices"]] == ["no word"]


async def _member_id(hand, name: str) -> str:
    members = (await hand("GET", "/state"))["members"]
    return next(m["id"] for m in members if m["name"] == name)
