"""One websocket connection: HELLO, IDENTIFY or RESUME, heartbeats, and events in order.

Source of the opcodes and close codes: Discord's gateway documentation.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import WSMsgType, web

from playground import wire
from playground.gateway.compression import Compress, UnknownCompression, compressor
from playground.gateway.intents import refusal
from playground.gateway.sessions import Gateway, Session
from playground.services import SERVICES
from playground.world import World

HEARTBEAT_SECONDS = 41.25
_UNKNOWN_OP, _DECODE, _NOT_AUTHENTICATED, _BAD_TOKEN, _ALREADY, _TIMED_OUT, _BAD_SHARD = (
    4001,
    4002,
    4003,
    4004,
    4005,
    4009,
    4010,
)


@dataclass(frozen=True)
class _Close:
    code: int
    abort: bool = False


ACK_AFTER = 0.02
"""Seconds. discord.py notes when it sent a heartbeat only after sending it; an answer that is
quicker than that counts from the heartbeat before, and warns of a connection 41 s behind."""


class SocketConnection:
    """Sends in order from one task, so that dispatching never waits for a slow client."""

    def __init__(self, socket: web.WebSocketResponse, compress: Compress | None) -> None:
        self._socket = socket
        self._compress = compress
        self._queue: asyncio.Queue[str | _Close] = asyncio.Queue()
        self.closed_with: int | None = None
        """The code this side closed with, if it did."""

    def send(self, text: str) -> None:
        self._queue.put_nowait(text)

    def send_op(self, op: int, data: Any) -> None:
        self.send(json.dumps({"op": op, "t": None, "s": None, "d": data}))

    def close(self, code: int, *, abort: bool = False) -> None:
        """Closes after what is queued; `abort` cuts the line at once, without a close frame."""
        self.closed_with = code
        self._queue.put_nowait(_Close(code, abort))

    async def pump(self, abort: Callable[[], None]) -> None:
        """Runs until the connection ends."""
        while True:
            item = await self._queue.get()
            if isinstance(item, _Close):
                if item.abort:
                    abort()
                else:
                    await self._socket.close(code=item.code)
                return
            try:
                if self._compress is None:
                    await self._socket.send_str(item)
                else:
                    await self._socket.send_bytes(self._compress(item.encode()))
            except ConnectionError:
                return


async def serve_socket(request: web.Request) -> web.StreamResponse:
    """The handler of `/gateway`."""
    services = request.app[SERVICES]
    gateway = services.gateway
    if time.monotonic() < gateway.refusing_until:
        return web.Response(status=503, text="gateway outage (injected)")
    try:
        compress = compressor(request.query.get("compress"))
    except UnknownCompression as error:
        return web.Response(status=400, text=f"compression {error} is not served here")
    socket = web.WebSocketResponse(max_msg_size=1 << 20)
    await socket.prepare(request)
    connection = SocketConnection(socket, compress)
    transport = request.transport
    pump = asyncio.create_task(connection.pump(lambda: transport and transport.abort()))
    conversation = _Conversation(
        services.world, gateway, socket, connection, f"ws://{request.host}/gateway"
    )
    try:
        await conversation.run()
    finally:
        pump.cancel()
        if conversation.session is not None:
            code = None if connection.closed_with is not None else socket.close_code
            gateway.left(conversation.session, connection, code)
    return socket


class _Conversation:
    """What the client says, answered."""

    def __init__(
        self,
        world: World,
        gateway: Gateway,
        socket: web.WebSocketResponse,
        connection: SocketConnection,
        url: str,
    ) -> None:
        self._world = world
        self._gateway = gateway
        self._socket = socket
        self._connection = connection
        self._url = url
        self.session: Session | None = None

    async def run(self) -> None:
        interval = int(HEARTBEAT_SECONDS * 1000)
        self._connection.send_op(10, {"heartbeat_interval": interval, "_trace": ["playground"]})
        while True:
            try:
                message = await self._socket.receive(timeout=HEARTBEAT_SECONDS * 1.5)
            except TimeoutError:
                await self._socket.close(code=_TIMED_OUT)
                return
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            try:
                payload = json.loads(message.data)
                op, data = payload["op"], payload.get("d")
            except (ValueError, KeyError, TypeError):
                self._connection.close(_DECODE)
                continue
            if (code := self._handle(op, data)) is not None:
                self._connection.close(code)

    def _handle(self, op: int, data: Any) -> int | None:
        """Answers one payload; returns the close code when it is not acceptable."""
        if op == 1:
            if self.session is None or self.session.answers_heartbeats:
                loop = asyncio.get_running_loop()
                loop.call_later(ACK_AFTER, self._connection.send_op, 11, None)
            return None
        if op == 2:
            return self._identify(data or {})
        if op == 6:
            return self._resume(data or {})
        if self.session is None:
            return _NOT_AUTHENTICATED
        if op == 8:
            self._request_members(self.session, data or {})
            return None
        return None if op in (3, 4) else _UNKNOWN_OP

    def _identify(self, data: dict[str, Any]) -> int | None:
        if self.session is not None:
            return _ALREADY
        if "invalid" in str(data.get("token") or "invalid"):
            return _BAD_TOKEN
        shard = data.get("shard") or [0, 1]
        if len(shard) != 2 or not 0 <= shard[0] < shard[1]:
            return _BAD_SHARD
        wanted = int(data.get("intents") or 0)
        code = refusal(wanted, self._world.portal)
        if code is None:
            self.session = self._gateway.identify(self._connection, wanted, self._url)
        return code

    def _resume(self, data: dict[str, Any]) -> int | None:
        if self.session is not None:
            return _ALREADY
        if "invalid" in str(data.get("token") or "invalid"):
            return _BAD_TOKEN
        sequence = data.get("seq")
        self.session = self._gateway.resume(
            self._connection,
            str(data.get("session_id")),
            -1 if sequence is None else int(sequence),
        )
        if self.session is None:
            self._connection.send_op(9, False)
        return None

    def _request_members(self, session: Session, data: dict[str, Any]) -> None:
        ids = data.get("user_ids")
        ids = ids if ids is None or isinstance(ids, list) else [ids]
        wanted = None if ids is None else {int(key) for key in ids}
        query = str(data.get("query") or "").lower()
        members = [
            wire.member(self._world, member)
            for member in self._world.members.values()
            if (wanted is None or member.user_id in wanted)
            and self._world.users[member.user_id].name.lower().startswith(query)
        ]
        body: dict[str, Any] = {
            "guild_id": str(self._world.guild_id),
            "members": members,
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": [],
        }
        if data.get("nonce"):
            body["nonce"] = data["nonce"]
        session.dispatch("GUILD_MEMBERS_CHUNK", body)
