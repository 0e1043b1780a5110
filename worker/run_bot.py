"""The bot process: connection to Temporal and database first, then the one to Discord."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import structlog
from pydantic import SecretStr

from activities.tools.run_tool import ToolActivities
from bot.config import BotConfig
from bot.run import run_bot
from runtime.logs import register_secret
from worker.beacon import beacon_file, keep_lit
from worker.connection import connect_patiently
from worker.database import open_database
from worker.errors import SettingsError
from worker.running import read_running
from worker.search_attributes import register_search_attributes
from worker.settings import Settings
from worker.tools import make_tools
from workflows.contracts.discord_port import DiscordPort

log = structlog.get_logger(__name__)


def bot_config(settings: Settings) -> BotConfig:
    """Token and API address: as set, else the playground of an `everturn up` that runs.

    Where it is not Discord itself, which is the playground, nobody waits between commands unless
    the operator has set a scale: one tries them there by hand.

    Raises SettingsError when there is neither.
    """
    token, api = settings.discord_token, settings.discord_api
    if token is None and api is None:
        running = read_running(settings.home)
        api = running.discord_api if running else None
    if token is None and api is None:
        raise SettingsError(
            "DISCORD_TOKEN is not set: take it from https://discord.com/developers/applications"
            " (your application, Bot), or run `everturn up` for the playground"
        )
    scale = settings.command_cooldown_scale
    if api is not None and "command_cooldown_scale" not in settings.model_fields_set:
        scale = 0
    return BotConfig(
        token or SecretStr("playground"),
        api,
        settings.log_level,
        settings.base_trigger_words,
        scale,
    )


async def serve_discord(settings: Settings, stop: asyncio.Event) -> int:
    """Run the bot until `stop` is set. Returns the exit code.

    Raises OperatorError, StorageError and BotStartError, one line each.
    """
    config = bot_config(settings)
    registry, resources = make_tools(settings)
    for secret in settings.secrets():
        register_secret(secret)
    async with AsyncExitStack() as stack:
        storage = await open_database(settings)
        stack.push_async_callback(storage.close)
        stack.push_async_callback(resources.aclose)
        client = await connect_patiently(settings, stop)
        if client is None:
            return 0
        # The bot may be the first to arrive, and what it starts carries them.
        await register_search_attributes(client)
        lit: list[asyncio.Task[None]] = []

        def on_ready() -> None:
            if not lit:  # Discord says READY again after a reconnect
                log.info("bot.ready")
                beacon = beacon_file(settings.home, "bot")
                lit.append(asyncio.create_task(keep_lit(beacon, client)))

        def tool_activities(port: DiscordPort) -> Sequence[Callable[..., Any]]:
            resources.connect(storage=storage, temporal=client, discord=port)
            return [ToolActivities(registry, storage, resources).run_tool]

        try:
            await run_bot(config, client, storage, stop, on_ready, tool_activities)
        finally:
            for task in lit:
                task.cancel()
    return 0
