"""The limits that need the database: how many answers at a time, and how soon the next (behaviour
5.4).

In: a message that would be answered. Out: why it is not, or None, and then its place is taken: each
check takes what it finds free, in one step. What always holds: a store that fails, or does not
answer within PATIENCE, refuses nobody (C047).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import TypeVar

import structlog

from activities.planning.cooldown import cooldown_of, cooldown_refusal
from activities.planning.known import Known, is_follow_up
from activities.planning.refusals import told
from activities.planning.settings import PlanningSettings
from storage import Busy, Storage
from workflows.contracts.base import server_key
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.planning import PlanReason, PlanRefusal

PATIENCE = timedelta(seconds=2)
"""For each of the checks, which together must end within the activity's 10 s."""

TURN_LASTS = timedelta(minutes=15)
"""How long an answer that nobody has seen end counts as under way."""

T = TypeVar("T")

log = structlog.get_logger(__name__)


class Guards:
    def __init__(self, storage: Storage, settings: PlanningSettings) -> None:
        self._storage = storage
        self._settings = settings

    async def concurrency(self, message: ChatIncoming, now: datetime) -> PlanRefusal | None:
        """Stop responses, follow-ups, personas' own work and the system's are counted, and never
        refused."""
        settings = self._settings
        if not settings.production:
            return None
        counted_only = (
            message.is_stop_response
            or message.is_persona_job
            or message.is_synthetic
            or is_follow_up(message)
        )
        busy = await fail_open(
            "concurrency guard",
            self._storage.answering.begin(
                message.channel_id,
                message.message_id,
                server_key=server_key(message.guild_id, message.author_id),
                user_id=message.author_id,
                user_limit=0 if counted_only else settings.max_user_active,
                server_limit=0 if counted_only else settings.max_server_active,
                at=now,
                lasts=TURN_LASTS,
            ),
        )
        if busy is Busy.USER:
            return told(
                PlanReason.RATE_LIMITED,
                message,
                f"Your message in <#{message.channel_id}> gets no answer: I am answering you in"
                f" {settings.max_user_active} other places. Ask again when I am done there.",
                by_direct_message=True,
            )
        if busy is Busy.SERVER:
            return told(
                PlanReason.RATE_LIMITED,
                message,
                "I am answering in many channels of this server at once. Please ask again soon.",
            )
        return None

    async def release(self, message: ChatIncoming) -> None:
        """The message, whose place `concurrency` has taken, is not answered after all."""
        if self._settings.production:
            await fail_open(
                "concurrency guard",
                self._storage.answering.end(message.channel_id, message.message_id),
            )

    async def cooldown(
        self, message: ChatIncoming, known: Known, arrived_at: datetime, now: datetime
    ) -> PlanRefusal | None:
        """Judged by when the message was written: waiting in a queue neither helps nor harms."""
        cooldown = cooldown_of(message, known, self._settings)
        if cooldown is None:
            return None
        free_at = await fail_open(
            "cooldown",
            self._storage.limits.take_cooldown(
                cooldown.key, arrived_at, cooldown.length, holder=message.message_id[:64]
            ),
        )
        return None if free_at is None else cooldown_refusal(message, cooldown, free_at, now)


async def fail_open(what: str, work: Awaitable[T]) -> T | None:
    """None when it fails: a limit that cannot be looked up is no limit."""
    try:
        async with asyncio.timeout(PATIENCE.total_seconds()):
            return await work
    except Exception as error:
        log.warning("planning.fails_open", limit=what, error=type(error).__name__)
        return None
