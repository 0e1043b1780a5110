"""Reconcile: what of a batch the channel holds already (D20).

When the window in which Discord knows a nonce has passed, sending again would duplicate. So the
channel is read, and what our account has said there since this turn began, or since its last known
message, is matched with what the batch says: in order, each message once. What is left is missing,
and is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import discord

from bot.delivery.notices import is_notice, plain_notice
from bot.delivery.parts import Part
from workflows.contracts.delivery import OutgoingKind, SendRequest, SentMessage

READ_LIMIT = 1000
"""Messages read at most: what a busy channel says while a bot is away for long."""


@dataclass(frozen=True)
class Said:
    """A message of our account, as it stands in the channel."""

    message_id: str
    kind: OutgoingKind
    """TEXT, NOTICE (also one that the turn calls WORKING), or STICKER."""
    text: str
    reply_to: str | None = None
    title: str = ""
    sticker_ids: frozenset[str] = frozenset()


def match(
    parts: Sequence[Part], said: Sequence[Said], reply_to: str | None = None
) -> list[SentMessage]:
    """The parts that stand in the channel. `said` is oldest first; a message matches one part, and
    no part matches a message before an earlier part's. A message that replies to another one than
    `reply_to` is not this batch's; one that does not reply may be, since a reply to a message that
    is gone is sent without it."""
    found: list[SentMessage] = []
    position = 0
    for part in parts:
        for index in range(position, len(said)):
            candidate = said[index]
            if candidate.reply_to in (None, reply_to) and _says(candidate, part):
                found.append(
                    SentMessage(
                        ordinal=part.ordinal, part=part.part, message_id=candidate.message_id
                    )
                )
                position = index + 1
                break
    return found


def _says(candidate: Said, part: Part) -> bool:
    said = candidate.text.strip()
    if part.kind is OutgoingKind.STICKER:
        return candidate.kind is part.kind and part.sticker_id in candidate.sticker_ids
    if part.is_notice:
        if candidate.kind is OutgoingKind.NOTICE:
            return (candidate.title.strip(), said) == (part.title.strip(), part.text.strip())
        plain = plain_notice(part.text, part.title, part.mention_user_id)
        return candidate.kind is OutgoingKind.TEXT and said == plain
    return candidate.kind is part.kind and said == part.text.strip()


async def said_since(
    channel: discord.PartialMessageable, request: SendRequest, own_id: int
) -> list[Said]:
    """What our account has said that may be this turn's. Raises what discord.py raises."""
    messages = [
        message
        async for message in channel.history(
            limit=READ_LIMIT, after=discord.Object(floor_of(request)), oldest_first=True
        )
    ]
    return list(_own(messages, own_id))


def floor_of(request: SendRequest) -> int:
    """Id of the newest message that this batch is surely younger than: the trigger; what stood in
    the channel when the turn began, since a queued turn's trigger is older than the answer before
    it; and what the turn has sent, since it sends in order."""
    older = [request.trigger_message_id, *request.sent_before]
    if request.after_message_id is not None:
        older.append(request.after_message_id)
    return max(int(message_id) for message_id in older)


def _own(messages: Iterable[discord.Message], own_id: int) -> Iterable[Said]:
    for message in messages:
        if message.author.id != own_id or message.webhook_id is not None:
            continue
        reference = message.reference
        reply_to = str(reference.message_id) if reference and reference.message_id else None
        message_id, embeds = str(message.id), message.embeds
        if message.stickers:
            ids = frozenset(str(sticker.id) for sticker in message.stickers)
            yield Said(message_id, OutgoingKind.STICKER, "", reply_to, sticker_ids=ids)
        elif embeds and is_notice(message.content, has_embeds=True):
            text, title = embeds[0].description or "", embeds[0].title or ""
            yield Said(message_id, OutgoingKind.NOTICE, text, reply_to, title)
        elif message.content:
            yield Said(message_id, OutgoingKind.TEXT, message.content, reply_to)
