"""The way to the workflow that waits for a reminder.

In: a stored reminder. Out: a running `ReminderWorkflow`, or one that has been told that its row has
changed. What always holds: one workflow for a reminder, however often it is started; a row that
has none, because a process died or the Temporal cluster is another one, gets one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import structlog
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDConflictPolicy
from temporalio.service import RPCError

from storage import Storage, StorageError
from storage.reminders import Reminder
from workflows.contracts import attributes
from workflows.contracts.base import TURNS_QUEUE, reminder_workflow_id
from workflows.contracts.invocation import REMINDER_WORKFLOW
from workflows.contracts.reminders import REMINDER_CHANGED_SIGNAL, ReminderInput

log = structlog.get_logger(__name__)

RPC_TIMEOUT = timedelta(seconds=10)
STARTS_AT_ONCE = 8
"""Workflows that are started at the same time: a few thousand must not crowd out the turns."""
RESTORE_INTERVAL = timedelta(hours=1)
RESTORE_AGAIN = timedelta(seconds=30)
"""After a round in which the database or Temporal failed."""


async def start_reminder(
    temporal: Client, reminder: Reminder, *, changed: bool = False, queue: str = TURNS_QUEUE
) -> None:
    """Start the workflow, unless it runs; with `changed` it is told to look at its row again.

    Raises RPCError.
    """
    place = "a direct message" if reminder.is_dm else f"#{reminder.channel_name}"
    await temporal.start_workflow(
        REMINDER_WORKFLOW,
        ReminderInput(reminder_id=reminder.id),
        id=reminder_workflow_id(reminder.id),
        task_queue=queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        start_signal=REMINDER_CHANGED_SIGNAL if changed else None,
        static_summary=f"Reminder {reminder.id} in {place}",
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
    places = asyncio.Semaphore(STARTS_AT_ONCE)
    outcomes = [True]

    async def restore(reminder_id: int) -> bool:
        async with places:
            try:
                reminder = await storage.reminders.get(reminder_id)
                if reminder is not None:
                    await start_reminder(temporal, reminder, queue=queue)
            except (RPCError, StorageError) as error:
                log.warning("reminder.not_started", reminder=reminder_id, reason=str(error))
                return False
            return True

    for batch in _batches(await storage.reminders.ids()):
        outcomes += await asyncio.gather(*(restore(reminder_id) for reminder_id in batch))
    return outcomes.count(False)


async def keep_reminders(temporal: Client, storage: Storage) -> None:
    """Restore now, and from time to time: beside the worker, until it is cancelled."""
    while True:
        try:
            failed = await restore_reminders(temporal, storage)
        except StorageError as error:
            log.warning("reminders.not_restored", reason=str(error))
            failed = 1
        pause = RESTORE_AGAIN if failed else RESTORE_INTERVAL
        await asyncio.sleep(pause.total_seconds())


def _batches(ids: list[int], size: int = 200) -> Iterable[list[int]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
