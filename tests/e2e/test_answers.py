"""A message gets an answer, once, in order, whole: through the real bot, worker and server."""

from __future__ import annotations

import asyncio

from tests.support.model_server import Finish, Hold, ModelServer, Text, Thinking, ToolCall
from tests.support.page_server import PageServer
from tests.support.stack import Stack, text
from workflows.contracts.generation import StreamStatus


async def test_a_message_gets_an_answer(stack: Stack, model: ModelServer) -> None:
    model.script(Text("The first paragraph.\n\n"), Text("The second one."))
    posted = await stack.discord.say("general", "Ada", "Nova, hello")
    result = await stack.ended(posted)
    replies = await stack.discord.replies("general", posted, count=2)
    assert [text(reply) for reply in replies] == ["The first paragraph.", "The second one."]
    assert result is not None
    assert (result.status, result.messages_sent) == (StreamStatus.COMPLETED, 2)
    assert replies[0]["turn"]["workflow_id"] == stack.turn(posted).id
    prompt = model.requests[0].last_user_text
    assert "Nova, hello" in prompt
    assert "Ada" in prompt


async def test_an_unaddressed_message_costs_nothing(stack: Stack, model: ModelServer) -> None:
    silent = await stack.discord.say("general", "Ada", "nice weather, isn't it")
    posted = await stack.discord.say("general", "Ada", "Nova?")
    await stack.ended(posted)
    assert len(model.requests) == 1
    assert len(await stack.discord.messages("general", silent, author="bot")) == 1


async def test_two_messages_at_once_never_overlap(stack: Stack, model: ModelServer) -> None:
    """C028: answered in the order of arrival; the one that waited is a reply to its message.
    Each turn sees the message that triggered it, and not one that still waits."""
    release = asyncio.Event()
    model.script(Text("One.\n\n"), Hold(release), Text("Still one."))
    model.script(Text("Two."))
    first = await stack.discord.say("general", "Ada", "Nova, first question")
    await model.wait_for_requests(1)
    second = await stack.discord.say("general", "Ben", "Nova, second question")
    await stack.discord.replies("general", first, count=1)
    assert len(model.requests) == 1, "the second turn waits for the first"
    release.set()
    await stack.ended(second)
    replies = await stack.discord.replies("general", first, count=3)
    assert [text(reply) for reply in replies] == ["One.", "Still one.", "Two."]
    assert [reply["reply_to"] and reply["reply_to"]["id"] for reply in replies] == [
        None,
        None,
        second["id"],
    ]
    assert "second question" not in str(model.requests[0].messages)
    assert "second question" in model.requests[1].last_user_text


async def test_direct_messages_and_threads(stack: Stack, model: ModelServer) -> None:
    """A direct message needs no name, and a mention in it is one; a thread answers to a mention."""
    bot = (await stack.discord.state())["bot"]["id"]
    mentioned = await stack.discord.say("dm:Ada", "Ada", f"<@{bot}> hello")
    assert text((await stack.discord.replies("dm:Ada", mentioned))[0])
    direct = await stack.discord.say("dm:Ben", "Ben", "are you there?")
    assert text((await stack.discord.replies("dm:Ben", direct))[0])
    threads = [c for c in (await stack.discord.state())["channels"] if c["kind"] == "thread"]
    name = threads[0]["name"]
    mention = await stack.discord.say(name, "Ada", f"<@{bot}> and here?")
    assert text((await stack.discord.replies(name, mention))[0])


async def test_text_is_seen_while_the_model_still_speaks(stack: Stack, model: ModelServer) -> None:
    """T24: the first text is visible within 1.5 s of the model's first token, on the real path."""
    release = asyncio.Event()
    model.script(Text("First.\n\n"), Hold(release), Text("Second."))
    posted = await stack.discord.say("general", "Ada", "Nova, begin")
    await model.wait_for_requests(1)
    await stack.discord.replies("general", posted, seconds=1.5)
    assert model.requests[0].finished_at is None
    release.set()
    await stack.ended(posted)


async def test_the_same_event_twice_is_one_answer(stack: Stack, model: ModelServer) -> None:
    """D23: delivered again at once, by a resumed session, and after the answer."""
    posted = await stack.discord.say("general", "Ada", "Nova, once please")
    await stack.discord.gateway("redeliver", message=posted["id"])
    await stack.ended(posted)
    await stack.discord.gateway("redeliver", message=posted["id"])
    await stack.discord.gateway("disconnect", replay=10)
    after = await stack.discord.say("general", "Ada", "Nova, and now this")
    await stack.ended(after)
    replies = await stack.discord.messages("general", posted, author="bot")
    assert len(replies) == 2
    assert len(model.requests) == 2


async def test_typing_shows_while_the_turn_works(stack: Stack, model: ModelServer) -> None:
    """D52: typing begins with the turn, and nothing is left of it after the last message."""
    release = asyncio.Event()
    model.script(Hold(release), Text("Done."))
    posted = await stack.discord.say("random", "Ada", "Nova, think")
    await model.wait_for_requests(1)
    assert len(await stack.discord.typing("random")) == 1
    release.set()
    await stack.ended(posted)
    assert await stack.discord.typing("random") == []


