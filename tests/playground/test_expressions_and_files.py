"""Stickers, emojis, files of members, and members found by name, through the real discord.py."""

from __future__ import annotations

import base64

import discord
import pytest
from discord.http import Route


async def test_a_sticker_of_the_guild_is_sent_and_seen(bot, hand):
    wave, party = sorted(bot.guilds[0].stickers, key=lambda sticker: sticker.id)
    assert (wave.name, wave.emoji, party.name) == ("wave", "👋", "party")
    sent = await bot.text_channel().send(stickers=[wave])
    assert [item.name for item in sent.stickers] == ["wave"]
    (seen,) = await hand.messages()
    assert (seen["content"], seen["stickers"][0]["name"]) == ("", "wave")
    assert (await bot.fetch_sticker(wave.id)).description == "A hand that waves hello"


async def test_a_sticker_that_is_not_there_is_refused(bot, hand):
    channel = bot.text_channel()
    with pytest.raises(discord.HTTPException) as raised:
        await channel.send(stickers=[discord.Object(1)])
    assert raised.value.code == 50081
    with pytest.raises(discord.NotFound) as missing:
        await bot.fetch_sticker(1)
    assert missing.value.code == 10060
    with pytest.raises(discord.HTTPException) as many:
        await channel.send(stickers=[bot.guilds[0].stickers[0]] * 4)
    assert many.value.code == 50035
    assert await hand.messages() == []


async def test_a_new_sticker_reaches_the_bot_and_a_deleted_one_leaves(bot, hand):
    made = await hand("POST", "/stickers", name="rain", emoji="🌧")
    await bot.until(lambda: len(bot.guilds[0].stickers) == 3)
    said = await hand.say("", stickers=[made["id"]])
    heard = await bot.until(lambda: bot.heard and bot.heard[-1])
    assert (str(heard.id), heard.stickers[0].name) == (said["id"], "rain")
    await hand("DELETE", "/stickers", sticker=made["id"])
    await bot.until(lambda: len(bot.guilds[0].stickers) == 2)
    await hand("DELETE", "/stickers", sticker=made["id"], expect=404)
    assert (await hand.messages())[0]["stickers"][0]["deleted"]


async def test_a_custom_emoji_is_a_reaction_and_an_unknown_one_is_none(bot, hand):
    (spark,) = bot.guilds[0].emojis
    said = await hand.say("hello")
    message = await bot.text_channel().fetch_message(int(said["id"]))
    await message.add_reaction(spark)
    with pytest.raises(discord.HTTPException) as raised:
        await message.add_reaction("spark:1")
    assert raised.value.code == 10014
    (seen,) = await hand.messages()
    assert [reaction["emoji"] for reaction in seen["reactions"]] == [f"spark:{spark.id}"]


async def test_a_members_file_is_read_until_its_address_expires(bot, hand, playground):
    """D50"""
    data = bytes(range(256)) * 8000  # more than what a request body may have by default
    file = {
        "filename": "my data?.bin",
        "content_type": "application/octet-stream",
        "data": base64.b64encode(data).decode(),
    }
    said = await hand.say("", files=[file])
    heard = await bot.until(lambda: bot.heard and bot.heard[-1])
    (attachment,) = heard.attachments
    assert (attachment.filename, attachment.size) == ("my data?.bin", len(data))
    assert attachment.url.startswith(playground.url)
    assert await attachment.read() == data
    await hand("POST", "/files/expire")
    with pytest.raises(discord.NotFound):
        await attachment.read()
    fresh = await bot.text_channel().fetch_message(int(said["id"]))
    assert await fresh.attachments[0].read() == data
    plain = said["attachments"][0]["url"]
    async with hand.session.get(f"{playground.url}{plain}") as shown:  # as the page does
        assert await shown.read() == data


@pytest.mark.parametrize(
    "files",
    [
        "notes.txt",
        ["notes.txt"],
        [{"data": "aGVsbG8="}],
        [{"filename": "notes.txt"}],
        [{"filename": "notes.txt", "data": "not base64!"}],
        [{"filename": "notes.txt", "data": 7}],
    ],
)
async def test_what_is_no_file_is_refused(hand, files):
    await hand.say("", files=files, expect=400)


async def test_a_folder_in_a_files_name_is_not_taken(hand):
    file = {"filename": "../../etc/passwd", "data": ""}
    said = await hand.say("", files=[file])
    assert said["attachments"][0]["filename"] == "passwd"


async def test_a_member_may_not_attach_without_the_right(hand, playground):
    world = playground.services.world
    general = next(c for c in world.channels.values() if c.name == "general")
    ben = next(user.id for user in world.users.values() if user.name == "Ben")
    world.overwrite(general, ben, 0, 1 << 15)
    file = {"filename": "a.txt", "data": "aGVsbG8="}
    refused = await hand.say("", member="Ben", files=[file], expect=403)
    assert refused["code"] == 50013


async def test_members_are_found_by_the_beginning_of_a_name(bot):
    async def search(**query):
        route = Route("GET", "/guilds/{guild_id}/members/search", guild_id=bot.guilds[0].id)
        found = await bot.http.request(route, params=query)
        return [member["user"]["global_name"] or member["user"]["username"] for member in found]

    assert await search(query="a", limit=10) == ["Ada"]
    assert await search(query="BE") == ["Ben"]
    assert await search(query="da", limit=10) == []
    with pytest.raises(discord.HTTPException) as raised:
        await search(query="", limit=10)
    assert raised.value.code == 50035


async def test_a_private_thread_knows_who_joined(bot, hand):
    await hand("POST", "/permissions", channel="general", allow=["CREATE_PRIVATE_THREADS"])
    thread = await bot.text_channel().create_thread(name="quiet")
    ben = next(m["id"] for m in (await hand("GET", "/state"))["members"] if m["name"] == "Ben")
    with pytest.raises(discord.NotFound) as raised:
        await thread.fetch_member(int(ben))
    assert raised.value.code == 10007
    await thread.add_user(discord.Object(int(ben)))
    assert (await thread.fetch_member(int(ben))).id == int(ben)
    assert (await thread.fetch_member(bot.user.id)).id == bot.user.id
