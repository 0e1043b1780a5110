"""Webhooks: made, executed, their messages edited. An interaction's follow-ups use the same paths
with the application's id and the interaction's token."""

from __future__ import annotations

import secrets
from typing import Any

from aiohttp import web

from playground import wire
from playground.drafts import Draft, read_changes, read_draft
from playground.errors import (
    DiscordError,
    invalid_form,
    invalid_webhook_token,
    too_long,
    unknown_channel,
    unknown_message,
    unknown_webhook,
)
from playground.interactions import Interaction
from playground.records import Channel, ChannelType, Message, Webhook
from playground.rest.body import fields, path_id, query_id, uploads
from playground.rest.channels import the_channel
from playground.services import SERVICES, Services

routes = web.RouteTableDef()

WEBHOOKS_PER_CHANNEL = 15
NAME_LIMIT = 80
_FORBIDDEN_IN_NAMES = ("clyde", "discord")

_WITH_TOKEN = r"/webhooks/{webhook:\d+}/{token}"
_MESSAGE = _WITH_TOKEN + r"/messages/{message:\d+|@original}"


def check_name(field: str, name: object) -> str:
    """A webhook's name. Source: Discord's API reference, "Create Webhook"."""
    text = str(name or "").strip()
    if not 1 <= len(text) <= NAME_LIMIT:
        raise (
            too_long(field, NAME_LIMIT)
            if text
            else invalid_form(
                field, "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {NAME_LIMIT} in length."
            )
        )
    for word in _FORBIDDEN_IN_NAMES:
        if word in text.lower():
            raise invalid_form(
                field, "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{word}"'
            )
    return text


# managing them


@routes.post(r"/channels/{channel:\d+}/webhooks")
async def create(request: web.Request) -> web.Response:
    services, channel = the_channel(request, "MANAGE_WEBHOOKS")
    if channel.type != ChannelType.TEXT:
        raise DiscordError(400, 50024, "Cannot execute action on this channel type")
    name = check_name("name", fields(request).get("name"))
    if len(_of_channel(services, channel)) >= WEBHOOKS_PER_CHANNEL:
        raise DiscordError(
            400, 30007, f"Maximum number of webhooks reached ({WEBHOOKS_PER_CHANNEL})"
        )
    world = services.world
    token = secrets.token_urlsafe(51)
    webhook = Webhook(world.snowflakes.next(), channel.id, name, token, world.bot_id)
    world.save_webhook(webhook)
    return web.json_response(wire.webhook(world, webhook))


@routes.get(r"/channels/{channel:\d+}/webhooks")
async def listed(request: web.Request) -> web.Response:
    services, channel = the_channel(request, "MANAGE_WEBHOOKS")
    found = _of_channel(services, channel)
    return web.json_response([wire.webhook(services.world, webhook) for webhook in found])


def _of_channel(services: Services, channel: Channel) -> list[Webhook]:
    return [hook for hook in services.world.webhooks.values() if hook.channel_id == channel.id]


def _managed(request: web.Request) -> tuple[Services, Webhook]:
    """By the bot's token and right, or by the webhook's own token when the path has it."""
    services = request.app[SERVICES]
    webhook = services.world.webhooks.get(path_id(request, "webhook"))
    if webhook is None:
        raise unknown_webhook()
    if "token" in request.match_info:
        if request.match_info["token"] != webhook.token:
            raise invalid_webhook_token()
    else:
        channel = services.world.channel(webhook.channel_id)
        services.world.require(services.world.bot_id, channel, "MANAGE_WEBHOOKS")
    return services, webhook


@routes.get(r"/webhooks/{webhook:\d+}")
@routes.get(_WITH_TOKEN)
async def get(request: web.Request) -> web.Response:
    services, webhook = _managed(request)
    return web.json_response(wire.webhook(services.world, webhook))


