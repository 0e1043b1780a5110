"""A Discord of a few routes on 127.0.0.1: enough REST to deliver to, enough gateway to log in to.

It keeps the rules that delivery relies on (a nonce creates one message; a repeat of one that was
deleted is Unknown Message) and answers faults on demand.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

BOT_ID = "900000000000000001"
APPLICATION_ID = "900000000000000002"
MEMBER_ID = "700000000000000001"
GUILD_ID = "500000000000000001"
CHANNEL_ID = "500000000000000002"
THREAD_ID = "500000000000000003"
DM_ID = "500000000000000004"
TRIGGER_ID = "1000000000000000000"

Json = dict[str, Any]


@dataclass
class Fault:
    """What one request gets in place of its answer. `stored`: after it was carried out."""

    method: str
    route: str
    status: int
    code: int = 0
    message: str = "fault"
    errors: Json | None = None
    retry_after: float | None = None
    stored: bool = False
    times: int = 1
    when: Callable[[Json], bool] = lambda body: True


@dataclass
class Request:
    method: str
    path: str
    body: Json = field(default_factory=dict)


def user(user_id: str = MEMBER_ID, *, bot: bool = False, name: str = "Mina") -> Json:
    return {
        "id": user_id,
        "username": name.lower(),
        "global_name": None if bot else name,
        "discriminator": "0",
        "avatar": None,
        "bot": bot,
    }


ME = user(BOT_ID, bot=True, name="Everturn")


def message(message_id: str, content: str = "", **changes: Any) -> Json:
    """A message by a member in the test channel, as Discord's JSON."""
    return {
        "id": message_id,
        "channel_id": CHANNEL_ID,
        "author": user(),
        "content": content,
        "timestamp": "2026-08-01T12:00:00+00:00",
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "pinned": False,
        "type": 0,
        **changes,
    }


