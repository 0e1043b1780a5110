"""The worker process: all workflows, and every activity that does not need Discord."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import Any

import structlog
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig
from temporalio.service import RPCError
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.context.build import ContextActivities
from activities.effects import EffectsActivities
from activities.generation.call_model import GenerationActivities
from activities.generation.models import ModelSource
from activities.generation.segments import TemporalSegmentSignaller
from activities.planning import PlanningActivities
from activities.reminders.deliver import RedeliverySettings, ReminderActivities
from activities.reminders.schedule import keep_reminders
from activities.tools.mcp import McpServers
from activities.tools.registry import ToolRegistry
from activities.tools.resources import ToolResources
from activities.tools.run_tool import ToolActivities
from runtime.logs import register_secret
from storage import Storage, StorageError
from worker.beacon import beacon_file, keep_lit
from worker.connection import connect_patiently
from worker.database import open_database
from worker.errors import EXIT_FAILED, OperatorError
from worker.mcp import mcp_servers
from worker.process import WORKER_GRACE
from worker.search_attributes import register_search_attributes
from worker.settings import Settings
from worker.tools import make_tools
from workflows.channel import ChannelWorkflow
from workflows.contracts.base import TURNS_QUEUE
from workflows.reminder import ReminderWorkflow
from workflows.turn import TurnWorkflow

log = structlog.get_logger(__name__)

PASSED_THROUGH = ("workflows", "pydantic", "pydantic_core", "annotated_types", "typing_extensions")
"""Modules the sandbox does not import again for each run: pure, and 0.5 to 1 s a turn otherwise.
Our contracts must be the same classes on both sides of the sandbox."""

HEARTBEAT_THROTTLE = timedelta(milliseconds=300)
MAX_HEARTBEAT_THROTTLE = timedelta(milliseconds=500)
"""A cancel comes back with a heartbeat, so this is the slowest a stop is felt on any cluster."""

STICKY_TIMEOUT = timedelta(seconds=1)
"""How long the server looks for the worker that knew a workflow, before any other may take it."""

MAX_WORKFLOW_TASKS = 40
MAX_ACTIVITIES = 100
MAX_LOCAL_ACTIVITIES = 40
"""Activities mostly wait for providers; a machine with two cores carries that many."""

FORGET_INTERVAL = timedelta(minutes=5)
"""How late short-term memory that has expired is deleted; it is not shown meanwhile."""

HOUSEKEEPING_INTERVAL = timedelta(days=1)
KEEP_CONTENT = timedelta(days=7)
"""How long contexts, responses and tool results are kept: longer than any turn runs."""


def sandbox() -> SandboxedWorkflowRunner:
    """The SDK's default sandbox, without importing our own pure packages for every run."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH)
    return SandboxedWorkflowRunner(restrictions=restrictions)


def make_runtime(settings: Settings) -> Runtime | None:
    """The SDK's runtime with a Prometheus endpoint; None, its default, where none is wanted."""
    if settings.metrics_port is None:
        return None
    address = f"127.0.0.1:{settings.metrics_port}"
    try:
        return Runtime(telemetry=TelemetryConfig(metrics=PrometheusConfig(bind_address=address)))
    except Exception as error:  # the bridge raises plain RuntimeError
        raise OperatorError(f"metrics cannot be served on {address}: {error}") from None


def make_mcp(settings: Settings, registry: ToolRegistry) -> McpServers:
    """The MCP servers of the operator's file; none without one. They are not started yet."""
    rest = settings.mcp_failure_cooldown_ms / 1000
    return McpServers(mcp_servers(settings), registry, rest=rest)


