"""`everturn doctor`: is everything there that a turn needs? One line each, with what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from storage import StorageError
from storage.personas.files import read_folder
from worker.connection import connect, connect_config
from worker.database import open_database
from worker.errors import EXIT_FAILED, OperatorError
from worker.mcp import mcp_servers
from worker.running import read_running
from worker.search_attributes import missing_search_attributes
from worker.settings import Provider, Settings
from worker.token_shape import token_doubt
from workflows.contracts.base import TURNS_QUEUE, discord_queue

TIMEOUT = 5.0
"""Seconds for each question over HTTP."""

DISCORD = "https://discord.com/api/v10"
PORTAL = "https://discord.com/developers/applications"

MESSAGE_CONTENT_FLAGS = (1 << 18) | (1 << 19)
"""`GATEWAY_MESSAGE_CONTENT` and `GATEWAY_MESSAGE_CONTENT_LIMITED`, resources/application.mdx."""

MODEL_LISTS = {
    Provider.OPENAI: "https://api.openai.com/v1/models",
    Provider.ANTHROPIC: "https://api.anthropic.com/v1/models?limit=1",
    Provider.GOOGLE: "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1",
    Provider.OPENROUTER: "https://openrouter.ai/api/v1/key",
}
"""What a provider answers without cost when the key is good. OpenRouter lists its models to
anybody, so there it is the description of the key."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    name: str
    ok: bool
    text: str

    def line(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'}  {self.name:<9} {self.text}"


Check = Callable[[Settings], Awaitable[Finding]]


async def check_temporal(settings: Settings) -> Finding:
    """Reachable, the namespace exists, the search attributes are known."""
    client = await connect(settings)
    address = client.service_client.config.target_host
    try:
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace)
        )
        missing = await missing_search_attributes(client)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            reason = "create it, or set TEMPORAL_NAMESPACE to one that exists"
            text = f"{address} has no namespace {client.namespace}: {reason}"
            return Finding("temporal", False, text)
        if error.status not in (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED):
            raise
        missing = []  # such as Temporal Cloud, where a worker key may not list them
    if missing:
        text = f"{address} lacks search attributes ({', '.join(missing)}): the worker adds them"
        return Finding("temporal", False, f"{text} when it starts")
    return Finding("temporal", True, f"{address}, namespace {client.namespace}")


async def check_database(settings: Settings) -> Finding:
    """It opens, and its tables are of this version or older ones that could be brought up."""
    storage = await open_database(settings)
    try:
        return Finding("database", True, f"{storage.database.address}")
    finally:
        await storage.close()


async def check_discord(settings: Settings, api: str | None = None) -> Finding:
    """The token is accepted, and the message content intent is switched on."""
    token = settings.discord_token
    if token is None:
        return Finding("discord", True, "no DISCORD_TOKEN: the bot joins the playground")
    headers = {"Authorization": f"Bot {token.get_secret_value()}"}
    base = api or settings.discord_api or DISCORD
    doubt = token_doubt(token.get_secret_value()) if settings.discord_api is None else None
    async with _http() as http:
        try:
            me = await http.get(f"{base}/users/@me", headers=headers)
            application = await http.get(f"{base}/applications/@me", headers=headers)
        except httpx.HTTPError as error:
            if doubt is None:
                raise
            text = f"{doubt}; Discord cannot be asked ({_short(error)})"
            return Finding("discord", False, text)
    if me.status_code == httpx.codes.UNAUTHORIZED:
        text = f"Discord refuses DISCORD_TOKEN: take a new one at {PORTAL} (Bot, Reset Token)"
        return Finding("discord", False, f"{doubt}; {text}" if doubt else text)
    for answer in (me, application):
        if not answer.is_success:
            return Finding("discord", False, f"Discord answers {answer.status_code}: try later")
    name = me.json().get("username", "?")
    if not application.json().get("flags", 0) & MESSAGE_CONTENT_FLAGS:
        text = f"{name} may not read messages: switch on Message Content Intent at {PORTAL} (Bot)"
        return Finding("discord", False, text)
    return Finding("discord", True, f"logged in as {name}, message content intent on")


async def check_provider(settings: Settings, address: str | None = None) -> Finding:
    """The key is accepted. Costs nothing."""
    generation = settings.generation()
    provider = settings.provider
    if provider is Provider.DEMO:
        return Finding("provider", True, "no key: the demo model answers, offline")
    if address is None:
        custom = f"{settings.custom_base_url}/models"
        address = custom if provider is Provider.CUSTOM else MODEL_LISTS[provider]
    async with _http() as http:
        try:
            answer = await http.get(address, headers=_key_headers(settings))
        except httpx.HTTPError as error:
            host = httpx.URL(address).host
            text = f"{provider} at {host} does not answer ({_short(error)})"
            return Finding("provider", False, f"{text}: check the address and the network")
    if answer.status_code in (400, 401, 403):
        text = f"{provider} refuses the key ({answer.status_code}): set a valid one"
        return Finding("provider", False, text)
    if not answer.is_success and answer.status_code != httpx.codes.NOT_FOUND:
        return Finding("provider", False, f"{provider} answers {answer.status_code}: try later")
    # A compatible server without a list of models answers 404; it is there all the same.
    return Finding("provider", True, f"{provider}, model {generation.model_name}")


