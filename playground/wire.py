"""Records as Discord's JSON, seen by the bot.

Source: Discord's API reference, the object of each resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playground.permissions import ALL
from playground.records import (
    Channel,
    ChannelType,
    Emoji,
    Member,
    Message,
    MessageType,
    Sticker,
    User,
    Webhook,
)
from playground.snowflakes import created_at, iso

if TYPE_CHECKING:
    from playground.world import World

Json = dict[str, Any]

GATEWAY_MESSAGE_CONTENT_LIMITED = 1 << 19
GATEWAY_GUILD_MEMBERS_LIMITED = 1 << 15
GATEWAY_PRESENCE_LIMITED = 1 << 13


def user(record: User) -> Json:
    return {
        "id": str(record.id),
        "username": record.name if record.bot else record.name.lower(),
        "global_name": None if record.bot else record.name,
        "discriminator": "0001" if record.bot else "0",
        "avatar": None,
        "bot": record.bot,
        "public_flags": 0,
    }


def me(world: World) -> Json:
    return user(world.users[world.bot_id]) | {
        "verified": True,
        "mfa_enabled": False,
        "email": None,
        "locale": "en-US",
        "flags": 0,
    }


def member(world: World, record: Member, *, with_user: bool = True) -> Json:
    body: Json = {
        "nick": None,
        "avatar": None,
        "roles": [str(role) for role in record.roles],
        "joined_at": record.joined_at,
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
        "communication_disabled_until": record.timed_out_until,
    }
    if with_user:
        body["user"] = user(world.users[record.user_id])
    return body


def channel(world: World, record: Channel) -> Json:
    body: Json = {
        "id": str(record.id),
        "type": record.type,
        "last_message_id": _id(record.last_message_id),
        "flags": 0,
    }
    if record.is_dm:
        assert record.recipient_id is not None
        return body | {"recipients": [user(world.users[record.recipient_id])]}
    body |= {
        "guild_id": str(record.guild_id),
        "name": record.name,
        "parent_id": _id(record.parent_id),
        "rate_limit_per_user": 0,
    }
    if record.is_thread:
        thread_id, bot_id = str(record.id), str(world.bot_id)
        return body | {
            "owner_id": str(record.owner_id),
            "message_count": record.message_count,
            "total_message_sent": record.message_count,
            "member_count": 3,
            "thread_metadata": {
                "archived": record.archived,
                "auto_archive_duration": 1440,
                "archive_timestamp": record.archive_changed_at,
                "locked": record.locked,
                "create_timestamp": iso(created_at(record.id)),
            },
            "member": {
                "id": thread_id,
                "user_id": bot_id,
                "join_timestamp": iso(created_at(record.id)),
                "flags": 0,
            },
        }
    return body | {
        "position": record.position,
        "topic": record.topic,
        "nsfw": False,
        "permission_overwrites": [
            {
                "id": str(item.id),
                "type": item.kind,
                "allow": str(item.allow),
                "deny": str(item.deny),
            }
            for item in record.overwrites
        ],
    }


def guild(world: World) -> Json:
    """A guild as REST gives it."""
    return {
        "id": str(world.guild_id),
        "name": world.guild_name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "banner": None,
        "description": None,
        "owner_id": str(world.owner_id),
        "region": "local",
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 1,
        "explicit_content_filter": 0,
        "roles": [role(record) for record in sorted_roles(world)],
        "emojis": [custom_emoji(record) for record in world.emojis.values()],
        "stickers": [sticker(world, record) for record in world.stickers.values()],
        "features": [],
        "mfa_level": 0,
        "application_id": None,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "vanity_url_code": None,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": "en-US",
        "nsfw_level": 0,
        "premium_progress_bar_enabled": False,
    }


def guild_create(world: World, *, with_members: bool) -> Json:
    """A guild as GUILD_CREATE gives it; without the members intent, only the bot is in it."""
    bot = world.members[world.bot_id]
    members = list(world.members.values()) if with_members else [bot]
    visible = [c for c in world.channels.values() if world.can(world.bot_id, c, "VIEW_CHANNEL")]
    return guild(world) | {
        "joined_at": bot.joined_at,
        "large": False,
        "unavailable": False,
        "member_count": len(world.members),
        "members": [member(world, record) for record in members],
        "channels": [channel(world, c) for c in visible if not c.is_thread and not c.is_dm],
        "threads": [channel(world, c) for c in visible if c.is_thread and not c.archived],
        "voice_states": [],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def sorted_roles(world: World) -> list[Any]:
    return sorted(world.roles.values(), key=lambda record: record.position)


def role(record: Any) -> Json:
    return {
        "id": str(record.id),
        "name": record.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "icon": None,
        "unicode_emoji": None,
        "position": record.position,
        "permissions": str(record.permissions),
        "managed": record.managed,
        "mentionable": False,
        "flags": 0,
    }


def application_flags(world: World) -> int:
    """The portal's privileged intents as application flags (the "limited" ones: a small bot)."""
    flags = 0
    flags |= GATEWAY_MESSAGE_CONTENT_LIMITED if world.portal["message_content"] else 0
    flags |= GATEWAY_GUILD_MEMBERS_LIMITED if world.portal["members"] else 0
    flags |= GATEWAY_PRESENCE_LIMITED if world.portal["presences"] else 0
    return flags


