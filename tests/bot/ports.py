"""The port over a real client at a playground in this process, and a hand that acts as members."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aiohttp
from discord.gateway import DiscordWebSocket
from discord.http import Route
from pydantic import SecretStr
from temporalio.client import Client

from bot.client import EverturnClient
from bot.config import BotConfig
from bot.dispatch import Dispatcher
from bot.gateway import log_in, stay_connected, use_api
from bot.port.client_port import ClientPort
from bot.refusals import RefusalMemory
from bot.webhooks import ManagedWebhooks
from playground import Playground, PlaygroundConfig, serve
from playground.permissions import bits
from playground.records import Channel
from tests.bot.test_dispatch import RecordingTemporal
from tests.bot.voices import webhooks_of
from tests.bot.waiting import until

Json = dict[str, Any]


@dataclass
class Table:
    """Everything at hand: what members do, what the bot's port answers, what Temporal is told."""

    playground: Playground
    client: EverturnClient
    port: ClientPort
    dispatcher: Dispatcher
    refusals: RefusalMemory
    temporal: RecordingTemporal
    session: aiohttp.ClientSession
    webhooks: ManagedWebhooks

    @property
    def guild(self) -> str:
        return str(self.playground.services.world.guild_id)

    @property
    def bot_id(self) -> str:
        return str(self.playground.services.world.bot_id)

    async def control(self, method: str, path: str, **body: Any) -> Json:
        url = f"{self.playground.url}/control{path}"
        async with self.session.request(method, url, json=body or None) as response:
            answer = await response.json()
            assert response.status < 300, answer
            return answer

    async def say(
        self, content: str = "hello", channel: str = "general", member: str = "Ada", **more: Any
    ) -> Json:
        where = {"channel": channel, "member": member}
        return await self.control("POST", "/messages", content=content, **where, **more)

    async def messages(self, channel: str = "general") -> list[Json]:
        return (await self.control("GET", f"/channels/{channel}/messages"))["messages"]

    async def own(self, content: str = "mine", channel: str = "general") -> str:
        """A message of the bot's own."""
        target = self.client.get_partial_messageable(int(self.channel(channel)))
        return str((await target.send(content)).id)

    def record(self, name: str) -> Channel:
        channels = self.playground.services.world.channels.values()
        return next(each for each in channels if each.name == name)

    def channel(self, name: str = "general") -> str:
        return str(self.record(name).id)

    def user(self, name: str) -> str:
        users = self.playground.services.world.users.values()
        return str(next(each.id for each in users if each.name == name))

    def forbid(self, channel: str, user: str, *names: str, allow: tuple[str, ...] = ()) -> None:
        """An overwrite for one member; the bot's own cache follows."""
        world = self.playground.services.world
        world.overwrite(self.record(channel), int(user), bits(allow), bits(names))

    def requests(self) -> list[str]:
        found = self.playground.services.log.find()
        return [f"{each['method']} {each['path']}" for each in found]

    async def settled(self, channel: str) -> None:
        """The gateway has told the client of the channel as it is now."""
        wanted = {(o.id, o.allow, o.deny) for o in self.record(channel).overwrites}

        def told() -> bool:
            known: Any = self.client.get_channel(int(self.channel(channel)))
            return (
                known is not None
                and {
                    (target.id, *(part.value for part in overwrite.pair()))
                    for target, overwrite in known.overwrites.items()
                }
                == wanted
            )

        await until(told)


@asynccontextmanager
async def table(folder: Path) -> AsyncIterator[Table]:
    before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    playground = await serve(PlaygroundConfig(folder))
    for limit in playground.services.limits.limits.values():
        limit.count = 10_000  # at Discord's usual pace the tests would wait
    use_api(playground.api_base)
    client = await log_in(BotConfig(SecretStr("a-token-for-the-playground"), playground.api_base))
    gateway = asyncio.create_task(stay_connected(client))
    temporal = RecordingTemporal()
    webhooks = webhooks_of(client)
    dispatcher, refusals = Dispatcher(cast(Client, temporal)), RefusalMemory()
    try:
        await until(lambda: client.guilds and not client.guilds[0].unavailable)
        async with aiohttp.ClientSession() as session:
            port = ClientPort(client, dispatcher, refusals, webhooks)
            yield Table(playground, client, port, dispatcher, refusals, temporal, session, webhooks)
    finally:
        await webhooks.close()
        await client.close()
        gateway.cancel()
        await asyncio.gather(gateway, return_exceptions=True)
        await playground.close()
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = before
