"""Messages through the real discord.py: nonces, limits, permissions, replies, history."""

from __future__ import annotations

import discord
import pytest


async def test_a_member_is_heard_and_the_bot_is_read(bot, hand):
    said = await hand.say("hello **there**")
    heard = await bot.until(lambda: bot.heard and bot.heard[-1])
    assert (str(heard.id), heard.content, heard.author.display_name) == (
        said["id"],
        "hello **there**",
        "Ada",
    )
    assert isinstance(heard.author, discord.Member)
    reply = await heard.reply("hi", mention_author=False)
    (_, seen) = await hand.messages()
    assert seen["id"] == str(reply.id)
    assert seen["reply_to"]["id"] == said["id"]
    assert seen["author"] == {"id": str(bot.user.id), "name": "Everturn", "bot": True}
    assert seen["pings"] == []


async def test_dm_and_thread_reach_the_bot(bot, hand):
    await hand.say("in private", channel="dm:Ben", member="Ben")
    await hand.say("in the thread", channel="side talk")
    await bot.until(lambda: len(bot.heard) == 2)
    private, threaded = bot.heard
    assert isinstance(private.channel, discord.DMChannel)
    assert isinstance(threaded.channel, discord.Thread)
    await private.channel.send("one")
    await threaded.channel.send("two")
    assert (await hand.messages("dm:Ben"))[-1]["content"] == "one"
    assert (await hand.messages("side talk"))[-1]["content"] == "two"


async def test_a_member_stays_out_of_anothers_direct_messages(hand):
    refused = await hand.say("hello", channel="dm:Ben", member="Ada", expect=403)
    assert refused["code"] == 50001


async def test_the_same_nonce_makes_one_message(bot, hand):
    first = await bot.text_channel().send("once", nonce="n1")
    second = await bot.text_channel().send("once", nonce="n1")
    elsewhere = await bot.text_channel("random").send("once", nonce="n1")
    assert first.id == second.id != elsewhere.id
    assert len(await hand.messages()) == 1


async def test_the_same_nonce_after_its_window_makes_another(bot, hand):
    """D20"""
    first = await bot.text_channel().send("once", nonce="n1")
    await hand("PATCH", "/settings", nonce_window=0)
    second = await bot.text_channel().send("once", nonce="n1")
    assert first.id != second.id


async def test_the_nonce_of_a_deleted_message_is_unknown(bot):
    message = await bot.text_channel().send("once", nonce="n1")
    await message.delete()
    with pytest.raises(discord.NotFound) as caught:
        await bot.text_channel().send("once", nonce="n1")
    assert caught.value.code == 10008


@pytest.mark.parametrize(
    ("content", "nonce", "code", "words"),
    [
        ("x" * 2001, None, 50035, "2000 or fewer"),
        ("x", "n" * 26, 50035, "25 or fewer"),
        (" \n ", None, 50006, "empty message"),
    ],
)
async def test_what_discord_does_not_take(bot, content, nonce, code, words):
    with pytest.raises(discord.HTTPException) as caught:
        await bot.text_channel().send(content, nonce=nonce)
    assert (caught.value.status, caught.value.code) == (400, code)
    assert words in str(caught.value)


async def test_two_thousand_lobsters_are_one_message(bot, hand):
    """D09: the limit counts code points."""
    await bot.text_channel().send("🦞" * 2000)
    assert [len(m["content"]) for m in await hand.messages()] == [2000]


async def test_permissions_and_their_codes(bot, hand):
    """D41"""
    with pytest.raises(discord.Forbidden) as caught:
        await bot.text_channel("read-only").send("no")
    assert caught.value.code == 50013
    with pytest.raises(discord.Forbidden) as caught:
        await bot.text_channel("read-only").typing()
    assert caught.value.code == 50013
    await hand("POST", "/permissions", channel="random", deny=["VIEW_CHANNEL"])
    with pytest.raises(discord.Forbidden) as caught:
        await bot.text_channel("random").send("no")
    assert caught.value.code == 50001
    await bot.until(
        lambda: not bot.text_channel("random").permissions_for(bot.guilds[0].me).view_channel
    )
    await hand("POST", "/permissions", channel="random")
    await bot.text_channel("random").send("yes")


