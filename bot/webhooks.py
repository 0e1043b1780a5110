"""The webhooks through which personas other than the main one speak: one for each channel.

For: a message of a webhook has no nonce, can be changed only through that webhook, and arrives over
the gateway like a stranger's; here stands which webhooks are ours and who speaks through them.
In: channel and webhook ids, messages, word of changes. Out: `ManagedWebhook`, or None where there
can be none; whether a webhook is ours; the persona behind a message. Changes: makes a channel's
webhook when it has none of ours. What always holds:

- a channel's webhook is found by our application's id, so that every process and every restart of
  the bot finds the same one, and a webhook that was made although the answer got lost is found too;
- of several that were made at once the oldest one is used, and whoever made another takes it away;
- where a webhook stands is believed until one of its server's changes: a moderator may move it;
- a webhook is known as ours before its first message can arrive; one that another process made is
  recognised by the application's id in its message;
- where Discord refuses one, that is said once in the log and not asked again for ten minutes;
- its token is in no log, no error and no repr.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import discord
import structlog

from bot.delivery.once import OneAttempt
from bot.discord_faults import (
    MISSING_ACCESS,
    MISSING_PERMISSIONS,
    NETWORK_FAULTS,
    describe,
    is_transient,
)
from bot.speakers import Personas, SaidBy, Speakers, named, nobody_known
from runtime.logs import register_secret
from text.usernames import username_of

log = structlog.get_logger(__name__)

REFUSED_FOR = 600.0
"""Seconds (behaviour 6.2 speaks of a webhook's failure at most once in so long)."""
KEPT = 10_000
"""Of each thing remembered by an id."""

TOO_MANY_WEBHOOKS = frozenset({30007, 30058})
"""15 in the channel, 1,000 in the server."""
UNKNOWN_WEBHOOK = 10015
INVALID_WEBHOOK_TOKEN = 50027
GONE = frozenset({UNKNOWN_WEBHOOK, INVALID_WEBHOOK_TOKEN})

Value = TypeVar("Value")


@dataclass(frozen=True)
class ManagedWebhook:
    id: str
    channel_id: str
    """Where it stands: of a thread its parent."""
    guild_id: str | None = None
    name: str = ""
    token: str = field(default="", repr=False)
    thread_id: str | None = None
    """What is said goes into this thread."""

    @property
    def path(self) -> str:
        """Holds the token: for requests only."""
        return f"/webhooks/{self.id}/{self.token}"

    @property
    def place(self) -> dict[str, str]:
        """As the parameters of a request."""
        return {"thread_id": self.thread_id} if self.thread_id is not None else {}


@dataclass(frozen=True)
class _Place:
    channel_id: str
    thread_id: str | None


class ManagedWebhooks:
    def __init__(
        self,
        client: discord.Client,
        personas: Personas,
        clock: Callable[[], float] = time.monotonic,
        said_by: SaidBy = nobody_known,
    ) -> None:
        """`said_by`: the persona of a message that the bot's account sent, where that is known."""
        self._client = client
        self._personas = personas
        self._clock = clock
        self._said_by = said_by
        self.once = OneAttempt(client)
        self._by_channel: OrderedDict[str, ManagedWebhook] = OrderedDict()
        self._by_id: OrderedDict[str, ManagedWebhook] = OrderedDict()
        self._ours: OrderedDict[str, None] = OrderedDict()
        self._places: OrderedDict[str, _Place | None] = OrderedDict()
        """Of channels that are in no cache: archived threads, direct messages."""
        self._refused_until: OrderedDict[str, float] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._changes = 0
        """How often `changed` was called: what was asked before is not remembered after it."""

    async def close(self) -> None:
        await self.once.close()

    # whose it is, from memory

    def is_ours(self, webhook_id: str | int | None) -> bool:
        return webhook_id is not None and str(webhook_id) in self._ours

    def recognise(self, message: discord.Message) -> bool:
        """Whether a persona's webhook said it. A webhook that this process has not met is ours when
        Discord says that our application owns it."""
        if message.webhook_id is None or message.webhook_id == message.application_id:
            return False  # the latter is an answer to an interaction
        webhook_id = str(message.webhook_id)
        if webhook_id in self._ours:
            return True
        if message.application_id is None or message.application_id != self._client.application_id:
            return False
        _keep(self._ours, webhook_id, None)
        return True

    def persona_of(
        self, webhook_id: str | int | None, username: str, guild_id: str | None
    ) -> int | None:
        """The persona that speaks under `username` through a webhook of ours."""
        if not self.is_ours(webhook_id):
            return None
        return named(self._personas(guild_id), username)

    def speakers(self, guild_id: str | None) -> Speakers:
        """For the messages of one channel, from the oldest to the newest."""
        return Speakers(
            list(self._personas(guild_id)), self.recognise, self._client.user, self._said_by
        )

    # the webhook of a channel

    async def for_channel(self, channel_id: str | int) -> ManagedWebhook | None:
        """None: there can be none here. Raises what discord.py raises while Discord does not
        answer."""
        place = await self._place(str(channel_id))
        if place is None or not self._may_be(place.channel_id):
            return None
        # Kept by those who hold it or wait for it.
        lock = self._locks.setdefault(place.channel_id, asyncio.Lock())
        async with lock:
            found = self._by_channel.get(place.channel_id)
            if found is None:
                found = await self._find_or_make(place.channel_id)
        return None if found is None else replace(found, thread_id=place.thread_id)

    async def by_id(self, webhook_id: str, channel_id: str | int) -> ManagedWebhook | None:
        """A webhook that has spoken in a channel, to change what it said. None: it is gone, not
        ours, or stands in another channel by now, where it reaches nothing that it said here.
        Raises what discord.py raises while Discord does not answer."""
        found = self._by_id.get(webhook_id)
        if found is None:
            asked_at = self._changes
            try:
                body = await self._client.http.get_webhook(int(webhook_id))
            except discord.HTTPException as error:
                if is_transient(error):
                    raise
                return None
            found = self._ours_of(body)
            if found is None:
                return None
            self._know(found, asked_at)
        place = await self._place(str(channel_id))
        if place is None:
            return replace(found, thread_id=None)
        if place.channel_id != found.channel_id:
            return None
        return replace(found, thread_id=place.thread_id)

    def changed(self, guild_id: str | None) -> None:
        """A webhook of this server was made, moved or deleted; None: one of any server may have
        been. All of the server's are looked for anew: of a move Discord does not promise to name
        both channels."""
        self._changes += 1
        for memory in (self._by_channel, self._by_id):
            for key, webhook in list(memory.items()):
                if guild_id is None or webhook.guild_id in (None, guild_id):
                    del memory[key]

    def forget(self, webhook: ManagedWebhook) -> None:
        """Discord does not know it any more, or not where it was. What it has said stays ours."""
        self._by_id.pop(webhook.id, None)
        known = self._by_channel.get(webhook.channel_id)
        if known is not None and known.id == webhook.id:
            del self._by_channel[webhook.channel_id]

    async def _find_or_make(self, channel_id: str) -> ManagedWebhook | None:
        if self._refused_until.get(channel_id, 0.0) > self._clock():
            return None
        try:
            asked_at = self._changes
            found = await self._oldest(channel_id)
            if found is None:
                made = await self._make(channel_id)
                # Another process may have made one meanwhile.
                asked_at = self._changes
                found = await self._oldest(channel_id) or made
                if made is not None and found is not None and found.id != made.id:
                    await self._take_away(made)
        except discord.HTTPException as error:
            if is_transient(error):
                raise
            self._refuse(channel_id, error)
            return None
        if found is None:
            return None
        self._know(found, asked_at)
        if asked_at == self._changes:
            _keep(self._by_channel, channel_id, found)
        return found

    async def _oldest(self, channel_id: str) -> ManagedWebhook | None:
        """Of ours in the channel, by whatever name: the one that every process uses."""
        listed = await self._client.http.channel_webhooks(int(channel_id))
        ours = [found for body in listed if (found := self._ours_of(body)) is not None]
        return min(ours, key=lambda webhook: int(webhook.id), default=None)

    async def _make(self, channel_id: str) -> ManagedWebhook | None:
        name = username_of(self._client.user.name if self._client.user else "")
        made = await self.once.request(
            "POST",
            f"/channels/{channel_id}/webhooks",
            bucket=f"make/{channel_id}",
            body={"name": name},
            as_bot=True,
        )
        found = _webhook(made)
        if found is not None:
            self._know(found, self._changes)
        return found

    async def _take_away(self, surplus: ManagedWebhook) -> None:
        """Best effort: one that stays takes a place, and is not used."""
        self.forget(surplus)
        with suppress(discord.HTTPException, *NETWORK_FAULTS):
            await self.once.request("DELETE", surplus.path, bucket=f"change/{surplus.id}")

    def _ours_of(self, body: Mapping[str, Any]) -> ManagedWebhook | None:
        """The webhook, if our application owns it."""
        if str(body.get("application_id")) != str(self._client.application_id):
            return None
        return _webhook(body)

    def _know(self, webhook: ManagedWebhook, asked_at: int) -> None:
        """`asked_at`: `_changes` before Discord was asked for it."""
        register_secret(webhook.token)
        _keep(self._ours, webhook.id, None)
        if asked_at == self._changes:
            _keep(self._by_id, webhook.id, webhook)

    def _refuse(self, channel_id: str, error: discord.HTTPException) -> None:
        _keep(self._refused_until, channel_id, self._clock() + REFUSED_FOR)
        if error.code in TOO_MANY_WEBHOOKS:
            reason = "it has as many webhooks as Discord allows; delete one"
        elif error.code in (MISSING_PERMISSIONS, MISSING_ACCESS):
            reason = "the bot lacks the Manage Webhooks permission"
        else:
            reason = "Discord gives none"
        log.warning(
            f"no webhook for the personas of this channel: {reason}; they speak by the bot's "
            "account",
            channel=channel_id,
            error=describe(error),
        )

    # where a channel's webhook stands

    async def _place(self, channel_id: str) -> _Place | None:
        """None in a direct message, and where nobody knows the channel."""
        channel = self._client.get_channel(int(channel_id))
        if isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            return _place_of(channel)
        if channel is not None:
            return None
        if channel_id not in self._places:
            try:
                fetched = await self._client.fetch_channel(int(channel_id))
            except discord.InvalidData:
                fetched = None
            except discord.HTTPException as error:
                if is_transient(error):
                    raise
                return None
            is_known = isinstance(fetched, discord.abc.GuildChannel | discord.Thread)
            _keep(self._places, channel_id, _place_of(fetched) if is_known else None)
        return self._places[channel_id]

    def _may_be(self, channel_id: str) -> bool:
        """By the cached permissions. What the cache does not hold, Discord decides."""
        channel = self._client.get_channel(int(channel_id))
        if not isinstance(channel, discord.abc.GuildChannel):
            return True
        # Typed as a Member, but None until the guild's own event has filled the cache.
        me: discord.Member | None = channel.guild.me
        return me is None or channel.permissions_for(me).manage_webhooks


def _place_of(channel: discord.abc.GuildChannel | discord.Thread) -> _Place:
    if isinstance(channel, discord.Thread):
        return _Place(str(channel.parent_id), str(channel.id))
    return _Place(str(channel.id), None)


def _webhook(body: Mapping[str, Any]) -> ManagedWebhook | None:
    """None for one without a token: it cannot be used."""
    token, guild_id = body.get("token"), body.get("guild_id")
    if not token:
        return None
    return ManagedWebhook(
        id=str(body["id"]),
        channel_id=str(body["channel_id"]),
        guild_id=str(guild_id) if guild_id else None,
        name=str(body.get("name") or ""),
        token=str(token),
    )


def _keep(memory: OrderedDict[str, Value], key: str, value: Value) -> None:
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > KEPT:
        memory.popitem(last=False)
