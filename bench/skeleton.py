"""The least that a durable chat turn can be on Temporal: the baseline of the other benchmarks.

Signal-with-start, a child workflow, two activities of which one signals back, and one send. No
Discord, no database, no model, no prompt: what is left is the price of Temporal itself. As with
the real thing, two processes serve it:

    python -m bench.skeleton ADDRESS turns|discord
"""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

TURNS = "bench-skeleton-turns"
DISCORD = "bench-skeleton-discord"
CHANNEL = "SkeletonChannel"


class Message(BaseModel):
    turn_id: str
    text: str = "Nova, hello"


class Sent(BaseModel):
    at: float
    """`time.monotonic()` of the machine when the text would be visible."""


@activity.defn
async def skeleton_read(message: Message) -> str:
    return message.turn_id


@activity.defn
async def skeleton_model(message: Message) -> str:
    client = activity.client()
    await client.get_workflow_handle(message.turn_id).signal("segment", "Hello.")
    return "done"


@activity.defn
async def skeleton_send(text: str) -> Sent:
    return Sent(at=time.monotonic())


@workflow.defn(name="SkeletonTurn")
class SkeletonTurn:
    def __init__(self) -> None:
        self._segments: list[str] = []

    @workflow.run
    async def run(self, message: Message) -> Sent:
        limit = timedelta(seconds=30)
        await workflow.execute_activity(
            skeleton_read, message, task_queue=DISCORD, start_to_close_timeout=limit
        )
        model = workflow.start_activity(skeleton_model, message, start_to_close_timeout=limit)
        await workflow.wait_condition(lambda: bool(self._segments))
        sent = await workflow.execute_activity(
            skeleton_send,
            self._segments[0],
            task_queue=DISCORD,
            start_to_close_timeout=limit,
        )
        await model
        return sent

    @workflow.signal
    def segment(self, text: str) -> None:
        self._segments.append(text)


@workflow.defn(name=CHANNEL)
class SkeletonChannel:
    def __init__(self) -> None:
        self._queue: list[Message] = []

    @workflow.run
    async def run(self) -> None:
        while True:
            await workflow.wait_condition(lambda: bool(self._queue))
            message = self._queue.pop(0)
            await workflow.execute_child_workflow(SkeletonTurn.run, message, id=message.turn_id)

    @workflow.signal
    def enqueue(self, message: Message) -> None:
        self._queue.append(message)


async def post(client: Client, channel: str, turn_id: str) -> None:
    """What the bot does with a message."""
    await client.start_workflow(
        CHANNEL,
        id=f"skeleton/{channel}",
        task_queue=TURNS,
        start_signal="enqueue",
        start_signal_args=[Message(turn_id=turn_id)],
    )


async def serve(address: str, part: str) -> None:
    client = await Client.connect(address, data_converter=pydantic_data_converter)
    if part == "turns":
        worker = Worker(
            client,
            task_queue=TURNS,
            workflows=[SkeletonChannel, SkeletonTurn],
            activities=[skeleton_model],
        )
    else:
        worker = Worker(client, task_queue=DISCORD, activities=[skeleton_read, skeleton_send])
    await worker.run()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2]))
