"""Who the bot is, and where its gateway is."""

from __future__ import annotations

from aiohttp import web

from playground import wire
from playground.errors import invalid_form
from playground.rest.body import fields, path_id
from playground.services import SERVICES

routes = web.RouteTableDef()


@routes.get("/users/@me")
async def me(request: web.Request) -> web.Response:
    return web.json_response(wire.me(request.app[SERVICES].world))


@routes.get(r"/users/{user:\d+}")
async def user(request: web.Request) -> web.Response:
    found = request.app[SERVICES].world.user(path_id(request, "user"))
    return web.json_response(wire.user(found))


@routes.get("/users/@me/guilds")
async def my_guilds(request: web.Request) -> web.Response:
    world = request.app[SERVICES].world
    guild = {
        "id": str(world.guild_id),
        "name": world.guild_name,
        "icon": None,
        "banner": None,
        "owner": False,
        "permissions": str(world.permissions_of(world.bot_id)),
        "features": [],
    }
    return web.json_response([guild])


@routes.post("/users/@me/channels")
async def open_dm(request: web.Request) -> web.Response:
    world = request.app[SERVICES].world
    recipient = str(fields(request).get("recipient_id") or "")
    if not recipient.isdecimal():
        raise invalid_form("recipient_id", "BASE_TYPE_REQUIRED", "This field is required")
    return web.json_response(wire.channel(world, world.dm_with(int(recipient))))


@routes.get("/applications/@me")
@routes.get("/oauth2/applications/@me")
async def application(request: web.Request) -> web.Response:
    return web.json_response(wire.application(request.app[SERVICES].world))


@routes.get("/gateway")
async def gateway(request: web.Request) -> web.Response:
    return web.json_response({"url": f"ws://{request.host}/gateway"})


@routes.get("/gateway/bot")
async def gateway_for_bots(request: web.Request) -> web.Response:
    start_limit = {"total": 1000, "remaining": 999, "reset_after": 86_400_000, "max_concurrency": 1}
    return web.json_response(
        {"url": f"ws://{request.host}/gateway", "shards": 1, "session_start_limit": start_limit}
    )
