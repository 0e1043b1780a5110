"""Sessions: login, intents, resume, redelivery, loss."""

from __future__ import annotations

import discord
import pytest

from tests.playground.conftest import Bot


async def test_ready_knows_the_guild(bot):
    guild = bot.guilds[0]
    assert guild.name == "Everturn"
    assert [channel.name for channel in guild.text_channels] == ["general", "random", "read-only"]
    assert [thread.name for thread in guild.threads] == ["side talk"]
    assert {member.display_name for member in guild.members} == {"Ada", "Ben", "Everturn"}
    assert bot.application_id == bot.user.id
    assert bot.application_flags.gateway_message_content_limited


async def test_an_invalid_token_does_not_log_in(playground):
    bot = Bot()
    with pytest.raises(discord.LoginFailure):
        await bot.login("invalid-token")
    await bot.close()


async def test_an_intent_that_is_switched_off_closes_4014(hand, playground):
    """D39"""
    await hand("PATCH", "/settings", intents={"message_content": False})
    bot = Bot()
    with pytest.raises(discord.PrivilegedIntentsRequired):
        await bot.start("a-token")
    await bot.close()


async def test_without_the_intent_content_is_blank_unless_it_concerns_the_bot(start_bot, hand):
    intents = discord.Intents.default()
    bot = await start_bot(intents)
    await hand.say("not for you")
    await hand.say(f"<@{bot.user.id}> for you")
    await hand.say("in private", channel="dm:Ada")
    await bot.until(lambda: len(bot.heard) == 3)
    assert [m.content for m in bot.heard] == ["", f"<@{bot.user.id}> for you", "in private"]


async def test_resume_plays_what_was_missed_and_what_is_asked_for_again(bot, hand):
    """D23: a resumed session may bring an event a second time."""
    first = await hand.say("before")
    await bot.until(lambda: bot.heard)
    await hand("POST", "/gateway", action="disconnect", replay=1, abort=True)
    missed = await hand.say("while away")
    await bot.until(lambda: bot.resumes)
    await bot.until(lambda: len(bot.heard) == 3)
    assert [str(m.id) for m in bot.heard] == [first["id"], first["id"], missed["id"]]
    assert bot.readies == 1


async def test_redelivery_word_for_word(bot, hand):
    """D23"""
    said = await hand.say("twice")
    await bot.until(lambda: bot.heard)
    await hand("POST", "/gateway", action="redeliver")
    await bot.until(lambda: len(bot.heard) == 2)
    assert [str(m.id) for m in bot.heard] == [said["id"]] * 2


async def test_an_invalidated_session_loses_what_happened_meanwhile(start_bot, hand):
    """D31: a new IDENTIFY gets nothing of the gap."""
    bot = await start_bot()
    await bot.close()
    lost = await hand.say("nobody hears this")
    later = await start_bot()
    heard = await hand.say("hello again")
    await later.until(lambda: later.heard)
    assert [str(m.id) for m in later.heard] == [heard["id"]]
    history = [str(m.id) async for m in later.text_channel().history()]
    assert history == [heard["id"], lost["id"]]


async def test_invalid_session_makes_the_client_identify_anew(bot, hand):
    await hand("POST", "/gateway", action="invalidate")
    await bot.until(lambda: bot.readies == 2)
    await hand.say("still here")
    await bot.until(lambda: bot.heard)


async def test_reconnect_keeps_the_session(bot, hand):
    await hand("POST", "/gateway", action="reconnect")
    await bot.until(lambda: bot.resumes == 1)
    view = await hand("GET", "/gateway")
    assert [s["connected"] for s in view["sessions"]] == [True]


async def test_a_stranger_is_refused(playground, hand):
    socket = await hand.session.ws_connect(f"{playground.url}/gateway?v=10&encoding=json")
    assert (await socket.receive_json())["op"] == 10
    await socket.send_json({"op": 1, "d": None})
    assert (await socket.receive_json())["op"] == 11
    await socket.send_json({"op": 2, "d": {"token": "invalid", "intents": 0}})
    await socket.receive()
    assert socket.close_code == 4004
