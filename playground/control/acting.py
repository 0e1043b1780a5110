"""What a member does: write, edit, delete, react, type."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from aiohttp import web

from playground.control import values, views
from playground.control.answers import (
    ControlError,
    find_channel,
    find_member,
    find_message,
    needed,
    order,
    services_of,
)
from playground.drafts import CONTENT_LIMIT, Draft, Upload, read_content, read_draft
from playground.records import Channel
from playground.services import Services

routes = web.RouteTableDef()


async def _who_and_where(
    request: web.Request,
) -> tuple[Services, dict[str, Any], Channel, int]:
    services, body = services_of(request), await order(request)
    channel = find_channel(services, needed(body, "channel"))
    member_id = find_member(services, needed(body, "member"))
    return services, body, channel, member_id


@routes.post("/messages")
async def write(request: web.Request) -> web.Response:
    services, body, channel, member_id = await _who_and_where(request)
    files = _files(body)
    stickers = values.texts(body.get("stickers") or [], "stickers")
    said = _content({"content": ""} | body if files or stickers else body)
    payload: dict[str, Any] = {"content": said, "sticker_ids": stickers}
    if body.get("reply_to") is not None:
        target = values.snowflake(body["reply_to"], "reply_to")
        payload["message_reference"] = {"message_id": str(target)}
    draft: Draft = read_draft(payload, files)
    # `age` in seconds: as if it had been said so long ago.
    age = values.number(body.get("age", 0), "age")
    message = services.messages.send(channel, member_id, draft, age)
    return web.json_response(views.message(services, message), status=201)


def _files(body: dict[str, Any]) -> list[Upload]:
    """`[{filename, data: base64, content_type?}]`."""
    given = body.get("files") or []
    example = '{"filename": "notes.txt", "data": "aGVsbG8="}'
    if not isinstance(given, list):
        raise ControlError(f"'files' must be a list such as [{example}]")
    uploads: list[Upload] = []
    for item in given:
        file = values.table(item, "files", example)
        name = values.text(needed(file, "filename"), "filename").rpartition("/")[2]
        kind = values.text(file.get("content_type", "application/octet-stream"), "content_type")
        try:
            data = base64.b64decode(values.text(needed(file, "data"), "data"), validate=True)
        except binascii.Error:
            raise ControlError("'data' must be base64") from None
        uploads.append(Upload(name or "file", kind, data))
    return uploads


def _content(body: dict[str, Any]) -> str:
    """What a member wrote. Discord's clients count before they send, and so does this."""
    content = values.text(needed(body, "content"), "content").strip()
    if len(content) > CONTENT_LIMIT:
        raise ControlError(
            f"the message is too long: {len(content)} of at most {CONTENT_LIMIT} characters"
        )
    return content


@routes.patch("/messages")
async def edit(request: web.Request) -> web.Response:
    services, body, channel, member_id = await _who_and_where(request)
    message = find_message(services, channel, needed(body, "message"))
    changes = {"content": read_content({"content": _content(body)})}
    message = services.messages.edit(channel, message, member_id, changes)
    return web.json_response(views.message(services, message))


@routes.delete("/messages")
async def delete(request: web.Request) -> web.Response:
    services, body = services_of(request), await order(request)
    channel = find_channel(services, needed(body, "channel"))
    message = find_message(services, channel, needed(body, "message"))
    if body.get("member") is None:
        services.messages.remove(channel, message, services.world.owner_id)
    else:
        services.messages.delete(channel, message, find_member(services, body["member"]))
    return web.json_response({"deleted": str(message.id)})


@routes.post("/reactions")
async def react(request: web.Request) -> web.Response:
    services, body, channel, member_id = await _who_and_where(request)
    message = find_message(services, channel, needed(body, "message"))
    emoji = str(needed(body, "emoji"))
    if body.get("remove"):
        services.messages.unreact(channel, message, member_id, emoji)
    else:
        services.messages.react(channel, message, member_id, emoji)
    return web.json_response(views.message(services, message))


@routes.post("/typing")
async def type_(request: web.Request) -> web.Response:
    services, _, channel, member_id = await _who_and_where(request)
    if not services.world.can(member_id, channel, "VIEW_CHANNEL"):
        raise ControlError("that member does not see the channel", 403)
    services.typing.start(channel, member_id)
    return web.json_response({"typing": views.typing(services, channel.id)})
