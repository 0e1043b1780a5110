"""`DiscordPort` over the bot's own client, for the tools that run in this process.

In: ids and text from tools, whose values a model wrote. Out: facts, or DiscordRefused with a
sentence for it. What always holds: what is sent pings no crowd, and a repeated send of the same
nonce creates nothing twice; nothing is assumed that Discord can be asked.
"""

from __future__ import annotations

import asyncio

import discord
import structlog
from discord.enums import ChannelType
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from bot.delivery.parts import Part, limit_of
from bot.delivery.post import Blocked, Posted, Refused
from bot.delivery.post_by_webhook import UnclearError, delete_by_webhook, edit_by_webhook
from bot.delivery.speaking import Mouth, Speaking
from bot.discord_faults import CANNOT_EDIT_OTHERS, MISSING_PERMISSIONS, UNKNOWN_MESSAGE, describe
from bot.dispatch import Dispatcher
from bot.history import as_history, stored
from bot.port import commands as slash_commands
from bot.port import emoji as emojis
from bot.port import files, places, standing
from bot.port.places import snowflake
from bot.port.refusing import UNREACHABLE, refusing, sentence_for
from bot.refusals import RefusalMemory
from bot.speakers import Speakers
from bot.webhooks import ManagedWebhook, ManagedWebhooks
from text.mentions import neutralise
from text.split import MESSAGE_LIMIT, split_message
from text.tables import render_tables
from workflows.contracts.delivery import OutgoingKind, base36
from workflows.contracts.discord_port import (
    ChannelFacts,
    CommandFacts,
    DiscordRefused,
    MemberFacts,
)
from workflows.contracts.history import HistoryMessage
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import ChatIncoming

log = structlog.get_logger(__name__)

NONCE_PREFIX = 22
MOST_READ = 100
"""Messages in one request."""
UNSPOKEN = 15
"""Messages read beyond those asked for, since some say nothing in anybody's voice."""
LONGEST_TEXT = 20_000
"""Code points of one reply, or of a thread's first message: ten messages."""
THREAD_NAME = 100
ARCHIVE_AFTER = 1440
"""Minutes without a message."""


