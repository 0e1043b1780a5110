"""What each iteration of a turn's tool loop adds to its history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from temporalio.client import WorkflowHandle

from workflows.contracts.generation import CALL_MODEL


@dataclass
class Iteration:
    """From one call of the model to the next."""

    events: int = 0
    bytes: int = 0
    """Of the events as the server sends them."""


async def iterations(handle: WorkflowHandle[Any, Any]) -> list[Iteration]:
    """One for each call of the model that another one follows, in order."""
    found: list[Iteration] = []
    async for event in handle.fetch_history_events():
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == CALL_MODEL.name:
            found.append(Iteration())
        if found:
            found[-1].events += 1
            found[-1].bytes += event.ByteSize()
    return found[:-1]  # the last one also holds the end of the turn


def around(found: list[Iteration], number: int) -> Iteration:
    """The mean of five iterations up to `number` (from 1): a single one may hold a retried task."""
    some = found[max(0, number - 5) : number]
    return Iteration(
        events=round(sum(each.events for each in some) / len(some)),
        bytes=round(sum(each.bytes for each in some) / len(some)),
    )
