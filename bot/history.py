"""Read history: the channel's recent messages, stored, and an id for the turn.

In: `HistoryRequest`. Out: `HistoryRef`. Changes: begins the turn's typing; writes one blob.
What always holds: oldest message first, the trigger is among them while Discord still has it,
messages that wait for a turn of their own are not, nor is anything before the last `/refresh`; the
newest id is that of any message; a persona's message says whose it is, and holds its words alone.
One request to Discord, two when the trigger is older than the newest `limit` messages; a channel
that is in no cache (a direct message) is asked for once, beside them.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import discord
from temporalio import activity
from temporalio.exceptions import ApplicationError

from bot.delivery.notices import is_notice
from bot.discord_faults import NETWORK_FAULTS, describe, is_transient, try_again
from bot.normalise import SPOKEN, is_private
from bot.port.standing import DIRECT_MESSAGES, own_permissions
from bot.speakers import Speaker, Speakers
from bot.typing_sessions import TypingSessions
from bot.webhooks import ManagedWebhooks
from runtime.heartbeat import heartbeating
from storage import Storage
from workflows.contracts.history import (
    READ_HISTORY,
    ChannelHistory,
    FileInfo,
    HistoryMessage,
    HistoryRef,
    HistoryRequest,
    ReactionInfo,
    StickerInfo,
)
from workflows.contracts.tools import REPORTED_PERMISSIONS

MOST_REACTIONS = 4
"""Of one message (behaviour 6.1)."""
PLACES_REMEMBERED = 1000


class HistoryActivities:
    def __init__(
        self,
        client: discord.Client,
        storage: Storage,
        typing: TypingSessions,
        webhooks: ManagedWebhooks,
    ) -> None:
        self._client = client
        self._storage = storage
        self._typing = typing
        self._webhooks = webhooks
        self._uncached: OrderedDict[str, list[str]] = OrderedDict()
        """Channels that are in no cache, and what the bot may do there."""

    @activity.defn(name=READ_HISTORY.name)
    async def read_history(self, request: HistoryRequest) -> HistoryRef:
        """Raises a final ApplicationError `ChannelUnavailable` where the bot may not read."""
        async with heartbeating():
            self._typing.begin(request.turn_id, request.channel_id)
            started = time.perf_counter()
            try:
                newest, (permissions, guild_id) = await asyncio.gather(
                    self._newest(request), self._standing(request.channel_id)
                )
                messages = await self._with_trigger(newest, request)
            except discord.HTTPException as error:
                await self._typing.end(request.turn_id, request.channel_id)
                if is_transient(error):
                    raise try_again(error) from error
                raise ApplicationError(
                    f"the channel cannot be read: {describe(error)}",
                    type="ChannelUnavailable",
                    non_retryable=True,
                ) from error
            except NETWORK_FAULTS as error:
                raise try_again(error) from error
            fetch_ms = (time.perf_counter() - started) * 1000
            me = self._client.user
            own_id = me.id if me else 0
            omitted = set(request.omit_message_ids) - {request.trigger_message_id}
            after = await self._storage.marks.refreshed(request.channel_id)
            kept = since(messages, after, request.trigger_message_id)
            history = ChannelHistory(
                messages=list(stored(kept, own_id, omitted, self._webhooks.speakers(guild_id))),
                stickers=self._stickers(request.channel_id),
            )
            history_id = await self._storage.blobs.put_model("history", history)
        return HistoryRef(
            history_id=history_id,
            count=len(history.messages),
            fetch_ms=fetch_ms,
            bot_user_id=str(own_id),
            newest_message_id=newest_id(newest),
            is_private=is_private(self._client.get_channel(int(request.channel_id))),
            own_permissions=permissions,
        )

    async def _newest(self, request: HistoryRequest) -> list[discord.Message]:
        """Oldest first."""
        channel = self._client.get_partial_messageable(int(request.channel_id))
        messages = [message async for message in channel.history(limit=request.limit)]
        messages.reverse()
        return messages

    async def _with_trigger(
        self, messages: list[discord.Message], request: HistoryRequest
    ) -> list[discord.Message]:
        """`messages`, or as many with the trigger in the oldest one's place. Oldest first."""
        trigger_id = int(request.trigger_message_id)
        if any(message.id == trigger_id for message in messages):
            return messages
        channel = self._client.get_partial_messageable(int(request.channel_id))
        try:
            trigger = await channel.fetch_message(trigger_id)
        except (discord.NotFound, discord.Forbidden):
            return messages  # deleted, or history is closed to us: the turn knows its words
        newest = messages[max(len(messages) - request.limit + 1, 0) :]
        return sorted([trigger, *newest], key=lambda message: message.id)

    async def _standing(self, channel_id: str) -> tuple[list[str], str | None]:
        """What the bot may do here, and the server's id."""
        channel = self._client.get_channel(int(channel_id))
        if isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            return own_permissions(channel), str(channel.guild.id)
        if (known := self._uncached.get(channel_id)) is not None:
            return known, None
        try:
            channel = await self._client.fetch_channel(int(channel_id))
        except (discord.DiscordException, *NETWORK_FAULTS):
            # the history says what is wrong, if anything is
            return list(REPORTED_PERMISSIONS), None
        if isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            # an archived thread: soon in the cache
            return own_permissions(channel), str(channel.guild.id)
        self._uncached[channel_id] = list(DIRECT_MESSAGES)
        while len(self._uncached) > PLACES_REMEMBERED:
            self._uncached.popitem(last=False)
        return self._uncached[channel_id], None

    def _stickers(self, channel_id: str) -> list[StickerInfo]:
        channel = self._client.get_channel(int(channel_id))
        if not isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            return []
        return stickers_of(channel.guild.stickers)


