"""What goes wrong outside: what the member sees, and what the operator sees."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.model_server import Cut, ModelServer, Raw, Stall, Status, Text
from tests.support.stack import Stack, free_port, text
from workflows.contracts.generation import StreamStatus

EXIT_CONFIGURATION = 78


async def answer_to(stack: Stack, question: str) -> tuple[StreamStatus, list[str]]:
    posted = await stack.discord.say("general", "Ada", question)
    result = await stack.ended(posted)
    assert result is not None
    replies = await stack.discord.messages("general", posted, author="bot")
    return result.status, [text(reply) for reply in replies]


async def test_a_provider_that_refuses_the_key(stack: Stack, model: ModelServer) -> None:
    model.script(Status(401, {"error": {"message": "Incorrect API key: sk-loopback-secret"}}))
    status, replies = await answer_to(stack, "Nova, with a wrong key")
    assert status is StreamStatus.ERROR
    assert len(replies) == 1
    assert "sk-loopback-secret" not in replies[0]
    assert "401" in stack.output("worker")
    assert "sk-loopback-secret" not in stack.output("worker")
    assert len(model.requests) == 1, "a wrong key is not tried again"


async def test_a_provider_that_breaks_off(stack: Stack, model: ModelServer) -> None:
    """D34, D35: a cut stream is no finished answer; what had come stays, with a notice."""
    model.script(Text("This much came.\n\n"), Text("and half of"), Cut())
    status, replies = await answer_to(stack, "Nova, and cut")
    assert status is StreamStatus.ERROR
    assert replies[0] == "This much came."
    assert len(replies) in (2, 3)


async def test_a_provider_that_stalls(stack: Stack, model: ModelServer) -> None:
    """C067: the idle budget, ten seconds here, ends it; the partial answer stays."""
    model.script(Text("A beginning.\n\n"), Stall())
    status, replies = await answer_to(stack, "Nova, and stall")
    assert status is StreamStatus.TIMEOUT
    assert replies[0] == "A beginning."
    assert len(replies) == 2
    await model.requests[0].wait_closed_early()


@pytest.mark.parametrize(
    "body", [b"<html>Bad gateway</html>", b"data: {not json}\n\n", b"\xff\xfe\x00\x01" * 50]
)
async def test_a_provider_that_sends_garbage(stack: Stack, model: ModelServer, body: bytes) -> None:
    model.script(Raw(body))
    status, replies = await answer_to(stack, "Nova, garbage")
    assert status in (StreamStatus.ERROR, StreamStatus.EMPTY_RESPONSE)
    assert len(replies) == 1


async def test_an_overloaded_provider(stack: Stack, model: ModelServer) -> None:
    model.script(Status(429, {"error": {"message": "slow down"}}))
    status, replies = await answer_to(stack, "Nova, too much")
    assert (status, len(replies)) == (StreamStatus.ERROR, 1)


async def run(stack: Stack, *command: str, **environ: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**stack.environ, **environ},
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_a_wrong_token(stack: Stack, tmp_path: Path) -> None:
    """D38: one line that says what to do, and an exit code that nobody restarts."""
    code, output = await run(
        stack,
        *stack.command("bot"),
        DISCORD_TOKEN="invalid-secret-token",
        EVERTURN_HOME=str(tmp_path),
    )
    assert code == EXIT_CONFIGURATION
    assert "DISCORD_TOKEN" in output
    assert "invalid-secret-token" not in output
    assert "Traceback" not in output


async def test_a_missing_intent(stack: Stack, tmp_path: Path) -> None:
    """D39: the portal's switch is named; the other parts stay up."""
    await stack.discord.settings(intents={"message_content": False})
    try:
        code, output = await run(stack, *stack.command("bot"), EVERTURN_HOME=str(tmp_path))
    finally:
        await stack.discord.settings(intents={"message_content": True})
    assert code == EXIT_CONFIGURATION
    assert "Message Content" in output
    assert "Traceback" not in output
    assert stack.processes["worker"].returncode is None


async def test_a_dead_temporal_address(stack: Stack, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    code, output = await run(
        stack,
        *stack.command("doctor"),
        TEMPORAL_ADDRESS=address,
        EVERTURN_HOME=str(tmp_path),
    )
    assert code != 0
    assert address in output
    assert "Traceback" not in output


async def test_a_channel_the_bot_may_not_write_in(stack: Stack, model: ModelServer) -> None:
    """D41: no paid generation for a channel that takes no message."""
    posted = await stack.discord.say("read-only", "Ada", "Nova, speak here")
    after = await stack.discord.say("general", "Ada", "Nova, and here")
    await stack.ended(after)
    assert await stack.discord.messages("read-only", posted, author="bot") == []
    assert len(model.requests) == 1
