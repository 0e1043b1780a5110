"""Everturn as an operator runs it: a dev server, a playground, a worker and a bot, each a real
process of its own, on free ports, with its data in one folder.

    async with Stack(home, model_server.base_url) as stack:
        posted = await stack.discord.say("general", "Ada", "Nova, hello")
        messages = await stack.discord.replies("general", posted, count=1)

Any of the processes can be killed at any instant and started again on the same ports.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import httpx
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode

from runtime.orphans import HAS_PDEATHSIG, die_with_parent
from worker.beacon import beacon_file
from worker.dev_server import is_serving, server_command
from workflows.contracts.attributes import SEARCH_ATTRIBUTES
from workflows.contracts.base import turn_workflow_id
from workflows.contracts.turn import TurnResult

HOST = "127.0.0.1"
ORDER = ("temporal", "playground", "worker", "bot")

Message = dict[str, Any]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Discord:
    """The playground's control interface, as the members' hands and eyes."""

    def __init__(self, base_url: str) -> None:
        self._http = httpx.AsyncClient(base_url=base_url, trust_env=False, timeout=60)

    async def close(self) -> None:
        await self._http.aclose()

    async def call(self, method: str, path: str, **arguments: Any) -> Any:
        answer = await self._http.request(method, f"/control/{path}", **arguments)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def state(self) -> dict[str, Any]:
        return await self.call("GET", "state")

    async def online(self) -> bool:
        try:
            return (await self.state())["bot"]["online"]
        except httpx.TransportError:
            return False

    async def say(self, channel: str, member: str, content: str, **fields: Any) -> Message:
        body = {"channel": channel, "member": member, "content": content, **fields}
        return await self.call("POST", "messages", json=body)

    async def kill(self, channel: str, member: str = "Ada") -> dict[str, Any]:
        """`/kill`, as the member sees its answer."""
        body = {"channel": channel, "member": member, "name": "kill", "wait": 5}
        return await self.call("POST", "commands", json=body)

    async def messages(self, channel: str, after: Message, **query: Any) -> list[Message]:
        query = {"after": after["id"], **query}
        answer = await self.call("GET", f"channels/{channel}/messages", params=query)
        return answer["messages"]

    async def replies(
        self, channel: str, after: Message, count: int = 1, seconds: float = 30
    ) -> list[Message]:
        """The bot's messages after `after`, as soon as there are `count` of them."""
        found = await self.messages(channel, after, author="bot", count=count, wait=seconds)
        assert len(found) >= count, f"{len(found)} of {count} messages: {[text(m) for m in found]}"
        return found

    async def typing(self, channel: str) -> list[Message]:
        return (await self.call("GET", f"channels/{channel}/typing"))["typing"]

    async def fault(self, **fault: Any) -> None:
        await self.call("POST", "faults", json=fault)

    async def gateway(self, action: str, **fields: Any) -> None:
        await self.call("POST", "gateway", json={"action": action, **fields})

    async def settings(self, **settings: Any) -> None:
        await self.call("PATCH", "settings", json=settings)


def text(message: Message) -> str:
    """What a member reads: the content, or a notice's embed."""
    return message["content"] or "".join(e.get("description", "") for e in message["embeds"])


