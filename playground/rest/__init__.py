"""Discord's REST API, version 10: one module for each resource, one pipeline before all of them."""

from __future__ import annotations

from aiohttp import web

from playground.rest import (
    application_commands,
    channels,
    guilds,
    identity,
    interaction_responses,
    messages,
    reactions,
    threads,
    webhooks,
)
from playground.rest.pipeline import API_PREFIX, answer_as_discord
from playground.services import SERVICES, Services

_RESOURCES = [
    identity,
    guilds,
    channels,
    messages,
    reactions,
    threads,
    application_commands,
    interaction_responses,
    webhooks,
]


def add_rest(app: web.Application, services: Services) -> None:
    """Mounts the API under `/api/v10`."""
    api = web.Application(middlewares=[answer_as_discord], client_max_size=32 * 1024 * 1024)
    api[SERVICES] = services
    for resource in _RESOURCES:
        api.router.add_routes(resource.routes)
    app.add_subapp(API_PREFIX, api)
