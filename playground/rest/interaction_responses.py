"""The first answer to an interaction. Later ones go through its webhook (`webhooks.py`)."""

from __future__ import annotations

from aiohttp import web

from playground.rest.body import fields, path_id, uploads
from playground.services import SERVICES

routes = web.RouteTableDef()


@routes.post(r"/interactions/{interaction:\d+}/{token}/callback")
async def callback(request: web.Request) -> web.Response:
    services = request.app[SERVICES]
    interaction = services.interactions.find(
        path_id(request, "interaction"), request.match_info["token"]
    )
    response = services.interactions.respond(interaction, fields(request), uploads(request))
    if request.query.get("with_response") in ("1", "true"):
        return web.json_response(response)
    return web.Response(status=204)
