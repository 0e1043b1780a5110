"""The way to the workflow that waits for a reminder.

In: a stored reminder. Out: a running `ReminderWorkflow`, or one that has been told that its row has
changed. What always holds: one workflow for a reminder, however often it is started; a row that
has none, because the Temporal cluster is another one, gets one; a change whose workflow was not
told, because the process that made it died, is told by a worker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import TypeVar

import structlog
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDConflictPolicy
from temporalio.service import RPCError

from activities.reminders.telling import summary_of
from storage import Storage, StorageError
from storage.reminders import Reminder, UntoldChange
from workflows.contracts import attributes
from workflows.contracts.base import TURNS_QUEUE, reminder_workflow_id
from workflows.contracts.invocation import REMINDER_WORKFLOW
from workflows.contracts.reminders import REMINDER_CHANGED_SIGNAL, ReminderInput

log = structlog.get_logger(__name__)

Item = TypeVar("Item", int, UntoldChange)

RPC_TIMEOUT = timedelta(seconds=10)
STARTS_AT_ONCE = 8
"""Workflows that are started at the same time: a few thousand must not crowd out the turns."""
TELL_INTERVAL = timedelta(minutes=1)
"""How late a change is noticed whose maker died. One small query, where there is none."""
RESTORE_INTERVAL = timedelta(hours=1)


async def start_reminder(
    temporal: Client, reminder: Reminder, *, changed: bool = False, queue: str = TURNS_QUEUE
) -> None:
    """Start the workflow, unless it runs; with `changed` it is told to look at its row again.

    Raises RPCError.
    """
    await temporal.start_workflow(
        REMINDER_WORKFLOW,
        ReminderInput(reminder_id=reminder.id),
        id=reminder_workflow_id(reminder.id),
        task_queue=queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        start_signal=REMINDER_CHANGED_SIGNAL if changed else None,
        static_summary=summary_of(reminder),
        search_attributes=TypedSearchAttributes(
            [
                SearchAttributePair(
                    attributes.GUILD, reminder.guild_id or attributes.DIRECT_MESSAGE_GUILD
                ),
                SearchAttributePair(attributes.CHANNEL, reminder.channel_id),
            ]
        ),
        rpc_timeout=RPC_TIMEOUT,
    )


async def restore_reminders(temporal: Client, storage: Storage, queue: str = TURNS_QUEUE) -> int:
    """Start the workflow of every stored reminder that has none. How many could not be started.

    Raises StorageError when it cannot even be read which there are.
    """

    async def restore(reminder_id: int) -> None:
        reminder = await storage.reminders.get(reminder_id)
        if reminder is not None:
            await start_reminder(temporal, reminder, queue=queue)

    return await _each(await storage.reminders.ids(), restore)


async def tell_changes(temporal: Client, storage: Storage, queue: str = TURNS_QUEUE) -> int:
    """Tell of every change that its workflow may not have heard of. How many could not be told.

    One that was told by whoever made it is told once more, and costs its workflow a look at the
    row. Raises StorageError when it cannot even be read which there are.
    """

    async def tell(change: UntoldChange) -> None:
        reminder = await storage.reminders.get(change.reminder_id)
        if reminder is not None:
            await start_reminder(temporal, reminder, changed=True, queue=queue)
            await storage.reminders.told(change)

    return await _each(await storage.reminders.untold(), tell)


async def keep_reminders(temporal: Client, storage: Storage) -> None:
    """Restore, and tell of changes, now and from time to time: beside the worker, until it is
    cancelled."""
    restore_at = 0.0
    while True:
        try:
            await tell_changes(temporal, storage)
            if time.monotonic() >= restore_at and not await restore_reminders(temporal, storage):
                restore_at = time.monotonic() + RESTORE_INTERVAL.total_seconds()
        except StorageError as error:
            log.warning("reminders.not_restored", reason=str(error))
        await asyncio.sleep(TELL_INTERVAL.total_seconds())


async def _each(items: list[Item], work: Callable[[Item], Awaitable[None]]) -> int:
    """Do `work` for each, a few at the same time. For how many it failed."""
    places = asyncio.Semaphore(STARTS_AT_ONCE)

    async def done(item: Item) -> bool:
        async with places:
            try:
                await work(item)
            except (RPCError, StorageError) as error:
                log.warning("reminder.not_reached", reminder=item, reason=str(error))
                return False
            return True

    outcomes: list[bool] = []
    for batch in _batches(items):
        outcomes += await asyncio.gather(*(done(item) for item in batch))
    return outcomes.count(False)


def _batches(items: list[Item], size: int = 200) -> Iterable[list[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))
