"""Delete messages: take away what a failed attempt had shown.

In: `DeleteRequest`. Out: how many went. Idempotent: a message that is gone already is no fault.
What a webhook said goes through that webhook (D61); where it is gone, or moved away, by the bot's
right to delete what others wrote, if it has that, and else it stays.
A message whose id nobody knows is found by its Stop button, whose id is like no other.
Where Discord refuses, deletion stops, is logged, and the turn goes on.
"""

from __future__ import annotations

import discord
import structlog
from temporalio import activity

from bot.delivery.post_by_webhook import delete_by_webhook
from bot.discord_faults import (
    NETWORK_FAULTS,
    UNKNOWN_MESSAGE,
    describe,
    is_transient,
    try_again,
)
from bot.webhooks import GONE, ManagedWebhooks
from runtime.heartbeat import heartbeating
from workflows.contracts.delivery import DELETE_MESSAGES, DeleteRequest, DeleteResult

LOOKED_AT = 200
"""Messages in which a Stop button is looked for: what a busy channel says in a long turn."""

log = structlog.get_logger(__name__)


class DeleteActivities:
    def __init__(self, client: discord.Client, webhooks: ManagedWebhooks) -> None:
        self._client = client
        self._webhooks = webhooks

    @activity.defn(name=DELETE_MESSAGES.name)
    async def delete_messages(self, request: DeleteRequest) -> DeleteResult:
        """Raises ApplicationError (retryable) while Discord does not answer."""
        channel = self._client.get_partial_messageable(int(request.channel_id))
        deleted = 0
        async with heartbeating():
            message_ids = list(request.message_ids)
            if request.stop_button_id is not None:
                message_ids += await self._with_button(channel, request)
            for message_id in message_ids:
                webhook_id = request.webhook_ids.get(message_id)
                try:
                    if webhook_id is None or not await self._by_webhook(
                        webhook_id, request.channel_id, message_id
                    ):
                        await channel.get_partial_message(int(message_id)).delete()
                    deleted += 1
                except discord.HTTPException as error:
                    if error.code == UNKNOWN_MESSAGE:
                        continue
                    if is_transient(error):
                        raise try_again(error) from error
                    log.warning(
                        "deletion refused", channel=request.channel_id, error=describe(error)
                    )
                    if webhook_id is None:
                        break
                except NETWORK_FAULTS as error:
                    raise try_again(error) from error
        return DeleteResult(deleted=deleted)

    async def _by_webhook(self, webhook_id: str, channel_id: str, message_id: str) -> bool:
        """False when the webhook is gone, or finds no such message, which may still stand there: it
        knows those of the channel where it stands. Raises what discord.py raises."""
        webhook = await self._webhooks.by_id(webhook_id, channel_id)
        if webhook is None:
            return False
        try:
            await delete_by_webhook(self._webhooks.once, webhook, message_id)
        except discord.HTTPException as error:
            if error.code not in GONE | {UNKNOWN_MESSAGE}:
                raise
            self._webhooks.forget(webhook)
            return False
        return True

    async def _with_button(
        self, channel: discord.PartialMessageable, request: DeleteRequest
    ) -> list[str]:
        """Ids of our messages that carry the request's Stop button."""
        after = discord.Object(int(request.after_message_id)) if request.after_message_id else None
        try:
            return [
                str(message.id)
                async for message in channel.history(
                    limit=LOOKED_AT, after=after, oldest_first=after is not None
                )
                if request.stop_button_id in _buttons(message)
            ]
        except discord.HTTPException as error:
            if is_transient(error):
                raise try_again(error) from error
            log.warning("deletion refused", channel=request.channel_id, error=describe(error))
            return []
        except NETWORK_FAULTS as error:
            raise try_again(error) from error


def _buttons(message: discord.Message) -> list[str | None]:
    return [
        button.custom_id
        for row in message.components
        if isinstance(row, discord.ActionRow)
        for button in row.children
    ]
