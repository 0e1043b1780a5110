"""A logged-in client over a loopback Discord, and an activity environment."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from discord.gateway import DiscordWebSocket
from discord.http import Route
from pydantic import SecretStr
from temporalio.testing import ActivityEnvironment

from bot.client import EverturnClient
from bot.config import BotConfig
from bot.gateway import log_in, use_api
from tests.bot.loopback import LoopbackDiscord


@pytest.fixture
async def discord_api() -> AsyncIterator[LoopbackDiscord]:
    before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    api = LoopbackDiscord()
    await api.start()
    use_api(api.api)
    yield api
    Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = before
    await api.close()


@pytest.fixture
def config(discord_api: LoopbackDiscord) -> BotConfig:
    return BotConfig(SecretStr("a-token-for-the-loopback"), discord_api.api)


@pytest.fixture
async def client(discord_api: LoopbackDiscord, config: BotConfig) -> AsyncIterator[EverturnClient]:
    client = await log_in(config)
    discord_api.requests.clear()
    yield client
    await client.close()


@pytest.fixture
def activity_env() -> ActivityEnvironment:
    return ActivityEnvironment()
