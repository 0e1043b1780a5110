"""A turn that an operator resets: what its tools did is not done again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowHandle

from activities.tools.registry import ToolRegistry
from activities.tools.run_tool import CARRIED_OUT, ToolActivities, ToolStore
from activities.tools.tool import Tool, ToolArguments
from storage import open_storage
from tests.workflows.conftest import Channel
from tests.workflows.fakes import script_of
from workflows.contracts.tools import RUN_TOOL, ToolRequest, ToolResult


@asynccontextmanager
async def tools_of(channel: Channel, folder: Path, *tools: Tool[Any]) -> AsyncIterator[list[str]]:
    """Let a channel's calls run as they really do, on a database. What each result said."""
    storage = await open_storage(f"sqlite:///{folder / 'everturn.db'}")
    store = SimpleNamespace(
        blobs=storage.blobs, configs=storage.configs, dispatches=storage.dispatches
    )
    real = ToolActivities(
        ToolRegistry([("this test", tool) for tool in tools]), cast(ToolStore, store)
    )
    said: list[str] = []

    async def run(request: ToolRequest) -> ToolResult:
        result = await real.run_tool(request)
        said.append(str(json.loads(result.content).get("reason", "")))
        return result

    channel.worker.tool = run
    try:
        yield said
    finally:
        await real.aclose()
        await storage.close()


async def reset_to_before(channel: Channel, turn: WorkflowHandle[Any, Any], activity: str) -> None:
    """As `temporal workflow reset` does: the turn goes on from where it had not yet called it."""
    point = completed = 0
    async for event in turn.fetch_history_events():
        if event.HasField("workflow_task_completed_event_attributes"):
            completed = event.event_id
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == activity and not point:
            point = completed
    assert point
    await channel.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=channel.client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=turn.id),
            reason="an operator wants it",
            workflow_task_finish_event_id=point,
            request_id=turn.id,
        )
    )


async def test_a_reset_does_not_carry_out_a_call_again(channel: Channel, tmp_path: Path):
    ran: list[int] = []

    async def run(arguments: Any, context: Any, resources: Any) -> dict[str, int]:
        ran.append(context.iteration)
        return {"done": context.iteration}

    tool = Tool("create_thing", "Creates a thing.", ToolArguments, run)
    async with tools_of(channel, tmp_path, tool) as said:
        channel.worker.script = script_of(
            lambda call: call.tool("create_thing"),
            lambda call: call.tool("create_thing"),
            lambda call: call.result("Done."),
        )
        message = await channel.post()
        await channel.answered(message)
        assert (ran, said) == ([0, 1], ["", ""])

        await reset_to_before(channel, channel.turn(message), RUN_TOOL.name)
        async with asyncio.timeout(30):
            while len(channel.worker.finished) < 2:  # noqa: ASYNC110, of the run after the reset
                await asyncio.sleep(0.02)
        assert ran == [0, 1]
        assert said == ["", "", CARRIED_OUT, CARRIED_OUT]
