"""Reconcile: what of a batch the channel holds already (D20).

When the window in which Discord knows a nonce has passed, sending again would duplicate. So the
channel is read, and what our account has said there since this turn's last known message is matched
with what the batch says: in order, each message once. What is left is missing, and is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import discord

from bot.delivery.parts import Part
from workflows.contracts.delivery import OutgoingKind, SendRequest, SentMessage

READ_LIMIT = 1000
"""Messages read at most: what a busy channel says while a bot is away for long."""


@dataclass(frozen=True)
class Said:
    """A message of our account, as it stands in the channel."""

    message_id: str
    kind: OutgoingKind
    text: str


def match(parts: Sequence[Part], said: Sequence[Said]) -> list[SentMessage]:
    """The parts that stand in the channel. `said` is oldest first; a message matches one part, and
    no part matches a message before an earlier part's."""
    found: list[SentMessage] = []
    position = 0
    for part in parts:
        for index in range(position, len(said)):
            candidate = said[index]
            if candidate.kind is part.kind and candidate.text.strip() == part.text.strip():
                found.append(
                    SentMessage(
                        ordinal=part.ordinal, part=part.part, message_id=candidate.message_id
                    )
                )
                position = index + 1
                break
    return found


async def said_since(
    channel: discord.PartialMessageable, request: SendRequest, own_id: int
) -> list[Said]:
    """What our account has said after the trigger, and after all that is known to be sent: a turn
    sends in order, so its unknown messages are younger than its known ones. Raises what discord.py
    raises."""
    known = [int(message_id) for message_id in request.sent_before]
    after = max([int(request.trigger_message_id), *known])
    messages = [
        message
        async for message in channel.history(
            limit=READ_LIMIT, after=discord.Object(after), oldest_first=True
        )
    ]
    return list(_own(messages, own_id))


def _own(messages: Iterable[discord.Message], own_id: int) -> Iterable[Said]:
    for message in messages:
        if message.author.id != own_id or message.webhook_id is not None:
            continue
        if message.content:
            yield Said(str(message.id), OutgoingKind.TEXT, message.content)
        elif message.embeds and message.embeds[0].description:
            yield Said(str(message.id), OutgoingKind.NOTICE, message.embeds[0].description)
