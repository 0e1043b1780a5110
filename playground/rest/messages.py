"""Messages: history, sending, editing, deleting, pins."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from aiohttp import web

from playground import wire
from playground.drafts import read_changes, read_draft
from playground.errors import invalid_form
from playground.records import Channel, Message
from playground.rest.body import fields, path_id, query_id, query_limit, uploads
from playground.rest.channels import the_channel
from playground.services import Services

routes = web.RouteTableDef()


def as_json(services: Services, message: Message) -> dict[str, Any]:
    """A message for the bot. REST hides content by the portal's switch, not by a session."""
    body = wire.message(services.world, message)
    if not services.world.portal["message_content"]:
        body = wire.without_content(services.world, body, message)
    return body


def the_message(request: web.Request, *rights: str) -> tuple[Services, Channel, Message]:
    services, channel = the_channel(request, *rights)
    return services, channel, services.messages.get(channel, path_id(request, "message"))


@routes.get(r"/channels/{channel:\d+}/messages")
async def history(request: web.Request) -> web.Response:
    """Newest first, whatever was asked for, as Discord answers."""
    services, channel = the_channel(request)
    limit = query_limit(request, default=50, most=100)
    before, after = query_id(request, "before"), query_id(request, "after")
    around = query_id(request, "around")
    if sum(key is not None for key in (before, after, around)) > 1:
        raise invalid_form("around", "MUTUALLY_EXCLUSIVE", "Only one of these may be set")
    bot_id = services.world.bot_id
    if not services.world.can(bot_id, channel, "READ_MESSAGE_HISTORY"):
        return web.json_response([])
    store = services.store
    if around is not None:
        half = limit // 2
        older = store.messages(channel.id, before=around, limit=half)
        newer = store.messages(channel.id, after=around - 1, limit=limit - half, oldest_first=True)
        found = [*reversed(newer), *older]
    elif after is not None:
        found = store.messages(channel.id, after=after, limit=limit, oldest_first=True)[::-1]
    else:
        found = store.messages(channel.id, before=before, limit=limit)
    return web.json_response([as_json(services, message) for message in found])


@routes.get(r"/channels/{channel:\d+}/messages/{message:\d+}")
async def get(request: web.Request) -> web.Response:
    services, _, message = the_message(request, "READ_MESSAGE_HISTORY")
    return web.json_response(as_json(services, message))


@routes.post(r"/channels/{channel:\d+}/messages")
async def create(request: web.Request) -> web.Response:
    services, channel = the_channel(request)
    draft = read_draft(fields(request), uploads(request))
    message = services.messages.send(channel, services.world.bot_id, draft)
    return web.json_response(as_json(services, message))


@routes.patch(r"/channels/{channel:\d+}/messages/{message:\d+}")
async def edit(request: web.Request) -> web.Response:
    services, channel, message = the_message(request)
    changes = read_changes(fields(request))
    message = services.messages.edit(channel, message, services.world.bot_id, changes)
    return web.json_response(as_json(services, message))


@routes.delete(r"/channels/{channel:\d+}/messages/{message:\d+}")
async def delete(request: web.Request) -> web.Response:
    services, channel, message = the_message(request)
    services.messages.delete(channel, message, services.world.bot_id)
    return web.Response(status=204)


@routes.post(r"/channels/{channel:\d+}/messages/bulk-delete")
async def bulk_delete(request: web.Request) -> web.Response:
    services, channel = the_channel(request)
    ids = [int(key) for key in fields(request).get("messages") or []]
    services.messages.delete_many(channel, ids, services.world.bot_id)
    return web.Response(status=204)


@routes.get(r"/channels/{channel:\d+}/pins")
async def pins_as_list(request: web.Request) -> web.Response:
    services, channel = the_channel(request)
    found = services.store.pinned(channel.id)
    return web.json_response([as_json(services, message) for message in found])


@routes.get(r"/channels/{channel:\d+}/messages/pins")
async def pins(request: web.Request) -> web.Response:
    """In pages, the latest pin first; `before` is a pin's moment."""
    services, channel = the_channel(request, "READ_MESSAGE_HISTORY")
    limit = query_limit(request, default=50, most=50)
    found = services.store.pinned(channel.id)
    if before := request.query.get("before"):
        moment = datetime.fromisoformat(before)
        found = [m for m in found if datetime.fromisoformat(m.pinned_at or "") < moment]
    items = [
        {"pinned_at": message.pinned_at, "message": as_json(services, message)}
        for message in found[:limit]
    ]
    return web.json_response({"items": items, "has_more": len(found) > limit})


@routes.put(r"/channels/{channel:\d+}/messages/pins/{message:\d+}")
@routes.put(r"/channels/{channel:\d+}/pins/{message:\d+}")
async def pin(request: web.Request) -> web.Response:
    services, channel, message = the_message(request)
    services.messages.pin(channel, message, services.world.bot_id, True)
    return web.Response(status=204)


@routes.delete(r"/channels/{channel:\d+}/messages/pins/{message:\d+}")
@routes.delete(r"/channels/{channel:\d+}/pins/{message:\d+}")
async def unpin(request: web.Request) -> web.Response:
    services, channel, message = the_message(request)
    services.messages.pin(channel, message, services.world.bot_id, False)
    return web.Response(status=204)
