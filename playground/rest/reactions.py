"""Reactions to messages."""

from __future__ import annotations

from aiohttp import web

from playground import wire
from playground.rest.body import path_id
from playground.rest.messages import the_message

routes = web.RouteTableDef()

_REACTIONS = r"/channels/{channel:\d+}/messages/{message:\d+}/reactions"


@routes.put(_REACTIONS + "/{emoji}/@me")
async def add(request: web.Request) -> web.Response:
    services, channel, message = the_message(request)
    emoji = request.match_info["emoji"]
    services.messages.react(channel, message, services.world.bot_id, emoji)
    return web.Response(status=204)


@routes.delete(_REACTIONS + "/{emoji}/@me")
async def remove_own(request: web.Request) -> web.Response:
    services, channel, message = the_message(request)
    emoji = request.match_info["emoji"]
    services.messages.unreact(channel, message, services.world.bot_id, emoji)
    return web.Response(status=204)


@routes.delete(_REACTIONS + r"/{emoji}/{user:\d+}")
async def remove(request: web.Request) -> web.Response:
    services, channel, message = the_message(request, "MANAGE_MESSAGES")
    emoji = request.match_info["emoji"]
    services.messages.unreact(channel, message, path_id(request, "user"), emoji)
    return web.Response(status=204)


@routes.get(_REACTIONS + "/{emoji}")
async def users(request: web.Request) -> web.Response:
    services, _, message = the_message(request)
    emoji = request.match_info["emoji"]
    services.world.check_emoji(emoji)
    found = [services.world.user(key) for key in message.reactions.get(emoji, [])]
    return web.json_response([wire.user(user) for user in found])


@routes.delete(_REACTIONS)
async def clear(request: web.Request) -> web.Response:
    services, channel, message = the_message(request, "MANAGE_MESSAGES")
    services.messages.clear_reactions(channel, message, None)
    return web.Response(status=204)


@routes.delete(_REACTIONS + "/{emoji}")
async def clear_emoji(request: web.Request) -> web.Response:
    services, channel, message = the_message(request, "MANAGE_MESSAGES")
    services.messages.clear_reactions(channel, message, request.match_info["emoji"])
    return web.Response(status=204)
