"""Trouble on the gateway.

POST /control/gateway takes one `action`:
    disconnect   {code: 4000, replay: 0, outage: 0, abort: false}: close every connection; the next
                 RESUME also plays the last `replay` events that had been delivered already, and for
                 `outage` seconds nobody gets in. `abort` cuts the line without a close frame.
    reconnect    ask the client to reconnect (opcode 7)
    redeliver    {message?}: send the last MESSAGE_CREATE (or that message's) once more
    invalidate   {resumable: false}: opcode 9; the session ends unless it is resumable
    silence      {answer: false}: stop answering heartbeats (`answer: true` starts again)
"""

from __future__ import annotations

import json
import time
from typing import Any

from aiohttp import web

from playground.control import values
from playground.control.answers import ControlError, needed, order, services_of
from playground.services import Services

routes = web.RouteTableDef()


@routes.get("/gateway")
async def sessions(request: web.Request) -> web.Response:
    return web.json_response(_view(services_of(request)))


def _view(services: Services) -> dict[str, Any]:
    return {
        "online": services.gateway.online,
        "sessions": [
            {
                "id": session.id,
                "connected": session.connected,
                "intents": session.intents,
                "sequence": session.sequence,
            }
            for session in services.gateway.sessions.values()
        ],
    }


@routes.post("/gateway")
async def trouble(request: web.Request) -> web.Response:
    services, body = services_of(request), await order(request)
    action = needed(body, "action")
    match action:
        case "disconnect":
            _disconnect(services, body)
        case "reconnect":
            _send_to_all(services, 7, None)
        case "redeliver":
            message = body.get("message")
            key = None if message is None else values.snowflake(message, "message")
            if not services.gateway.redeliver(key):
                raise ControlError("there is no such message to deliver again", 404)
        case "invalidate":
            _invalidate(services, values.flag(body.get("resumable", False), "resumable"))
        case "silence":
            answers = values.flag(body.get("answer", False), "answer")
            for session in services.gateway.sessions.values():
                session.answers_heartbeats = answers
        case _:
            raise ControlError(
                f"unknown action {action!r}; known: disconnect, reconnect, redeliver, invalidate,"
                " silence"
            )
    return web.json_response(_view(services))


def _disconnect(services: Services, body: dict[str, Any]) -> None:
    outage = values.number(body.get("outage", 0), "outage")
    replay = values.whole(body.get("replay", 0), "replay")
    code = values.whole(body.get("code", 4000), "code", least=1000)
    abort = values.flag(body.get("abort", False), "abort")
    services.gateway.refusing_until = time.monotonic() + outage
    for session in services.gateway.sessions.values():
        session.replay_extra = replay
        if session.connection is not None:
            session.connection.close(code, abort=abort)


def _invalidate(services: Services, resumable: bool) -> None:
    _send_to_all(services, 9, resumable)
    if not resumable:
        for session in list(services.gateway.sessions.values()):
            services.gateway.end(session)


def _send_to_all(services: Services, op: int, data: Any) -> None:
    text = json.dumps({"op": op, "t": None, "s": None, "d": data})
    for session in services.gateway.sessions.values():
        if session.connection is not None:
            session.connection.send(text)