def make_worker(
    client: Client,
    storage: Storage,
    settings: Settings,
    models: ModelSource,
    registry: ToolRegistry,
    resources: ToolResources,
    fatal: asyncio.Event,
    grace: timedelta = WORKER_GRACE,
) -> Worker:
    """The SDK's worker with everything composed. `fatal` is set when it cannot go on."""
    generation = GenerationActivities(storage, models, registry, TemporalSegmentSignaller(client))
    planned = settings.planning()
    planning = PlanningActivities(
        storage,
        settings.turn_limits(),
        models.settings.provider,
        models.settings.model_name,
        planned,
    )

    reminders = ReminderActivities(
        storage,
        client,
        RedeliverySettings(
            settings.reminder_delivery_max_retries,
            settings.reminder_delivery_retry_delay_ms / 1000,
        ),
    )

    async def on_fatal_error(error: BaseException) -> None:
        log.error("worker.fatal", error=type(error).__name__, reason=str(error))
        fatal.set()

    return Worker(
        client,
        task_queue=TURNS_QUEUE,
        workflows=[ChannelWorkflow, TurnWorkflow, ReminderWorkflow],
        activities=[
            planning.plan_turns,
            planning.give_up_plan,
            ContextActivities(storage, registry, budget=settings.context_tokens).build_context,
            generation.call_model,
            ToolActivities(registry, storage, resources).run_tool,
            EffectsActivities(storage, counts_active=planned.production).finish_turn,
            reminders.load_reminder,
            reminders.deliver_reminder,
            reminders.advance_reminder,
            reminders.remove_reminder,
        ],
        workflow_runner=sandbox(),
        identity=worker_identity(),
        max_concurrent_workflow_tasks=MAX_WORKFLOW_TASKS,
        max_concurrent_activities=MAX_ACTIVITIES,
        max_concurrent_local_activities=MAX_LOCAL_ACTIVITIES,
        max_heartbeat_throttle_interval=MAX_HEARTBEAT_THROTTLE,
        default_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        graceful_shutdown_timeout=grace,
        sticky_queue_schedule_to_start_timeout=STICKY_TIMEOUT,
        on_fatal_error=on_fatal_error,
    )


def worker_identity() -> str:
    return f"worker {os.getpid()}@{socket.gethostname()}"


async def run_worker(
    settings: Settings, stop: asyncio.Event, grace: timedelta = WORKER_GRACE
) -> int:
    """Serve the turns queue until `stop` is set; what runs then has `grace` to end. Returns the
    exit code.

    Raises OperatorError and StorageError, one line each.
    """
    generation = settings.generation()
    registry, resources = make_tools(settings)
    mcp = make_mcp(settings, registry)
    for secret in settings.secrets():
        register_secret(secret)
    async with AsyncExitStack() as stack:
        storage = await open_database(settings)
        stack.push_async_callback(storage.close)
        stack.push_async_callback(resources.aclose)
        await storage.personas.seed(settings.persona_folder)
        client = await connect_patiently(settings, stop, make_runtime(settings))
        if client is None:
            return 0
        await register_search_attributes(client)
        resources.connect(storage=storage, temporal=client)
        stack.push_async_callback(mcp.aclose)
        mcp.start()
        models = ModelSource(generation)
        stack.push_async_callback(models.close)
        fatal = asyncio.Event()
        await stack.enter_async_context(
            make_worker(client, storage, settings, models, registry, resources, fatal, grace)
        )
        await _wait_until_polling(client, stop)
        log.info("worker.ready", queue=TURNS_QUEUE, provider=generation.provider)
        beside = (
            keep_lit(beacon_file(settings.home, "worker"), client),
            _housekeeping(storage),
            _forget(storage),
            _warm_up(models),
            keep_reminders(client, storage),
        )
        tasks = [asyncio.create_task(work) for work in beside]
        stack.push_async_callback(_cancel, tasks)
        ends = [asyncio.create_task(event.wait()) for event in (stop, fatal)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await _cancel(ends)
        log.info("worker.stopping")
    return EXIT_FAILED if fatal.is_set() else 0


async def pollers(client: Client, queue: str, kind: TaskQueueType.ValueType) -> list[str]:
    """Identities of the processes that polled `queue` lately."""
    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
        )
    )
    return [poller.identity for poller in answer.pollers]


async def _wait_until_polling(client: Client, stop: asyncio.Event) -> None:
    """Return when the server has seen us poll, or after a few seconds without knowing."""
    with suppress(RPCError, TimeoutError):
        async with asyncio.timeout(5):
            while not stop.is_set():
                kind = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
                if worker_identity() in await pollers(client, TURNS_QUEUE, kind):
                    return
                await asyncio.sleep(0.05)


async def _housekeeping(storage: Storage) -> None:
    while True:
        try:
            removed = await storage.housekeeping(KEEP_CONTENT)
            log.info("storage.cleaned", rows=removed)
        except StorageError as error:
            log.warning("storage.not_cleaned", reason=str(error))
        await asyncio.sleep(HOUSEKEEPING_INTERVAL.total_seconds())


async def _forget(storage: Storage) -> None:
    """Delete what has expired of short-term memory, again and again."""
    while True:
        try:
            if removed := await storage.short_term.expire():
                log.info("short_term.expired", rows=removed)
        except StorageError as error:
            log.warning("short_term.not_expired", reason=str(error))
        await asyncio.sleep(FORGET_INTERVAL.total_seconds())


async def _warm_up(models: ModelSource) -> None:
    """Load the provider's library now, and not while the first member waits (T24)."""
    try:
        await models.get()
    except Exception as error:  # the first turn says it where it belongs
        log.warning("model.not_made", reason=str(error))


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
