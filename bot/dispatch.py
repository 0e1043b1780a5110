"""Dispatch: an admitted message becomes a signal to its channel's workflow (D27).

For: from here on the message is Temporal's. In: `ChatIncoming`. Out: one signal-with-start.
What always holds: messages of a channel are signalled in the order they arrived; a channel that
waits for Temporal holds up no other; a message is tried for GIVE_UP_AFTER, then it is logged as
lost. A signal that arrives twice (an answer lost on the way) is dropped by the channel. A message
waits here until Temporal has acknowledged it (`oldest_waiting`), also after the stop (D26).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import structlog
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError

from workflows.contracts import attributes
from workflows.contracts.base import TURNS_QUEUE, channel_workflow_id
from workflows.contracts.invocation import CHANNEL_WORKFLOW, ENQUEUE_SIGNAL, ChatIncoming
from workflows.contracts.turn import LOCK_RULES, ChannelInput

log = structlog.get_logger(__name__)

GIVE_UP_AFTER = timedelta(minutes=5)
"""An answer that comes later than this speaks into another conversation."""
FIRST_PAUSE = timedelta(milliseconds=200)
LONGEST_PAUSE = timedelta(seconds=10)
RPC_TIMEOUT = timedelta(seconds=10)
TASK_TIMEOUT = timedelta(seconds=5)
"""Workflow task timeout of a channel: how long a task stays with a worker that was killed."""


@dataclass(frozen=True)
class _Pending:
    incoming: ChatIncoming
    received: float
    """The loop's clock, seconds."""


class Dispatcher:
    def __init__(
        self,
        temporal: Client,
        give_up_after: timedelta = GIVE_UP_AFTER,
        told: Callable[[ChatIncoming], object] = lambda incoming: None,
    ) -> None:
        """`told` hears of each message before it is signalled, and again before another attempt."""
        self._temporal = temporal
        self._told = told
        self._give_up_after = give_up_after.total_seconds()
        self._waiting: dict[str, deque[_Pending]] = {}
        self._senders: dict[str, asyncio.Task[None]] = {}

    def submit(self, incoming: ChatIncoming) -> None:
        """Take a message. Returns at once; its signal is under way."""
        self._told(incoming)
        channel_id = incoming.channel_id
        now = asyncio.get_running_loop().time()
        self._waiting.setdefault(channel_id, deque()).append(_Pending(incoming, now))
        if channel_id not in self._senders:
            self._senders[channel_id] = asyncio.create_task(self._send_all(channel_id))

    def oldest_waiting(self, channel_id: str) -> int | None:
        """The oldest message of the channel that Temporal has not taken."""
        ids = [
            int(pending.incoming.message_id)
            for pending in self._waiting.get(channel_id, ())
            if not pending.incoming.is_synthetic and pending.incoming.message_id.isdecimal()
        ]
        return min(ids, default=None)

    async def drain(self, timeout: timedelta) -> int:
        """Wait until everything taken has been signalled; how many messages were left behind."""
        senders = list(self._senders.values())
        if senders:
            await asyncio.wait(senders, timeout=timeout.total_seconds())
        left = sum(len(waiting) for waiting in self._waiting.values())
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)
        if left:
            log.error("messages left unanswered: Temporal was not reachable", count=left)
        return left

    async def _send_all(self, channel_id: str) -> None:
        waiting = self._waiting[channel_id]
        try:
            while waiting:
                await self._send(waiting[0])
                waiting.popleft()
        finally:
            del self._senders[channel_id]
            if not waiting:  # else the stop came first, and what is left was not taken
                del self._waiting[channel_id]

    async def _send(self, pending: _Pending) -> None:
        clock = asyncio.get_running_loop()
        pause = FIRST_PAUSE.total_seconds()
        while True:
            try:
                await self.signal(pending.incoming)
                return
            except Exception as error:  # whatever it is, the messages behind this one go on
                ids = {
                    "channel": pending.incoming.channel_id,
                    "message": pending.incoming.message_id,
                    "error": str(error),
                }
                if not isinstance(error, RPCError | OSError):
                    log.exception("message lost: it could not be sent to Temporal", **ids)
                    return
                if clock.time() + pause - pending.received > self._give_up_after:
                    log.error("message lost: Temporal did not take it in time", **ids)
                    return
                log.warning("Temporal did not take a message; trying again", pause=pause, **ids)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE.total_seconds())

    async def signal(self, incoming: ChatIncoming) -> None:
        """One attempt; returns when Temporal has taken it. Raises RPCError, OSError."""
        self._told(incoming)
        await self._temporal.start_workflow(
            CHANNEL_WORKFLOW,
            ChannelInput(channel_id=incoming.channel_id, rules=LOCK_RULES),
            id=channel_workflow_id(incoming.channel_id),
            task_queue=TURNS_QUEUE,
            start_signal=ENQUEUE_SIGNAL,
            start_signal_args=[incoming],
            task_timeout=TASK_TIMEOUT,
            static_summary=channel_summary(incoming),
            search_attributes=TypedSearchAttributes(
                [
                    SearchAttributePair(
                        attributes.GUILD, incoming.guild_id or attributes.DIRECT_MESSAGE_GUILD
                    ),
                    SearchAttributePair(attributes.CHANNEL, incoming.channel_id),
                ]
            ),
            rpc_timeout=RPC_TIMEOUT,
        )


def channel_summary(incoming: ChatIncoming) -> str:
    """What an operator reads in the Temporal UI: `#general in My Server`."""
    if incoming.is_dm:
        return f"Direct messages with {incoming.author_name}"
    name = incoming.channel_name
    channel = f"#{name}" if name else f"Channel {incoming.channel_id}"
    return f"{channel} in {incoming.guild_name}" if incoming.guild_name else channel
