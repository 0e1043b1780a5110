"""Reaching Discord: what is waited for, and what ends the process (D32, D38, D39)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from pydantic import SecretStr

from bot.client import EverturnClient
from bot.config import BotConfig
from bot.errors import BotStartError
from bot.gateway import log_in, stay_connected
from tests.bot.loopback import LoopbackDiscord
from tests.bot.waiting import until


async def test_a_refused_token_is_one_line_and_final(
    discord_api: LoopbackDiscord, config: BotConfig
) -> None:
    """D38, D39: exit code 78, no further attempt, and the token is not in the message."""
    discord_api.fail("GET", "users", 401)
    with pytest.raises(BotStartError) as raised:
        await log_in(config)
    assert raised.value.exit_code == 78
    assert "DISCORD_TOKEN" in raised.value.message
    assert "\n" not in raised.value.message
    assert config.token.get_secret_value() not in str(raised.value)
    assert len(discord_api.requests) == 1


@pytest.mark.parametrize("token", ["", "two words", "tökén"])
async def test_a_token_that_cannot_be_one_is_not_even_tried(
    discord_api: LoopbackDiscord, config: BotConfig, token: str
) -> None:
    with pytest.raises(BotStartError):
        await log_in(replace(config, token=SecretStr(token)))
    assert discord_api.requests == []


async def test_a_wrong_address_is_named(discord_api: LoopbackDiscord, config: BotConfig) -> None:
    discord_api.fail("GET", "users", 404)
    with pytest.raises(BotStartError, match="EVERTURN_DISCORD_API"):
        await log_in(config)
    with pytest.raises(BotStartError, match="EVERTURN_DISCORD_API"):
        await log_in(replace(config, api_base="localhost:8090"))


async def test_an_outage_at_the_login_is_waited_for(
    discord_api: LoopbackDiscord, config: BotConfig
) -> None:
    """D32."""
    discord_api.fail("GET", "users", 503, times=2)
    client = await log_in(config, pause=0.01)
    assert client.user is not None
    await client.close()


@pytest.mark.parametrize("code", [4004, 4010, 4011, 4012, 4013, 4014])
async def test_a_close_for_good_ends_the_process(
    discord_api: LoopbackDiscord, client: EverturnClient, code: int
) -> None:
    """D38: one IDENTIFY, then never again."""
    discord_api.close_code = code
    with pytest.raises(BotStartError) as raised:
        await stay_connected(client, pause=0.01)
    assert raised.value.exit_code == 78
    assert discord_api.identifies == 1
    assert "\n" not in raised.value.message


async def test_a_missing_intent_names_the_portal_steps(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    """D39."""
    discord_api.close_code = 4014
    with pytest.raises(BotStartError, match="Message Content Intent, save"):
        await stay_connected(client)


async def test_a_gateway_that_is_not_there_yet_is_waited_for(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    """D32: the very first connection may fail in any way, too."""
    discord_api.fail("GET", "bot", 503)
    discord_api.refuse_sockets = 1
    connection = asyncio.create_task(stay_connected(client, pause=0.01))
    await until(client.gateway_ready.is_set, seconds=15)
    assert not connection.done()
    await client.close()
    await connection
