"""What all contracts share: the base model, the names of queues and ids."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

TURNS_QUEUE = "everturn-turns"
"""Task queue of the workers: workflows, and every activity that does not need Discord."""


class Contract(BaseModel):
    """Frozen, and tolerant of fields that a newer process has added."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def discord_queue(application_id: str) -> str:
    """Task queue of the one bot process that holds the connection of `application_id`."""
    return f"everturn-discord-{application_id}"


def channel_workflow_id(channel_id: str) -> str:
    return f"channel/{channel_id}"


def reminder_workflow_id(reminder_id: int) -> str:
    return f"reminder/{reminder_id}"


def server_key(guild_id: str | None, user_id: str) -> str:
    """What settings and memories belong to: a server, or the direct messages with one user
    (behaviour 2.1: a direct message is a server of its own, keyed by the user)."""
    return guild_id or f"dm{user_id}"


def turn_workflow_id(
    channel_id: str, trigger_message_id: str, persona_id: int, generation: int = 0
) -> str:
    """Id of a persona's turn. A gateway event that is delivered twice names the same turn.

    `generation` counts retries and regenerations of the same turn, from 1; 0 adds nothing.
    """
    base = f"turn/{channel_id}/{trigger_message_id}/{persona_id}"
    return f"{base}/{generation}" if generation else base


def synthetic_message_id(*parts: str) -> str:
    """A message id for a trigger that is no message of Discord's (a reminder, a task from another
    channel), made of what identifies it: the same parts always give the same id.

    It has 62 bits, as a snowflake has, so that it fits a turn's id and a message's nonce. That one
    of them meets a real id, or another one of the same channel, is as good as impossible.
    """
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    return str(int.from_bytes(digest[:8], "big") >> 2)


Input = TypeVar("Input", contravariant=True)
Result = TypeVar("Result", covariant=True)


@dataclass(frozen=True)
class ActivityStub(Generic[Input, Result]):
    """The name, input and result of an activity that is implemented elsewhere.

    Workflows call `workflows.activity_calls` with it; `activities` and `bot` implement it with
    `@activity.defn(name=STUB.name)`. So workflow code never imports I/O, and both sides are held
    to the same types.
    """

    name: str
    input_type: type[Input]
    result_type: type[Result]
