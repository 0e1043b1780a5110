"""Reconcile: what of a batch the channel holds already (D20).

When the window in which Discord knows a nonce has passed, sending again would duplicate; a webhook
knows no nonce at all. So the channel is read, and what the bot's account and the persona's webhook
have said there since this turn began, or since its last known message, is matched with what the
batch says: in order, each message once. What is left is missing, and is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import discord

from bot.delivery.notices import is_notice, plain_notice
from bot.delivery.parts import Part
from bot.delivery.signatures import without_name, without_reply_line
from workflows.contracts.delivery import OutgoingKind, SendRequest, SentMessage

READ_LIMIT = 1000
"""Messages read at most: what a busy channel says while a bot is away for long."""


@dataclass(frozen=True)
class Said:
    """A message of our account, or of the persona's webhook, as it stands in the channel."""

    message_id: str
    kind: OutgoingKind
    """TEXT, NOTICE (also one that the turn calls WORKING), or STICKER."""
    text: str
    reply_to: str | None = None
    title: str = ""
    sticker_ids: frozenset[str] = frozenset()
    webhook_id: str | None = None
    signed: str | None = None
    """`text` without what stood before the persona's words, if anything did."""


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
                        ordinal=part.ordinal,
                        part=part.part,
                        message_id=candidate.message_id,
                        webhook_id=candidate.webhook_id,
                    )
                )
                position = index + 1
                break
    return found


def _says(candidate: Said, part: Part) -> bool:
    said = candidate.text.strip()
    if part.kind is OutgoingKind.STICKER:
        if candidate.webhook_id is not None:
            return f"/{part.sticker_id}." in said
        return candidate.kind is part.kind and part.sticker_id in candidate.sticker_ids
    if part.is_notice:
        if candidate.webhook_id is not None:
            return False
        if candidate.kind is OutgoingKind.NOTICE:
            return (candidate.title.strip(), said) == (part.title.strip(), part.text.strip())
        plain = plain_notice(part.text, part.title, part.mention_user_id)
        return candidate.kind is OutgoingKind.TEXT and said == plain
    signed = candidate.signed.strip() if candidate.signed is not None else said
    return candidate.kind is part.kind and part.text.strip() in (said, signed)


async def said_since(
    channel: discord.PartialMessageable,
    floor: int,
    own_id: int,
    name: str = "",
    by_persona: Callable[[discord.Message], bool] = lambda message: False,
) -> list[Said]:
    """What was said after the message `floor` that may be this turn's: by our account, or by a
    webhook where `by_persona` says so. `name`: of a persona that is not the main one. Raises what
    discord.py raises."""
    messages = [
        message
        async for message in channel.history(
            limit=READ_LIMIT, after=discord.Object(floor), oldest_first=True
        )
    ]
    return list(_ours(messages, own_id, name, by_persona))


def floor_of(request: SendRequest, sent: Iterable[SentMessage] = ()) -> int:
    """Id of the newest message that this batch is surely younger than: the trigger; what stood in
    the channel when the turn began, since a queued turn's trigger is older than the answer before
    it; and what the turn has sent, `sent` of this batch included, since it sends in order."""
    older = [request.trigger_message_id, *request.sent_before]
    older += [message.message_id for message in sent]
    if request.after_message_id is not None:
        older.append(request.after_message_id)
    return max(int(message_id) for message_id in older)


def _ours(
    messages: Iterable[discord.Message],
    own_id: int,
    name: str,
    by_persona: Callable[[discord.Message], bool],
) -> Iterable[Said]:
    for message in messages:
        message_id, content, embeds = str(message.id), message.content, message.embeds
        if message.webhook_id is not None:
            if content and by_persona(message):
                yield Said(
                    message_id,
                    OutgoingKind.TEXT,
                    content,
                    webhook_id=str(message.webhook_id),
                    signed=without_reply_line(content)[0],
                )
            continue
        if message.author.id != own_id:
            continue
        reference = message.reference
        reply_to = str(reference.message_id) if reference and reference.message_id else None
        if message.stickers:
            ids = frozenset(str(sticker.id) for sticker in message.stickers)
            yield Said(message_id, OutgoingKind.STICKER, "", reply_to, sticker_ids=ids)
        elif embeds and is_notice(content, has_embeds=True):
            text, title = embeds[0].description or "", embeds[0].title or ""
            yield Said(message_id, OutgoingKind.NOTICE, text, reply_to, title)
        elif content:
            signed = without_name(content, name) if name else None
            yield Said(message_id, OutgoingKind.TEXT, content, reply_to, signed=signed)
