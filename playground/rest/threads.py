"""Threads: started from a message or on their own, joined, listed."""

from __future__ import annotations

from aiohttp import web

from playground import wire
from playground.errors import DiscordError, too_long, unknown_member
from playground.records import Channel, ChannelType, MessageType
from playground.rest.body import fields, path_id
from playground.rest.channels import the_channel
from playground.rest.messages import the_message
from playground.services import Services

routes = web.RouteTableDef()


def _name(request: web.Request) -> str:
    name = str(fields(request).get("name") or "").strip()
    if not 1 <= len(name) <= 100:
        raise too_long("name", 100)
    return name


@routes.post(r"/channels/{channel:\d+}/messages/{message:\d+}/threads")
async def start_from_message(request: web.Request) -> web.Response:
    """The thread takes the id of the message it hangs on."""
    services, channel, message = the_message(request, "CREATE_PUBLIC_THREADS")
    if message.id in services.world.channels:
        raise DiscordError(400, 160004, "A thread has already been created for this message")
    thread = _start(services, channel, _name(request), key=message.id)
    return web.json_response(wire.channel(services.world, thread), status=201)


@routes.post(r"/channels/{channel:\d+}/threads")
async def start(request: web.Request) -> web.Response:
    private = fields(request).get("type") == ChannelType.PRIVATE_THREAD
    right = "CREATE_PRIVATE_THREADS" if private else "CREATE_PUBLIC_THREADS"
    services, channel = the_channel(request, right)
    name = _name(request)
    thread = _start(services, channel, name, private=private)
    if not private:
        about = {"message_id": thread.id, "channel_id": thread.id}
        bot_id = services.world.bot_id
        services.messages.add_system(channel, bot_id, MessageType.THREAD_CREATED, about, name)
    return web.json_response(wire.channel(services.world, thread), status=201)


def _start(
    services: Services,
    parent: Channel,
    name: str,
    *,
    key: int | None = None,
    private: bool = False,
) -> Channel:
    bot_id = services.world.bot_id
    return services.world.create_thread(parent, name, bot_id, key=key, private=private)


@routes.put(r"/channels/{channel:\d+}/thread-members/@me")
@routes.delete(r"/channels/{channel:\d+}/thread-members/@me")
async def join_or_leave(request: web.Request) -> web.Response:
    """Everybody here sees every thread; joining and leaving change nothing."""
    the_channel(request)
    return web.Response(status=204)


@routes.put(r"/channels/{channel:\d+}/thread-members/{user:\d+}")
async def add_member(request: web.Request) -> web.Response:
    services, thread = the_channel(request)
    user = services.world.user(path_id(request, "user"))
    if user.id not in thread.thread_members:
        thread.thread_members.append(user.id)
        services.world.save_channel(thread)
    return web.Response(status=204)


@routes.get(r"/channels/{channel:\d+}/thread-members/{user:\d+}")
async def member(request: web.Request) -> web.Response:
    """Whoever joined; everybody counts as one of a public thread."""
    services, thread = the_channel(request)
    user_id = path_id(request, "user")
    joined = thread.thread_members
    if thread.type != ChannelType.PRIVATE_THREAD:
        joined = list(services.world.members)
    if user_id not in joined:
        raise unknown_member()
    body = wire.channel(services.world, thread)["member"]
    return web.json_response(body | {"user_id": str(user_id)})


@routes.get(r"/channels/{channel:\d+}/threads/archived/{kind:public|private}")
async def archived(request: web.Request) -> web.Response:
    services, parent = the_channel(request, "READ_MESSAGE_HISTORY")
    kinds = {"public": ChannelType.PUBLIC_THREAD, "private": ChannelType.PRIVATE_THREAD}
    kind = kinds[request.match_info["kind"]]
    found = [
        wire.channel(services.world, channel)
        for channel in services.world.channels.values()
        if channel.parent_id == parent.id and channel.archived and channel.type == kind
    ]
    members = [thread["member"] for thread in found]
    return web.json_response({"threads": found, "members": members, "has_more": False})