def application(world: World) -> Json:
    owner = user(world.users[world.owner_id])
    return {
        "id": str(world.bot_id),
        "name": world.users[world.bot_id].name,
        "icon": None,
        "description": "",
        "summary": "",
        "rpc_origins": [],
        "bot_public": True,
        "bot_require_code_grant": False,
        "owner": owner,
        "team": None,
        "verify_key": "0" * 64,
        "flags": application_flags(world),
        "hook": True,
        "tags": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "approximate_guild_count": 1,
    }


def is_bots_webhook(world: World, webhook_id: int | None) -> bool:
    """Discord says whose a message is only where an application owns the webhook."""
    known = world.webhooks.get(webhook_id) if webhook_id is not None else None
    return webhook_id is not None and (known is None or known.creator_id == world.bot_id)


def webhook(world: World, record: Webhook) -> Json:
    return {
        "id": str(record.id),
        "type": 1,
        "guild_id": str(world.guild_id),
        "channel_id": str(record.channel_id),
        "name": record.name,
        "avatar": record.avatar,
        "token": record.token,
        "application_id": str(world.bot_id) if record.creator_id == world.bot_id else None,
        "user": user(world.users[record.creator_id]),
    }


def custom_emoji(record: Emoji) -> Json:
    return {
        "id": str(record.id),
        "name": record.name,
        "roles": [],
        "require_colons": True,
        "managed": False,
        "animated": False,
        "available": True,
    }


def sticker(world: World, record: Sticker) -> Json:
    return {
        **_sticker_item(record),
        "description": record.description,
        "tags": record.emoji,
        "type": 2,
        "available": True,
        "guild_id": str(world.guild_id),
    }


def _sticker_item(record: Sticker) -> Json:
    return {"id": str(record.id), "name": record.name, "format_type": 1}


def attachment(world: World, body: Json) -> Json:
    """A file as the bot sees it: with a whole address, which expires."""
    address = f"{world.address}{body['url']}?hm={world.sign(body['url'])}"
    return body | {"url": address, "proxy_url": address}


def emoji(text: str) -> Json:
    """`👍`, or `name:id` for a custom one."""
    name, _, key = text.partition(":")
    return {"id": key or None, "name": name}


