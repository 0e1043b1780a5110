"""Errors of the control interface, and how requests name channels, members and messages."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from aiohttp import web

from playground.control import values
from playground.control.values import ControlError
from playground.errors import DiscordError
from playground.forms import NotFilledIn
from playground.options import CannotInvoke
from playground.records import Channel, Message
from playground.services import SERVICES, Services

LONGEST_WAIT = 120.0
"""Seconds that one request may wait."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def answer_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except ControlError as error:
        return web.json_response({"error": str(error)}, status=error.status)
    except NotFilledIn as error:
        return web.json_response({"error": str(error), "fields": error.problems}, status=400)
    except CannotInvoke as error:
        return web.json_response({"error": str(error)}, status=400)
    except DiscordError as error:
        body = {"error": said(error), "code": error.code, "details": error.errors}
        return web.json_response(body, status=error.status)
    except web.HTTPNotFound:
        return web.json_response({"error": f"no such path: {request.path}"}, status=404)


def said(error: DiscordError) -> str:
    """A refusal in words: Discord's message, and what it says about each field."""
    return "; ".join([error.message, *_about_fields(error.errors or {}, "")])


def _about_fields(errors: dict[str, Any], where: str) -> Iterator[str]:
    for name, inner in errors.items():
        if name == "_errors":
            yield from (f"{where}: {each['message']}" for each in inner)
        else:
            yield from _about_fields(inner, f"{where}.{name}" if where else name)


async def order(request: web.Request) -> dict[str, Any]:
    """The body, which has to be a JSON object; no body is an empty one."""
    text = await request.text()
    try:
        body = json.loads(text) if text else {}
    except ValueError:
        raise ControlError("the body is not JSON") from None
    if not isinstance(body, dict):
        raise ControlError("the body must be a JSON object")
    return body


def needed(body: dict[str, Any], name: str) -> Any:
    if body.get(name) is None:
        raise ControlError(f"{name!r} is missing")
    return body[name]


def find_channel(services: Services, given: object) -> Channel:
    """By id, by name (with or without #), or `dm:<member>`."""
    text = str(given).removeprefix("#")
    channels = services.world.channels
    if text.isdecimal() and int(text) in channels:
        return channels[int(text)]
    if text.startswith("dm:"):
        return services.world.dm_with(find_member(services, text[3:]))
    for channel in channels.values():
        if channel.name and channel.name.lower() == text.lower():
            return channel
    names = ", ".join(channel.name for channel in channels.values() if channel.name)
    raise ControlError(f"no channel {text!r}; there are: {names}, dm:<member>", 404)


def find_member(services: Services, given: object) -> int:
    """A user id, by id or name."""
    for user in services.world.users.values():
        if str(given).lower() in (str(user.id), user.name.lower()):
            return user.id
    names = ", ".join(user.name for user in services.world.users.values())
    raise ControlError(f"no member {given!r}; there are: {names}", 404)


def find_message(services: Services, channel: Channel, given: object) -> Message:
    return services.messages.get(channel, values.snowflake(given, "message"))


def seconds(given: object, default: float) -> float:
    """How long to wait, from 0 to LONGEST_WAIT."""
    try:
        value = default if given is None else float(str(given))
    except ValueError:
        raise ControlError(f"{given!r} is no number of seconds") from None
    if math.isnan(value):
        raise ControlError(f"{given!r} is no number of seconds")
    return min(max(value, 0.0), LONGEST_WAIT)


def services_of(request: web.Request) -> Services:
    return request.app[SERVICES]
