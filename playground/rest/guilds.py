"""The guild and its members."""

from __future__ import annotations

from aiohttp import web

from playground import wire
from playground.errors import invalid_form, unknown_guild, unknown_member
from playground.records import Channel
from playground.rest.body import path_id, query_limit
from playground.services import SERVICES
from playground.world import World

routes = web.RouteTableDef()


def the_guild(request: web.Request) -> World:
    """The world, when the path names its guild. Raises 10004 otherwise."""
    world = request.app[SERVICES].world
    if path_id(request, "guild") != world.guild_id:
        raise unknown_guild()
    return world


@routes.get(r"/guilds/{guild:\d+}")
async def guild(request: web.Request) -> web.Response:
    world = the_guild(request)
    counts = {"approximate_member_count": len(world.members), "approximate_presence_count": 1}
    extra = counts if request.query.get("with_counts") in ("1", "true") else {}
    return web.json_response(wire.guild(world) | extra)


@routes.get(r"/guilds/{guild:\d+}/channels")
async def channels(request: web.Request) -> web.Response:
    world = the_guild(request)

    def listed(channel: Channel) -> bool:
        return not channel.is_thread and not channel.is_dm

    return web.json_response([wire.channel(world, c) for c in world.channels.values() if listed(c)])


@routes.get(r"/guilds/{guild:\d+}/roles")
async def roles(request: web.Request) -> web.Response:
    world = the_guild(request)
    return web.json_response([wire.role(role) for role in wire.sorted_roles(world)])


@routes.get(r"/guilds/{guild:\d+}/members")
async def members(request: web.Request) -> web.Response:
    world = the_guild(request)
    return web.json_response([wire.member(world, m) for m in world.members.values()])


@routes.get(r"/guilds/{guild:\d+}/members/search")
async def search_members(request: web.Request) -> web.Response:
    """Whose names begin with the query, whatever the case."""
    world = the_guild(request)
    query = request.query.get("query", "").lower()
    if not query:
        raise invalid_form("query", "BASE_TYPE_REQUIRED", "This field is required")
    limit = query_limit(request, default=1, most=1000)
    found = [
        m for m in world.members.values() if world.users[m.user_id].name.lower().startswith(query)
    ]
    return web.json_response([wire.member(world, m) for m in found[:limit]])


@routes.get(r"/guilds/{guild:\d+}/members/{user:\d+}")
async def member(request: web.Request) -> web.Response:
    world = the_guild(request)
    found = world.members.get(path_id(request, "user"))
    if found is None:
        raise unknown_member()
    return web.json_response(wire.member(world, found))


@routes.get(r"/guilds/{guild:\d+}/threads/active")
async def active_threads(request: web.Request) -> web.Response:
    world = the_guild(request)
    threads = [wire.channel(world, thread) for thread in world.threads()]
    return web.json_response({"threads": threads, "members": [t["member"] for t in threads]})


@routes.get(r"/guilds/{guild:\d+}/emojis")
async def emojis(request: web.Request) -> web.Response:
    world = the_guild(request)
    return web.json_response([wire.custom_emoji(emoji) for emoji in world.emojis.values()])


@routes.get(r"/guilds/{guild:\d+}/stickers")
async def stickers(request: web.Request) -> web.Response:
    world = the_guild(request)
    return web.json_response([wire.sticker(world, item) for item in world.stickers.values()])


@routes.get(r"/stickers/{sticker:\d+}")
async def sticker(request: web.Request) -> web.Response:
    world = request.app[SERVICES].world
    return web.json_response(wire.sticker(world, world.sticker(path_id(request, "sticker"))))


@routes.get(r"/guilds/{guild:\d+}/webhooks")
async def webhooks(request: web.Request) -> web.Response:
    world = the_guild(request)
    return web.json_response([wire.webhook(world, hook) for hook in world.webhooks.values()])