async def check_personas(settings: Settings) -> Finding:
    """A worker could read the persona files."""
    folder = settings.persona_folder
    count = len(await asyncio.to_thread(read_folder, folder, only_look=True))
    if not count:
        return Finding("personas", True, f"none in {folder} yet: the first start makes one")
    return Finding("personas", True, f"{count} persona{'' if count == 1 else 's'} in {folder}")


async def check_tools(settings: Settings) -> Finding:
    """A worker could make its tools. The MCP servers themselves are not asked."""
    from worker.tools import make_tools  # here, since the other checks need none of it

    registry, resources = make_tools(settings)
    await resources.aclose()
    text = f"{len(registry.names())} tools"
    if settings.mcp_file is not None:
        count = len(mcp_servers(settings))
        text += f", {count} MCP server{'' if count == 1 else 's'} in {settings.mcp_file}"
    return Finding("tools", True, text)


async def check_workers(settings: Settings) -> Finding:
    """Somebody serves the turns, and somebody serves the bot's queue."""
    running = await asyncio.to_thread(read_running, settings.home)
    for part in ("worker", "bot"):
        if running is not None and part in running.down:
            text = f"the {part} of this `everturn up` does not run: {running.down[part]}"
            return Finding("workers", False, text)

    def missing(part: str) -> str:
        if running is None:
            return f"start `everturn {part}`"
        return f"that of this `everturn up` is not ready, see {settings.home}/logs/{part}.log"

    client = await connect(settings)
    turns = await _pollers(client, TURNS_QUEUE)
    if not turns:
        return Finding("workers", False, f"no worker is running: {missing('worker')}")
    application = await _application_id(settings)
    if application is None:
        return Finding("workers", True, f"{turns} worker(s); which bot to look for is not known")
    if not await _pollers(client, discord_queue(application)):
        return Finding("workers", False, f"{turns} worker(s), but no bot: {missing('bot')}")
    return Finding("workers", True, f"{turns} worker(s) and the bot serve turns")


async def _pollers(client: Client, queue: str) -> int:
    """How many processes asked for activities of `queue` in the last minutes."""
    from temporalio.api.taskqueue.v1 import TaskQueue

    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
    )
    return len(answer.pollers)


async def _application_id(settings: Settings) -> str | None:
    """Id of the bot's application; None when Discord does not tell it now."""
    running = read_running(settings.home)
    api = settings.discord_api or (running.discord_api if running else None)
    if settings.discord_token is None and api is None:
        return None
    token = settings.discord_token.get_secret_value() if settings.discord_token else "playground"
    try:
        async with _http() as http:
            answer = await http.get(
                f"{api or DISCORD}/applications/@me", headers={"Authorization": f"Bot {token}"}
            )
        return str(answer.json()["id"]) if answer.is_success else None
    except (httpx.HTTPError, ValueError, KeyError):
        return None


def _key_headers(settings: Settings) -> dict[str, str]:
    if settings.api_key is None:
        return {}
    key = settings.api_key.get_secret_value()
    match settings.provider:
        case Provider.ANTHROPIC:
            return {"x-api-key": key, "anthropic-version": "2023-06-01"}
        case Provider.GOOGLE:
            return {"x-goog-api-key": key}
        case _:
            return {"Authorization": f"Bearer {key}"}


def _http() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=False)


def _short(error: Exception) -> str:
    return "no answer in time" if isinstance(error, httpx.TimeoutException) else "no connection"


CHECKS: dict[str, Check] = {
    "temporal": check_temporal,
    "database": check_database,
    "discord": check_discord,
    "provider": check_provider,
    "personas": check_personas,
    "tools": check_tools,
    "workers": check_workers,
}


async def examine(settings: Settings, tell: Callable[[str], None], only: str | None = None) -> int:
    """Run all checks, or `only` one, and say what each found. Exit code 1 when one failed."""
    if only is not None and only not in CHECKS:
        raise OperatorError(f"--only takes one of {', '.join(CHECKS)}")
    failed = False
    for name, check in CHECKS.items():
        if only in (None, name):
            finding = await _find(name, check, settings)
            failed = failed or not finding.ok
            tell(finding.line())
    return EXIT_FAILED if failed else 0


async def _find(name: str, check: Check, settings: Settings) -> Finding:
    try:
        return await check(settings)
    except (OperatorError, StorageError) as error:
        return Finding(name, False, " ".join(str(error).split()))
    except RPCError as error:
        address = connect_config(settings)["target_host"]
        return Finding(name, False, f"Temporal at {address} answers {error.status.name.lower()}")
    except httpx.HTTPError as error:
        return Finding(name, False, f"{_short(error)}: check the network")