def message(
    world: World, record: Message, *, nested: bool = True, for_gateway: bool = False
) -> Json:
    """A message. Gateway payloads add the guild and the author's membership.

    `nested=False` leaves out the message replied to, as Discord does one level down.
    """
    body: Json = {
        "id": str(record.id),
        "channel_id": str(record.channel_id),
        "type": record.type,
        "content": record.content,
        "author": author(world, record),
        "timestamp": iso(created_at(record.id)),
        "edited_timestamp": record.edited_at,
        "tts": record.tts,
        "mention_everyone": record.mention_everyone,
        "mentions": [user(world.users[key]) for key in record.mentions],
        "mention_roles": [ping[5:] for ping in record.pings if ping.startswith("role:")],
        "mention_channels": [],
        "attachments": [attachment(world, item) for item in record.attachments],
        "embeds": record.embeds,
        "components": record.components,
        "pinned": record.pinned_at is not None,
        "flags": record.flags,
    }
    place = world.channels.get(record.channel_id)
    if for_gateway and place is not None and place.guild_id is not None:
        body["guild_id"] = str(place.guild_id)
        if record.author_id in world.members and record.webhook_id is None:
            body["member"] = member(world, world.members[record.author_id], with_user=False)
    if record.nonce is not None:
        body["nonce"] = record.nonce
    if record.stickers:
        known = [world.stickers[key] for key in record.stickers if key in world.stickers]
        body["sticker_items"] = [_sticker_item(item) for item in known]
    if record.reactions:
        body["reactions"] = [_reaction(world, *item) for item in record.reactions.items()]
    if record.webhook_id is not None:
        body["webhook_id"] = str(record.webhook_id)
    if record.interaction is not None or is_bots_webhook(world, record.webhook_id):
        body["application_id"] = str(world.bot_id)
    if record.interaction is not None:
        body["interaction_metadata"] = {
            "id": str(record.interaction["id"]),
            "type": record.interaction["type"],
            "name": record.interaction["name"],
            "user": user(world.users[record.interaction["user_id"]]),
            "authorizing_integration_owners": {"0": str(world.guild_id)},
        }
    thread = world.channels.get(record.id)
    if thread is not None:
        body["thread"] = channel(world, thread)
    if record.reference is not None:
        body |= _reference(world, record, nested)
    return body


def _reference(world: World, record: Message, nested: bool) -> Json:
    assert record.reference is not None
    there = world.channels.get(record.reference["channel_id"])
    body: Json = {
        "message_reference": {
            "type": 0,
            "message_id": str(record.reference["message_id"]),
            "channel_id": str(record.reference["channel_id"]),
        }
    }
    if there is not None and there.guild_id is not None:
        body["message_reference"]["guild_id"] = str(there.guild_id)
    if nested and record.type == MessageType.REPLY:
        target = world.store.message(record.reference["channel_id"], record.reference["message_id"])
        body["referenced_message"] = None
        if target is not None and target.deleted_at is None:
            body["referenced_message"] = message(world, target, nested=False)
    return body


def author(world: World, record: Message) -> Json:
    if record.webhook_id is None:
        return user(world.users[record.author_id])
    return {
        "id": str(record.webhook_id),
        "username": record.webhook_name,
        "global_name": None,
        "discriminator": "0000",
        "avatar": record.webhook_avatar,
        "bot": True,
        "public_flags": 0,
    }


def _reaction(world: World, text: str, user_ids: list[int]) -> Json:
    return {
        "emoji": emoji(text),
        "count": len(user_ids),
        "count_details": {"burst": 0, "normal": len(user_ids)},
        "me": world.bot_id in user_ids,
        "me_burst": False,
        "burst_colors": [],
    }


def without_content(world: World, body: Json, record: Message) -> Json:
    """`body` as an application without the message content intent sees it.

    Its own messages, direct messages and messages that mention it stay whole.
    """
    place = world.channels.get(record.channel_id)
    if (
        record.author_id == world.bot_id
        or world.bot_id in record.mentions
        or place is None
        or place.type == ChannelType.DM
    ):
        return body
    blank: Json = {"content": "", "embeds": [], "attachments": [], "components": []}
    return body | blank


def interaction_channel(world: World, record: Channel, user_id: int) -> Json:
    """The partial channel of an interaction, with the invoking member's permissions in it."""
    rights = ALL if record.is_dm else world.permissions_of(user_id, record)
    return channel(world, record) | {"permissions": str(rights)}


def _id(key: int | None) -> str | None:
    return None if key is None else str(key)
