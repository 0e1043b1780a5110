"""Several personas, follow-ups and stops in words, through the real processes and webhooks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.model_server import Hold, ModelServer, ReceivedRequest, Step, Text
from tests.support.stack import Message, Stack, text
from workflows.contracts.generation import StreamStatus

CHANNELS = 40
MESSAGES = 5


async def command(stack: Stack, path: str, **options: Any) -> str:
    order = {"channel": "general", "member": "Ada", "name": path, "options": options, "wait": 10}
    answer = await stack.discord.call("POST", "commands", json=order)
    assert answer["status"] == "answered", answer
    return text(answer["response"])


async def with_luna(stack: Stack) -> None:
    """A second persona, made as a member makes one; kept by all tests that follow."""
    options = {"name": "Luna", "prompt": "You are Luna, dry and brief.", "triggers": "luna"}
    told = await command(stack, "persona create", **options)
    assert "Luna" in told


def system(request: ReceivedRequest) -> str:
    return str(request.messages[0]["content"])


async def test_two_personas_in_one_message(stack: Stack, model: ModelServer) -> None:
    """C040: both answer, in the order of their names, each in its own name; the second one sees
    what the first has said. A webhook's persona never triggers itself (D58)."""
    await with_luna(stack)

    def respond(request: ReceivedRequest) -> list[Step]:
        if "You are Luna, a persona" in system(request):
            return [Text("Luna here, says Luna.")]
        return [Text("And Nova.")]

    model.default = respond
    posted = await stack.discord.say("general", "Ada", "Luna and Nova, say hello")
    said = await stack.discord.messages("general", posted, count=2, wait=30)
    names = [(message["author"]["name"], text(message)) for message in said]
    assert names == [("Luna", "Luna here, says Luna."), ("Everturn", "And Nova.")]
    assert "Luna here, says Luna." in str(model.requests[1].messages)
    after = await stack.discord.say("general", "Ada", "Nova?")
    await stack.ended(after)
    assert len(model.requests) == 3


async def test_a_follow_up_while_streaming(stack: Stack, model: ModelServer) -> None:
    """C012: plain words of whoever is being answered take the answer's place."""
    hold = asyncio.Event()
    model.script(Text("The first part.\n\n"), Hold(hold), Text("never said"))
    model.script(Text("About cats, then."))
    posted = await stack.discord.say("random", "Ada", "Nova, tell me about dogs")
    await stack.discord.replies("random", posted)
    await stack.discord.say("random", "Ada", "no, about cats")
    said = await stack.discord.replies("random", posted, count=2)
    hold.set()
    assert [text(message) for message in said] == ["The first part.", "About cats, then."]
    result = await stack.ended(posted)
    assert result is not None
    assert result.status is StreamStatus.FOLLOW_UP_INTERRUPT
    assert "about cats" in model.requests[1].last_user_text


async def test_please_stop(stack: Stack, model: ModelServer) -> None:
    """C018: the partial text stays, and one stop response follows."""
    model.script(Text("Once upon a time.\n\nThere was"), Hold(asyncio.Event()))
    model.script(Text("All right, I stop."))
    posted = await stack.discord.say("random", "Ada", "Nova, a story")
    await stack.discord.replies("random", posted)
    await stack.discord.say("random", "Ada", "please stop")
    said = await stack.discord.replies("random", posted, count=3)
    assert [text(message) for message in said] == [
        "Once upon a time.",
        "There was",
        "All right, I stop.",
    ]


@pytest.mark.timeout(300)
async def test_two_hundred_messages_in_forty_channels(model: ModelServer, tmp_path: Path) -> None:
    """A worker is killed in the middle: all are answered once, in order for each channel. One
    member writes them all, so follow-ups are off: each is a message of its own."""

    def respond(request: ReceivedRequest) -> list[Step]:
        return [Text(f"Answer to {request.last_user_text.split('number ')[-1].split()[0]}.")]

    model.reset()
    model.default = respond
    async with Stack(tmp_path, model.base_url, MAX_FOLLOW_UP_INTERRUPTS="0") as stack:
        channels = await threads(stack)
        posted: list[Message] = []
        for number in range(MESSAGES):
            posted += await asyncio.gather(
                *(
                    stack.discord.say(channel, "Ada", f"Nova, number {number} please")
                    for channel in channels
                )
            )
            if number == 1:
                await stack.kill("worker")
                await stack.start("worker")
        await asyncio.gather(*(stack.ended(message, 200) for message in posted))
        for channel, first in zip(channels, posted[:CHANNELS], strict=True):
            said = await stack.discord.replies(channel, first, count=MESSAGES)
            assert [text(m) for m in said] == [f"Answer to {n}." for n in range(MESSAGES)]


async def threads(stack: Stack) -> list[str]:
    state = await stack.discord.state()
    general = next(c["id"] for c in state["channels"] if c["name"] == "general")
    api = stack.environ["EVERTURN_DISCORD_API"]
    headers = {"Authorization": "Bot playground"}
    found: list[str] = []
    async with httpx.AsyncClient(trust_env=False, headers=headers, timeout=30) as http:
        for number in range(CHANNELS):
            body = {"name": f"crowd {number}", "type": 11}
            answer = await http.post(f"{api}/channels/{general}/threads", json=body)
            answer.raise_for_status()
            found.append(answer.json()["id"])
    return found
