"""The page in the browser, and the files that messages carry."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from playground.services import SERVICES

routes = web.RouteTableDef()

_FOLDER = Path(__file__).parent / "page"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
_SHOWN_INLINE = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Anything else is downloaded: an SVG or HTML file shown from this origin could drive the page."""

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@routes.get("/")
async def index(request: web.Request) -> web.Response:
    return _file("index.html")


@routes.get(r"/page/{name:[a-z]+\.(js|css)}")
async def asset(request: web.Request) -> web.Response:
    return _file(request.match_info["name"])


def _file(name: str) -> web.Response:
    path = _FOLDER / name
    if not path.is_file():
        raise web.HTTPNotFound
    return web.Response(
        text=path.read_text("utf-8"),
        content_type=_TYPES[path.suffix],
        charset="utf-8",
        headers=_HEADERS,
    )


@routes.get("/favicon.ico")
async def favicon(request: web.Request) -> web.Response:
    return web.Response(status=204)


@routes.get(r"/attachments/{attachment:\d+}/{name}")
async def attachment(request: web.Request) -> web.Response:
    """A file, for the page by its plain address, for the bot by a signed one."""
    signature = request.query.get("hm")
    if signature is not None and signature != request.app[SERVICES].world.sign(
        request.raw_path.partition("?")[0]
    ):
        raise web.HTTPNotFound
    found = request.app[SERVICES].store.attachment(int(request.match_info["attachment"]))
    if found is None:
        raise web.HTTPNotFound
    _, content_type, data = found
    inline = content_type in _SHOWN_INLINE
    headers = {**_HEADERS, "Content-Disposition": "inline" if inline else "attachment"}
    kind = content_type if inline else "application/octet-stream"
    return web.Response(body=data, content_type=kind, headers=headers)