async def test_a_timed_out_bot_keeps_reading_and_cannot_write(bot, hand):
    """D41"""
    await hand("POST", "/timeout", seconds=60)
    await bot.until(lambda: bot.guilds[0].me.is_timed_out())
    with pytest.raises(discord.Forbidden) as caught:
        await bot.text_channel().send("no")
    assert caught.value.code == 50013
    await hand("POST", "/timeout", seconds=None)
    await bot.text_channel().send("yes")


async def test_reply_to_a_deleted_message(bot, hand):
    """D40"""
    said = await hand.say("soon gone")
    heard = await bot.until(lambda: bot.heard and bot.heard[-1])
    await hand("DELETE", "/messages", channel="general", message=said["id"])
    with pytest.raises(discord.HTTPException) as caught:
        await bot.text_channel().send("late", reference=heard.to_reference(fail_if_not_exists=True))
    assert caught.value.code == 50035
    assert "Unknown message" in str(caught.value)
    lenient = heard.to_reference(fail_if_not_exists=False)
    sent = await bot.text_channel().send("late", reference=lenient)
    assert sent.reference is None
    both = await hand.messages(deleted=1)
    assert [m["deleted"] for m in both] == [True, False]


async def test_who_is_pinged(bot, hand):
    """D56"""
    ada = discord.utils.get(bot.guilds[0].members, name="ada")
    nobody, everybody = discord.AllowedMentions.none(), discord.AllowedMentions.all()
    text = f"{ada.mention} @everyone `<@{bot.user.id}>`"
    quiet = await bot.text_channel().send(text, allowed_mentions=nobody)
    loud = await bot.text_channel().send(text, allowed_mentions=everybody)
    by_default = await bot.text_channel().send("@here")
    await quiet.edit(content=text + "!", allowed_mentions=nobody)
    pings = [m["pings"] for m in await hand.messages()]
    assert pings == [[], ["Ada", "@everyone"], ["@here"]]
    assert [m.mention_everyone for m in (quiet, loud, by_default)] == [False, True, True]


async def test_history_in_pages(bot, hand):
    ids = [(await hand.say(f"message {n}"))["id"] for n in range(7)]
    channel = bot.text_channel()
    newest = [str(m.id) async for m in channel.history(limit=3)]
    assert newest == ids[:3:-1]
    after = [str(m.id) async for m in channel.history(after=discord.Object(ids[2]), limit=2)]
    assert after == ids[3:5]
    before = [str(m.id) async for m in channel.history(before=discord.Object(ids[2]))]
    assert before == [ids[1], ids[0]]
    around = [str(m.id) async for m in channel.history(around=discord.Object(ids[3]), limit=3)]
    assert sorted(around) == ids[2:5]
    async for message in channel.history(limit=1, before=discord.Object(ids[1])):
        assert message.content == "message 0"


async def test_edit_delete_react_pin_thread(bot, hand):
    await hand("PATCH", "/settings", rate_limits={"reactions": {"count": 100, "per": 1}})
    message = await bot.text_channel().send("first", embed=discord.Embed(title="a notice"))
    await message.edit(content="second")
    await message.add_reaction("🎲")
    await hand(
        "POST", "/reactions", channel="general", member="Ben", message=str(message.id), emoji="🎲"
    )
    await message.pin()
    thread = await message.create_thread(name="more of it")
    await thread.send("inside")
    (seen, pin_notice) = await hand.messages()
    assert (seen["content"], [e["content"] for e in seen["edits"]]) == ("second", ["first"])
    assert seen["embeds"][0]["title"] == "a notice"
    assert seen["reactions"] == [{"emoji": "🎲", "members": ["Everturn", "Ben"]}]
    assert seen["pinned"]
    assert pin_notice["type"] == "pinned"
    assert thread.id == message.id
    assert [m.id async for m in bot.text_channel().pins()] == [message.id]
    fetched = await bot.text_channel().fetch_message(message.id)
    assert [(str(r.emoji), r.count, r.me) for r in fetched.reactions] == [("🎲", 2, True)]
    await message.delete()
    assert [m["type"] for m in await hand.messages()] == ["pinned"]


