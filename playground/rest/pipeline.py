"""What every REST request passes: token, injected faults, rate limits, the log, error bodies."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from playground.errors import DiscordError, not_found, unauthorized
from playground.faults import Action, Fault
from playground.rest.body import read_body, request_body
from playground.services import SERVICES, Services

API_PREFIX = "/api/v10"
VIA = {"Via": "1.1 google"}
"""Discord's own 429s come through its proxy; discord.py takes one without `Via` for a ban."""

_NO_TOKEN_NEEDED = re.compile(
    r"/gateway|/interactions/\d+/[^/]+/callback|/webhooks/\d+/[^/]+(/messages/[^/]+)?"
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Dropped(Exception):
    """The connection was cut on purpose."""


@web.middleware
async def answer_as_discord(request: web.Request, handler: Handler) -> web.StreamResponse:
    services = request.app[SERVICES]
    path = request.path.removeprefix(API_PREFIX)
    at = time.time()
    fault: Fault | None = None
    status: int | None = None
    try:
        await read_body(request)
        _check_token(request, path)
        fault = services.faults.take(request.method, path)
        response = await _answer(services, request, handler, path, fault)
        status = response.status
        return _plain_json(response)
    except DiscordError as error:
        status = error.status
        return _plain_json(web.json_response(error.body(), status=error.status))
    except _Dropped:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()
    finally:
        action = None if fault is None else str(fault.action)
        services.log.add(at, request.method, path, status, action, request_body(request))
        services.hub.wake()


def _plain_json(response: web.StreamResponse) -> web.StreamResponse:
    """discord.py takes a body for JSON only when the type stands alone, without a charset."""
    if response.content_type == "application/json":
        response.headers["Content-Type"] = "application/json"
    return response


def _check_token(request: web.Request, path: str) -> None:
    """Any bot token will do, except one that says "invalid"."""
    if _NO_TOKEN_NEEDED.fullmatch(path):
        return
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme != "Bot" or not token or "invalid" in token:
        raise unauthorized()


async def _answer(
    services: Services, request: web.Request, handler: Handler, path: str, fault: Fault | None
) -> web.StreamResponse:
    if fault is not None:
        match fault.action:
            case Action.DROP:
                raise _Dropped
            case Action.STATUS:
                return _failure(fault)
            case Action.RATE_LIMIT:
                return _too_many(fault.retry_after, everywhere=fault.everywhere)
            case Action.DELAY:
                await asyncio.sleep(fault.delay)
            case _:
                pass
    verdict = services.limits.take(request.method, path)
    if verdict.retry_after is not None:
        return _too_many(verdict.retry_after, verdict.headers, everywhere=verdict.everywhere)
    response = await _handle(request, handler)
    if fault is not None and fault.action is Action.STORE_THEN_STATUS:
        return _failure(fault)
    if fault is not None and fault.action is Action.STORE_THEN_DROP:
        raise _Dropped
    response.headers.update(verdict.headers)
    return response


async def _handle(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The handler's answer; a refusal becomes an answer too, so that it carries the headers."""
    try:
        return await handler(request)
    except DiscordError as error:
        return web.json_response(error.body(), status=error.status)
    except web.HTTPNotFound:
        return web.json_response(not_found().body(), status=404)
    except web.HTTPMethodNotAllowed:
        body = {"message": "405: Method Not Allowed", "code": 0}
        return web.json_response(body, status=405)


def _failure(fault: Fault) -> web.Response:
    if fault.status >= 500:
        return web.Response(status=fault.status, text=f"error code: {fault.status}")
    body = {"message": fault.message, "code": fault.code}
    return web.json_response(body, status=fault.status)


def _too_many(
    retry_after: float, headers: dict[str, str] | None = None, *, everywhere: bool = False
) -> web.Response:
    body = {
        "message": "You are being rate limited.",
        "retry_after": round(retry_after, 3),
        "global": everywhere,
    }
    extra = {"Retry-After": str(max(1, round(retry_after)))}
    extra["X-RateLimit-Scope"] = "global" if everywhere else "user"
    if everywhere:
        extra["X-RateLimit-Global"] = "true"
    return web.json_response(body, status=429, headers={**(headers or {}), **extra, **VIA})