class Stack:
    def __init__(self, home: Path, model_url: str | None, **environ: str) -> None:
        """`model_url`: the base URL of a loopback model server; None: the demo model."""
        self.home = home
        self.temporal_port = free_port()
        self.ui_port = free_port()
        self.page_port = free_port()
        self.environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "EVERTURN_HOME": str(home),
            "EVERTURN_LOG_JSON": "true",
            "EVERTURN_DISCORD_API": f"http://{HOST}:{self.page_port}/api/v10",
            "DISCORD_TOKEN": "playground",
            "TEMPORAL_ADDRESS": f"{HOST}:{self.temporal_port}",
            "STREAM_SDK_CALL_TIMEOUT_MS": "10000",
            "TOOL_EXECUTION_TIMEOUT_MS": "10000",
            "COMMAND_COOLDOWN_SCALE": "0",
            "EVERTURN_DEMO_WORDS_PER_SECOND": "0",
            **(
                {
                    "EVERTURN_PROVIDER": "custom",
                    "CUSTOM_BASE_URL": model_url,
                    "CUSTOM_API_KEY": "sk-loopback-secret",
                    "EVERTURN_MODEL": "test-model",
                }
                if model_url
                else {}
            ),
            **environ,
        }
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.discord = Discord(f"http://{HOST}:{self.page_port}")
        self._client: Client | None = None

    async def __aenter__(self) -> Stack:
        try:
            await self.start(*ORDER)
            # At Discord's usual pace (five messages in five seconds) every test would wait for it.
            none = {"count": 10_000, "per": 1}
            limits = ("global", "messages", "delete", "typing", "history")
            await self.discord.settings(rate_limits=dict.fromkeys(limits, none))
        except BaseException:
            await self.stop(*ORDER)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop(*reversed(ORDER))
        await self.discord.close()

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    def command(self, name: str) -> list[str]:
        match name:
            case "temporal":
                attributes = {key.name: "Keyword" for key in SEARCH_ATTRIBUTES}
                return server_command(
                    self.home, self.temporal_port, self.ui_port, "default", attributes
                )
            case "playground":
                return [
                    *(sys.executable, "-m", "playground"),
                    *("--port", str(self.page_port), "--data", str(self.home / "playground")),
                    *("--temporal-ui", f"http://{HOST}:{self.ui_port}"),
                ]
            case _:
                return [sys.executable, "-m", "worker.cli", name]

    async def start(self, *names: str, ready: bool = True) -> None:
        for name in names:
            log = self.log(name)
            log.parent.mkdir(parents=True, exist_ok=True)
            beacon_file(self.home, name).unlink(missing_ok=True)
            with log.open("ab") as output:
                self.processes[name] = await asyncio.create_subprocess_exec(
                    *self.command(name),
                    env=self.environ,
                    cwd=Path(__file__).parents[2],
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    preexec_fn=die_with_parent() if HAS_PDEATHSIG else None,
                )
            # The worker and the bot may start beside each other; what they need must serve first.
            if ready and name in ("temporal", "playground"):
                await self.ready(name)
        if ready:
            for name in names:
                await self.ready(name)

    async def ready(self, name: str, seconds: float = 40) -> None:
        process = self.processes[name]
        async with asyncio.timeout(seconds):
            while not await self._is_ready(name):
                assert process.returncode is None, f"{name} ended: {self.output(name)[-2000:]}"
                await asyncio.sleep(0.05)

    async def _is_ready(self, name: str) -> bool:
        match name:
            case "temporal":
                if not await is_serving(self.temporal_port):
                    return False
                if self._client is None:
                    self._client = await Client.connect(
                        f"{HOST}:{self.temporal_port}", data_converter=pydantic_data_converter
                    )
                return True
            case "playground":
                try:
                    await self.discord.state()
                except httpx.TransportError:
                    return False
                return True
            case "bot":
                return beacon_file(self.home, name).exists() and await self.discord.online()
            case _:
                return beacon_file(self.home, name).exists()

    async def kill(self, *names: str) -> None:
        """SIGKILL: no process of ours gets to say anything."""
        for name in names:
            self.processes[name].send_signal(signal.SIGKILL)
        for name in names:
            await self.processes.pop(name).wait()

    async def stop(self, *names: str, grace: float = 25) -> None:
        """SIGTERM, and SIGKILL for what does not end in time."""
        for name in names:
            process = self.processes.pop(name, None)
            if process is None or process.returncode is not None:
                continue
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(grace):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()

    def log(self, name: str) -> Path:
        return self.home / "logs" / f"{name}.log"

    def output(self, name: str) -> str:
        return self.log(name).read_text(errors="replace")

    def turn(self, message: Message, persona_id: int = 1) -> WorkflowHandle[Any, TurnResult]:
        return self.client.get_workflow_handle(
            turn_workflow_id(message["channel"], message["id"], persona_id),
            result_type=TurnResult,
        )

    async def ended(self, message: Message, seconds: float = 60) -> TurnResult | None:
        """The result of the message's turn once it has ended; None when it was cancelled."""
        turn = self.turn(message)
        async with asyncio.timeout(seconds):
            while True:
                try:
                    return await turn.result()
                except WorkflowFailureError:
                    return None
                except RPCError as error:
                    if error.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.UNAVAILABLE):
                        raise
                await asyncio.sleep(0.05)
