"""What is said while the bot is away, or dies with it in memory, is answered: once, in order."""

from __future__ import annotations

import asyncio
import re

import pytest
from temporalio.service import RPCError

from tests.support.model_server import Hold, ModelServer, ReceivedRequest, Text
from tests.support.stack import Stack, text

TEN_MINUTES = 600.0


def answer_by_number(request: ReceivedRequest) -> list[Text]:
    number = re.findall(r"question (\d+)", request.last_user_text)[-1]
    return [Text(f"Answer to {number}")]


async def test_messages_said_while_the_bot_was_away(stack: Stack, model: ModelServer) -> None:
    """D31: after a SIGKILL each is answered once and in its order, in every channel; what is not
    for the bot, or older than ten minutes, is not."""
    model.script(Text("Before."))
    before = await stack.discord.say("general", "Ada", "Nova, are you there?")
    await stack.ended(before)
    await stack.kill("bot")
    model.default = answer_by_number
    too_old = await stack.discord.say("random", "Ada", "Nova, long ago", age=TEN_MINUTES + 30)
    one = await stack.discord.say("general", "Ada", "Nova, question 001")
    await stack.discord.say("general", "Ben", "nice weather")
    two = await stack.discord.say("general", "Ben", "Nova, question 002")
    await stack.start("bot")
    for posted in (one, two):
        await stack.ended(posted)
    replies = await stack.discord.replies("general", one, count=2)
    assert [text(reply) for reply in replies] == ["Answer to 001", "Answer to 002"]
    live = await stack.discord.say("general", "Ada", "Nova, question 004")
    await stack.ended(live)
    assert len(await stack.discord.messages("general", before, author="bot")) == 4
    with pytest.raises(RPCError):  # the one from long ago never had a turn
        await stack.turn(too_old).describe()


async def test_a_direct_message_said_while_the_bot_was_away(
    stack: Stack, model: ModelServer
) -> None:
    """D31: one that is known from before; nothing describes it to the bot."""
    first = await stack.discord.say("dm:Ben", "Ben", "hello")
    await stack.ended(first)
    await stack.kill("bot")
    missed = await stack.discord.say("dm:Ben", "Ben", "and now?")
    await stack.start("bot")
    await stack.ended(missed)
    assert len(await stack.discord.messages("dm:Ben", missed, author="bot")) == 1


async def test_sigkill_of_the_bot_with_messages_in_its_memory(
    stack: Stack, model: ModelServer
) -> None:
    """D26, D27: it has them, Temporal has not; nothing but the channel remembers them."""
    model.default = answer_by_number
    await stack.kill("temporal")
    places = (("general", "Ada"), ("general", "Ben"), ("random", "Ada"))
    posted = [
        await stack.discord.say(channel, member, f"Nova, question 01{number}")
        for number, (channel, member) in enumerate(places)
    ]
    async with asyncio.timeout(30):
        while f'"message": "{posted[2]["id"]}"' not in stack.output("bot"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await stack.kill("bot")
    await stack.start("temporal")
    await stack.start("bot")
    for message in posted:
        await stack.ended(message)
    replies = await stack.discord.messages("general", posted[0], author="bot")
    assert [text(reply) for reply in replies] == ["Answer to 010", "Answer to 011"]
    replies = await stack.discord.messages("random", posted[2], author="bot")
    assert [text(reply) for reply in replies] == ["Answer to 012"]


async def test_what_was_dropped_does_not_come_back(stack: Stack, model: ModelServer) -> None:
    """What `/kill` cleared from the queue stays cleared over a restart of the bot."""
    never = asyncio.Event()
    model.script(Text("Begun.\n\n"), Hold(never))
    running = await stack.discord.say("general", "Ada", "Nova, begin")
    await stack.discord.replies("general", running, count=1)
    queued = await stack.discord.say("general", "Ben", "Nova, me too")
    await stack.discord.kill("general")
    await stack.ended(running)
    asked = len(model.requests)
    await stack.stop("bot")
    await stack.start("bot")
    last = await stack.discord.say("general", "Ada", "Nova, and now?")
    await stack.ended(last)
    assert len(model.requests) == asked + 1
    after = await stack.discord.messages("general", queued, author="bot")
    assert [text(reply) for reply in after if reply["id"] > last["id"]] == [
        "Hello from the model server."
    ]


@pytest.mark.parametrize("when", ["while it is away", "when it is back"])
async def test_words_to_an_answer_that_outlives_the_bot(
    stack: Stack, model: ModelServer, when: str
) -> None:
    """Behaviour 2.3, 2.4: the model thinks, so that nothing tells the new process of the turn."""
    for word, then in (("no, about cats", "Cats."), ("please stop", "Stopped.")):
        model.reset()
        never = asyncio.Event()
        model.script(Hold(never), Text("The first answer."))
        model.script(Text(then))
        posted = await stack.discord.say("general", "Ada", "Nova, think hard")
        await model.wait_for_requests(1)
        await stack.kill("bot")
        if when == "while it is away":
            await stack.discord.say("general", "Ada", word)
            await stack.start("bot")
        else:
            await stack.start("bot")
            await stack.discord.say("general", "Ada", word)
        (said,) = await stack.discord.messages("general", posted, author="bot", count=1, wait=30)
        assert text(said) == then


async def test_a_session_that_cannot_be_resumed(stack: Stack, model: ModelServer) -> None:
    """D31, D23: what is said between two sessions is answered, and what was answered in the first
    is not answered again."""
    first = await stack.discord.say("general", "Ada", "Nova, one")
    await stack.ended(first)
    await stack.discord.gateway("invalidate")
    async with asyncio.timeout(30):
        while await stack.discord.online():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    lost = await stack.discord.say("general", "Ada", "Nova, two")
    await stack.ended(lost)
    assert len(await stack.discord.messages("general", first, author="bot")) == 2
