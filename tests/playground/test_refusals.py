"""What `/control` says to an order that makes no sense: what is wrong, and what would do."""

from __future__ import annotations

from typing import Any

import pytest
from discord import app_commands
from hypothesis import given
from hypothesis import strategies as st

from playground.control import values
from playground.control.values import ControlError
from playground.faults import Fault
from tests.playground.conftest import Bot

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


_READERS = [
    (values.text, str),
    (values.number, float),
    (values.whole, int),
    (values.flag, bool),
    (values.table, dict),
    (values.texts, list),
    (values.snowflake, int),
]


@pytest.mark.parametrize(("read", "kind"), _READERS)
@given(given=_JSON)
def test_a_value_fits_or_is_refused_by_name(read, kind, given):
    """Whatever JSON holds: the value in its type, or a line that names it."""
    refusal, found = None, None
    try:
        found = read(given, "this")
    except ControlError as error:
        refusal = str(error)
    assert (refusal is None) == (type(found) is kind)
    assert refusal is None or refusal.startswith("'this' must be")


@pytest.mark.parametrize(
    ("method", "path", "body", "says"),
    [
        ("PATCH", "/settings", {"intents": ["message_content"]}, "an object such as"),
        ("PATCH", "/settings", {"intents": {"message_content": "no"}}, "true or false"),
        ("PATCH", "/settings", {"intents": {"everything": True}}, "known: ['presences'"),
        ("PATCH", "/settings", {"nonce_window": "long"}, "a number from 0"),
        ("PATCH", "/settings", {"nonce_window": 10**400}, "a number from 0"),
        ("PATCH", "/settings", {"rate_limits": {"messages": 5}}, '{"count": 5, "per": 1}'),
        ("PATCH", "/settings", {"rate_limits": {"messages": {"count": 5}}}, "messages.per"),
        ("POST", "/timeout", {"seconds": "5"}, "'seconds' must be a number"),
        ("POST", "/gateway", {"action": "disconnect", "outage": None}, "'outage'"),
        ("POST", "/gateway", {"action": "redeliver", "message": "last"}, "'message'"),
        ("POST", "/permissions", {"channel": "general", "deny": [5]}, "a list of strings"),
        ("POST", "/faults", {"match": "x", "action": "drop", "times": "2"}, "'times' must be"),
        ("POST", "/faults", {"match": "x", "action": "429", "retry_after": -1}, "seconds"),
    ],
)
async def test_a_wrong_type_is_told_what_is_expected(hand, method, path, body, says):
    refused = await hand(method, path, expect=400, **body)
    assert says in refused["error"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"content": ["a", "b"]}, "'content' must be a string"),
        ({"content": "x" * 2001}, "2001 of at most 2000 characters"),
        ({"content": "x", "reply_to": "that one"}, "'reply_to' must be"),
        ({"content": "x", "reply_to": "1"}, "Unknown message"),
    ],
)
async def test_a_message_that_cannot_be(hand, fields, says):
    refused = await hand("POST", "/messages", expect=400, channel="general", member="Ada", **fields)
    assert says in refused["error"]
    assert await hand.messages() == []


async def test_the_longest_message_goes(hand):
    assert (await hand.say(f" {'é' * 2000} "))["content"] == "é" * 2000


async def test_settings_change_together_or_not_at_all(hand):
    before = await hand("GET", "/settings")
    body = {"nonce_window": 1, "intents": {"presences": False}, "rate_limits": {"nothing": {}}}
    await hand("PATCH", "/settings", expect=400, **body)
    assert await hand("GET", "/settings") == before


async def test_what_a_command_does_not_take(start_bot, hand):
    bot = Bot()
    tree = app_commands.CommandTree(bot)

    @tree.command(description="Stops")
    async def kill(interaction: Any) -> None: ...

    @tree.command(description="Adds")
    async def add(interaction: Any, one: int, two: int) -> None: ...

    await start_bot(bot=bot)
    await tree.sync()
    where = {"channel": "general", "member": "Ada"}
    for name, options, says in (
        ("kill", {"option": "now"}, "/kill takes no options"),
        ("add", {"three": "3"}, "/add has no option 'three'; it takes: one, two"),
        ("add", ["1", "2"], "'options' must be an object"),
        ("add", {"one": [1], "two": 2}, "option 'one' does not take [1]"),
        (" / ", {}, "the bot has registered /kill, /add"),
    ):
        refused = await hand("POST", "/commands", 400, **where, name=name, options=options)
        assert says in refused["error"]


@pytest.mark.parametrize("value", [True, -1, 1.5, "1", None, 10**400])
def test_a_fault_counts_in_whole_numbers(value):
    with pytest.raises(ValueError, match="'skip' must be a whole number"):
        Fault.parse({"match": "x", "action": "drop", "skip": value})


async def test_a_reply_shows_all_of_what_it_answers(hand):
    """The page strips the Markdown, which it could not do to a text cut in the middle."""
    first = await hand.say(f"**{'x' * 300}**")
    reply = await hand.say("yes", reply_to=first["id"])
    assert reply["reply_to"]["content"] == first["content"]
