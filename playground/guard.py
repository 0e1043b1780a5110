"""Keeps websites that the user visits from driving the playground.

It listens on the loopback address, which every page in the user's browser can reach. So a request
must name this machine as its host (a rebound DNS name does not), and when a browser says where it
comes from, that must be this page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_FROM_HERE = {"same-origin", "none"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def only_from_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    reason = objection(
        method=request.method,
        path=request.path,
        host=request.headers.get("Host"),
        origin=request.headers.get("Origin"),
        fetch_site=request.headers.get("Sec-Fetch-Site"),
        content_type=request.content_type,
        has_body=request.can_read_body,
    )
    if reason is not None:
        return web.json_response({"error": reason}, status=403)
    return await handler(request)


def objection(
    *,
    method: str,
    path: str,
    host: str | None,
    origin: str | None,
    fetch_site: str | None,
    content_type: str,
    has_body: bool,
) -> str | None:
    """Why a request is refused, or None."""
    if host is None or urlsplit(f"//{host}").hostname not in _LOOPBACK:
        return "the Host header must name this machine (127.0.0.1 or localhost)"
    if origin is not None and origin != f"http://{host}":
        return "requests from other origins are refused"
    controlled = path.startswith("/control")
    if controlled and fetch_site is not None and fetch_site not in _FROM_HERE:
        return "requests from other sites are refused"
    if controlled and method != "GET" and has_body and content_type != "application/json":
        return "control takes application/json only"
    return None
