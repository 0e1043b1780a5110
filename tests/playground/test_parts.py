"""The rules behind it, one by one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import playground
from playground import permissions
from playground.guard import objection
from playground.mentions import AllowedMentions, find
from playground.permissions import BITS
from playground.ratelimits import Limit, RateLimits
from playground.records import Channel, ChannelType, Member, Overwrite, Role
from playground.snowflakes import DISCORD_EPOCH_MS, Snowflakes, created_at

GUILD, OWNER, MEMBER, ROLE = 1, 2, 3, 4


@given(floor=st.integers(0, 1 << 62), count=st.integers(1, 50))
def test_ids_only_grow(floor, count):
    """Whatever was given out before, and however fast they are asked for."""
    ids = Snowflakes(floor)
    made = [ids.next() for _ in range(count)]
    assert made == sorted(set(made))
    assert made[0] > floor


@given(age=st.floats(0, 1e12))
def test_ids_of_the_past_are_never_given_out_twice(age):
    ids = Snowflakes()
    made = [ids.past(age) for _ in range(3)] + [ids.next(), ids.next()]
    assert len(set(made)) == 5
    assert made[0] >= 0
    assert created_at(made[0]) <= created_at(made[-1])


def test_an_id_tells_its_moment():
    moment = created_at((1_700_000_000_123 - DISCORD_EPOCH_MS) << 22)
    assert moment.timestamp() == pytest.approx(1_700_000_000.123)


_ANY_BITS = st.sets(st.sampled_from([*BITS])).map(permissions.bits)


def _compute(base: int, overwrites: list[Overwrite], until: str | None = None) -> int:
    channel = Channel(9, ChannelType.TEXT, guild_id=GUILD, overwrites=overwrites)
    member = Member(MEMBER, joined_at="", roles=[ROLE], timed_out_until=until)
    roles = {GUILD: Role(GUILD, "@everyone", base), ROLE: Role(ROLE, "role", 0)}
    return permissions.compute(member, guild_id=GUILD, owner_id=OWNER, roles=roles, channel=channel)


@given(base=_ANY_BITS, allow=_ANY_BITS, deny=_ANY_BITS)
def test_a_members_own_overwrite_has_the_last_word(base, allow, deny):
    """Over the role's, which has it over @everyone's; nothing counts where one cannot look."""
    base &= ~BITS["ADMINISTRATOR"]
    allow |= permissions.bits(["VIEW_CHANNEL", "SEND_MESSAGES"])
    contrary = [Overwrite(GUILD, 0, deny=allow), Overwrite(ROLE, 0, deny=allow)]
    have = _compute(base, [*contrary, Overwrite(MEMBER, 1, allow=allow, deny=deny)])
    assert have & allow == allow
    assert have & deny & ~allow == 0
    assert _compute(base, [Overwrite(MEMBER, 1, deny=BITS["VIEW_CHANNEL"])]) == 0


@given(base=_ANY_BITS)
def test_a_time_out_leaves_reading(base):
    """D41"""
    base &= ~BITS["ADMINISTRATOR"]
    have = _compute(base, [], until="2999-01-01T00:00:00+00:00")
    assert have & ~permissions.bits(["VIEW_CHANNEL", "READ_MESSAGE_HISTORY"]) == 0


@given(content=st.text(alphabet="@everyonhr `<>!&#123456789\n", max_size=60))
def test_what_is_not_allowed_pings_nobody(content):
    """D56: whatever a model writes."""
    nobody = AllowedMentions.parse({"parse": []})
    found = find(
        f"{content} <@{'1' * 18}> @everyone",
        nobody,
        known_users={int("1" * 18)},
        known_roles=set(),
        may_mention_everyone=True,
    )
    assert (found.users, found.everyone, found.pings) == ([], False, [])


def test_a_window_refuses_what_is_too_much():
    limits = RateLimits()
    limits.limits["messages"] = Limit(2, 60)
    verdicts = [limits.take("POST", "/channels/5/messages") for _ in range(3)]
    assert [v.retry_after is None for v in verdicts] == [True, True, False]
    assert [v.headers["X-RateLimit-Remaining"] for v in verdicts] == ["1", "0", "0"]
    assert limits.take("POST", "/channels/6/messages").retry_after is None
    assert limits.take("POST", "/interactions/5/token/callback").headers == {}


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:8090", "[::1]:8090"])
def test_this_machine_may(host):
    assert _objection(host, origin=f"http://{host}") is None


@pytest.mark.parametrize("host", [None, "127.0.0.1.evil.example", "evil.example:8090", "0.0.0.0"])
def test_a_rebound_name_may_not(host):
    assert _objection(host, origin=None) is not None


def _objection(host: str | None, origin: str | None) -> str | None:
    return objection(
        method="GET",
        path="/control/state",
        host=host,
        origin=origin,
        fetch_site=None,
        content_type="",
        has_body=False,
    )


def test_the_page_never_parses_what_people_write_as_html():
    folder = Path(playground.__file__).parent / "page"
    scripts = {path.name: path.read_text("utf-8") for path in folder.glob("*.js")}
    assert "markdown.js" in scripts
    for name, text in scripts.items():
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text
        ), name
