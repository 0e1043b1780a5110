"""The guild: its members, roles and channels, who may do what in them, and the bot's portal.

`World` is the only place that changes these; each change is stored first and announced after.
"""

from __future__ import annotations

import hmac
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from playground import permissions, wire
from playground.errors import (
    DiscordError,
    missing_access,
    missing_permissions,
    unknown_channel,
    unknown_emoji,
    unknown_sticker,
    unknown_user,
)
from playground.events import Event, Hub
from playground.permissions import BITS
from playground.records import (
    Channel,
    ChannelType,
    Emoji,
    Member,
    Overwrite,
    Role,
    Sticker,
    User,
    Webhook,
    dump,
)
from playground.snowflakes import Snowflakes, iso, now_iso
from playground.store import Store

BOT_NAME = "Everturn"
MEMBER_NAMES = ("Ada", "Ben")
STICKERS = (
    ("wave", "A hand that waves hello", "👋"),
    ("party", "Confetti for a good day", "🎉"),
)
EMOJI_NAME = "spark"
PRIVILEGED_INTENTS = {"presences": 1 << 8, "members": 1 << 1, "message_content": 1 << 15}


class World:
    """One guild, one bot, two members; made at the first start, found again at every later one."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self.store = store
        self.hub = hub
        self.snowflakes = Snowflakes(store.largest_id())
        if not store.documents("guild"):
            _Seed(store, self.snowflakes).plant()
        if not store.documents("emoji"):  # the guild of an earlier version had no expressions
            _Seed(store, self.snowflakes).expressions()
        guild = store.documents("guild")[0]
        self.guild_id: int = guild["id"]
        self.guild_name: str = guild["name"]
        self.owner_id: int = guild["owner_id"]
        self.bot_id: int = guild["bot_id"]
        self.portal: dict[str, bool] = guild["portal"]
        """Which privileged intents the bot's owner has switched on."""
        self.users = {body["id"]: User(**body) for body in store.documents("user")}
        self.members = {body["user_id"]: Member(**body) for body in store.documents("member")}
        self.roles = {body["id"]: Role(**body) for body in store.documents("role")}
        self.channels = {body["id"]: Channel.load(body) for body in store.documents("channel")}
        self.webhooks = {body["id"]: Webhook(**body) for body in store.documents("webhook")}
        self.emojis = {body["id"]: Emoji(**body) for body in store.documents("emoji")}
        self.stickers = {body["id"]: Sticker(**body) for body in store.documents("sticker")}
        self.address = ""
        """Where this playground listens, once it does; addresses of files begin with it."""
        self._file_secret = secrets.token_bytes(16)

    # looking up

    def channel(self, key: int) -> Channel:
        """Raises 10003 when there is none."""
        try:
            return self.channels[key]
        except KeyError:
            raise unknown_channel() from None

    def user(self, key: int) -> User:
        """Raises 10013 when there is none."""
        try:
            return self.users[key]
        except KeyError:
            raise unknown_user() from None

    def dm_with(self, user_id: int) -> Channel:
        for channel in self.channels.values():
            if channel.recipient_id == user_id:
                return channel
        raise unknown_user()

    def sticker(self, key: int) -> Sticker:
        """Raises 10060 when there is none."""
        try:
            return self.stickers[key]
        except KeyError:
            raise unknown_sticker() from None

    def check_emoji(self, text: str) -> None:
        """Any emoji character will do; `name:id` names a custom one of this guild. Raises 10014."""
        name, custom, key = text.partition(":")
        if custom:
            found = self.emojis.get(int(key)) if key.isdecimal() else None
            if found is None or not name:
                raise unknown_emoji()
        elif not text or text.isascii():
            raise unknown_emoji()

    # addresses of files: the bot's expire, as Discord's do

    def sign(self, path: str) -> str:
        return hmac.new(self._file_secret, path.encode(), "sha256").hexdigest()

    def expire_files(self) -> None:
        """From now on no address that was given out is good."""
        self._file_secret = secrets.token_bytes(16)

    def threads(self) -> list[Channel]:
        return [c for c in self.channels.values() if c.is_thread and not c.archived]

    # permissions

    def permissions_of(self, user_id: int, channel: Channel | None = None) -> int:
        """Permission bits of a user in a channel or, without one, in the guild."""
        if channel is not None and channel.is_dm:
            both = (channel.recipient_id, self.bot_id)
            return permissions.DIRECT_MESSAGES if user_id in both else 0
        if user_id not in self.members:
            return 0
        place = channel
        if place is not None and place.parent_id is not None:
            place = self.channels[place.parent_id]
        return permissions.compute(
            self.members[user_id],
            guild_id=self.guild_id,
            owner_id=self.owner_id,
            roles=self.roles,
            channel=place,
        )

    def can(self, user_id: int, channel: Channel, *names: str) -> bool:
        have = self.permissions_of(user_id, channel)
        return all(have & BITS[name] for name in names)

    def require(self, user_id: int, channel: Channel, *names: str) -> None:
        """Raises 50001 when the channel is hidden from the user, 50013 when a right is missing."""
        if not self.can(user_id, channel, "VIEW_CHANNEL"):
            raise missing_access()
        if not self.can(user_id, channel, *names):
            raise missing_permissions()

    def require_sending(self, user_id: int, channel: Channel) -> None:
        self.require(
            user_id, channel, "SEND_MESSAGES_IN_THREADS" if channel.is_thread else "SEND_MESSAGES"
        )

    # changing

    def save_channel(self, channel: Channel, announce: str | None = None) -> None:
        self.channels[channel.id] = channel
        self.store.put("channel", channel.id, dump(channel))
        if announce:
            self.hub.publish(Event(announce, wire.channel(self, channel), channel=channel))

    def delete_channel(self, channel: Channel) -> None:
        del self.channels[channel.id]
        self.store.remove("channel", channel.id)
        for webhook in [w for w in self.webhooks.values() if w.channel_id == channel.id]:
            self.delete_webhook(webhook)
        name = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
        self.hub.publish(Event(name, wire.channel(self, channel), channel=channel))

    def create_thread(
        self, parent: Channel, name: str, owner_id: int, *, key: int | None, private: bool
    ) -> Channel:
        """`key` is the id of the message that the thread hangs on; without one it gets its own."""
        if parent.type != ChannelType.TEXT:
            raise DiscordError(400, 50024, "Cannot execute action on this channel type")
        thread = Channel(
            id=key or self.snowflakes.next(),
            type=ChannelType.PRIVATE_THREAD if private else ChannelType.PUBLIC_THREAD,
            name=name,
            guild_id=self.guild_id,
            parent_id=parent.id,
            owner_id=owner_id,
            archive_changed_at=now_iso(),
            thread_members=[owner_id],
        )
        self.save_channel(thread)
        data = wire.channel(self, thread) | {"newly_created": True}
        self.hub.publish(Event("THREAD_CREATE", data, channel=thread))
        return thread

    def archive(self, thread: Channel, archived: bool, locked: bool | None = None) -> None:
        thread.archived = archived
        thread.archive_changed_at = now_iso()
        if locked is not None:
            thread.locked = locked
        self.save_channel(thread, "THREAD_UPDATE")

    def overwrite(self, channel: Channel, target_id: int, allow: int, deny: int) -> None:
        """Replaces what is allowed and denied to a member or role in a channel; 0 and 0 ends it."""
        channel.overwrites = [o for o in channel.overwrites if o.id != target_id]
        if allow or deny:
            kind = 0 if target_id in self.roles else 1
            channel.overwrites.append(Overwrite(target_id, kind, allow, deny))
        self.save_channel(channel, "CHANNEL_UPDATE")

    def time_out(self, user_id: int, seconds: float | None) -> None:
        """Keeps a member from writing for so long; None ends it."""
        member = self.members[user_id]
        until = None if seconds is None else iso(datetime.now(UTC) + timedelta(seconds=seconds))
        member.timed_out_until = until
        self.store.put("member", user_id, dump(member))
        data = wire.member(self, member) | {"guild_id": str(self.guild_id)}
        self.hub.publish(Event("GUILD_MEMBER_UPDATE", data))

    def set_intent(self, name: str, enabled: bool) -> None:
        """Switches a privileged intent in the bot's portal. Raises KeyError for an unknown one."""
        if name not in PRIVILEGED_INTENTS:
            raise KeyError(name)
        self.portal[name] = enabled
        guild = self.store.documents("guild")[0]
        self.store.put("guild", self.guild_id, guild | {"portal": self.portal})

    def add_sticker(self, name: str, description: str, emoji: str) -> Sticker:
        sticker = Sticker(self.snowflakes.next(), name, description, emoji)
        self.stickers[sticker.id] = sticker
        self.store.put("sticker", sticker.id, dump(sticker))
        self._stickers_changed()
        return sticker

    def delete_sticker(self, sticker: Sticker) -> None:
        del self.stickers[sticker.id]
        self.store.remove("sticker", sticker.id)
        self._stickers_changed()

    def _stickers_changed(self) -> None:
        stickers = [wire.sticker(self, sticker) for sticker in self.stickers.values()]
        data = {"guild_id": str(self.guild_id), "stickers": stickers}
        self.hub.publish(Event("GUILD_STICKERS_UPDATE", data))

    def save_webhook(self, webhook: Webhook) -> None:
        self.webhooks[webhook.id] = webhook
        self.store.put("webhook", webhook.id, dump(webhook))
        self._webhooks_changed(webhook)

    def delete_webhook(self, webhook: Webhook) -> None:
        del self.webhooks[webhook.id]
        self.store.remove("webhook", webhook.id)
        self._webhooks_changed(webhook)

    def _webhooks_changed(self, webhook: Webhook) -> None:
        data = {"guild_id": str(self.guild_id), "channel_id": str(webhook.channel_id)}
        channel = self.channels.get(webhook.channel_id)
        self.hub.publish(Event("WEBHOOKS_UPDATE", data, channel=channel))


