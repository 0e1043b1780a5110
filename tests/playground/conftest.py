"""A playground in this process, a hand on its control interface, and real discord.py clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import aiohttp
import discord
import pytest
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from playground import Playground, PlaygroundConfig, serve

DEADLINE = 8.0
"""Seconds that any single condition of these tests may take."""

Found = TypeVar("Found")


class Hand:
    """Acts as members through `/control`, and fails loudly on any refusal it did not expect."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url

    async def __call__(
        self, method: str, path: str, expect: int | None = None, **body: Any
    ) -> dict[str, Any]:
        async with self.session.request(
            method, f"{self.url}/control{path}", json=body or None
        ) as response:
            answer = await response.json()
            if expect is None:
                assert response.status < 300, answer
            else:
                assert response.status == expect, answer
            return answer

    async def say(self, content: str, channel: str = "general", member: str = "Ada", **more: Any):
        where = {"channel": channel, "member": member}
        return await self("POST", "/messages", content=content, **where, **more)

    async def messages(self, channel: str = "general", **query: Any) -> list[dict[str, Any]]:
        text = "&".join(f"{name}={value}" for name, value in query.items())
        return (await self("GET", f"/channels/{channel}/messages?{text}"))["messages"]


class Bot(discord.Client):
    """A client that notes what reaches it."""

    def __init__(self, intents: discord.Intents | None = None) -> None:
        super().__init__(
            intents=intents or discord.Intents.all(),
            max_ratelimit_timeout=30,
            guild_ready_timeout=0.02,  # how long it waits for one more guild; there is none
        )
        self.heard: list[discord.Message] = []
        self.resumes = 0
        self.readies = 0
        self.typing_seen: list[int] = []
        self.task: asyncio.Task[None] | None = None

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """discord.py waits five seconds before a second IDENTIFY; nobody counts them here."""

    async def on_message(self, message: discord.Message) -> None:
        self.heard.append(message)

    async def on_ready(self) -> None:
        self.readies += 1

    async def on_resumed(self) -> None:
        self.resumes += 1

    async def on_typing(self, channel: Any, user: Any, when: Any) -> None:
        self.typing_seen.append(user.id)

    def text_channel(self, name: str = "general") -> discord.TextChannel:
        found = discord.utils.get(self.guilds[0].text_channels, name=name)
        assert found is not None
        return found

    async def until(self, check: Callable[[], Found], what: str = "the condition") -> Found:
        async with asyncio.timeout(DEADLINE):
            while not (found := check()):
                if self.task is not None and self.task.done():
                    self.task.result()
                await asyncio.sleep(0.01)
        return found


@pytest.fixture
async def playground(tmp_path, monkeypatch) -> AsyncIterator[Playground]:
    running = await serve(PlaygroundConfig(tmp_path / "data", temporal_ui="http://127.0.0.1:8233"))
    monkeypatch.setattr(Route, "BASE", running.api_base)
    monkeypatch.setattr(
        DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(f"ws://127.0.0.1:{running.port}/gateway")
    )
    yield running
    await running.close()


@pytest.fixture
async def hand(playground) -> AsyncIterator[Hand]:
    async with aiohttp.ClientSession() as session:
        yield Hand(session, playground.url)


@pytest.fixture
async def start_bot(playground) -> AsyncIterator[Callable[..., Awaitable[Bot]]]:
    bots: list[Bot] = []

    async def start(intents: discord.Intents | None = None, bot: Bot | None = None) -> Bot:
        bot = bot or Bot(intents)
        bots.append(bot)
        bot.task = asyncio.create_task(bot.start("a-token"))
        await bot.until(lambda: bot.readies, "READY")
        return bot

    yield start
    for bot in bots:
        await bot.close()
        if bot.task is not None:
            await asyncio.gather(bot.task, return_exceptions=True)


@pytest.fixture
async def bot(start_bot) -> Bot:
    return await start_bot()