class LoopbackDiscord:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.channels: dict[str, list[Json]] = defaultdict(list)
        self.deleted_nonces: set[str] = set()
        self.commands: list[Json] = []
        self.close_code: int | None = None
        """The gateway closes with it after IDENTIFY; None: READY."""
        self.identifies = 0
        self.refuse_sockets = 0
        """How many gateway connections are answered 503."""
        self.sockets: list[web.WebSocketResponse] = []
        self.guilds: list[Json] = []
        self.forget_nonces = False
        """The window in which Discord knows a nonce has passed."""
        self.via = True
        """Whether a 429 comes from Discord itself (discord.py waits) or from the front door."""
        self.hold = asyncio.Event()
        self.hold.set()
        self.hold_content: str | None = None
        """While `hold` is clear, a message of this content is not answered."""
        self._next_id = int(TRIGGER_ID) + 1
        self._runner: web.AppRunner | None = None
        self.address = ""

    @property
    def api(self) -> str:
        return f"{self.address}/api/v10"

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/gateway", self._gateway)
        app.router.add_route("*", "/api/v10/{path:.*}", self._rest)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.address = f"http://{host}:{port}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def contents(self, channel_id: str = CHANNEL_ID) -> list[str]:
        return [stored["content"] for stored in self.channels[channel_id]]

    def sent(self) -> list[Json]:
        """Bodies of the Create Message requests, in order of arrival."""
        return [
            request.body
            for request in self.requests
            if request.method == "POST" and request.path.endswith("/messages")
        ]

    def calls(self) -> list[str]:
        """`POST messages`, `POST typing`, … in order of arrival."""
        return [f"{request.method} {_route(request.path)}" for request in self.requests]

    def fail(self, method: str, route: str, status: int, **more: Any) -> None:
        self.faults.append(Fault(method, route, status, **more))

    def say(self, content: str, author: Json = ME, **changes: Any) -> Json:
        """Put a message into the test channel."""
        stored = message(self._id(), content, author=author, **changes)
        self.channels[stored["channel_id"]].append(stored)
        return stored

    def _id(self) -> str:
        self._next_id += 1
        return str(self._next_id)

    async def _rest(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        body = await request.json() if request.can_read_body else {}
        self.requests.append(Request(request.method, path, body if isinstance(body, dict) else {}))
        for fault in self.faults:
            if fault.times and (fault.method, fault.route) == (request.method, _route(path)):
                if not fault.when(body):
                    continue
                fault.times -= 1
                if fault.stored:
                    self._answer(request.method, path, body, request.query)
                answer: Json = {"code": fault.code, "message": fault.message}
                if fault.errors:
                    answer["errors"] = fault.errors
                if fault.retry_after is not None:
                    answer["retry_after"] = fault.retry_after
                return self._json(answer, fault.status)
        if self.hold_content is not None and body.get("content") == self.hold_content:
            await self.hold.wait()
        status, answer = self._answer(request.method, path, body, request.query)
        return self._json(answer, status)

    def _answer(self, method: str, path: str, body: Any, query: Any) -> tuple[int, Any]:
        parts = path.split("/")
        match (method, *parts):
            case ("GET", "users", "@me"):
                return 200, ME
            case ("GET", "oauth2", "applications", "@me"):
                return 200, _application()
            case ("GET", "gateway", "bot"):
                return 200, {"url": self.address.replace("http", "ws") + "/gateway", "shards": 1}
            case ("POST", "channels", channel_id, "messages"):
                return self._create(channel_id, body)
            case ("GET", "channels", channel_id, "messages"):
                return 200, self._list(channel_id, query)
            case ("GET", "channels", channel_id, "messages", message_id):
                for stored in self.channels[channel_id]:
                    if stored["id"] == message_id:
                        return 200, stored
                return _unknown_message()
            case ("DELETE", "channels", channel_id, "messages", message_id):
                return self._delete(channel_id, message_id)
            case ("POST", "channels", _, "typing"):
                return 204, None
            case ("GET", "applications", _, "commands"):
                return 200, self.commands
            case ("PUT", "applications", application_id, "commands"):
                self.commands = [_command(application_id, command) for command in body]
                return 200, self.commands
            case ("POST", "interactions", interaction_id, *_):
                return 200, {"interaction": {"id": interaction_id, "type": 2}}
            case ("PATCH", "webhooks", *_):
                return 200, message(self._id(), body.get("content") or "", author=ME)
        return 404, {"code": 0, "message": f"no route {method} {path}"}

    def _create(self, channel_id: str, body: Json) -> tuple[int, Any]:
        nonce = None if self.forget_nonces else body.get("nonce")
        if nonce in self.deleted_nonces:
            return _unknown_message()
        for stored in self.channels[channel_id]:
            if nonce and stored.get("nonce") == nonce:
                return 200, stored
        content = body.get("content") or ""
        if len(content) > 2000:
            return 400, {"code": 50035, "message": "Invalid Form Body"}
        stored = message(
            self._id(),
            content,
            author=ME,
            channel_id=channel_id,
            nonce=nonce,
            embeds=body.get("embeds", []),
            components=body.get("components", []),
            sticker_items=[
                {"id": str(key), "name": "a sticker", "format_type": 1}
                for key in body.get("sticker_ids", [])
            ],
        )
        self.channels[channel_id].append(stored)
        return 200, stored

    def _list(self, channel_id: str, query: Any) -> list[Json]:
        limit = int(query.get("limit", 50))
        found = sorted(self.channels[channel_id], key=lambda stored: int(stored["id"]))
        if "after" in query:
            found = [stored for stored in found if int(stored["id"]) > int(query["after"])][:limit]
        elif "before" in query:
            found = [stored for stored in found if int(stored["id"]) < int(query["before"])]
        return [_without_nonce(stored) for stored in reversed(found[-limit:])]

    def _delete(self, channel_id: str, message_id: str) -> tuple[int, Any]:
        for stored in self.channels[channel_id]:
            if stored["id"] == message_id:
                self.channels[channel_id].remove(stored)
                if stored.get("nonce"):
                    self.deleted_nonces.add(stored["nonce"])
                return 204, None
        return _unknown_message()

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        if self.refuse_sockets:
            self.refuse_sockets -= 1
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.append(socket)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": 41250}})
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                break
            packet = json.loads(frame.data)
            if packet["op"] == 1:
                await socket.send_json({"op": 11})
            if packet["op"] == 2:
                self.identifies += 1
                if self.close_code is not None:
                    await socket.close(code=self.close_code)
                    break
                await self.emit("READY", self._ready())
                for guild in self.guilds:
                    await self.emit("GUILD_CREATE", guild)
        return socket

    async def emit(self, event: str, data: Json) -> None:
        """Send a gateway event to the connection that was made last."""
        await self.sockets[-1].send_json({"op": 0, "t": event, "s": 1, "d": data})

    def _json(self, answer: Any, status: int) -> web.Response:
        if status == 204:
            return web.Response(status=204)
        headers = {"Content-Type": "application/json"}  # discord.py wants exactly this
        if status == 429 and self.via:
            headers["Via"] = "1.1 loopback"
        if status == 429 and "retry_after" in answer:
            headers["Retry-After"] = str(round(answer["retry_after"]))
        return web.Response(body=json.dumps(answer).encode(), status=status, headers=headers)

    def _ready(self) -> Json:
        return {
            "v": 10,
            "user": ME,
            "guilds": [{"id": guild["id"], "unavailable": True} for guild in self.guilds],
            "session_id": "session",
            "resume_gateway_url": self.address.replace("http", "ws") + "/gateway",
            "application": {"id": APPLICATION_ID, "flags": 0},
        }


def _route(path: str) -> str:
    parts = path.split("/")
    if parts[0] == "channels":
        return "message" if len(parts) == 4 else parts[-1]
    return parts[-1] if parts[0] in ("applications", "gateway") else parts[0]


def _unknown_message() -> tuple[int, Json]:
    return 404, {"code": 10008, "message": "Unknown Message"}


def _without_nonce(stored: Json) -> Json:
    return {key: value for key, value in stored.items() if key != "nonce"}


def _application() -> Json:
    return {
        "id": APPLICATION_ID,
        "name": "Everturn",
        "icon": None,
        "description": "",
        "rpc_origins": None,
        "bot_public": True,
        "bot_require_code_grant": False,
        "owner": user(),
        "verify_key": "",
        "team": None,
        "flags": 0,
    }


def _command(application_id: str, command: Json) -> Json:
    """As Discord gives a stored command back: with an id, and what is empty left out."""
    kept = {key: value for key, value in command.items() if value not in ([], None)}
    return {"id": "800000000000000001", "version": "1", "application_id": application_id, **kept}


def guild(
    *,
    overwrites: list[Json] | None = None,
    timed_out_until: str | None = None,
    everyone: int = 0x400 | 0x800 | 0x10000 | (1 << 38),
) -> Json:
    """A server with one text channel, one thread and the bot's own role. `everyone`: view, send,
    read history, send in threads."""
    role = {
        "color": 0,
        "hoist": False,
        "position": 0,
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }
    return {
        "id": GUILD_ID,
        "name": "My Server",
        "owner_id": MEMBER_ID,
        "member_count": 2,
        "large": False,
        "roles": [
            {"id": GUILD_ID, "name": "@everyone", "permissions": str(everyone), **role},
            {
                "id": "600000000000000001",
                "name": "Everturn",
                "permissions": "0",
                "tags": {"bot_id": BOT_ID},
                **role,
            },
        ],
        "emojis": [],
        "features": [],
        "members": [
            {
                "user": ME,
                "roles": ["600000000000000001"],
                "joined_at": "2026-01-01T00:00:00+00:00",
                "deaf": False,
                "mute": False,
                "flags": 0,
                "communication_disabled_until": timed_out_until,
            }
        ],
        "channels": [
            {
                "id": CHANNEL_ID,
                "type": 0,
                "name": "general",
                "position": 0,
                "permission_overwrites": overwrites or [],
                "nsfw": False,
                "parent_id": None,
            },
            {
                "id": "500000000000000009",
                "type": 13,
                "name": "stage",
                "position": 1,
                "permission_overwrites": [],
                "bitrate": 64000,
                "user_limit": 0,
                "nsfw": False,
                "parent_id": None,
            },
        ],
        "threads": [
            {
                "id": THREAD_ID,
                "type": 11,
                "guild_id": GUILD_ID,
                "parent_id": CHANNEL_ID,
                "owner_id": MEMBER_ID,
                "name": "recipes",
                "message_count": 0,
                "member_count": 1,
                "thread_metadata": {
                    "archived": False,
                    "auto_archive_duration": 1440,
                    "archive_timestamp": "2026-08-01T00:00:00+00:00",
                    "locked": False,
                },
            }
        ],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "stickers": [],
    }
