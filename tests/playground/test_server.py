"""The process around it: persistence, the port, the signal, the page, and who is kept out."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from playground import PlaygroundConfig, PlaygroundError, serve
from playground.turns import search_url, turn_id
from tests.playground.conftest import DEADLINE


async def _start(data: Path, *more: str) -> tuple[asyncio.subprocess.Process, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "playground", "--data", str(data), "--port", "0", *more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), DEADLINE)).decode()
    match = re.fullmatch(r"playground ready (http://127\.0\.0\.1:\d+)\n", line)
    assert match, (line, await process.stderr.read() if process.stderr else b"")
    return process, match[1]


async def _send(session: aiohttp.ClientSession, url: str, channel: str, nonce: str) -> str:
    async with session.post(
        f"{url}/api/v10/channels/{channel}/messages",
        json={"content": "kept", "nonce": nonce, "enforce_nonce": True},
        headers={"Authorization": "Bot a-token"},
    ) as response:
        assert response.status == 200
        return (await response.json())["id"]


async def test_everything_survives_a_kill(tmp_path):
    """Ids, history and nonces are found again after SIGKILL; SIGTERM ends it in good order."""
    process, url = await _start(tmp_path)
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{url}/control/state") as response:
            state = await response.json()
        channel = next(c["id"] for c in state["channels"] if c["name"] == "general")
        first = await _send(session, url, channel, "n1")
        process.send_signal(signal.SIGKILL)
        await process.wait()
        process, url = await _start(tmp_path)
        async with session.get(f"{url}/control/state") as response:
            again = await response.json()
        assert {**again, "bot": state["bot"]} == state
        assert again["bot"]["id"] == state["bot"]["id"]
        assert await _send(session, url, channel, "n1") == first
        assert int(await _send(session, url, channel, "n2")) > int(first)
        async with session.get(f"{url}/control/channels/general/messages") as response:
            assert len((await response.json())["messages"]) == 2
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), DEADLINE) == 0


async def test_a_busy_port_is_said_in_one_line(playground, tmp_path):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "playground", "--data", str(tmp_path), "--port", str(playground.port)),
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await asyncio.wait_for(process.communicate(), DEADLINE)
    assert process.returncode == 1
    said = f"port {playground.port} on 127.0.0.1 is in use: choose another with --port"
    assert errors.decode() == f"playground: {said}\n"


async def test_two_never_share_a_data_folder(playground, tmp_path):
    with pytest.raises(PlaygroundError, match="in use by another playground"):
        await serve(PlaygroundConfig(tmp_path / "data"))


async def test_the_page_is_served_and_needs_nothing_from_elsewhere(playground, hand):
    async with hand.session.get(playground.url) as response:
        html = await response.text()
        assert response.status == 200
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assets = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert assets
    for asset in assets:
        assert asset.startswith("/page/")
        async with hand.session.get(playground.url + asset) as response:
            assert response.status == 200
            text = await response.text()
        for imported in re.findall(r'from "\./([a-z]+\.js)"', text):
            async with hand.session.get(f"{playground.url}/page/{imported}") as response:
                assert response.status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Content-Type": "text/plain"},
    ],
)
async def test_a_website_cannot_drive_it(playground, hand, headers):
    body = '{"channel": "general", "member": "Ada", "content": "planted"}'
    headers = {"Content-Type": "application/json", **headers}
    url = f"{playground.url}/control/messages"
    async with hand.session.post(url, data=body, headers=headers) as response:
        assert response.status == 403
    assert await hand.messages() == []


async def test_the_page_itself_may(playground, hand):
    body = {"channel": "general", "member": "Ada", "content": "typed"}
    headers = {"Origin": playground.url, "Sec-Fetch-Site": "same-origin"}
    url = f"{playground.url}/control/messages"
    async with hand.session.post(url, json=body, headers=headers) as response:
        assert response.status == 201


async def test_what_happens_is_streamed_to_the_page(bot, hand, playground):
    async with hand.session.get(f"{playground.url}/control/events") as stream:
        assert b'"what": "hello"' in await stream.content.readline()
        await bot.text_channel().send("live", nonce="e0123456789abc0001000000")
        async with asyncio.timeout(DEADLINE):
            while b'"live"' not in (line := await stream.content.readline()):
                pass
        assert b"/namespaces/default/workflows/turn%2F" in line


async def test_waiting_ends_with_the_message(hand):
    waiting = asyncio.create_task(hand("GET", "/channels/general/messages?count=1&wait=8"))
    await asyncio.sleep(0)
    await hand.say("here")
    found = await waiting
    assert (found["complete"], len(found["messages"])) == (True, 1)
    late = await hand("GET", "/channels/general/messages?count=2&wait=0.05")
    assert (late["complete"], len(late["messages"])) == (False, 1)


async def test_an_unknown_route_is_discords_404(bot):
    import discord
    from discord.http import Route

    with pytest.raises(discord.NotFound) as caught:
        await bot.http.request(Route("GET", "/stickers/packs/of/no/one"))
    assert caught.value.code == 0


def test_a_turn_is_read_from_a_nonce():
    """The nonce format is the bot's; anything else leads nowhere."""
    trigger, persona = 1_398_000_000_000_000_000, 7
    nonce = "e" + _base36(trigger, 13) + _base36(persona, 4) + "0" + "00a" + "01"
    assert turn_id(5, nonce) == f"turn/5/{trigger}/7"
    assert turn_id(5, nonce[:18] + "2" + nonce[19:]) == f"turn/5/{trigger}/7/2"
    assert turn_id(5, "12345678901234567890") is None
    assert turn_id(5, None) is None


async def test_what_a_webhook_says_leads_to_the_turn_that_was_open_then(bot, hand):
    """It has no nonce; a search by channel and time finds the one turn."""
    hook = await bot.text_channel().create_webhook(name="Mira")
    sent = await hook.send("hi", wait=True)
    (seen,) = await hand.messages()
    assert seen["turn"]["workflow_id"] is None
    address = urlsplit(seen["turn"]["url"])
    assert (address.netloc, address.path) == ("127.0.0.1:8233", "/namespaces/default/workflows")
    moment = sent.created_at.isoformat(timespec="milliseconds")
    (query,) = parse_qs(address.query)["query"]
    assert query == (
        f'WorkflowId STARTS_WITH "turn/{sent.channel.id}/" AND StartTime <= "{moment}"'
        f' AND (CloseTime >= "{moment}" OR ExecutionStatus = "Running")'
    )
    assert search_url(None, "default", 5, sent.created_at) is None


def _base36(number: int, width: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + text
    return text.rjust(width, "0")
