"""Server-sent events for the page: what changed, as it changes.

A page that comes back after a lost connection asks for the state anew, so nothing is replayed.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

from playground.control import views
from playground.control.answers import services_of
from playground.events import Event
from playground.services import Services

routes = web.RouteTableDef()

KEEP_ALIVE_SECONDS = 15.0
_QUEUE = 1000

_STATE_CHANGES = {
    "CHANNEL_CREATE",
    "CHANNEL_UPDATE",
    "CHANNEL_DELETE",
    "THREAD_CREATE",
    "THREAD_UPDATE",
    "THREAD_DELETE",
    "GUILD_MEMBER_UPDATE",
    "PLAYGROUND_COMMANDS",
    "PLAYGROUND_BOT",
}


def change(services: Services, event: Event) -> dict[str, Any] | None:
    """What the page is told about an event, or None."""
    if event.name in _STATE_CHANGES:
        return {"what": "state", "state": views.state(services)}
    if event.name == "TYPING_START":
        return _typing(services, int(event.data["channel_id"]))
    if event.name == "MESSAGE_DELETE_BULK":
        data = event.data
        return {"what": "deleted", "channel": data["channel_id"], "messages": data["ids"]}
    if event.message is None:
        return None
    if event.name == "MESSAGE_DELETE":
        data = event.data
        return {"what": "deleted", "channel": data["channel_id"], "messages": [data["id"]]}
    view = {"what": "message", "message": views.message(services, event.message)}
    if event.name == "PLAYGROUND_EPHEMERAL":
        view["only_for"] = event.data["member_id"]
    if event.name == "MESSAGE_CREATE":
        view["typing"] = views.typing(services, event.message.channel_id)
    return view


def _typing(services: Services, channel_id: int) -> dict[str, Any]:
    users = views.typing(services, channel_id)
    return {"what": "typing", "channel": str(channel_id), "typing": users}


@routes.get("/events")
async def events(request: web.Request) -> web.StreamResponse:
    services = services_of(request)
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
    )
    await response.prepare(request)
    queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_QUEUE)
    overrun = asyncio.Event()

    def listener(event: Event) -> None:
        told = change(services, event)
        if told is None:
            return
        try:
            queue.put_nowait(told)
        except asyncio.QueueFull:
            overrun.set()

    stop = services.hub.listen(listener)
    try:
        await _send(response, {"what": "hello", "state": views.state(services)})
        # A page too slow to follow is disconnected, and starts over from the state.
        while not overrun.is_set():
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    told = await queue.get()
            except TimeoutError:
                await response.write(b": still here\n\n")
                continue
            await _send(response, told)
    except ConnectionError:
        pass
    finally:
        stop()
    return response


async def _send(response: web.StreamResponse, told: dict[str, Any]) -> None:
    await response.write(f"data: {json.dumps(told)}\n\n".encode())
