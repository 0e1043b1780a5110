"""`/kill`, `temporal workflow cancel`: it stops, at once, and the channel goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import statistics
import time

import pytest
from temporalio.client import WorkflowExecutionStatus

from tests.support.model_server import Hold, ModelServer, Stall, Text, ToolCall
from tests.support.page_server import PageServer
from tests.support.stack import Message, Stack, text
from worker.dev_server import temporal_binary

KILLS = 20


async def status_of(stack: Stack, message: Message) -> tuple[WorkflowExecutionStatus | None, str]:
    described = await stack.turn(message).describe()
    values = described.search_attributes.get("EverturnStatus", [""])
    return described.status, str(values[0])


async def test_kill_in_the_middle_of_the_stream(stack: Stack, model: ModelServer) -> None:
    """C061, T04: the text so far stays, the connection closes, nothing is tried again, the queue
    is dropped, and the next message is answered."""
    model.script(Text("Shown.\n\n"), Text("not yet a paragraph"), Stall())
    posted = await stack.discord.say("general", "Ada", "Nova, go on and on")
    await stack.discord.replies("general", posted)
    await stack.discord.say("general", "Ben", "Nova, me too")
    answer = await stack.discord.kill("general")
    assert answer["ephemeral"]
    assert "Stopped" in text(answer["response"])
    await model.requests[0].wait_closed_early()
    assert await stack.ended(posted) is None
    assert await status_of(stack, posted) == (WorkflowExecutionStatus.CANCELED, "stopped_by_user")
    after = await stack.discord.say("general", "Ada", "Nova, and now?")
    await stack.ended(after)
    replies = await stack.discord.messages("general", posted, author="bot")
    assert [text(reply) for reply in replies] == ["Shown.", "Hello from the model server."]
    assert len(model.requests) == 2
    assert await stack.discord.typing("general") == []


async def test_kill_before_the_first_token(stack: Stack, model: ModelServer) -> None:
    """T04: while the model is silent."""
    model.script(Stall())
    posted = await stack.discord.say("general", "Ada", "Nova, say nothing")
    await model.wait_for_requests(1)
    await stack.discord.kill("general")
    await model.requests[0].wait_closed_early()
    assert await stack.ended(posted) is None
    assert await stack.discord.messages("general", posted, author="bot") == []


async def test_kill_in_the_middle_of_a_tool(
    stack: Stack, model: ModelServer, pages: PageServer
) -> None:
    """C032, C072: the tool's server sees its reader leave, and no result reaches the model."""
    url = pages.url("/slow-kill")
    model.script(ToolCall("fetch_url", f'{{"url": "{url}"}}'))
    posted = await stack.discord.say("general", "Ada", "Nova, read that")
    visit = await pages.wait_for_visit("/slow-kill")
    await stack.discord.kill("general")
    async with asyncio.timeout(2):
        await visit.over.wait()
    assert await stack.ended(posted) is None
    assert await status_of(stack, posted) == (WorkflowExecutionStatus.CANCELED, "stopped_by_user")
    after = await stack.discord.say("general", "Ada", "Nova, still there?")
    await stack.ended(after)
    assert len(model.requests) == 2


async def test_kill_between_tool_calls(stack: Stack, model: ModelServer) -> None:
    """D76: a turn that goes from tool to tool stops too, and only in its own channel."""
    model.default = [ToolCall("roll_dice", '{"dice": "1d6"}')]
    posted = await stack.discord.say("general", "Ada", "Nova, roll for ever")
    await model.wait_for_requests(3, timeout=20)
    answer = await stack.discord.kill("general")
    assert "Stopped" in text(answer["response"])
    assert await stack.ended(posted) is None
    asked = len(model.requests)
    model.default = [Text("Untouched.")]
    elsewhere = await stack.discord.say("random", "Ben", "Nova, and here?")
    await stack.ended(elsewhere)
    replies = await stack.discord.replies("random", elsewhere)
    assert [text(reply) for reply in replies] == ["Untouched."]
    assert len(model.requests) == asked + 1, "nothing was asked for the stopped turn"


