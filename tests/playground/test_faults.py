"""Injected faults and rate limits, met by the real discord.py."""

from __future__ import annotations

import aiohttp
import discord
import pytest


async def test_stored_then_502_is_one_message(bot, hand):
    """D17: discord.py tries again with the nonce of the first try."""
    await hand("POST", "/faults", match=r"POST /channels/\d+/messages", action="store_then_502")
    await bot.text_channel().send("once", nonce="n1")
    assert len(await hand.messages()) == 1
    log = await hand("GET", "/requests?match=POST /channels/\\d%2B/messages")
    assert [(r["status"], r["fault"]) for r in log["requests"]] == [
        (502, "store_then_status"),
        (200, None),
    ]


async def test_a_webhook_stored_then_502_is_two_messages(bot, hand):
    """discord.py retries webhooks too, and they have no nonce: at least once is all they give."""
    hook = await bot.text_channel().create_webhook(name="Nova")
    await hand("POST", "/faults", match=r"POST /webhooks", action="store_then_502")
    await hook.send("hello", wait=True)
    assert len(await hand.messages()) == 2


async def test_429_is_waited_for(bot, hand):
    await hand("POST", "/faults", match="POST .*/messages", action="429", retry_after=0.05, times=2)
    await bot.text_channel().send("patient")
    log = await hand("GET", "/requests?match=/messages")
    assert [r["status"] for r in log["requests"]] == [429, 429, 200]


async def test_a_real_limit_says_so_before_it_bites(bot, hand, playground):
    """discord.py paces itself by the headers; one that does not meets 429 with `Via`."""
    await hand("PATCH", "/settings", rate_limits={"messages": {"count": 2, "per": 0.3}})
    for number in range(5):
        await bot.text_channel().send(str(number))
    log = await hand("GET", "/requests?match=POST .*/messages")
    assert [r["status"] for r in log["requests"]] == [200] * 5
    await hand("PATCH", "/settings", rate_limits={"messages": {"count": 1, "per": 60}})
    url = f"{playground.api_base}/channels/{bot.text_channel().id}/messages"
    headers = {"Authorization": "Bot a-token"}
    answers = []
    for _ in range(2):
        async with hand.session.post(url, json={"content": "x"}, headers=headers) as response:
            answers.append((response.status, dict(response.headers), await response.json()))
    (status, first, _), (refused, second, body) = answers
    assert (status, first["X-RateLimit-Remaining"]) == (200, "0")
    assert refused == 429
    assert "Via" in second
    assert 0 < body["retry_after"] <= 60


async def test_status_drop_and_skip(bot, hand):
    for fault in (
        {"action": "status", "status": 403, "code": 50013, "skip": 1},
        {"action": "store_then_drop"},
    ):
        await hand("POST", "/faults", match="POST /channels/.*/messages", **fault)
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await bot.text_channel().send("stored")
    with pytest.raises(discord.Forbidden) as caught:
        await bot.text_channel().send("refused")
    assert caught.value.code == 50013
    await bot.text_channel().send("through")
    assert [m["content"] for m in await hand.messages()] == ["stored", "through"]


async def test_a_senseless_fault_is_refused(hand):
    refused = await hand("POST", "/faults", expect=400, match="(", action="drop")
    assert "regular expression" in refused["error"]
    refused = await hand("POST", "/faults", expect=400, match="x", action="explode")
    assert "store_then_502" in refused["error"]