def stickers_of(stickers: Sequence[discord.GuildSticker]) -> list[StickerInfo]:
    """Those that can be sent, oldest first."""
    return [
        StickerInfo(
            id=str(sticker.id),
            name=sticker.name,
            description=sticker.description or "",
            emotion=sticker.emoji,
        )
        for sticker in sorted(stickers, key=lambda sticker: sticker.id)
        if sticker.available
    ]


def newest_id(messages: Iterable[discord.Message]) -> str | None:
    """Of whatever kind: joins, notices and what waits for its own turn are older than this turn's
    words too."""
    newest = max((message.id for message in messages), default=None)
    return None if newest is None else str(newest)


def since(
    messages: Iterable[discord.Message], mark: str | None, trigger_id: str
) -> list[discord.Message]:
    """Those after the last `/refresh` (C133), and the one that is answered, wherever it stands."""
    floor = int(mark) if mark is not None else 0
    return [message for message in messages if message.id > floor or str(message.id) == trigger_id]


def stored(
    messages: Iterable[discord.Message], own_id: int, omitted: set[str], speakers: Speakers
) -> Iterable[HistoryMessage]:
    """What a model may read of each message, oldest first. Notices, our own among them, say nothing
    in a persona's voice: a message without text and files is left out."""
    for message in messages:
        speaker = speakers.of(message)
        spoken = message.type in SPOKEN or message.interaction_metadata is not None
        said = message.content.strip() or message.attachments
        is_self = message.author.id == own_id
        notice = is_self and is_notice(message.content, bool(message.embeds))
        if not spoken or not said or notice or str(message.id) in omitted:
            continue
        yield as_history(message, own_id, speaker)


def as_history(message: discord.Message, own_id: int, speaker: Speaker) -> HistoryMessage:
    """One message, whatever it is."""
    reply = message.reference if message.type is discord.MessageType.reply else None
    reply_to = str(reply.message_id) if reply and reply.message_id else None
    return HistoryMessage(
        id=str(message.id),
        author_id=str(message.author.id),
        author_name=message.author.display_name,
        content=speaker.words,
        created_at=message.created_at,
        is_bot=message.author.bot,
        is_self=message.author.id == own_id,
        persona_id=speaker.persona_id,
        reply_to=speaker.reply_to or reply_to,
        attachments=[attachment.filename for attachment in message.attachments],
        files=[
            FileInfo(
                id=str(attachment.id),
                filename=attachment.filename,
                content_type=attachment.content_type or "",
                size=attachment.size,
            )
            for attachment in message.attachments
        ],
        reactions=[
            ReactionInfo(emoji=_emoji_name(reaction.emoji), count=reaction.count)
            for reaction in message.reactions[:MOST_REACTIONS]
        ],
    )


def _emoji_name(emoji: discord.Emoji | discord.PartialEmoji | str) -> str:
    """A character, or a custom emoji's name; one that was deleted has none."""
    return emoji if isinstance(emoji, str) else emoji.name or "?"
