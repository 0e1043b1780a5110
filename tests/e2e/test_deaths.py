"""Kill the bot, the worker or the server in the middle of an answer: it still arrives, once."""

from __future__ import annotations

import asyncio

from tests.support.model_server import Hold, ModelServer, Text, ToolCall
from tests.support.page_server import PageServer
from tests.support.stack import Stack, text


async def test_sigkill_of_the_bot_between_two_segments(stack: Stack, model: ModelServer) -> None:
    """D28: after the restart the channel holds each segment once, in order."""
    release = asyncio.Event()
    model.script(Text("One.\n\n"), Text("Two.\n\n"), Hold(release), Text("Three.\n\nFour."))
    posted = await stack.discord.say("general", "Ada", "Nova, count")
    await stack.discord.replies("general", posted, count=2)
    await stack.kill("bot")
    release.set()
    await stack.start("bot")
    await stack.ended(posted)
    replies = await stack.discord.replies("general", posted, count=4)
    assert [text(reply) for reply in replies] == ["One.", "Two.", "Three.", "Four."]


async def test_sigkill_of_the_bot_while_discord_answers(stack: Stack, model: ModelServer) -> None:
    """D28, D17: the message was stored, and the bot died before it knew."""
    await stack.discord.fault(
        match=r"POST .*/channels/\d+/messages", action="delay", delay=2, times=1
    )
    model.script(Text("Only once."))
    pattern = {"match": r"POST .*/channels/\d+/messages"}
    await stack.discord.call("DELETE", "requests")
    posted = await stack.discord.say("general", "Ada", "Nova, carefully")
    async with asyncio.timeout(30):
        while not (await stack.discord.call("GET", "requests", params=pattern))["requests"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await stack.kill("bot")
    await stack.start("bot")
    await stack.ended(posted)
    replies = await stack.discord.messages("general", posted, author="bot")
    assert [text(reply) for reply in replies] == ["Only once."]


async def test_sigkill_of_the_worker_in_the_middle_of_the_stream(
    stack: Stack, model: ModelServer
) -> None:
    """T14: the next attempt starts over; what the dead one had shown is gone. C031: a lock whose
    holder is dead is held by nothing; what has come meanwhile is answered next."""
    never = asyncio.Event()
    model.script(Text("Half of the old answer.\n\n"), Text("More of it.\n\n"), Hold(never))
    model.script(Text("A whole answer.\n\n"), Text("To its end."))
    posted = await stack.discord.say("general", "Ada", "Nova, slowly")
    await stack.discord.replies("general", posted, count=2)
    await stack.kill("worker")
    model.script(Text("An answer to Ben."))
    waits = await stack.discord.say("general", "Ben", "Nova, and I?")
    await stack.start("worker")
    await stack.ended(waits)
    replies = await stack.discord.messages("general", posted, author="bot")
    whole = ["A whole answer.", "To its end.", "An answer to Ben."]
    assert [text(reply) for reply in replies] == whole


async def test_sigkill_of_the_worker_in_the_middle_of_a_tool(
    stack: Stack, model: ModelServer, pages: PageServer
) -> None:
    """C077: the tool is not dispatched a second time; the model is told, and decides. C031: the
    lock goes on with its queue."""
    url = pages.url("/slow-death")
    model.script(ToolCall("fetch_url", f'{{"url": "{url}"}}'))
    model.script(Text("I could not read it."))
    posted = await stack.discord.say("general", "Ada", "Nova, read that")
    await pages.wait_for_visit("/slow-death")
    await stack.kill("worker")
    model.script(Text("An answer to Ben."))
    waits = await stack.discord.say("general", "Ben", "Nova, and I?")
    await stack.start("worker")
    await stack.ended(waits)
    replies = await stack.discord.replies("general", posted, count=2)
    assert [text(reply) for reply in replies] == ["I could not read it.", "An answer to Ben."]
    assert len([visit for visit in pages.visits if visit.path == "/slow-death"]) == 1
    assert "went away" in str(model.requests[1].messages)


async def test_the_server_restarts_in_the_middle_of_a_turn(
    stack: Stack, model: ModelServer
) -> None:
    """One answer, whichever attempt it comes from."""
    release = asyncio.Event()
    model.script(Text("Before.\n\n"), Hold(release), Text("After."))
    model.default = [Text("Before.\n\n"), Text("After.")]
    posted = await stack.discord.say("general", "Ada", "Nova, through a restart")
    await stack.discord.replies("general", posted, count=1)
    await stack.kill("temporal")
    await stack.start("temporal")
    release.set()
    await stack.ended(posted, seconds=90)
    replies = await stack.discord.messages("general", posted, author="bot")
    assert [text(reply) for reply in replies] == ["Before.", "After."]


async def test_a_message_that_arrives_while_the_worker_is_away_is_answered(
    stack: Stack, model: ModelServer
) -> None:
    """Nothing that was accepted is lost."""
    await stack.kill("worker")
    posted = await stack.discord.say("general", "Ada", "Nova, anybody there?")
    await stack.start("worker")
    await stack.ended(posted)
    assert len(await stack.discord.messages("general", posted, author="bot")) == 1


async def test_sigterm_always_ends_in_good_order(stack: Stack, model: ModelServer) -> None:
    """T17: idle or in the middle of an answer that takes longer than the grace: exit code 0, and
    the answer starts over with the next worker."""
    for busy in (True, False):
        if busy:
            slowly = [Text("and on ", pause=1) for _ in range(60)]
            model.script(Text("Begun.\n\n"), *slowly)
            posted = await stack.discord.say("general", "Ada", "Nova, begin")
            await stack.discord.replies("general", posted)
        ending = [stack.processes[name] for name in ("worker", "bot")]
        await asyncio.gather(stack.stop("worker"), stack.stop("bot"))
        assert [process.returncode for process in ending] == [0, 0]
        await stack.start("worker", "bot")
        if busy:
            await stack.ended(posted)
            replies = await stack.discord.messages("general", posted, author="bot")
            assert [text(reply) for reply in replies] == ["Hello from the model server."]


async def test_sigterm_lets_a_short_answer_end(stack: Stack, model: ModelServer) -> None:
    """T25: what takes less than the grace completes in its first attempt."""
    release = asyncio.Event()
    model.script(Text("Nearly "), Hold(release), Text("done."))
    posted = await stack.discord.say("general", "Ada", "Nova, before you go")
    await model.wait_for_requests(1)
    stopping = asyncio.create_task(stack.stop("worker"))
    await asyncio.sleep(0)  # let it begin
    release.set()
    await stopping
    await stack.start("worker")
    await stack.ended(posted)
    replies = await stack.discord.replies("general", posted)
    assert [text(reply) for reply in replies] == ["Nearly done."]
    assert len(model.requests) == 1
