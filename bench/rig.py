"""What the benchmarks run on: one dev server, with the real thing and the skeleton beside it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from bench import echo, skeleton
from runtime.orphans import HAS_PDEATHSIG, die_with_parent
from tests.support.model_server import ModelServer, Text
from tests.support.stack import Message, Stack

ANSWER = "Hello from a model that takes no time at all."


@dataclass
class Rig:
    stack: Stack
    model: ModelServer

    async def skeleton_turn(self, channel: str, turn_id: str) -> float:
        """Seconds from the message to its text, for one turn of the skeleton."""
        began = time.monotonic()
        await skeleton.post(self.stack.client, channel, turn_id)
        return (await self.skeleton_sent(turn_id)).at - began

    async def skeleton_sent(self, turn_id: str) -> skeleton.Sent:
        handle: WorkflowHandle[object, skeleton.Sent] = self.stack.client.get_workflow_handle(
            turn_id, result_type=skeleton.Sent
        )
        while True:
            try:
                return await handle.result()
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
            await asyncio.sleep(0.005)

    async def echo(self, channel: str) -> float:
        """Seconds from a message to the answer of a bare discord.py bot."""
        began = time.monotonic()
        posted = await self.stack.discord.say(channel, "Ada", echo.CALL)
        await self.stack.discord.replies(channel, posted)
        return time.monotonic() - began

    async def turn(self, channel: str) -> tuple[Message, float]:
        """The message, and the seconds from it to its visible answer, less the model's own."""
        began = time.monotonic()
        posted = await self.stack.discord.say(channel, "Ada", "Nova, hello")
        await self.stack.discord.replies(channel, posted)
        seen = time.monotonic()
        request = self.model.requests[-1]
        models_own = (request.finished_at or seen) - request.received_at
        await self.stack.ended(posted)
        return posted, seen - began - models_own


@asynccontextmanager
async def open_rig() -> AsyncIterator[Rig]:
    with TemporaryDirectory(prefix="everturn-bench-") as folder:
        async with (
            ModelServer(default=[Text(ANSWER)]) as model,
            Stack(Path(folder), model.base_url, EVERTURN_LOG_LEVEL="warning") as stack,
        ):
            address, api = stack.environ["TEMPORAL_ADDRESS"], stack.environ["EVERTURN_DISCORD_API"]
            commands = (
                ("bench.skeleton", address, "turns"),
                ("bench.skeleton", address, "discord"),
                ("bench.echo", api),
            )
            parts = [
                await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", *command),
                    cwd=Path(__file__).parents[1],
                    preexec_fn=die_with_parent() if HAS_PDEATHSIG else None,
                )
                for command in commands
            ]
            try:
                async with asyncio.timeout(30):
                    # The echo bot's session beside that of the real bot.
                    while len((await stack.discord.call("GET", "gateway"))["sessions"]) < 2:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                yield Rig(stack, model)
            finally:
                for part in parts:
                    part.kill()
                    await part.wait()