async def test_nothing_to_kill(stack: Stack, model: ModelServer) -> None:
    answer = await stack.discord.kill("random")
    assert answer["ephemeral"]
    assert "othing to stop" in text(answer["response"])


async def test_cancel_from_the_command_line(stack: Stack, model: ModelServer) -> None:
    """`temporal workflow cancel` ends the turn as `/kill` does, and leaves the queue."""
    model.script(Text("Shown.\n\n"), Stall())
    posted = await stack.discord.say("general", "Ada", "Nova, go on")
    await stack.discord.replies("general", posted)
    waiting = await stack.discord.say("general", "Ben", "Nova, then me")
    process = await asyncio.create_subprocess_exec(
        temporal_binary(),
        *("workflow", "cancel", "--workflow-id", stack.turn(posted).id),
        *("--address", f"127.0.0.1:{stack.temporal_port}"),
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 0
    await model.requests[0].wait_closed_early()
    assert await stack.ended(posted) is None
    assert await status_of(stack, posted) == (WorkflowExecutionStatus.CANCELED, "stopped_by_user")
    await stack.ended(waiting)
    replies = await stack.discord.messages("general", posted, author="bot")
    assert [text(reply) for reply in replies] == ["Shown.", "Hello from the model server."]


async def test_how_fast_a_kill_is(
    stack: Stack, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """T20: from the command to the closed connection of the provider, over 20 kills."""
    seconds: list[float] = []
    for number in range(KILLS):
        model.script(Text("Shown.\n\n"), Hold(asyncio.Event()))
        posted = await stack.discord.say("general", "Ada", f"Nova, kill {number}")
        await stack.discord.replies("general", posted)
        at = time.monotonic()
        await stack.discord.kill("general")
        seconds.append(await model.requests[number].wait_closed_early() - at)
        assert await stack.ended(posted) is None
    median, worst = statistics.median(seconds), max(seconds)
    with capsys.disabled():
        print(
            f"\n/kill to closed connection, {KILLS} kills:"
            f" median {median * 1000:.0f} ms, worst {worst * 1000:.0f} ms"
        )
    assert median < 0.5
    assert worst < 2


async def test_usage_is_booked_before_a_killed_turn_closes(
    stack: Stack, model: ModelServer
) -> None:
    """T15: the finaliser runs after the cancelled call has booked what it used."""
    for number in range(5):
        model.script(Text("Shown.\n\n"), Hold(asyncio.Event()))
        posted = await stack.discord.say("random", "Ada", f"Nova, use {number}")
        await stack.discord.replies("random", posted)
        await stack.discord.kill("random")
        assert await stack.ended(posted) is None
        assert booked(stack, posted) == ["stopped_by_user"]


def booked(stack: Stack, message: Message) -> list[str]:
    with contextlib.closing(sqlite3.connect(stack.home / "everturn.db")) as database:
        query = "SELECT status FROM model_calls WHERE turn_id = ?"
        return [status for (status,) in database.execute(query, [stack.turn(message).id])]


async def test_no_secret_and_no_context_is_in_a_history(stack: Stack, model: ModelServer) -> None:
    """What an operator can read in Temporal holds no key, and no context more than once."""
    sentinel = "the-sentinel-of-earlier-talk"
    await stack.discord.say("general", "Ada", f"just saying: {sentinel}")
    posted = await stack.discord.say("general", "Ada", "Nova, what did I say?")
    await stack.ended(posted)
    assert sentinel in str(model.requests[0].messages), "the model has read it"
    history = await stack.turn(posted).fetch_history()
    dumped = json.dumps(history.to_json_dict())
    decoded = dumped + "".join(str(event) for event in history.events)
    assert sentinel not in decoded
    assert "sk-loopback-secret" not in decoded
    for name in ("worker", "bot"):
        assert "sk-loopback-secret" not in stack.output(name)
