"""One message through a persona's webhook: said once, under its name, and what Discord made of it.

A webhook knows no nonce, so nothing here is tried twice unless Discord has said that it did not
happen. Each payload carries the client's `allowed_mentions` (D56), and `wait=true`: without it
Discord answers before it has stored anything, and a failure stays unseen.

| Discord answers | Outcome |
|---|---|
| the message | `Posted` |
| the message, in another channel | `Astray`: the webhook was moved there |
| 10015, 50027 | `Gone`: this webhook, or its token, is no more (D61) |
| 10003 to what goes into a thread | `Gone`: from the thread's channel, or the thread is |
| 50035 about the avatar | sent again without it |
| 50035 about the name | `Unnameable`: Discord lets nobody speak under it |
| 200000, 240000, 50006, 50035 and other 400s about the text | `Blocked`: another one may pass |
| 429 | ApplicationError: nothing was made, Temporal tries again |
| 5xx, no answer | `UnclearError`: look before anything is sent again |
| anything else | `Refused` |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import discord

from bot.delivery.once import OneAttempt
from bot.delivery.post import Blocked, Posted, Refused
from bot.discord_faults import (
    FILTER_CODES,
    INVALID_FORM,
    NETWORK_FAULTS,
    TRANSIENT_CODES,
    TRANSIENT_STATUSES,
    UNKNOWN_CHANNEL,
    describe,
    is_about_content,
    try_again,
)
from bot.webhooks import GONE, ManagedWebhook
from text.usernames import username_of
from workflows.contracts.delivery import Refusal
from workflows.contracts.identity import Voice

_NOT_DONE = TRANSIENT_STATUSES - {408}
"""Answers that say that nothing was made."""
LONGEST_ADDRESS = 2048
"""Characters of an avatar's URL that Discord takes."""


class UnclearError(Exception):
    """It is not known whether the message was made."""


@dataclass(frozen=True)
class Gone:
    """Discord does not know the webhook any more, or not here; nothing was made."""


@dataclass(frozen=True)
class Astray:
    """The message stands in a channel that it was not for."""

    channel_id: str
    message_id: str


@dataclass(frozen=True)
class Unnameable:
    """Discord does not take the persona's name; nothing was made."""

    description: str


WebhookOutcome: TypeAlias = Posted | Astray | Gone | Unnameable | Blocked | Refused


async def post_by_webhook(
    once: OneAttempt,
    webhook: ManagedWebhook,
    voice: Voice,
    content: str,
    mentions: discord.AllowedMentions | None,
) -> WebhookOutcome:
    """Raises UnclearError, and ApplicationError (retryable) when nothing was made for now."""
    body: dict[str, Any] = {
        "content": content,
        "username": username_of(voice.name),
        "allowed_mentions": allowed(mentions),
    }
    if voice.avatar_url and len(voice.avatar_url) <= LONGEST_ADDRESS:
        body["avatar_url"] = voice.avatar_url
    try:
        return await _execute(once, webhook, body)
    except discord.HTTPException as error:
        if error.code in GONE:
            return Gone()
        if error.code == UNKNOWN_CHANNEL and webhook.thread_id is not None:
            return Gone()
        if error.code == INVALID_FORM and "avatar_url" in body and "avatar_url" in error.text:
            plain = voice.model_copy(update={"avatar_url": None})
            return await post_by_webhook(once, webhook, plain, content, mentions)
        if error.code == INVALID_FORM and "username" in error.text:
            return Unnameable(describe(error))
        return _judge(error)
    except discord.RateLimited as error:
        raise try_again(error) from error
    except NETWORK_FAULTS as error:
        raise UnclearError(describe(error)) from error


async def edit_by_webhook(
    once: OneAttempt, webhook: ManagedWebhook, message_id: str, content: str
) -> None:
    """Replace the words of one of its messages; nobody is pinged. Raises what discord.py raises."""
    await once.request(
        "PATCH",
        f"{webhook.path}/messages/{message_id}",
        bucket=f"change/{webhook.id}",
        body={"content": content, "allowed_mentions": {"parse": []}},
        params=webhook.place,
    )


async def delete_by_webhook(once: OneAttempt, webhook: ManagedWebhook, message_id: str) -> None:
    """Raises what discord.py raises."""
    await once.request(
        "DELETE",
        f"{webhook.path}/messages/{message_id}",
        bucket=f"change/{webhook.id}",
        params=webhook.place,
    )


def allowed(mentions: discord.AllowedMentions | None) -> dict[str, Any]:
    """Whom a webhook's message may ping, as JSON. It replies to nobody."""
    rule: dict[str, Any] = dict(mentions.to_dict()) if mentions is not None else {"parse": []}
    rule.pop("replied_user", None)
    return rule


async def _execute(
    once: OneAttempt, webhook: ManagedWebhook, body: dict[str, Any]
) -> Posted | Astray:
    made = await once.request(
        "POST",
        webhook.path,
        bucket=f"say/{webhook.id}",
        body=body,
        params={"wait": "true", **webhook.place},
    )
    try:
        message_id, channel_id = str(int(made["id"])), str(int(made["channel_id"]))
    except (KeyError, TypeError, ValueError):
        raise UnclearError("Discord answered without the message") from None
    if channel_id != (webhook.thread_id or webhook.channel_id):
        return Astray(channel_id, message_id)
    return Posted(message_id, webhook.id)


def _judge(error: discord.HTTPException) -> WebhookOutcome:
    if error.status in _NOT_DONE or error.code in TRANSIENT_CODES:
        raise try_again(error) from error
    if error.status >= 500 or error.status == 408:
        raise UnclearError(describe(error)) from error
    if is_about_content(error):
        return Blocked(error.code in FILTER_CODES, describe(error))
    message = error.text.splitlines()[0] if error.text else "refused"
    return Refused(Refusal(code=error.code or error.status, message=message), describe(error))
