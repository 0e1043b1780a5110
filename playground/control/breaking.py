"""What goes wrong, and what the guild lets the bot do: faults, permissions, time-outs, stickers,
settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from playground.control import values
from playground.control.answers import (
    ControlError,
    find_channel,
    find_member,
    needed,
    order,
    services_of,
)
from playground.faults import Fault
from playground.permissions import bits
from playground.ratelimits import Limit
from playground.services import Services

routes = web.RouteTableDef()

LONGEST_TIMEOUT = 28 * 86_400.0
"""Seconds. Source: Discord's API reference, "Modify Guild Member"."""


@routes.post("/faults")
async def add_fault(request: web.Request) -> web.Response:
    services = services_of(request)
    try:
        fault = Fault.parse(await order(request))
    except ValueError as error:
        raise ControlError(str(error)) from None
    services.faults.queue.append(fault)
    return web.json_response(fault.describe(), status=201)


@routes.get("/faults")
async def faults(request: web.Request) -> web.Response:
    queue = services_of(request).faults.queue
    return web.json_response({"faults": [fault.describe() for fault in queue]})


@routes.delete("/faults")
async def forget_faults(request: web.Request) -> web.Response:
    services_of(request).faults.queue.clear()
    return web.json_response({})


@routes.post("/permissions")
async def permissions(request: web.Request) -> web.Response:
    """Replaces the bot's overwrite in a channel (of a thread: in its parent)."""
    services, body = services_of(request), await order(request)
    world = services.world
    channel = find_channel(services, needed(body, "channel"))
    if channel.is_dm:
        raise ControlError("there are no permissions to set in a direct message")
    if channel.parent_id is not None:
        channel = world.channels[channel.parent_id]
    try:
        allow, deny = (bits(_rights(body, name)) for name in ("allow", "deny"))
    except ValueError as error:
        raise ControlError(str(error)) from None
    world.overwrite(channel, world.bot_id, allow, deny)
    return web.json_response({"permissions": str(world.permissions_of(world.bot_id, channel))})


def _rights(body: dict[str, Any], name: str) -> list[str]:
    given = body.get(name)
    return [] if given is None else values.texts(given, name)


@routes.post("/timeout")
async def timeout(request: web.Request) -> web.Response:
    services, body = services_of(request), await order(request)
    given = body.get("member")
    user_id = services.world.bot_id if given is None else find_member(services, given)
    length = body.get("seconds")
    if length is not None:
        length = min(values.number(length, "seconds"), LONGEST_TIMEOUT)
    services.world.time_out(user_id, length)
    return web.json_response({"until": services.world.members[user_id].timed_out_until})


@routes.post("/files/expire")
async def expire_files(request: web.Request) -> web.Response:
    services_of(request).world.expire_files()
    return web.json_response({})


@routes.post("/stickers")
async def add_sticker(request: web.Request) -> web.Response:
    services, body = services_of(request), await order(request)
    name = values.text(needed(body, "name"), "name")
    about = values.text(body.get("description", ""), "description")
    emoji = values.text(body.get("emoji", "🙂"), "emoji")
    sticker = services.world.add_sticker(name, about, emoji)
    return web.json_response({"id": str(sticker.id), "name": sticker.name}, status=201)


@routes.delete("/stickers")
async def delete_sticker(request: web.Request) -> web.Response:
    services, body = services_of(request), await order(request)
    key = values.snowflake(needed(body, "sticker"), "sticker")
    services.world.delete_sticker(services.world.sticker(key))
    return web.json_response({"deleted": str(key)})


@routes.get("/settings")
async def settings(request: web.Request) -> web.Response:
    return web.json_response(_settings(services_of(request)))


@routes.patch("/settings")
async def change_settings(request: web.Request) -> web.Response:
    """Changes all that is asked for, or nothing when a part of it makes no sense."""
    services, body = services_of(request), await order(request)
    changes: list[Callable[[], None]] = []
    for name, value in body.items():
        match name:
            case "nonce_window":
                changes.append(_nonce_window(services, value))
            case "intents":
                changes.append(_intents(services, value))
            case "rate_limits":
                changes.append(_limits(services, value))
            case _:
                raise ControlError(f"unknown setting {name!r}; known: {list(_settings(services))}")
    for change in changes:
        change()
    return web.json_response(_settings(services))


def _nonce_window(services: Services, given: object) -> Callable[[], None]:
    seconds = values.number(given, "nonce_window")

    def change() -> None:
        services.messages.nonce_window = seconds

    return change


def _intents(services: Services, given: object) -> Callable[[], None]:
    known = list(services.world.portal)
    switches = values.table(given, "intents", '{"message_content": false}')
    for name, enabled in switches.items():
        if name not in known:
            raise ControlError(f"unknown intent {name!r}; known: {known}")
        values.flag(enabled, f"intents.{name}")

    def change() -> None:
        for name, enabled in switches.items():
            services.world.set_intent(name, enabled)

    return change


def _limits(services: Services, given: object) -> Callable[[], None]:
    known, wanted = services.limits.limits, dict[str, Limit]()
    example = '{"count": 5, "per": 1}'
    limits = values.table(given, "rate_limits", f'{{"messages": {example}}}')
    for name, limit in limits.items():
        if name not in known:
            raise ControlError(f"unknown limit {name!r}; known: {list(known)}")
        where = f"rate_limits.{name}"
        limit = values.table(limit, where, example)
        count = values.whole(limit.get("count"), f"{where}.count")
        wanted[name] = Limit(count, values.number(limit.get("per"), f"{where}.per"))

    def change() -> None:
        known.update(wanted)
        services.limits.reset()

    return change


def _settings(services: Services) -> dict[str, Any]:
    return {
        "nonce_window": services.messages.nonce_window,
        "intents": services.world.portal,
        "rate_limits": {
            name: {"count": limit.count, "per": limit.per}
            for name, limit in services.limits.limits.items()
        },
    }