class _Seed:
    """The first start: everything that the guild has before anybody has said a word."""

    def __init__(self, store: Store, snowflakes: Snowflakes) -> None:
        self._store = store
        self._next = snowflakes.next

    def plant(self) -> None:
        guild_id, bot_id = self._next(), self._next()
        member_ids = [self._user(name) for name in MEMBER_NAMES]
        self._store.put("user", bot_id, dump(User(bot_id, BOT_NAME, bot=True)))
        bot_role = self._roles(guild_id)
        for user_id in [bot_id, *member_ids]:
            roles = [bot_role] if user_id == bot_id else []
            member = Member(user_id, joined_at=now_iso(), roles=roles)
            self._store.put("member", user_id, dump(member))
        self._channels(guild_id, bot_id, member_ids)
        # The guild comes last: a start that is killed before this line is planted anew.
        guild: dict[str, Any] = {
            "id": guild_id,
            "name": "Everturn",
            "owner_id": member_ids[0],
            "bot_id": bot_id,
            "portal": dict.fromkeys(PRIVILEGED_INTENTS, True),
        }
        self._store.put("guild", guild_id, guild)

    def expressions(self) -> None:
        for name, description, emoji in STICKERS:
            sticker = Sticker(self._next(), name, description, emoji)
            self._store.put("sticker", sticker.id, dump(sticker))
        spark = Emoji(self._next(), EMOJI_NAME)
        self._store.put("emoji", spark.id, dump(spark))

    def _user(self, name: str) -> int:
        user = User(self._next(), name)
        self._store.put("user", user.id, dump(user))
        return user.id

    def _roles(self, guild_id: int) -> int:
        everyone = Role(guild_id, "@everyone", permissions.MEMBER_DEFAULT)
        extra = permissions.bits(["MANAGE_WEBHOOKS", "MANAGE_THREADS", "PIN_MESSAGES"])
        bot = Role(self._next(), BOT_NAME, permissions.MEMBER_DEFAULT | extra, 1, managed=True)
        for role in (everyone, bot):
            self._store.put("role", role.id, dump(role))
        return bot.id

    def _channels(self, guild_id: int, bot_id: int, member_ids: list[int]) -> None:
        def text(name: str, position: int, topic: str) -> Channel:
            return Channel(
                self._next(), ChannelType.TEXT, name, position, topic=topic, guild_id=guild_id
            )

        general = text("general", 0, "Talk with the bot here")
        random = text("random", 1, "Anything else")
        read_only = text("read-only", 2, "The bot reads here and may not write")
        silence = permissions.bits(["SEND_MESSAGES", "SEND_MESSAGES_IN_THREADS"])
        read_only.overwrites.append(Overwrite(bot_id, 1, deny=silence))
        thread = Channel(
            self._next(),
            ChannelType.PUBLIC_THREAD,
            "side talk",
            guild_id=guild_id,
            parent_id=general.id,
            owner_id=member_ids[0],
            archive_changed_at=now_iso(),
        )
        direct = [
            Channel(self._next(), ChannelType.DM, recipient_id=user_id) for user_id in member_ids
        ]
        for channel in [general, random, read_only, thread, *direct]:
            self._store.put("channel", channel.id, dump(channel))
