"""Messages, channels and members as the page and the tests see them."""

from __future__ import annotations

from typing import Any

from playground import wire
from playground.interactions import InteractionType
from playground.records import LOADING, Channel, Message, MessageType, User
from playground.services import Services
from playground.snowflakes import created_at, iso
from playground.turns import search_url, turn_id, turn_url

Json = dict[str, Any]


def message(services: Services, record: Message) -> Json:
    """A message with everything that happened to it."""
    channel = services.world.channels.get(record.channel_id)
    view: Json = {
        "id": str(record.id),
        "channel": str(record.channel_id),
        "channel_name": channel.name if channel else "",
        "type": MessageType(record.type).name.lower(),
        "author": _author(services, record),
        "content": record.content,
        "embeds": record.embeds,
        "components": record.components,
        "attachments": record.attachments,
        "stickers": [_sticker(services, key) for key in record.stickers],
        "nonce": record.nonce,
        "created_at": iso(created_at(record.id)),
        "edited_at": record.edited_at,
        "edits": record.edits,
        "reactions": [
            {"emoji": emoji, "members": [_name(services, key) for key in users]}
            for emoji, users in record.reactions.items()
        ],
        "reply_to": None,
        "pings": [_ping(services, ping) for ping in record.pings],
        "pinned": record.pinned_at is not None,
        "deleted": record.deleted_at is not None,
        "deleted_at": record.deleted_at,
        "ephemeral": record.ephemeral,
        "thinking": bool(record.flags & LOADING),
        "interaction": None,
        "turn": _turn(services, record),
    }
    if record.reference is not None:
        view["reply_to"] = _reply(services, record)
    if record.interaction is not None:
        invoker = record.interaction["user_id"]
        view["interaction"] = {
            "name": record.interaction["name"],
            "pressed": record.interaction["type"] == InteractionType.COMPONENT,
            "member": _name(services, invoker),
            "member_id": str(invoker),
        }
    return view


def _author(services: Services, record: Message) -> Json:
    author = wire.author(services.world, record)
    name = author["global_name"] or author["username"]
    return {"id": author["id"], "name": name, "bot": author["bot"]}


def _name(services: Services, user_id: int) -> str:
    user = services.world.users.get(user_id)
    return user.name if user else str(user_id)


def _ping(services: Services, ping: str) -> str:
    """A user's name, or the ping as it stands (`@everyone`, `role:…`)."""
    return _name(services, int(ping)) if ping.isdecimal() else ping


def _sticker(services: Services, key: int) -> Json:
    known = services.world.stickers.get(key)
    return {"id": str(key), "name": known.name if known else "", "deleted": known is None}


def _reply(services: Services, record: Message) -> Json:
    assert record.reference is not None
    target = services.store.message(record.reference["channel_id"], record.reference["message_id"])
    if target is None or target.deleted_at is not None:
        return {"id": str(record.reference["message_id"]), "deleted": True}
    return {
        "id": str(target.id),
        "deleted": False,
        "author": _author(services, target),
        "content": target.content,
    }


def _turn(services: Services, record: Message) -> Json | None:
    """Which turn said it. `workflow_id` None: through a webhook, so the address is a search."""
    config, bot_id = services.config, services.world.bot_id
    if wire.is_bots_webhook(services.world, record.webhook_id):
        at = created_at(record.id)
        found = search_url(config.temporal_ui, config.namespace, record.channel_id, at)
        return {"workflow_id": None, "url": found}
    workflow_id = turn_id(record.channel_id, record.nonce)
    if workflow_id is None or record.author_id != bot_id:
        return None
    url = turn_url(config.temporal_ui, config.namespace, workflow_id)
    return {"workflow_id": workflow_id, "url": url}


def channel(services: Services, record: Channel) -> Json:
    world = services.world
    kind = "dm" if record.is_dm else "thread" if record.is_thread else "text"
    partner = world.users[record.recipient_id].name if record.recipient_id else None
    writing = "SEND_MESSAGES_IN_THREADS" if record.is_thread else "SEND_MESSAGES"
    return {
        "id": str(record.id),
        "name": record.name or f"dm:{partner}",
        "kind": kind,
        "topic": record.topic,
        "position": record.position,
        "parent": str(record.parent_id) if record.parent_id else None,
        "member": str(record.recipient_id) if record.recipient_id else None,
        "archived": record.archived,
        "bot_may_write": world.can(world.bot_id, record, "VIEW_CHANNEL", writing),
    }


def user(record: User) -> Json:
    return {"id": str(record.id), "name": record.name, "bot": record.bot}


def typing(services: Services, channel_id: int) -> list[Json]:
    return [
        {"user": user(services.world.users[key]), "until": until}
        for key, until in services.typing.active(channel_id).items()
        if key in services.world.users
    ]


def state(services: Services) -> Json:
    """Everything but the messages."""
    world = services.world
    commands = [body for body in services.commands.all.values() if body["type"] == 1]
    return {
        "guild": {"id": str(world.guild_id), "name": world.guild_name},
        "bot": user(world.users[world.bot_id]) | {"online": services.gateway.online},
        "members": [user(u) for u in world.users.values() if not u.bot],
        "roles": [{"id": str(role.id), "name": role.name} for role in world.roles.values()],
        "channels": [channel(services, c) for c in world.channels.values()],
        "stickers": [
            {"id": str(item.id), "name": item.name, "emoji": item.emoji}
            for item in world.stickers.values()
        ],
        "commands": [
            {
                "name": body["name"],
                "description": body["description"],
                "options": body["options"],
            }
            for body in commands
        ],
        "typing": {str(key): typing(services, key) for key in world.channels},
        "temporal_ui": services.config.temporal_ui,
        "namespace": services.config.namespace,
    }
