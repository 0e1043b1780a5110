"""Reaching Discord: log in, open the gateway, stay connected (D32, D38, D39).

What cannot get better by trying again (the token, an intent) is a `BotStartError` of one line. All
else (no network, Discord down, no session left today) is waited for, with growing pauses.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import discord
import structlog
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from bot.client import EverturnClient
from bot.config import BotConfig
from bot.discord_faults import NETWORK_FAULTS, describe
from bot.errors import BotStartError, missing_intent, refused_token

log = structlog.get_logger(__name__)

Result = TypeVar("Result")

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds between two attempts to reach Discord."""

FATAL_CLOSES = {
    4004: refused_token,
    4010: lambda: BotStartError("Discord refused the shard (close 4010): report this as a fault."),
    4011: lambda: BotStartError(
        "This bot is in too many servers for one connection (close 4011): sharding is required."
    ),
    4012: lambda: BotStartError("Discord refused the gateway version (close 4012): update."),
    4013: lambda: BotStartError(
        "Discord refused the intents (close 4013): report this as a fault."
    ),
    4014: missing_intent,
}
"""Gateway close codes after which Discord does not want to be asked again."""


def use_api(api_base: str | None) -> None:
    """Direct this process's discord.py to another Discord API. None leaves it as it is.

    discord.py has no setting for it: the address is an attribute of its class `Route`.
    """
    if api_base is not None:
        Route.BASE = api_base.rstrip("/")


async def log_in(
    config: BotConfig,
    make_client: Callable[[], EverturnClient] = EverturnClient,
    pause: float = FIRST_PAUSE,
) -> EverturnClient:
    """A client that Discord knows. Waits as long as Discord cannot be reached.

    Raises BotStartError: the token, or the address of the API, is wrong.
    """
    token = config.token.get_secret_value().strip()
    if not token or not token.isascii() or any(character.isspace() for character in token):
        raise refused_token()
    if config.api_base is not None and not config.api_base.startswith(("http://", "https://")):
        raise BotStartError("EVERTURN_DISCORD_API must begin with http:// or https://.")

    async def attempt() -> EverturnClient:
        client = make_client()  # a new one: a failed login leaves its session behind
        try:
            await client.login(token)
        except discord.LoginFailure:
            await client.close()
            raise refused_token() from None
        except discord.HTTPException as error:
            await client.close()
            if error.status == 404:
                raise BotStartError(
                    "No Discord API answers at the address given: check EVERTURN_DISCORD_API "
                    "(it ends in /api/v10)."
                ) from error
            raise
        except BaseException:
            await client.close()
            raise
        return client

    return await _until_reached(attempt, pause)


async def stay_connected(client: EverturnClient, pause: float = FIRST_PAUSE) -> None:
    """Hold the gateway connection until the client is closed.

    Raises BotStartError when Discord refuses this bot for good.
    """

    async def attempt() -> None:
        await _find_gateway(client)
        await _connect(client)

    await _until_reached(attempt, pause)


async def _find_gateway(client: EverturnClient) -> None:
    """Ask where the gateway is, and whether a session may be started now.

    discord.py takes the gateway's address for granted, which is right only for Discord itself.
    """
    answer = await client.http.request(Route("GET", "/gateway/bot"))
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(answer["url"])
    limit = answer.get("session_start_limit", {})
    if limit.get("remaining", 1) <= 0:
        wait = limit.get("reset_after", 60_000) / 1000
        log.warning("Discord allows no more sessions for now; waiting", seconds=wait)
        await asyncio.sleep(wait)


async def _connect(client: EverturnClient) -> None:
    try:
        await client.connect(reconnect=True)
    except discord.PrivilegedIntentsRequired:
        raise missing_intent() from None
    except discord.ConnectionClosed as error:
        fatal = FATAL_CLOSES.get(error.code)
        raise (fatal() if fatal else error) from None
    except AttributeError as error:
        # discord.py 2.7.1 plans its next attempt from the connection before; when the very first
        # one fails, there is none, and the true reason is this error's context.
        reason = error.__context__
        if client.ws is None and isinstance(reason, Exception):
            raise reason from None
        raise


async def _until_reached(attempt: Callable[[], Awaitable[Result]], pause: float) -> Result:
    while True:
        try:
            return await attempt()
        except (discord.HTTPException, discord.GatewayNotFound, *NETWORK_FAULTS) as error:
            wait = pause * random.uniform(0.8, 1.2)
            if isinstance(error, discord.HTTPException) and error.status in (403, 429):
                wait = max(wait, LONGEST_PAUSE)  # refused at the door: knocking makes it worse
            log.warning(
                f"Discord cannot be reached, trying again in {wait:.0f} s", reason=describe(error)
            )
        await asyncio.sleep(wait)
        pause = min(2 * pause, LONGEST_PAUSE)
