"""What there is: state, messages, typing, requests."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aiohttp import web

from playground.control import values, views
from playground.control.answers import (
    ControlError,
    find_channel,
    find_member,
    seconds,
    services_of,
)
from playground.records import Channel, Message
from playground.services import Services

routes = web.RouteTableDef()

_PAGE = 1000


@routes.get("/state")
async def state(request: web.Request) -> web.Response:
    return web.json_response(views.state(services_of(request)))


@routes.get("/channels/{channel}/messages")
async def messages(request: web.Request) -> web.Response:
    services = services_of(request)
    channel = find_channel(services, request.match_info["channel"])
    query = request.query
    after, before, count, limit = (
        _number(query, name) for name in ("after", "before", "count", "limit")
    )
    author = _author(services, query.get("author"))
    deleted = query.get("deleted", "0") not in ("0", "false", "")

    def found() -> list[Message]:
        return _messages(services, channel, after, before, limit or _PAGE, author, deleted)

    def enough() -> bool:
        return len(found()) >= (count or 0)

    complete = await services.hub.until(enough, seconds(query.get("wait"), 0))
    views_ = [views.message(services, message) for message in found()]
    return web.json_response({"messages": views_, "complete": bool(complete)})


def _messages(
    services: Services,
    channel: Channel,
    after: int | None,
    before: int | None,
    limit: int,
    author: int | None,
    deleted: bool,
) -> list[Message]:
    """Oldest first; without `after` the latest `limit` of them."""
    found = services.store.messages(
        channel.id,
        after=after or 0,
        before=before,
        limit=limit,
        deleted=deleted,
        oldest_first=after is not None,
    )
    ordered = found if after is not None else found[::-1]
    return [m for m in ordered if author is None or m.author_id == author]


def _author(services: Services, given: str | None) -> int | None:
    if given is None:
        return None
    return services.world.bot_id if given == "bot" else find_member(services, given)


def _number(query: Mapping[str, str], name: str) -> int | None:
    """An id or a count: both are digits that SQLite can hold."""
    given = query.get(name)
    return None if given is None else values.snowflake(given, name)


@routes.get("/channels/{channel}/typing")
async def typing(request: web.Request) -> web.Response:
    services = services_of(request)
    channel = find_channel(services, request.match_info["channel"])
    return web.json_response(
        {
            "typing": views.typing(services, channel.id),
            "history": services.typing.history(channel.id),
        }
    )


@routes.get("/requests")
async def requests(request: web.Request) -> web.Response:
    services = services_of(request)
    try:
        found = services.log.find(
            request.query.get("match", ""), _number(request.query, "since") or 0
        )
    except re.error as error:
        raise ControlError(f"'match' is no regular expression: {error}") from None
    return web.json_response({"requests": found})


@routes.delete("/requests")
async def forget_requests(request: web.Request) -> web.Response:
    services_of(request).log.clear()
    return web.json_response({})