async def test_only_a_moderator_deletes_anothers_message(bot, hand):
    await hand.say("mine")
    heard = await bot.until(lambda: bot.heard and bot.heard[-1])
    with pytest.raises(discord.Forbidden) as caught:
        await heard.delete()
    assert caught.value.code == 50013
    await hand("POST", "/permissions", channel="general", allow=["MANAGE_MESSAGES"])
    await heard.delete()
    assert await hand.messages() == []


async def test_a_file_is_kept_and_given_back(bot, hand, playground):
    import io

    sent = await bot.text_channel().send("see", file=discord.File(io.BytesIO(b"<svg/>"), "a.svg"))
    assert sent.attachments[0].filename == "a.svg"
    (seen,) = await hand.messages()
    async with hand.session.get(playground.url + seen["attachments"][0]["url"]) as response:
        assert await response.read() == b"<svg/>"
        assert response.headers["Content-Disposition"] == "attachment"
        assert response.content_type == "application/octet-stream"


async def test_typing_lasts_until_the_message(bot, hand):
    """D52"""
    await bot.text_channel().typing()
    typing = await hand("GET", "/channels/general/typing")
    assert [t["user"]["name"] for t in typing["typing"]] == ["Everturn"]
    await bot.text_channel().send("done")
    typing = await hand("GET", "/channels/general/typing")
    assert typing["typing"] == []
    assert [note["what"] for note in typing["history"]] == ["typing", "message"]


async def test_webhooks_have_no_nonce_and_their_own_limits(bot, hand):
    """D59: fifteen in a channel, names kept from posing as Discord, two sends are two messages."""
    hook = await bot.text_channel().create_webhook(name="Nova")
    first = await hook.send("same", username="Nova", wait=True)
    second = await hook.send("same", username="Nova", wait=True)
    assert first.id != second.id
    await first.edit(content="edited")
    await second.delete()
    (seen,) = await hand.messages()
    assert (seen["content"], seen["author"]["name"]) == ("edited", "Nova")
    with pytest.raises(discord.HTTPException) as caught:
        await hook.send("x", username="Clyde the 2nd", wait=True)
    assert caught.value.code == 50035
    for number in range(14):
        await bot.text_channel().create_webhook(name=f"hook {number}")
    with pytest.raises(discord.HTTPException) as caught:
        await bot.text_channel().create_webhook(name="one too many")
    assert caught.value.code == 30007
    await hook.delete()
    with pytest.raises(discord.NotFound) as caught:
        await hook.send("x", wait=True)
    assert caught.value.code == 10015


async def test_only_an_applications_webhook_says_whose_it_is(playground, bot):
    """Discord names the application in a message of a webhook that one owns, and in no other."""
    ours, theirs = [await bot.text_channel().create_webhook(name=name) for name in ("one", "two")]
    world = playground.services.world
    world.webhooks[theirs.id].creator_id = next(
        member for member in world.members if member != world.bot_id
    )
    for webhook, application_id in ((ours, bot.application_id), (theirs, None)):
        said = await webhook.send("hi", username="Luna", wait=True)
        await bot.until(lambda said=said: bot.heard and bot.heard[-1].id == said.id)
        assert (bot.heard[-1].webhook_id, bot.heard[-1].application_id) == (
            webhook.id,
            application_id,
        )
