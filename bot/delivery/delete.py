"""Delete messages: take away what a failed attempt had shown.

In: `DeleteRequest`. Out: how many went. Idempotent: a message that is gone already is no fault.
Where Discord refuses, deletion stops, is logged, and the turn goes on.
"""

from __future__ import annotations

import discord
import structlog
from temporalio import activity

from bot.discord_faults import (
    NETWORK_FAULTS,
    UNKNOWN_MESSAGE,
    describe,
    is_transient,
    try_again,
)
from runtime.heartbeat import heartbeating
from workflows.contracts.delivery import DELETE_MESSAGES, DeleteRequest, DeleteResult

log = structlog.get_logger(__name__)


class DeleteActivities:
    def __init__(self, client: discord.Client) -> None:
        self._client = client

    @activity.defn(name=DELETE_MESSAGES.name)
    async def delete_messages(self, request: DeleteRequest) -> DeleteResult:
        """Raises ApplicationError (retryable) while Discord does not answer."""
        channel = self._client.get_partial_messageable(int(request.channel_id))
        deleted = 0
        async with heartbeating():
            for message_id in request.message_ids:
                try:
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
                    break
                except NETWORK_FAULTS as error:
                    raise try_again(error) from error
        return DeleteResult(deleted=deleted)
