"""Slash commands and buttons, from a member to discord.py's command tree and back."""

from __future__ import annotations

import asyncio

import discord
import pytest
from discord import app_commands

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

    async def setup_hook(self) -> None:
        await self.tree.sync()


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
    assert names == ["kill", "add", "think", "silent"]


async def _member_id(hand, name: str) -> str:
    members = (await hand("GET", "/state"))["members"]
    return next(m["id"] for m in members if m["name"] == name)
