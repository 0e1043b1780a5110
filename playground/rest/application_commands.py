"""The application's global commands, and those it registers for the one guild there is."""

from __future__ import annotations

from aiohttp import web

from playground.errors import DiscordError, unknown_guild
from playground.rest.body import fields, items, path_id
from playground.services import SERVICES, Services

routes = web.RouteTableDef()

_GLOBAL = r"/applications/{application:\d+}/commands"
_GUILD = r"/applications/{application:\d+}/guilds/{guild:\d+}/commands"
_ONE = r"/{command:\d+}"


def _of_this_bot(request: web.Request) -> Services:
    services = request.app[SERVICES]
    if path_id(request, "application") != services.world.bot_id:
        raise DiscordError(403, 20012, "You are not authorized to perform this action")
    if "guild" in request.match_info and path_id(request, "guild") != services.world.guild_id:
        raise unknown_guild()
    return services


@routes.get(_GLOBAL)
@routes.get(_GUILD)
async def listed(request: web.Request) -> web.Response:
    return web.json_response(list(_of_this_bot(request).commands.all.values()))


@routes.put(_GLOBAL)
@routes.put(_GUILD)
async def replace(request: web.Request) -> web.Response:
    services = _of_this_bot(request)
    return web.json_response(services.commands.replace(items(request)))


@routes.post(_GLOBAL)
@routes.post(_GUILD)
async def create(request: web.Request) -> web.Response:
    services = _of_this_bot(request)
    return web.json_response(services.commands.create(fields(request)), status=201)


@routes.get(_GLOBAL + _ONE)
@routes.get(_GUILD + _ONE)
async def get(request: web.Request) -> web.Response:
    services = _of_this_bot(request)
    return web.json_response(services.commands.get(path_id(request, "command")))


@routes.patch(_GLOBAL + _ONE)
@routes.patch(_GUILD + _ONE)
async def edit(request: web.Request) -> web.Response:
    services = _of_this_bot(request)
    return web.json_response(services.commands.edit(path_id(request, "command"), fields(request)))


@routes.delete(_GLOBAL + _ONE)
@routes.delete(_GUILD + _ONE)
async def delete(request: web.Request) -> web.Response:
    services = _of_this_bot(request)
    services.commands.delete(path_id(request, "command"))
    return web.Response(status=204)
