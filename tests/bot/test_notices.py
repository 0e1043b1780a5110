"""Notices, the Stop button as it is sent, stickers, and the thought log, through discord.py."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from bot.client import EverturnClient
from bot.delivery.hidden_notices import (
    CODE_POINTS,
    EMBEDS,
    HiddenNoticeActivities,
    cards_of,
    notice_nonce,
    packed,
)
from bot.delivery.notices import is_notice, plain_notice
from bot.delivery.post import COLOURS
from bot.delivery.send import STICKER_ATTEMPTS
from tests.bot.loopback import (
    CHANNEL_ID,
    GUILD_ID,
    MEMBER_ID,
    THREAD_ID,
    TRIGGER_ID,
    Json,
    LoopbackDiscord,
    guild,
)
from tests.bot.test_delivery import Sender, ids
from workflows.contracts.delivery import (
    HiddenNotices,
    Outgoing,
    OutgoingKind,
    message_nonce,
    stop_button_id,
)
from workflows.contracts.tools import NoticeColour, ToolNotice

STICKER_ID = "1200000000000000001"
LOG_ID = "500000000000000005"


@pytest.fixture
def sender(client: EverturnClient) -> Sender:
    return Sender(client)


def notice(text: str = "", **more: Any) -> Outgoing:
    return Outgoing(ordinal=7, text=text, **{"kind": OutgoingKind.NOTICE, **more})


def sticker(ordinal: int = 0, sticker_id: str | None = STICKER_ID) -> Outgoing:
    kind = OutgoingKind.STICKER
    return Outgoing(ordinal=ordinal, text="wave", kind=kind, sticker_id=sticker_id)


def text(ordinal: int, said: str) -> Outgoing:
    return Outgoing(ordinal=ordinal, text=said)


# notices


@pytest.mark.parametrize("colour", NoticeColour)
async def test_a_notice_has_its_title_and_colour(
    discord_api: LoopbackDiscord, sender: Sender, colour: NoticeColour
) -> None:
    await sender.send(outgoing=[notice("Ada likes tea.", title=" Memory\nsaved ", colour=colour)])
    (body,) = discord_api.sent()
    (embed,) = body["embeds"]
    assert (embed["title"], embed["description"]) == ("Memory saved", "Ada likes tea.")
    assert embed["color"] == COLOURS[colour].value
    assert not buttons(body)


async def test_a_title_alone_is_a_notice_and_nothing_is_none(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """Behaviour 10: where notices are minimal the channel shows the title."""
    result = await sender.send(outgoing=[notice(title="Memory saved"), notice(" \n ")])
    (body,) = discord_api.sent()
    assert body["embeds"][0]["title"] == "Memory saved"
    assert not body["embeds"][0].get("description")
    assert ids(result) == [(7, 0)]


async def test_a_notice_pings_exactly_the_member_it_is_for(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D56: whoever else the text names is not pinged, nor is everyone."""
    said = f"Your tea, <@{MEMBER_ID}>. @everyone <@42>"
    await sender.send(outgoing=[notice(said, mention_user_id=MEMBER_ID)], reply_to=TRIGGER_ID)
    (body,) = discord_api.sent()
    assert body["content"] == f"<@{MEMBER_ID}>"
    assert body["allowed_mentions"] == {
        "parse": [],
        "users": [int(MEMBER_ID)],
        "replied_user": False,
    }


