"""One message: send it under its nonce, and say what Discord made of it.

Uses the channel's id alone, so a bot that has just restarted sends without any cache. Each payload
carries the client's `allowed_mentions` (D56); discord.py adds `enforce_nonce`.

| Discord answers | Outcome |
|---|---|
| the message | `Posted` |
| 10008, or 50035 or 160002 about the reply, with a reply | sent again without it (D40) |
| 10008 without a reply | `Vanished`: sent before, and deleted since |
| 200000, 240000 | `Blocked`: AutoMod or the link filter took exception to this text |
| 5xx, 429, slowmode, no answer | ApplicationError: Temporal tries again, the nonce stays |
| anything else | `Refused`: trying again would not help |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import discord

from bot.delivery.parts import Part
from bot.discord_faults import (
    AUTOMOD_BLOCKED,
    HARMFUL_LINK,
    INVALID_FORM,
    NETWORK_FAULTS,
    REPLY_NEEDS_HISTORY,
    UNKNOWN_MESSAGE,
    describe,
    is_transient,
    try_again,
)
from workflows.contracts.delivery import OutgoingKind, Refusal

NOTICE_COLOUR = discord.Colour(0xE0A030)


@dataclass(frozen=True)
class Posted:
    message_id: str


@dataclass(frozen=True)
class Vanished:
    """The message was created by an earlier attempt and deleted since: it counts as delivered."""


@dataclass(frozen=True)
class Blocked:
    code: int
    description: str


@dataclass(frozen=True)
class Refused:
    refusal: Refusal
    description: str


Outcome: TypeAlias = Posted | Vanished | Blocked | Refused


async def post(
    channel: discord.PartialMessageable, part: Part, reply_to: str | None = None
) -> Outcome:
    """Raises ApplicationError (retryable) when it is not known whether the message arrived."""
    try:
        return Posted(await _create(channel, part, reply_to))
    except discord.HTTPException as error:
        if reply_to is not None and _is_about_the_reply(error):
            return await post(channel, part)
        return _judge(error)
    except NETWORK_FAULTS as error:
        raise try_again(error) from error


async def _create(channel: discord.PartialMessageable, part: Part, reply_to: str | None) -> str:
    options: dict[str, Any] = {"nonce": part.nonce, "mention_author": False}
    if part.kind is OutgoingKind.NOTICE:
        options["embed"] = discord.Embed(description=part.text, colour=NOTICE_COLOUR)
    else:
        options["content"] = part.text
    if reply_to is not None:
        options["reference"] = discord.MessageReference(
            message_id=int(reply_to), channel_id=channel.id, fail_if_not_exists=False
        )
    message = await channel.send(**options)
    return str(message.id)


def _is_about_the_reply(error: discord.HTTPException) -> bool:
    if error.code == INVALID_FORM:
        return "message_reference" in error.text
    return error.code in (UNKNOWN_MESSAGE, REPLY_NEEDS_HISTORY)


def _judge(error: discord.HTTPException) -> Outcome:
    if is_transient(error):
        raise try_again(error) from error
    if error.code == UNKNOWN_MESSAGE:
        return Vanished()
    if error.code in (AUTOMOD_BLOCKED, HARMFUL_LINK):
        return Blocked(error.code, describe(error))
    message = error.text.splitlines()[0] if error.text else "refused"
    return Refused(Refusal(code=error.code or error.status, message=message), describe(error))