def long_answer() -> str:
    prose = "The river bends twice before the mill, and herons stand where it is shallow. " * 6
    code = "\n".join(f"def step_{number}():\n    return {number} * 2\n" for number in range(70))
    parts = [prose, f"```python\n{code}\n```", prose, f"~~~text\n{code}\n~~~"]
    answer = "\n\n".join(parts)
    return (
        answer + "\n\n" + "A last remark, and then one more. " * ((9_000 - len(answer)) // 34 + 1)
    )


async def test_a_long_reply_arrives_in_order_with_balanced_fences(
    stack: Stack, model: ModelServer
) -> None:
    """D01, D13: 9,000 characters with two code blocks, streamed in pieces that fit nothing."""
    answer = long_answer()
    assert len(answer) >= 9_000
    model.script(*(Text(answer[at : at + 37]) for at in range(0, len(answer), 37)), Finish())
    posted = await stack.discord.say("general", "Ada", "Nova, the long one")
    await stack.ended(posted)
    replies = await stack.discord.replies("general", posted, count=5)
    for reply in replies:
        assert 1 <= len(reply["content"]) <= 2000
        for fence in ("```", "~~~"):
            assert reply["content"].count(fence) % 2 == 0
    joined = "\n".join(reply["content"] for reply in replies)
    steps = [line for line in joined.splitlines() if line.startswith("def step_")]
    assert steps == [f"def step_{number}():" for number in range(70)] * 2
    assert "".join(answer.split()).replace("```python", "").replace("```", "").replace(
        "~~~text", ""
    ).replace("~~~", "") == "".join(joined.split()).replace("```python", "").replace(
        "```", ""
    ).replace("~~~text", "").replace("~~~", "")


async def test_discord_counts_code_points(stack: Stack, model: ModelServer) -> None:
    """D09: 2,000 lobsters are one message."""
    model.script(Text("🦞" * 2000))
    posted = await stack.discord.say("general", "Ada", "Nova, lobsters")
    await stack.ended(posted)
    replies = await stack.discord.replies("general", posted)
    assert [reply["content"] for reply in replies] == ["🦞" * 2000]


async def test_thoughts_never_reach_the_channel(stack: Stack, model: ModelServer) -> None:
    """D65, C088: thinking parts, and `<think>` tags split over chunks."""
    model.script(
        Thinking("secret one"),
        Text("<thi"),
        Text("nk>secret "),
        Text("two</th"),
        Text("ink>Only "),
        Text("this."),
    )
    posted = await stack.discord.say("general", "Ada", "Nova, think aloud")
    await stack.ended(posted)
    replies = await stack.discord.replies("general", posted)
    assert [text(reply) for reply in replies] == ["Only this."]


async def test_details_are_for_memory_alone(stack: Stack, model: ModelServer) -> None:
    """C080: Discord never shows `<details>`, and short-term memory holds it."""
    model.script(Text("Good evening.<det"), Text("ails>It rains frogs.</details>"))
    posted = await stack.discord.say("general", "Ada", "Nova, set the scene")
    await stack.ended(posted)
    replies = await stack.discord.replies("general", posted)
    assert [text(reply) for reply in replies] == ["Good evening."]
    elsewhere = await stack.discord.say("random", "Ada", "Nova, where were we?")
    await stack.ended(elsewhere)
    assert "It rains frogs." in str(model.requests[-1].messages)


async def test_nobody_is_pinged_by_the_model(stack: Stack, model: ModelServer) -> None:
    """D56: `@everyone` in a model's text is text."""
    model.script(Text("Wake up @everyone and @here!"))
    posted = await stack.discord.say("general", "Ada", "Nova, wake them")
    await stack.ended(posted)
    reply = (await stack.discord.replies("general", posted))[0]
    assert not [ping for ping in reply["pings"] if ping.startswith("@")]


async def test_a_tool_is_called_and_its_result_read(
    stack: Stack, model: ModelServer, pages: PageServer
) -> None:
    """C081, C074: the text before the call stands first, and the model reads the tool's result."""
    url = pages.url("/heron")
    model.script(Text("Let me look."), ToolCall("fetch_url", f'{{"url": "{url}"}}'))
    model.script(ToolCall("roll_dice", '{"dice": "2d6"}'))
    model.script(Text("It is about a heron."))
    posted = await stack.discord.say("general", "Ada", "Nova, what is there?")
    result = await stack.ended(posted)
    replies = await stack.discord.replies("general", posted, count=2)
    assert [text(reply) for reply in replies] == ["Let me look.", "It is about a heron."]
    assert "heron stands in the reeds" in str(model.requests[1].messages)
    assert str(model.requests[1].messages).count("Let me look.") == 1
    tool_messages = [m for m in model.requests[2].messages if m["role"] == "tool"]
    assert len(tool_messages) == 2
    assert result is not None
    assert result.iterations == 3


async def test_a_lost_response_is_not_sent_again(stack: Stack, model: ModelServer) -> None:
    """D17: Discord stored the message, then answered 502."""
    await stack.discord.fault(
        match=r"POST .*/channels/\d+/messages", action="store_then_502", times=2
    )
    model.script(Text("Alpha.\n\n"), Text("Omega."))
    posted = await stack.discord.say("general", "Ada", "Nova, twice?")
    await stack.ended(posted)
    replies = await stack.discord.replies("general", posted, count=2)
    assert [text(reply) for reply in replies] == ["Alpha.", "Omega."]


async def test_a_deleted_trigger_does_not_lose_the_answer(stack: Stack, model: ModelServer) -> None:
    """D40: a queued turn replies to its message; when that is gone, the answer still comes."""
    release = asyncio.Event()
    model.script(Hold(release), Text("First."))
    model.script(Text("Second."))
    first = await stack.discord.say("general", "Ada", "Nova, one")
    await model.wait_for_requests(1)
    second = await stack.discord.say("general", "Ben", "Nova, two")
    await stack.discord.call(
        "DELETE", "messages", json={"channel": "general", "message": second["id"]}
    )
    release.set()
    await stack.ended(second)
    replies = await stack.discord.replies("general", first, count=2)
    assert [text(reply) for reply in replies] == ["First.", "Second."]
