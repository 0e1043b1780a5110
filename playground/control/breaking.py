"""What goes wrong, and what the bot may do: faults, permissions, time-outs, settings."""

from __future__ import annotations

from typing import Any

from aiohttp import web

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
        allow, deny = bits(body.get("allow") or []), bits(body.get("deny") or [])
    except ValueError as error:
        raise ControlError(str(error)) from None
    world.overwrite(channel, world.bot_id, allow, deny)
    return web.json_response({"permissions": str(world.permissions_of(world.bot_id, channel))})


@routes.post("/timeout")
async def timeout(request: web.Request) -> web.Response:
    services, body = services_of(request), await order(request)
    given = body.get("member")
    user_id = services.world.bot_id if given is None else find_member(services, given)
    length = body.get("seconds")
    services.world.time_out(user_id, None if length is None else float(length))
    return web.json_response({"until": services.world.members[user_id].timed_out_until})


@routes.get("/settings")
async def settings(request: web.Request) -> web.Response:
    return web.json_response(_settings(services_of(request)))


@routes.patch("/settings")
async def change_settings(request: web.Request) -> web.Response:
    services, body = services_of(request), await order(request)
    for name, value in body.items():
        match name:
            case "nonce_window":
                services.messages.nonce_window = float(value)
            case "intents":
                _set_intents(services, value)
            case "rate_limits":
                _set_limits(services, value)
            case _:
                raise ControlError(f"unknown setting {name!r}; known: {list(_settings(services))}")
    return web.json_response(_settings(services))


def _set_intents(services: Services, switches: dict[str, Any]) -> None:
    for name, enabled in switches.items():
        if name not in services.world.portal:
            raise ControlError(f"unknown intent {name!r}; known: {list(services.world.portal)}")
        services.world.set_intent(name, bool(enabled))


def _set_limits(services: Services, limits: dict[str, Any]) -> None:
    known = services.limits.limits
    for name, limit in limits.items():
        if name not in known:
            raise ControlError(f"unknown limit {name!r}; known: {list(known)}")
        known[name] = Limit(int(limit["count"]), float(limit["per"]))
    services.limits.reset()


def _settings(services: Services) -> dict[str, Any]:
    return {
        "nonce_window": services.messages.nonce_window,
        "intents": services.world.portal,
        "rate_limits": {
            name: {"count": limit.count, "per": limit.per}
            for name, limit in services.limits.limits.items()
        },
    }
