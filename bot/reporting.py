"""Report back: a task from another channel is over; tell the channel that asked (behaviour 12).

In: `ReportBack`. Out: nothing. Changes: writes one blob; signals the source channel with a
synthetic invocation. What always holds: one report is answered once, however often it is signalled,
since its message id is the boomerang's; a channel that cannot be read is reported without messages;
what members said whom no persona reads is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import discord
import structlog
from temporalio import activity

from bot.discord_faults import NETWORK_FAULTS, describe, is_transient, try_again
from bot.port.client_port import ClientPort
from runtime.heartbeat import heartbeating
from storage import Storage
from storage.config import Privacy
from text.labels import Named, author_label, labels_beside
from workflows.contracts.delivery import REPORT_BACK, Nothing, ReportBack
from workflows.contracts.discord_port import DiscordRefused
from workflows.contracts.history import HistoryMessage
from workflows.contracts.invocation import BoomerangReport, ChatIncoming, InvocationEnd, Origin
from workflows.contracts.tools import CROSS_CHANNEL_MESSAGE

log = structlog.get_logger(__name__)

MESSAGES = 10
MESSAGE_LIMIT = 1_500
"""Code points of one message, its author included."""
CONTENT_LIMIT = 4_000
"""Code points of an invocation's text, as of a message's."""
READ_ATTEMPTS = 3
"""After so many, the report goes out without what was said."""

OUTCOMES = {
    InvocationEnd.ANSWERED: "It was done: an answer was given there.",
    InvocationEnd.STOPPED: "It was stopped there before it was finished.",
    InvocationEnd.FAILED: "It failed there; what it had said before may stand in the messages.",
    InvocationEnd.REFUSED: "It never began: a rule of the server's kept it from being done there.",
    InvocationEnd.DISCARDED: "It never began: there was nobody to take it up, or no place for it.",
}
UNREADABLE = " What was said there could not be read."


class ReportingActivities:
    def __init__(self, port: ClientPort, storage: Storage) -> None:
        self._port = port
        self._storage = storage

    @activity.defn(name=REPORT_BACK.name)
    async def report_back(self, request: ReportBack) -> Nothing:
        """Raises what is worth another attempt: Temporal or the database is away, or, the first
        times, Discord."""
        async with heartbeating():
            said = await self._last_messages(request.channel_id)
            outcome = OUTCOMES[request.end]
            report = BoomerangReport(
                target_channel_id=request.channel_id,
                target_channel_name=request.channel_name,
                task=request.task,
                outcome=outcome if said is not None else outcome + UNREADABLE,
                messages=said or [],
            )
            report_id = await self._storage.blobs.put_model("boomerang_report", report)
            await self._port.signal(invocation(request, report_id))
        return Nothing()

    async def _last_messages(self, channel_id: str) -> list[str] | None:
        """None: they cannot be read."""
        try:
            messages = await self._port.read_messages(channel_id, MESSAGES)
        except DiscordRefused as error:
            cause = error.__cause__
            transient = isinstance(cause, NETWORK_FAULTS) or (
                isinstance(cause, discord.HTTPException) and is_transient(cause)
            )
            if isinstance(cause, Exception):
                if transient and activity.info().attempt < READ_ATTEMPTS:
                    raise try_again(cause) from error
                log.warning("a report has no messages", channel=channel_id, error=describe(cause))
            return None
        return lines(await self._readable(messages))

    async def _readable(self, messages: Sequence[HistoryMessage]) -> list[HistoryMessage]:
        """Without those of members whom no persona reads (behaviour 6.1, step 2)."""
        authors = {message.author_id for message in messages if not message.is_bot}
        users = await self._storage.configs.users(authors)
        unread = {author for author, user in users.items() if user.privacy is Privacy.FULL}
        return [message for message in messages if message.author_id not in unread]


def lines(messages: Sequence[HistoryMessage]) -> list[str]:
    """For each `Author: text`, with the names of its files; at most MESSAGE_LIMIT code points."""
    own_names = {message.author_name for message in messages if message.is_self}
    others = {
        message.author_id: Named(message.author_id, message.author_name, message.is_bot)
        for message in messages
        if not message.is_self
    }
    labels = labels_beside(others.values(), own_names)
    return [
        line(
            author_label(message.author_name) if message.is_self else labels[message.author_id],
            message,
        )
        for message in messages
    ]


def line(author: str, message: HistoryMessage) -> str:
    files = [f"[{name}]" for name in message.attachments]
    return f"{author}: {' '.join([message.content, *files]).strip()}"[:MESSAGE_LIMIT]


def invocation(request: ReportBack, report_id: str) -> ChatIncoming:
    """The report's own turn, in the channel that asked and as the persona that asked."""
    source = request.boomerang
    return ChatIncoming(
        application_id=request.application_id,
        channel_id=source.channel_id,
        message_id=source.message_id,
        author_id=request.user_id,
        author_name=request.user_name,
        content=request.task[:CONTENT_LIMIT],
        guild_id=None if source.is_dm else request.guild_id,
        guild_name="" if source.is_dm else request.guild_name,
        channel_name=source.channel_name,
        is_dm=source.is_dm,
        is_thread=source.is_thread,
        bot_user_id=request.bot_user_id,
        origin=Origin.BOOMERANG,
        selected_persona_id=source.persona_id,
        disabled_tools=[CROSS_CHANNEL_MESSAGE],
        report_id=report_id,
    )