async def test_a_mention_of_nobody_is_left_out(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    await sender.send(outgoing=[notice("Your tea.", mention_user_id="@everyone")])
    (body,) = discord_api.sent()
    assert not body.get("content")


async def test_without_embeds_it_still_pings_that_member(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D68, D56."""
    no_embeds = {"when": lambda body: bool(body.get("embeds")), "times": 9}
    discord_api.fail("POST", "messages", 403, code=50013, **no_embeds)
    outgoing = notice("Tea for <@42>.", title="Reminder", mention_user_id=MEMBER_ID)
    result = await sender.send(outgoing=[outgoing])
    plain = discord_api.sent()[-1]
    assert plain["content"] == f"-# \u26a0 <@{MEMBER_ID}> Reminder: Tea for <@42>."
    assert plain["allowed_mentions"]["users"] == [int(MEMBER_ID)]
    assert plain["allowed_mentions"]["parse"] == []
    assert ids(result) == [(7, 0)]


@pytest.mark.parametrize(
    ("content", "has_embeds", "expected"),
    [
        (plain_notice("x"), False, True),
        (f"<@{MEMBER_ID}>", True, True),
        ("", True, True),
        (f"<@{MEMBER_ID}>", False, False),
        (f"<@{MEMBER_ID}> https://example.org", True, False),
        ("hello", False, False),
    ],
)
def test_a_notice_is_told_from_a_personas_words(
    content: str, has_embeds: bool, expected: bool
) -> None:
    assert is_notice(content, has_embeds) is expected


# the Stop button


def working(said: str = "Still working on it.") -> Outgoing:
    return notice(said, kind=OutgoingKind.WORKING)


def buttons(body: Json) -> list[Json]:
    return [part for row in body.get("components", []) for part in row["components"]]


async def test_a_working_notice_has_a_button_that_knows_its_turn(
    discord_api: LoopbackDiscord, sender: Sender, client: EverturnClient
) -> None:
    """C063: the warning; its state is in its id."""
    await sender.send(outgoing=[working()], last=False)
    (body,) = discord_api.sent()
    assert body["embeds"][0]["description"] == "Still working on it."
    (button,) = buttons(body)
    assert button["custom_id"] == stop_button_id(CHANNEL_ID, TRIGGER_ID, 3)
    assert button["label"] == "Stop"
    assert not client._connection._view_store._views  # a long-lived bot keeps none of them
    await sender.typing.close()


async def test_a_retried_turns_button_knows_which_try_it_is_of(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    await sender.send(outgoing=[working()], generation=2, last=False)
    (button,) = buttons(discord_api.sent()[0])
    assert button["custom_id"] == stop_button_id(CHANNEL_ID, TRIGGER_ID, 3, 2)
    await sender.typing.close()


async def test_the_button_is_there_without_embeds_too(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    no_embeds = {"when": lambda body: bool(body.get("embeds")), "times": 9}
    discord_api.fail("POST", "messages", 403, code=50013, **no_embeds)
    await sender.send(outgoing=[working()])
    plain = discord_api.sent()[-1]
    assert plain["content"] == plain_notice("Still working on it.")
    assert len(buttons(plain)) == 1


async def test_a_working_notice_that_is_blocked_leaves_no_gap_in_the_answer(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    discord_api.fail("POST", "messages", 400, code=200000)
    result = await sender.send(outgoing=[working(), text(8, "done")])
    assert discord_api.contents() == ["done"]
    assert ids(result) == [(8, 0)]


# stickers


async def test_a_sticker_is_sent_as_it_is_and_counts(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """Behaviour 11: native, a reply when it is the first message, under its own nonce."""
    result = await sender.send(outgoing=[sticker()], reply_to=TRIGGER_ID)
    (body,) = discord_api.sent()
    assert body["sticker_ids"] == [int(STICKER_ID)]
    assert not body.get("content")
    assert body["nonce"] == message_nonce(TRIGGER_ID, 3, 0, 0, 0)
    assert str(body["message_reference"]["message_id"]) == TRIGGER_ID
    assert ids(result) == [(0, 0)]


@pytest.mark.parametrize(
    ("status", "code"), [(403, 50013), (404, 10060), (400, 50035), (400, 50081), (403, 50001)]
)
async def test_a_sticker_that_cannot_be_sent_changes_nothing_else(
    discord_api: LoopbackDiscord, sender: Sender, status: int, code: int
) -> None:
    """Behaviour 11: failure logged only; neither a refusal nor a gap, and the rest goes out."""
    stickers = {"when": lambda body: bool(body.get("sticker_ids")), "times": 9}
    discord_api.fail("POST", "messages", status, code=code, **stickers)
    result = await sender.send(outgoing=[sticker(), text(1, "hello")], reply_to=TRIGGER_ID)
    assert result.refusal is None
    assert ids(result) == [(1, 0)]
    assert discord_api.contents() == ["hello"]
    assert str(discord_api.sent()[-1]["message_reference"]["message_id"]) == TRIGGER_ID
    assert not sender.refusals.refused(CHANNEL_ID)


async def test_a_sticker_waits_for_discord_but_not_for_ever(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    stickers = {"when": lambda body: bool(body.get("sticker_ids")), "times": 9}
    discord_api.fail("POST", "messages", 503, **stickers)
    with pytest.raises(ApplicationError):
        await sender.send(outgoing=[sticker(), text(1, "hello")])
    assert discord_api.contents() == []
    sender.env.info = sender.env.info.__class__(
        **{**vars(sender.env.info), "attempt": STICKER_ATTEMPTS}
    )
    result = await sender.send(outgoing=[sticker(), text(1, "hello")])
    assert discord_api.contents() == ["hello"]
    assert ids(result) == [(1, 0)]


@pytest.mark.parametrize("sticker_id", [None, "", "wave", "１２"])
async def test_a_sticker_without_an_id_is_nothing(
    discord_api: LoopbackDiscord, sender: Sender, sticker_id: str | None
) -> None:
    result = await sender.send(outgoing=[sticker(sticker_id=sticker_id)])
    assert discord_api.sent() == []
    assert ids(result) == []


async def test_what_stands_already_is_not_sent_again_whatever_it_is(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D20: past the nonce window; a notice with a ping, a button, a title, a sticker, a text."""
    outgoing = [
        notice("Tea.", title="Reminder", mention_user_id=MEMBER_ID).model_copy(
            update={"ordinal": 0}
        ),
        working().model_copy(update={"ordinal": 1}),
        text(2, f"<@{MEMBER_ID}>"),
        sticker(3),
        text(4, "bye"),
    ]
    first = await sender.send(outgoing=outgoing[:4])
    discord_api.forget_nonces = True
    again = await sender.send(outgoing=outgoing, reconcile=True)
    assert len(discord_api.channels[CHANNEL_ID]) == 5
    assert again.sent[:4] == first.sent
    assert discord_api.contents()[-1] == "bye"


async def test_another_sticker_is_not_taken_for_this_one(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    await sender.send(outgoing=[sticker(0, "1200000000000000002")])
    discord_api.forget_nonces = True
    await sender.send(outgoing=[sticker(0)], reconcile=True)
    assert len(discord_api.channels[CHANNEL_ID]) == 2


# the thought log


def log_channel(**changes: Any) -> Json:
    return {
        "id": LOG_ID,
        "type": 0,
        "name": "log",
        "position": 2,
        "permission_overwrites": [],
        "nsfw": False,
        "parent_id": None,
        **changes,
    }


def deny_view(role_id: str = GUILD_ID) -> list[Json]:
    return [{"id": role_id, "type": 0, "allow": "0", "deny": str(0x400)}]


def know(client: EverturnClient, **changes: Any) -> Json:
    known = guild(**changes)
    known["channels"].append(log_channel())
    client._connection._add_guild_from_data(known)  # type: ignore[arg-type]
    return known


def hidden(*notices: ToolNotice, **changes: Any) -> HiddenNotices:
    return HiddenNotices(
        turn_id="t1",
        guild_id=GUILD_ID,
        source_channel_id=CHANNEL_ID,
        log_channel_id=LOG_ID,
        trigger_message_id=TRIGGER_ID,
        first_message_id="1000000000000000007",
        persona_id=3,
        persona_name="Nova",
        notices=list(notices) or [CARD],
    ).model_copy(update=changes)


CARD = ToolNotice(title="Tool failed: dig", text="No spade.\n<@42>", colour=NoticeColour.RED)


async def log(client: EverturnClient, request: HiddenNotices) -> None:
    activities = HiddenNoticeActivities(client)
    await ActivityEnvironment().run(activities.post_hidden_notices, request)


async def test_cards_go_to_the_log_silently(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    """Behaviour 10: the turn's first message is linked; no pings, silent."""
    know(client)
    await log(client, hidden())
    (body,) = discord_api.sent()
    (embed,) = body["embeds"]
    assert (embed["title"], embed["description"]) == (CARD.title, CARD.text)
    assert embed["color"] == COLOURS[NoticeColour.RED].value
    assert embed["author"]["name"] == "Nova in #general"
    assert embed["author"]["url"].endswith(f"/{GUILD_ID}/{CHANNEL_ID}/1000000000000000007")
    assert body["allowed_mentions"]["parse"] == []
    assert body["flags"] == 1 << 12
    assert len(discord_api.channels[LOG_ID]) == 1


async def test_without_a_message_of_its_own_the_trigger_is_linked(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    know(client)
    await log(client, hidden(first_message_id=None))
    url = discord_api.sent()[0]["embeds"][0]["author"]["url"]
    assert url.endswith(f"/{CHANNEL_ID}/{TRIGGER_ID}")


async def test_a_public_thread_is_as_public_as_its_channel(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    know(client)
    await log(client, hidden(source_channel_id=THREAD_ID))
    assert len(discord_api.sent()) == 1


@pytest.mark.parametrize(
    ("changes", "request_changes"),
    [
        ({"overwrites": deny_view()}, {}),
        ({"overwrites": deny_view()}, {"source_channel_id": THREAD_ID}),
        ({"everyone": 0x800}, {}),
        ({}, {"source_channel_id": "77"}),
        ({}, {"log_channel_id": "77"}),
        ({}, {"guild_id": "77"}),
        ({}, {"guild_id": "", "source_channel_id": "me", "log_channel_id": ""}),
    ],
    ids=["private", "its thread", "closed server", "unknown", "log", "server", "no ids"],
)
async def test_what_is_not_public_here_is_not_shown(
    discord_api: LoopbackDiscord,
    client: EverturnClient,
    changes: dict[str, Any],
    request_changes: dict[str, str],
) -> None:
    """C111."""
    know(client, **changes)
    await log(client, hidden(**request_changes))
    assert discord_api.requests == []


async def test_a_private_thread_is_not_shown(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    """C111."""
    known = guild()
    known["channels"].append(log_channel())
    known["threads"][0]["type"] = 12
    client._connection._add_guild_from_data(known)  # type: ignore[arg-type]
    await log(client, hidden(source_channel_id=THREAD_ID))
    assert discord_api.requests == []


@pytest.mark.parametrize(("status", "code"), [(403, 50013), (404, 10003), (503, 0), (400, 50035)])
async def test_a_log_that_takes_nothing_costs_nothing(
    discord_api: LoopbackDiscord, client: EverturnClient, status: int, code: int
) -> None:
    """C112: no error reaches the turn."""
    know(client)
    discord_api.via = False
    discord_api.fail("POST", "messages", status, code=code, times=9)
    await log(client, hidden())
    assert discord_api.channels[LOG_ID] == []


async def test_a_repeated_attempt_posts_nothing_twice(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    know(client)
    many = [CARD.model_copy(update={"text": "x" * 1800}) for _ in range(7)]
    for _ in range(2):
        await log(client, hidden(*many))
    assert [len(m["embeds"]) for m in discord_api.channels[LOG_ID]] == [3, 3, 1]


async def test_a_card_that_a_filter_blocks_does_not_cost_the_others(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    know(client)
    discord_api.fail("POST", "messages", 400, code=200000)
    many = [CARD.model_copy(update={"text": "x" * 1800}) for _ in range(4)]
    await log(client, hidden(*many))
    assert [len(m["embeds"]) for m in discord_api.channels[LOG_ID]] == [1]


@given(
    st.lists(
        st.builds(
            ToolNotice,
            title=st.text(max_size=300),
            text=st.text(max_size=5000),
            colour=st.sampled_from(NoticeColour),
        ),
        max_size=30,
    )
)
def test_messages_fit_and_keep_the_order(notices: list[ToolNotice]) -> None:
    """At most 10 embeds and 6,000 code points a message."""
    cards = cards_of(hidden().model_copy(update={"notices": notices}), "general")
    messages = packed(cards)
    assert [card for message in messages for card in message] == cards
    for message in messages:
        assert 1 <= len(message) <= EMBEDS
        assert sum(len(card) for card in message) <= CODE_POINTS


def test_the_nonce_is_no_turns_message() -> None:
    nonces = {notice_nonce(hidden(), index) for index in range(3)}
    assert len(nonces) == 3
    assert all(len(nonce) <= 25 and not nonce.startswith("e") for nonce in nonces)
