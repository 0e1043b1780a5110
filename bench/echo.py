"""The least that a Discord bot can be: read the last 80 messages, answer, forget.

No Temporal and no model. Beside the skeleton it is the other half of the baseline: what the
gateway, two REST calls and discord.py cost by themselves. `python -m bench.echo API`.
"""

from __future__ import annotations

import asyncio
import sys

import discord
from pydantic import SecretStr

from bot.client import EverturnClient
from bot.config import BotConfig
from bot.gateway import log_in, stay_connected, use_api

CALL = "echo, please"


def answer_echoes(client: EverturnClient) -> None:
    async def on_message(message: discord.Message) -> None:
        if message.content == CALL:
            history = [earlier async for earlier in message.channel.history(limit=80)]
            await message.channel.send(f"{len(history)} messages")

    client.on_message = on_message  # the real one belongs to the bot


async def main(api: str) -> None:
    use_api(api)
    client = await log_in(BotConfig(SecretStr("playground"), api))
    answer_echoes(client)
    await stay_connected(client)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
