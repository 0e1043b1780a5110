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
from playground.options import CannotInvoke, value_of
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
        ("add", {"one": [1], "two": 2}, "'one' takes a whole number, not [1]"),
        ("add", {"one": 1}, "'two' is required: a whole number"),
        (" / ", {}, "the bot has registered /kill, /add"),
    ):
        refused = await hand("POST", "/commands", 400, **where, name=name, options=options)
        assert says in refused["error"]


STRING, WHOLE, YES_NO, USER, CHANNEL, ROLE, EITHER, NUMBER, FILE = range(3, 12)


@pytest.mark.parametrize(
    ("option", "taken", "refused"),
    [
        (
            {"type": STRING, "choices": [{"name": "On", "value": "on"}]},
            {"on": "on"},
            {"maybe": "one of: On", "On": "one of: On", "": "one of: On"},
        ),
        (
            {"type": STRING, "min_length": 2, "max_length": 3},
            {"ab": "ab", "👍👍👍": "👍👍👍", 12: "12"},
            {"a": "text of 2 to 3 characters", "abcd": "2 to 3", True: "text"},
        ),
        ({"type": STRING}, {"x": "x"}, {"": "text"}),
        (
            {"type": WHOLE, "min_value": 0, "max_value": 5},
            {"0": 0, "+5": 5, 3: 3},
            {"-1": "a whole number from 0 to 5", 6: "0 to 5", "1.5": "whole", "٣": "whole"},
        ),
        ({"type": WHOLE, "min_value": 1}, {}, {"0": "a whole number of at least 1", True: "1"}),
        ({"type": WHOLE}, {2**53 - 1: 2**53 - 1}, {2**53: "whole", "9" * 30: "whole"}),
        ({"type": WHOLE, "choices": [{"name": "one", "value": 1}]}, {"1": 1}, {2: "one of: one"}),
        (
            {"type": NUMBER, "max_value": 1},
            {"0.5": 0.5, "-.5": -0.5, 1: 1.0},
            {"nan": "a number of at most 1", "1e999": "number", "1_0": "number", "inf": "number"},
        ),
        ({"type": YES_NO}, {"True": True, False: False}, {"maybe": "true or false", 1: "true"}),
        ({"type": USER}, {"{Ada}": "{Ada}"}, {"Ada": "a member, not 'Ada'", "{side talk}": "a"}),
        ({"type": CHANNEL}, {"{side talk}": "{side talk}"}, {"{dm:Ada}": "channel", "7": "a"}),
        (
            {"type": CHANNEL, "channel_types": [0, 15]},
            {"{general}": "{general}"},
            {"{side talk}": "a channel, not"},
        ),
        ({"type": ROLE}, {"{@everyone}": "{@everyone}"}, {"{Ada}": "a role", "x": "a role"}),
        (
            {"type": EITHER},
            {"{Ada}": "{Ada}", "{@everyone}": "{@everyone}"},
            {"{general}": "a member or a role"},
        ),
        ({"type": FILE}, {}, {"x": "what the playground cannot give"}),
    ],
    ids=str,
)
def test_an_option_takes_what_discord_lets_a_member_send(playground, option, taken, refused):
    """`{name}` stands for the id of what is called so. What no client sends, no bot expects."""
    world = playground.services.world
    ids = {role.name: str(role.id) for role in world.roles.values()}
    ids |= {user.name: str(user.id) for user in world.users.values()}
    ids |= {channel.name: str(channel.id) for channel in world.channels.values() if channel.name}
    ids["dm:Ada"] = str(world.dm_with(int(ids["Ada"])).id)

    def with_id(typed):
        return ids[typed[1:-1]] if str(typed).startswith("{") else typed

    option = {"name": "it", **option}
    for typed, value in taken.items():
        assert value_of(option, with_id(typed), world, {}) == with_id(value)
    for typed, says in refused.items():
        with pytest.raises(CannotInvoke, match=r"^'it' takes ") as error:
            value_of(option, with_id(typed), world, {})
        assert says in str(error.value)


@pytest.mark.parametrize("value", [True, -1, 1.5, "1", None, 10**400])
def test_a_fault_counts_in_whole_numbers(value):
    with pytest.raises(ValueError, match="'skip' must be a whole number"):
        Fault.parse({"match": "x", "action": "drop", "skip": value})


async def test_a_reply_shows_all_of_what_it_answers(hand):
    """The page strips the Markdown, which it could not do to a text cut in the middle."""
    first = await hand.say(f"**{'x' * 300}**")
    reply = await hand.say("yes", reply_to=first["id"])
    assert reply["reply_to"]["content"] == first["content"]
