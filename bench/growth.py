"""A long turn: what the history gains with each iteration of the tool loop, early and late.

A hundred tool calls whose results have 2 kB each, over a context of more than 200 kB. The figures
are counts and do not depend on the machine; they fail the run when they are out of bounds.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.growth import around, iterations
from tests.support.model_server import ModelServer, ToolCall
from tests.support.page_server import PageServer
from tests.support.stack import Stack, text

CALLS = 100
MESSAGES = 79
MESSAGE = 2_000
"""Code points, as many as a message has."""
RESULT = 2_000
WATCHED = (10, 50, 99)
"""The hundredth call is followed by no other."""

MOST_GROWTH = 1.2
MOST_BYTES = 4_000_000

WORDS = ("цапля", "река", "лягушка", "утро", "камыш", "вода", "туман", "берег", "птица", "тихо")
"""Two bytes a letter."""


async def growth() -> bool:
    """Print the figures; whether they are within bounds."""
    dice = random.Random(7)
    with TemporaryDirectory(prefix="everturn-growth-") as folder:
        async with PageServer() as pages, ModelServer() as model:
            pages.body = "word " * (RESULT // 5)
            page = pages.url("/page")
            model.default = [ToolCall("fetch_url", json.dumps({"url": page}))]
            async with Stack(
                Path(folder),
                model.base_url,
                EVERTURN_LOG_LEVEL="warning",
                EVERTURN_FETCH_ALLOW=f"127.0.0.1:{pages.port}",
                EVERTURN_CONTEXT_TOKENS="200000",
            ) as stack:
                for _ in range(MESSAGES):
                    words = " ".join(dice.choice(WORDS) for _ in range(MESSAGE))
                    await stack.discord.say("general", "Ben", words[:MESSAGE])
                posted = await stack.discord.say("general", "Ada", "Nova, go on")
                result = await stack.ended(posted, 300)
                turn = stack.turn(posted)
                found = await iterations(turn)
                size = (await turn.describe()).raw_description.workflow_execution_info
                context = len(str(model.requests[0].body["messages"]).encode())
                shown = await stack.discord.replies("general", posted)
    assert result is not None
    print(f"\nA turn of {result.iterations} iterations over a context of {context / 1000:.0f} kB")
    print(f"  ended     {result.status.value}: {text(shown[-1])}")
    for number in WATCHED:
        each = around(found, number)
        print(f"  up to {number:3}  {each.events:3} events  {each.bytes:6} bytes an iteration")
    first, last = around(found, WATCHED[0]), around(found, WATCHED[-1])
    events, bytes_ = last.events / first.events, last.bytes / first.bytes
    print(f"  growth    {events:.2f} times the events, {bytes_:.2f} times the bytes")
    print(f"  history   {size.history_length} events, {size.history_size_bytes / 1e6:.2f} MB")
    bounds = {
        f"iterations grow by more than {MOST_GROWTH} times": max(events, bytes_) > MOST_GROWTH,
        f"the history has more than {MOST_BYTES / 1e6:g} MB": size.history_size_bytes > MOST_BYTES,
        "the context is below 200 kB": context < 200_000,
        f"not {CALLS} calls": len(pages.visits) != CALLS,
    }
    for reason, broken in bounds.items():
        if broken:
            print(f"  FAILED    {reason}")
    return not any(bounds.values())