@routes.patch(r"/webhooks/{webhook:\d+}")
@routes.patch(_WITH_TOKEN)
async def edit(request: web.Request) -> web.Response:
    services, webhook = _managed(request)
    changes = fields(request)
    if "name" in changes:
        webhook.name = check_name("name", changes["name"])
    if "channel_id" in changes and "token" not in request.match_info:
        webhook.channel_id = services.world.channel(int(changes["channel_id"])).id
    services.world.save_webhook(webhook)
    return web.json_response(wire.webhook(services.world, webhook))


@routes.delete(r"/webhooks/{webhook:\d+}")
@routes.delete(_WITH_TOKEN)
async def delete(request: web.Request) -> web.Response:
    services, webhook = _managed(request)
    services.world.delete_webhook(webhook)
    return web.Response(status=204)


# writing through them


@routes.post(_WITH_TOKEN)
async def execute(request: web.Request) -> web.Response:
    services = request.app[SERVICES]
    if path_id(request, "webhook") == services.world.bot_id:
        draft = read_draft(fields(request), uploads(request))
        message = services.interactions.follow_up(_interaction(request), draft)
        return web.json_response(wire.message(services.world, message))
    _, webhook = _managed(request)
    wait = request.query.get("wait") in ("1", "true")
    try:
        message = _write(request, services, webhook)
    except DiscordError:
        if wait:
            raise
        # Without `wait` Discord answers before it saves, and the failure stays unseen.
        return web.Response(status=204)
    if not wait:
        return web.Response(status=204)
    return web.json_response(wire.message(services.world, message))


def _write(request: web.Request, services: Services, webhook: Webhook) -> Message:
    payload = fields(request)
    draft: Draft = read_draft(payload, uploads(request))
    name = webhook.name
    if payload.get("username"):
        name = check_name("username", payload["username"])
    channel = _target(request, services, webhook)
    if channel.archived:
        services.world.archive(channel, False)
    avatar = payload.get("avatar_url") or webhook.avatar
    return services.messages.send_by_webhook(channel, webhook, draft, name, avatar)


def _target(request: web.Request, services: Services, webhook: Webhook) -> Channel:
    """The webhook's channel, or a thread of it."""
    thread_id = query_id(request, "thread_id")
    if thread_id is None:
        return services.world.channel(webhook.channel_id)
    thread = services.world.channel(thread_id)
    if thread.parent_id != webhook.channel_id:
        raise unknown_channel()
    return thread


@routes.get(_MESSAGE)
async def get_message(request: web.Request) -> web.Response:
    services, _, message, _ = _written(request)
    return web.json_response(wire.message(services.world, message))


@routes.patch(_MESSAGE)
async def edit_message(request: web.Request) -> web.Response:
    services, channel, message, interaction = _written(request)
    changes = read_changes(fields(request))
    if interaction is not None:
        which = request.match_info["message"]
        message = services.interactions.edit(interaction, which, changes)
    else:
        message = services.messages.edit(channel, message, message.author_id, changes)
    return web.json_response(wire.message(services.world, message))


@routes.delete(_MESSAGE)
async def delete_message(request: web.Request) -> web.Response:
    services, channel, message, interaction = _written(request)
    if interaction is not None:
        services.interactions.delete(interaction, request.match_info["message"])
    else:
        services.messages.remove(channel, message, message.author_id)
    return web.Response(status=204)


def _interaction(request: web.Request) -> Interaction:
    return request.app[SERVICES].interactions.by_token(request.match_info["token"])


def _written(request: web.Request) -> tuple[Services, Channel, Message, Interaction | None]:
    """The message of a webhook or interaction that the path names."""
    services = request.app[SERVICES]
    which: Any = request.match_info["message"]
    if path_id(request, "webhook") == services.world.bot_id:
        interaction = _interaction(request)
        message = services.interactions.message(interaction, which)
        return services, interaction.channel, message, interaction
    _, webhook = _managed(request)
    channel = _target(request, services, webhook)
    if not which.isdecimal():
        raise unknown_message()
    message = services.messages.get(channel, int(which))
    if message.author_id != webhook.id:
        raise unknown_message()
    return services, channel, message, None
