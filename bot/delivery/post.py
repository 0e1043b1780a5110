"""One message: send it under its nonce, and say what Discord made of it.

Uses the channel's id alone, so a bot that has just restarted sends without any cache. Each payload
carries the client's `allowed_mentions` (D56); discord.py adds `enforce_nonce`.

| Discord answers | Outcome |
|---|---|
| the message | `Posted` |
| 10008, or 50035 or 160002 about the reply, with a reply | sent again without it (D40) |
| 50013 to an embed | sent again as plain text: Embed Links is a permission of its own (D68) |
| 10008 without a reply | `Vanished`: sent before, and deleted since |
| 200000, 240000, 50006, 50035 and other 400s about the text | `Blocked`: another one may pass |
| 5xx, 429, slowmode, no answer | ApplicationError: Temporal tries again, the nonce stays |
| anything else | `Refused`: trying again would not help |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import discord

from bot.delivery.notices import mention, plain_notice
from bot.delivery.parts import Part
from bot.delivery.stop_view import stop_view
from bot.discord_faults import (
    FILTER_CODES,
    INVALID_FORM,
    MISSING_PERMISSIONS,
    NETWORK_FAULTS,
    REPLY_NEEDS_HISTORY,
    UNKNOWN_MESSAGE,
    describe,
    is_about_content,
    is_transient,
    try_again,
)
from workflows.contracts.delivery import OutgoingKind, Refusal
from workflows.contracts.tools import NoticeColour

COLOURS = {
    NoticeColour.INFO: discord.Colour(0x5B8DEF),
    NoticeColour.SUCCESS: discord.Colour(0x3FA66B),
    NoticeColour.AMBER: discord.Colour(0xE0A030),
    NoticeColour.RED: discord.Colour(0xD9534F),
}


@dataclass(frozen=True)
class Posted:
    message_id: str
    webhook_id: str | None = None
    """Of the webhook that said it."""


@dataclass(frozen=True)
class Vanished:
    """The message was created by an earlier attempt and deleted since: it counts as delivered."""


@dataclass(frozen=True)
class Blocked:
    """This text will not be taken; the channel takes others."""

    by_filter: bool
    """By AutoMod or another filter; else Discord finds it malformed."""
    description: str


@dataclass(frozen=True)
class Refused:
    refusal: Refusal
    description: str


Outcome: TypeAlias = Posted | Vanished | Blocked | Refused


async def post(
    channel: discord.PartialMessageable,
    part: Part,
    reply_to: str | None = None,
    mentions: discord.AllowedMentions | None = None,
) -> Outcome:
    """`mentions`: who may be pinged, in place of the client's rule. Raises ApplicationError
    (retryable) when it is not known whether the message arrived."""
    try:
        return Posted(await _create(channel, part, reply_to, mentions))
    except discord.HTTPException as error:
        if reply_to is not None and _is_about_the_reply(error):
            return await post(channel, part, mentions=mentions)
        if part.is_notice and error.code == MISSING_PERMISSIONS:
            return await _post_plain(channel, part, reply_to)
        return _judge(error)
    except NETWORK_FAULTS as error:
        raise try_again(error) from error


async def _post_plain(
    channel: discord.PartialMessageable, notice: Part, reply_to: str | None
) -> Outcome:
    # Its text may name members, whom an embed would not have pinged.
    text = plain_notice(notice.text, notice.title, notice.mention_user_id)
    plain = replace(notice, kind=OutgoingKind.TEXT, text=text)
    return await post(channel, plain, reply_to, _only(notice.mention_user_id))


def _only(user_id: str | None) -> discord.AllowedMentions:
    """Nobody is pinged but this one."""
    users = [discord.Object(int(user_id))] if user_id is not None else False
    return discord.AllowedMentions(everyone=False, roles=False, users=users, replied_user=False)


async def _create(
    channel: discord.PartialMessageable,
    part: Part,
    reply_to: str | None,
    mentions: discord.AllowedMentions | None,
) -> str:
    options = _payload(part)
    if mentions is not None:
        options["allowed_mentions"] = mentions
    if reply_to is not None:
        options["reference"] = discord.MessageReference(
            message_id=int(reply_to), channel_id=channel.id, fail_if_not_exists=False
        )
    message = await channel.send(nonce=part.nonce, mention_author=False, **options)
    return str(message.id)


def _payload(part: Part) -> dict[str, Any]:
    """What the message holds, as options of discord.py's `send`."""
    options: dict[str, Any] = {}
    if part.kind is OutgoingKind.STICKER:
        options["stickers"] = [discord.Object(int(part.sticker_id or 0))]
    elif part.is_notice:
        options["embed"] = discord.Embed(
            title=part.title or None, description=part.text or None, colour=COLOURS[part.colour]
        )
        if part.mention_user_id is not None:
            options["content"] = mention(part.mention_user_id)
            options["allowed_mentions"] = _only(part.mention_user_id)
    else:
        options["content"] = part.text
    if part.button_id is not None:
        options["view"] = stop_view(part.button_id)
    return options


def _is_about_the_reply(error: discord.HTTPException) -> bool:
    if error.code == INVALID_FORM:
        return "message_reference" in error.text
    return error.code in (UNKNOWN_MESSAGE, REPLY_NEEDS_HISTORY)


def _judge(error: discord.HTTPException) -> Outcome:
    if is_transient(error):
        raise try_again(error) from error
    if error.code == UNKNOWN_MESSAGE:
        return Vanished()
    if is_about_content(error):
        return Blocked(error.code in FILTER_CODES, describe(error))
    message = error.text.splitlines()[0] if error.text else "refused"
    return Refused(Refusal(code=error.code or error.status, message=message), describe(error))