class ClientPort:
    def __init__(
        self,
        client: discord.Client,
        dispatcher: Dispatcher,
        refusals: RefusalMemory,
        webhooks: ManagedWebhooks,
    ) -> None:
        self._client = client
        self._webhooks = webhooks
        self._speaking = Speaking(client, webhooks)
        self._dispatcher = dispatcher
        self._refusals = refusals

    # looking

    async def commands(self) -> list[CommandFacts]:
        return await slash_commands.commands(self._client)

    async def find_channels(self, guild_id: str, query: str) -> list[ChannelFacts]:
        return await places.find_channels(self._client, guild_id, query)

    async def find_members(self, guild_id: str, query: str) -> list[MemberFacts]:
        return await places.find_members(self._client, guild_id, query)

    async def permissions(self, guild_id: str, channel_id: str, user_id: str) -> frozenset[str]:
        return await standing.permissions(self._client, guild_id, channel_id, user_id)

    async def guild_permissions(self, guild_id: str, user_id: str) -> frozenset[str]:
        return await standing.guild_permissions(self._client, guild_id, user_id)

    async def is_member(self, guild_id: str, user_id: str) -> bool:
        return await standing.is_member(self._client, guild_id, user_id)

    async def read_messages(self, channel_id: str, limit: int) -> list[HistoryMessage]:
        wanted = max(1, min(limit, MOST_READ))
        channel = self._channel(channel_id)
        with refusing():
            asked = min(wanted + UNSPOKEN, MOST_READ)
            newest = [message async for message in channel.history(limit=asked)]
        speakers = self._speakers(channel_id)
        said = list(stored(reversed(newest), self._own_id, set(), speakers))
        return said[-wanted:]

    async def get_message(self, channel_id: str, message_id: str) -> HistoryMessage | None:
        message = await self._fetch(channel_id, message_id)
        if message is None:
            return None
        return as_history(message, self._own_id, self._speakers(channel_id).of(message))

    async def read_file(
        self, channel_id: str, message_id: str, file_id: str, limit: int
    ) -> bytes | None:
        message = await self._fetch(channel_id, message_id)
        for attachment in message.attachments if message is not None else ():
            if str(attachment.id) == file_id:
                return await files.read(attachment, limit)
        return None

    # doing

    async def react(self, channel_id: str, message_id: str, emoji: str) -> None:
        message = self._message(channel_id, message_id)
        guild = self._guild_of(message.channel.id)
        reaction = emojis.reaction_of(emoji, guild.emojis if guild is not None else ())
        with refusing():
            await message.add_reaction(reaction)

    async def reply(
        self, channel_id: str, message_id: str, text: str, nonce: str, voice: Voice | None = None
    ) -> list[str]:
        snowflake(message_id)
        return await self._send(channel_id, text, nonce, voice, message_id)

    async def pin(self, channel_id: str, message_id: str, pinned: bool) -> None:
        message = self._message(channel_id, message_id)
        with refusing():
            await (message.pin() if pinned else message.unpin())

    async def edit(self, channel_id: str, message_id: str, text: str) -> None:
        content = neutralise(render_tables(_spoken(text)))
        if len(content) > MESSAGE_LIMIT:
            raise DiscordRefused(
                f"The text has {len(content)} characters; one message takes {MESSAGE_LIMIT}."
            )
        nobody = discord.AllowedMentions.none()
        try:
            with refusing():
                await self._message(channel_id, message_id).edit(
                    content=content, allowed_mentions=nobody
                )
        except DiscordRefused as error:
            if not _is_refused_with(error, CANNOT_EDIT_OTHERS):
                raise
            if (webhook := await self._webhook_of(channel_id, message_id)) is None:
                raise
            with refusing():
                await edit_by_webhook(self._webhooks.once, webhook, message_id, content)

    async def delete(self, channel_id: str, message_ids: list[str]) -> int:
        messages = [self._message(channel_id, message_id) for message_id in message_ids]
        deleted = 0
        for message in messages:
            try:
                await self._delete(channel_id, message)
                deleted += 1
            except DiscordRefused as error:
                if _is_gone(error):
                    continue
                if not deleted:
                    raise
                raise DiscordRefused(
                    f"{deleted} of {len(messages)} messages were deleted, then: {error.reason}"
                ) from error
        return deleted

    async def create_thread(
        self,
        channel_id: str,
        name: str,
        first_message: str,
        nonce: str,
        voice: Voice | None = None,
    ) -> ChannelFacts:
        title = " ".join(name.split())
        if not 1 <= len(title) <= THREAD_NAME:
            raise DiscordRefused(f"The name of a thread has 1 to {THREAD_NAME} characters.")
        first = _spoken(first_message)
        body = {
            "name": title,
            "auto_archive_duration": ARCHIVE_AFTER,
            "type": ChannelType.public_thread.value,
        }
        # A thread has no nonce: asked for twice, there may be two of it. Asked of Discord as it is:
        # the cache may not know the channel.
        with refusing():
            thread = await self._webhooks.once.request(
                "POST",
                f"/channels/{snowflake(channel_id)}/threads",
                bucket=f"thread/{channel_id}",
                body=body,
                as_bot=True,
            )
        facts = ChannelFacts(
            id=str(thread["id"]), name=thread["name"], is_thread=True, parent_id=channel_id
        )
        try:
            await self._send(facts.id, first, nonce, voice)
        except DiscordRefused as error:
            raise DiscordRefused(
                f"The thread was created (id {facts.id}), but nothing was said in it: "
                f"{error.reason}"
            ) from error
        return facts

    async def dispatch(self, incoming: ChatIncoming) -> None:
        try:
            await self.signal(incoming)
        except (RPCError, OSError) as error:
            log.warning(
                "a task was not handed over", channel=incoming.channel_id, error=describe(error)
            )
            raise DiscordRefused(
                "The task could not be handed over: the answer engine cannot be reached."
            ) from error

    async def signal(self, incoming: ChatIncoming) -> None:
        """As `dispatch`, for those who try again: raises RPCError, OSError."""
        await self._dispatcher.signal(incoming)

    # within

    @property
    def _own_id(self) -> int:
        return self._client.user.id if self._client.user else 0

    def _channel(self, channel_id: str) -> discord.PartialMessageable:
        return self._client.get_partial_messageable(snowflake(channel_id))

    def _message(self, channel_id: str, message_id: str) -> discord.PartialMessage:
        return self._channel(channel_id).get_partial_message(snowflake(message_id))

    def _guild_of(self, channel_id: int) -> discord.Guild | None:
        channel = self._client.get_channel(channel_id)
        return channel.guild if isinstance(channel, places.Place) else None

    async def _fetch(self, channel_id: str, message_id: str) -> discord.Message | None:
        try:
            with refusing():
                return await self._channel(channel_id).fetch_message(snowflake(message_id))
        except DiscordRefused as error:
            if _is_gone(error):
                return None
            raise

    async def _delete(self, channel_id: str, message: discord.PartialMessage) -> None:
        """Also what a persona said through a webhook, where the bot may delete nothing but its
        own."""
        try:
            with refusing():
                await message.delete()
        except DiscordRefused as error:
            if not _is_refused_with(error, MISSING_PERMISSIONS):
                raise
            if (webhook := await self._webhook_of(channel_id, str(message.id))) is None:
                raise
            with refusing():
                await delete_by_webhook(self._webhooks.once, webhook, str(message.id))

    async def _webhook_of(self, channel_id: str, message_id: str) -> ManagedWebhook | None:
        """The webhook of ours that said it, if one did."""
        message = await self._fetch(channel_id, message_id)
        if message is None or not self._webhooks.recognise(message):
            return None
        with refusing():
            return await self._webhooks.by_id(str(message.webhook_id), channel_id)

    def _speakers(self, channel_id: str) -> Speakers:
        guild = self._guild_of(snowflake(channel_id))
        return self._webhooks.speakers(str(guild.id) if guild is not None else None)

    async def _send(
        self,
        channel_id: str,
        text: str,
        nonce: str,
        voice: Voice | None,
        reply_to: str | None = None,
    ) -> list[str]:
        """Cut like any answer; the ids. What was sent before a refusal stays."""
        voice = voice or Voice()
        texts = await asyncio.to_thread(_cut, _spoken(text), limit_of(voice))
        channel = self._channel(channel_id)
        sent: list[str] = []
        try:
            # Each call of a tool speaks for itself, so its nonce stands for the turn.
            mouth = Mouth(voice, channel, nonce)
            for index, piece in enumerate(texts):
                name = nonce[:NONCE_PREFIX] + base36(index, 2)
                part = Part(0, index, OutgoingKind.TEXT, piece, name)
                outcome = await self._speaking.say(mouth, part, reply_to if index == 0 else None)
                match outcome:
                    case Posted(message_id=message_id):
                        self._refusals.clear(str(channel.id))
                        sent.append(message_id)
                    case Blocked(by_filter=by_filter):
                        raise DiscordRefused(
                            "The server's filters did not let the text through."
                            if by_filter
                            else "Discord did not accept the text."
                        )
                    case Refused(refusal=refusal):
                        self._refusals.note(str(channel.id), refusal.code)
                        raise DiscordRefused(
                            sentence_for(refusal.code) or "Discord takes no messages there."
                        )
                    case _:  # sent by an earlier call under the same nonce, and deleted since
                        continue
        except (ApplicationError, UnclearError) as error:
            raise DiscordRefused(UNREACHABLE) from error
        return sent


def _spoken(text: str) -> str:
    """Raises DiscordRefused for text that is none, or too much."""
    if not text.strip():
        raise DiscordRefused("There is no text to send.")
    if len(text) > LONGEST_TEXT:
        raise DiscordRefused(
            f"The text has {len(text)} characters; at most {LONGEST_TEXT} can be sent at once."
        )
    return text


def _cut(text: str, limit: int) -> list[str]:
    return split_message(neutralise(render_tables(text)), limit)


def _is_gone(error: DiscordRefused) -> bool:
    return _is_refused_with(error, UNKNOWN_MESSAGE)


def _is_refused_with(error: DiscordRefused, code: int) -> bool:
    cause = error.__cause__
    return isinstance(cause, discord.HTTPException) and cause.code == code
