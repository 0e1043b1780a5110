"""Messages: made, edited, reacted to, pinned and deleted, by Discord's rules.

What each function needs as permission is checked here, so that a member who acts through
`/control` meets the same rules as the bot that acts through REST.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from playground import mentions, wire
from playground.drafts import Draft, ReplyTo
from playground.errors import (
    DiscordError,
    cannot_edit_others,
    empty_message,
    invalid_form,
    invalid_sticker,
    missing_permissions,
    unknown_emoji,
    unknown_message,
)
from playground.events import Event
from playground.indicators import Typing
from playground.mentions import AllowedMentions
from playground.records import (
    SYSTEM_TYPES,
    Channel,
    Message,
    MessageType,
    Webhook,
)
from playground.snowflakes import created_at, now_iso
from playground.world import World

DEFAULT_NONCE_WINDOW = 180.0
"""Seconds. Discord says "the past few minutes" and no more."""

REACTION_LIMIT = 20
BULK_DELETE_DAYS = 14


class Messages:
    def __init__(self, world: World, typing: Typing) -> None:
        self._world = world
        self._typing = typing
        self._store = world.store
        self.nonce_window = DEFAULT_NONCE_WINDOW

    # reading

    def get(self, channel: Channel, message_id: int) -> Message:
        """Raises 10008 when there is none, or it was deleted."""
        message = self._store.message(channel.id, message_id)
        if message is None or message.deleted_at is not None:
            raise unknown_message()
        return message

    # making

    def send(self, channel: Channel, author_id: int, draft: Draft, age: float = 0) -> Message:
        """A message by a member or the bot, with the nonce rule; `age` seconds old already.

        A second message with the same enforced nonce is not made: the first one is returned, or
        10008 raised when it has been deleted meanwhile.
        """
        self._world.require_sending(author_id, channel)
        self._require_rights_for(channel, author_id, draft)
        if draft.enforce_nonce and draft.nonce is not None:
            key = str(draft.nonce)
            first = self._store.nonce_owner(channel.id, author_id, key, self.nonce_window)
            if first is not None:
                return self.get(channel, first)
        reference = self._resolve_reply(channel, author_id, draft.reply_to)
        self._unarchive(channel, author_id)
        message = self.compose(channel, author_id, draft)
        if age:
            message.id = self._world.snowflakes.past(age)
        message.reference = reference
        message.type = MessageType.REPLY if reference else MessageType.DEFAULT
        self._find_mentions(channel, message, draft.allowed_mentions or AllowedMentions())
        if draft.nonce is not None:
            self._store.forget_nonces(older_than=max(self.nonce_window, 3600))
            self._store.remember_nonce(channel.id, author_id, str(draft.nonce), message.id)
        self.add(channel, message)
        return message

    def send_by_webhook(
        self, channel: Channel, webhook: Webhook, draft: Draft, name: str, avatar: str | None
    ) -> Message:
        """Webhooks know no nonce: sending twice makes two messages."""
        draft.nonce = None
        message = self.compose(channel, webhook.id, draft)
        message.webhook_id, message.webhook_name, message.webhook_avatar = webhook.id, name, avatar
        allowed = draft.allowed_mentions or AllowedMentions.for_webhooks()
        self._find_mentions(channel, message, allowed)
        self.add(channel, message)
        return message

    def send_for_interaction(
        self, channel: Channel, draft: Draft, interaction: dict[str, Any], *, stored: bool
    ) -> Message:
        """The bot's answer to an interaction; an ephemeral one is not stored in the channel."""
        draft.nonce = None
        message = self.compose(channel, self._world.bot_id, draft)
        message.type = MessageType.CHAT_INPUT_COMMAND
        message.interaction = interaction
        allowed = draft.allowed_mentions or AllowedMentions.for_webhooks()
        self._find_mentions(channel, message, allowed)
        if stored:
            self.add(channel, message)
        return message

    def compose(self, channel: Channel, author_id: int, draft: Draft) -> Message:
        """A new record from a draft, not yet stored or announced."""
        return Message(
            id=self._world.snowflakes.next(),
            channel_id=channel.id,
            author_id=author_id,
            content=draft.content,
            nonce=draft.nonce,
            tts=draft.tts,
            flags=draft.flags,
            embeds=draft.embeds,
            components=draft.components,
            attachments=[self._attach(channel, upload) for upload in draft.uploads],
            stickers=draft.stickers,
        )

    def add(self, channel: Channel, message: Message) -> None:
        """Stores a new message and tells everybody."""
        self._store.save_message(message)
        channel.last_message_id = max(channel.last_message_id or 0, message.id)
        channel.message_count += 1
        self._world.save_channel(channel)
        self._typing.end(channel, message.author_id, message.id)
        self._announce("MESSAGE_CREATE", channel, message)

    def add_system(
        self, channel: Channel, author_id: int, kind: MessageType, about: dict[str, int], text: str
    ) -> None:
        """Discord's own line in the channel: a pin, a new thread."""
        message = self.compose(channel, author_id, Draft(content=text))
        message.type = kind
        message.reference = about
        self.add(channel, message)

    def _attach(self, channel: Channel, upload: Any) -> dict[str, Any]:
        key = self._world.snowflakes.next()
        self._store.save_attachment(key, upload.filename, upload.content_type, upload.data)
        path = f"/attachments/{key}/{quote(upload.filename, safe='')}"
        return {
            "id": str(key),
            "filename": upload.filename,
            "size": len(upload.data),
            "content_type": upload.content_type,
            "url": path,
            "proxy_url": path,
        }

    def _require_rights_for(self, channel: Channel, author_id: int, draft: Draft) -> None:
        if draft.embeds and not self._world.can(author_id, channel, "EMBED_LINKS"):
            raise missing_permissions()
        if draft.uploads and not self._world.can(author_id, channel, "ATTACH_FILES"):
            raise missing_permissions()
        if any(key not in self._world.stickers for key in draft.stickers):
            raise invalid_sticker()

    def _resolve_reply(
        self, channel: Channel, author_id: int, reply: ReplyTo | None
    ) -> dict[str, int] | None:
        if reply is None:
            return None
        if not self._world.can(author_id, channel, "READ_MESSAGE_HISTORY"):
            raise DiscordError(
                403, 160002, "Cannot reply without permission to read message history"
            )
        target = None
        if reply.channel_id in (None, channel.id):
            target = self._store.message(channel.id, reply.message_id)
        if target is None or target.deleted_at is not None:
            if not reply.must_exist:
                return None
            raise invalid_form("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        if target.type in SYSTEM_TYPES:
            raise invalid_form(
                "message_reference",
                "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
                "Cannot reply to a system message",
            )
        return {"message_id": target.id, "channel_id": channel.id}

    def _unarchive(self, channel: Channel, author_id: int) -> None:
        """Writing in an archived thread opens it again, unless it is locked."""
        if not channel.archived:
            return
        if channel.locked and not self._world.can(author_id, channel, "MANAGE_THREADS"):
            raise DiscordError(400, 50083, "Thread is archived")
        self._world.archive(channel, False)

    def _find_mentions(self, channel: Channel, message: Message, allowed: AllowedMentions) -> None:
        replied_to = None
        if message.reference is not None and message.type == MessageType.REPLY:
            target = self._store.message(channel.id, message.reference["message_id"])
            replied_to = target.author_id if target else None
        others = set(self._world.users) - {message.author_id}
        by_webhook = message.webhook_id is not None
        found = mentions.find(
            message.content,
            allowed,
            known_users=set(self._world.users),
            known_roles=set(self._world.roles) - {self._world.guild_id},
            may_mention_everyone=by_webhook
            or self._world.can(message.author_id, channel, "MENTION_EVERYONE"),
            replied_to=replied_to if replied_to in others else None,
        )
        message.mentions = found.users
        message.mention_everyone = found.everyone
        message.pings = list(dict.fromkeys([*message.pings, *found.pings]))

    # changing

    def edit(
        self,
        channel: Channel,
        message: Message,
        editor_id: int,
        changes: dict[str, Any],
        *,
        first: bool = False,
    ) -> Message:
        """`changes` may hold content, embeds, components, flags, allowed_mentions (parsed).

        `first` fills a message that was only "thinking", which does not count as an edit.
        """
        if message.author_id != editor_id:
            raise cannot_edit_others()
        if channel.archived:
            raise DiscordError(400, 50083, "Thread is archived")
        self.apply_edit(channel, message, changes, first=first)
        self._store.save_message(message)
        self._announce("MESSAGE_UPDATE", channel, message)
        return message

    def apply_edit(
        self, channel: Channel, message: Message, changes: dict[str, Any], *, first: bool = False
    ) -> None:
        """Changes the record alone; 50006 when nothing would be left of it."""
        content = changes.get("content", message.content)
        embeds = changes.get("embeds", message.embeds)
        components = changes.get("components", message.components)
        files = message.attachments or message.stickers
        if not (content or embeds or components or files):
            raise empty_message()
        if content != message.content and not first:
            message.edits.append({"content": message.content, "until": now_iso()})
        message.content, message.embeds, message.components = content, embeds, components
        message.flags = changes.get("flags", message.flags)
        message.edited_at = message.edited_at if first else now_iso()
        if "content" in changes:
            default = AllowedMentions()
            if message.webhook_id is not None or message.interaction is not None:
                default = AllowedMentions.for_webhooks()
            self._find_mentions(channel, message, changes.get("allowed_mentions") or default)

    def delete(self, channel: Channel, message: Message, deleter_id: int) -> None:
        """One's own message, or anybody's with MANAGE_MESSAGES."""
        if message.author_id != deleter_id:
            self._world.require(deleter_id, channel, "MANAGE_MESSAGES")
        if channel.archived:
            raise DiscordError(400, 50083, "Thread is archived")
        self.remove(channel, message, deleter_id)

    def remove(self, channel: Channel, message: Message, deleter_id: int) -> None:
        """Deletes without asking who may."""
        self._mark_deleted(message, deleter_id)
        data = {"id": str(message.id), "channel_id": str(channel.id)} | _guild(channel)
        self._world.hub.publish(Event("MESSAGE_DELETE", data, channel, message))

    def delete_many(self, channel: Channel, message_ids: list[int], deleter_id: int) -> None:
        self._world.require(deleter_id, channel, "MANAGE_MESSAGES")
        if not 2 <= len(message_ids) <= 100:
            raise DiscordError(
                400, 50016, "Provided too few or too many messages to delete. Must provide 2 to 100"
            )
        oldest_allowed = time.time() - BULK_DELETE_DAYS * 86_400
        if any(created_at(key).timestamp() < oldest_allowed for key in message_ids):
            raise DiscordError(
                400, 50034, "You can only bulk delete messages that are under 14 days old."
            )
        found = [self._store.message(channel.id, key) for key in message_ids]
        gone = [m for m in found if m is not None and m.deleted_at is None]
        for message in gone:
            self._mark_deleted(message, deleter_id)
        ids = [str(message.id) for message in gone]
        data = {"ids": ids, "channel_id": str(channel.id)} | _guild(channel)
        self._world.hub.publish(Event("MESSAGE_DELETE_BULK", data, channel))

    def _mark_deleted(self, message: Message, deleter_id: int) -> None:
        message.deleted_at = now_iso()
        message.deleted_by = deleter_id
        self._store.save_message(message)

    # reactions and pins

    def react(self, channel: Channel, message: Message, user_id: int, emoji: str) -> None:
        self._world.check_emoji(emoji)
        self._world.require(user_id, channel, "READ_MESSAGE_HISTORY")
        if emoji not in message.reactions:
            self._world.require(user_id, channel, "ADD_REACTIONS")
            if len(message.reactions) >= REACTION_LIMIT:
                raise DiscordError(403, 30010, "Maximum number of reactions reached (20)")
        if channel.archived:
            raise DiscordError(400, 50083, "Thread is archived")
        users = message.reactions.setdefault(emoji, [])
        if user_id in users:
            return
        users.append(user_id)
        self._reacted("MESSAGE_REACTION_ADD", channel, message, emoji, user_id)

    def unreact(self, channel: Channel, message: Message, user_id: int, emoji: str) -> None:
        """Taking away a reaction that is not there raises 10014, as Discord does."""
        users = message.reactions.get(emoji, [])
        if user_id not in users:
            raise unknown_emoji()
        users.remove(user_id)
        if not users:
            del message.reactions[emoji]
        self._reacted("MESSAGE_REACTION_REMOVE", channel, message, emoji, user_id)

    def clear_reactions(self, channel: Channel, message: Message, emoji: str | None) -> None:
        data = {"channel_id": str(channel.id), "message_id": str(message.id)} | _guild(channel)
        name = "MESSAGE_REACTION_REMOVE_ALL"
        if emoji is None:
            message.reactions.clear()
        else:
            message.reactions.pop(emoji, None)
            name = "MESSAGE_REACTION_REMOVE_EMOJI"
            data["emoji"] = wire.emoji(emoji)
        self._store.save_message(message)
        self._world.hub.publish(Event(name, data, channel, message))

    def _reacted(
        self, name: str, channel: Channel, message: Message, emoji: str, user_id: int
    ) -> None:
        self._store.save_message(message)
        data: dict[str, Any] = {
            "user_id": str(user_id),
            "channel_id": str(channel.id),
            "message_id": str(message.id),
            "emoji": wire.emoji(emoji),
            "burst": False,
            "type": 0,
        } | _guild(channel)
        if name.endswith("ADD"):
            data["message_author_id"] = str(message.author_id)
            if channel.guild_id is not None:
                data["member"] = wire.member(self._world, self._world.members[user_id])
        self._world.hub.publish(Event(name, data, channel, message))

    def pin(self, channel: Channel, message: Message, user_id: int, pinned: bool) -> None:
        if not self._world.can(user_id, channel, "PIN_MESSAGES"):
            self._world.require(user_id, channel, "MANAGE_MESSAGES")
        if pinned == (message.pinned_at is not None):
            return
        message.pinned_at = now_iso() if pinned else None
        self._store.save_message(message)
        data = {"channel_id": str(channel.id), "last_pin_timestamp": message.pinned_at}
        self._world.hub.publish(Event("CHANNEL_PINS_UPDATE", data | _guild(channel), channel))
        self._announce("MESSAGE_UPDATE", channel, message)
        if pinned:
            about = {"message_id": message.id, "channel_id": channel.id}
            self.add_system(channel, user_id, MessageType.PINNED, about, "")

    def _announce(self, name: str, channel: Channel, message: Message) -> None:
        data = wire.message(self._world, message, for_gateway=True)
        self._world.hub.publish(Event(name, data, channel, message))


def _guild(channel: Channel) -> dict[str, Any]:
    return {} if channel.guild_id is None else {"guild_id": str(channel.guild_id)}
