"""Channels: looked up, renamed, archived, typed in."""

from __future__ import annotations

from aiohttp import web

from playground import wire
from playground.errors import DiscordError, too_long
from playground.records import Channel
from playground.rest.body import fields, path_id
from playground.services import SERVICES, Services

routes = web.RouteTableDef()


def the_channel(request: web.Request, *rights: str) -> tuple[Services, Channel]:
    """The channel in the path, with these rights of the bot in it.

    Raises 10003, 50001 when it is hidden from the bot, 50013 when a right is missing.
    """
    services = request.app[SERVICES]
    channel = services.world.channel(path_id(request, "channel"))
    services.world.require(services.world.bot_id, channel, *rights)
    return services, channel


@routes.get(r"/channels/{channel:\d+}")
async def get(request: web.Request) -> web.Response:
    services, channel = the_channel(request)
    return web.json_response(wire.channel(services.world, channel))


@routes.patch(r"/channels/{channel:\d+}")
async def edit(request: web.Request) -> web.Response:
    services, channel = the_channel(request)
    world, changes = services.world, fields(request)
    if channel.is_dm:
        raise DiscordError(400, 50003, "Cannot execute action on a DM channel")
    mine = channel.is_thread and channel.owner_id == world.bot_id
    if not mine:
        right = "MANAGE_THREADS" if channel.is_thread else "MANAGE_CHANNELS"
        world.require(world.bot_id, channel, right)
    name = changes.get("name", channel.name)
    if not 1 <= len(name) <= 100:
        raise too_long("name", 100)
    channel.name = name
    channel.topic = changes.get("topic", channel.topic)
    if channel.is_thread:
        world.archive(
            channel,
            bool(changes.get("archived", channel.archived)),
            bool(changes.get("locked", channel.locked)),
        )
    else:
        world.save_channel(channel, "CHANNEL_UPDATE")
    return web.json_response(wire.channel(world, channel))


@routes.delete(r"/channels/{channel:\d+}")
async def delete(request: web.Request) -> web.Response:
    services, channel = the_channel(request)
    if not channel.is_dm:
        right = "MANAGE_THREADS" if channel.is_thread else "MANAGE_CHANNELS"
        services.world.require(services.world.bot_id, channel, right)
        services.world.delete_channel(channel)
    return web.json_response(wire.channel(services.world, channel))


@routes.post(r"/channels/{channel:\d+}/typing")
async def typing(request: web.Request) -> web.Response:
    services, channel = the_channel(request)
    services.world.require_sending(services.world.bot_id, channel)
    services.typing.start(channel, services.world.bot_id)
    return web.Response(status=204)
