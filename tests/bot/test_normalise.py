"""Real discord.py messages become facts and a ChatIncoming."""

from __future__ import annotations

from typing import Any

import discord
import pytest

from bot.admission import ChannelKind, MessageFacts, Reason, ReplyTarget, admit
from bot.client import EverturnClient
from bot.normalise import facts_of, incoming_of, is_private
from tests.bot import loopback
from tests.bot.loopback import (
    APPLICATION_ID,
    BOT_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    ME,
    MEMBER_ID,
    THREAD_ID,
    guild,
    message,
    user,
)

VIEW, SEND, SEND_IN_THREADS = 0x400, 0x800, 1 << 38


def joined(client: EverturnClient, **changes: Any) -> EverturnClient:
    client._connection._add_guild_from_data(guild(**changes))  # type: ignore[arg-type]
    return client


def received(client: EverturnClient, content: str = "hi", **changes: Any) -> discord.Message:
    """A MESSAGE_CREATE in #general, as discord.py makes a message of it."""
    member = {"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "nick": "Minnie", "flags": 0}
    data = message("1000000000000000005", content, guild_id=GUILD_ID, member=member) | changes
    if data["guild_id"] is None:
        del data["guild_id"], data["member"]
    state = client._connection
    channel, _ = state._get_guild_channel(data)  # type: ignore[arg-type]
    return discord.Message(state=state, channel=channel, data=data)  # type: ignore[arg-type]


def facts(client: EverturnClient, *args: Any, **changes: Any) -> MessageFacts:
    me = client.user
    assert me is not None
    return facts_of(received(client, *args, **changes), me, recently_refused=False)


async def test_an_ordinary_message(client: EverturnClient) -> None:
    assert facts(joined(client)) == MessageFacts(content="hi")


async def test_mentions_of_the_user_and_of_its_own_role(client: EverturnClient) -> None:
    """The role that Discord made for the bot is what members pick from the list as readily."""
    joined(client)
    assert facts(client, mentions=[ME]).mentions_us
    assert facts(client, mention_roles=["600000000000000001"]).mentions_us
    assert not facts(client, mentions=[user("700000000000000002")]).mentions_us
    assert not facts(client, mention_everyone=True).mentions_us


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (message("1", "answer", author=ME), ReplyTarget.US),
        (message("1", "beep", author=user("42", bot=True)), ReplyTarget.OTHER_BOT),
        (message("1", "hey"), ReplyTarget.SOMEBODY),
        (None, ReplyTarget.SOMEBODY),  # D40: deleted, it has no author
    ],
)
async def test_whose_message_is_replied_to(
    client: EverturnClient, target: Any, expected: ReplyTarget
) -> None:
    """D40."""
    reference = {"message_id": "1", "channel_id": CHANNEL_ID, "guild_id": GUILD_ID}
    changes = {"type": 19, "message_reference": reference, "referenced_message": target}
    assert facts(joined(client), **changes).reply_target is expected


async def test_a_forward_is_no_reply(client: EverturnClient) -> None:
    reference = {"type": 1, "message_id": "1", "channel_id": CHANNEL_ID}
    found = facts(joined(client), message_reference=reference, message_snapshots=[])
    assert found.reply_target is ReplyTarget.NOBODY


async def test_who_speaks(client: EverturnClient) -> None:
    """D58."""
    joined(client)
    assert facts(client, author=ME).author_is_us
    assert facts(client, author=user("42", bot=True)).author_is_bot
    assert facts(client, webhook_id="43", author=user("43", bot=True)).is_webhook
    assert facts(client, type=7).is_system


async def test_channel_kinds(client: EverturnClient) -> None:
    joined(client)
    assert facts(client, channel_id=THREAD_ID).channel is ChannelKind.THREAD
    assert facts(client, channel_id="500000000000000009").channel is ChannelKind.UNSUPPORTED
    assert facts(client, channel_id=DM_ID, guild_id=None).channel is ChannelKind.DM
    assert facts(client, channel_id="500000000000000077") == MessageFacts(content="hi")


async def test_permissions_are_those_of_the_channel_and_of_threads(
    client: EverturnClient,
) -> None:
    """Behaviour 2.1 row 13: SendMessagesInThreads for threads, else SendMessages."""
    denied = [{"id": GUILD_ID, "type": 0, "allow": "0", "deny": str(SEND)}]
    joined(client, overwrites=denied)
    assert not facts(client).can_send
    assert facts(client, channel_id=THREAD_ID).can_send
    joined(client, everyone=VIEW | SEND)
    assert facts(client).can_send
    assert not facts(client, channel_id=THREAD_ID).can_send
    joined(client, everyone=SEND | SEND_IN_THREADS)
    assert not facts(client).can_view


async def test_a_timed_out_bot_is_seen_as_such(client: EverturnClient) -> None:
    """C004, D41: from the cache, with the permission bits still there."""
    joined(client, timed_out_until="2999-01-01T00:00:00+00:00")
    found = facts(client, mentions=[ME])
    assert admit(found, ()).reason is Reason.BOT_TIMED_OUT_IN_GUILD
    joined(client, timed_out_until="2020-01-01T00:00:00+00:00")
    assert admit(facts(client, mentions=[ME]), ()).reason is Reason.MENTION


@pytest.mark.parametrize(
    ("channel_id", "name", "is_thread"),
    [(CHANNEL_ID, "general", False), (THREAD_ID, "recipes", True)],
)
async def test_what_the_channel_is_told_in_a_server(
    client: EverturnClient, channel_id: str, name: str, is_thread: bool
) -> None:
    me = joined(client).user
    assert me is not None
    heard = received(client, "nova hi", channel_id=channel_id, mentions=[ME])
    admission = admit(facts_of(heard, me, recently_refused=False), ())
    incoming = incoming_of(heard, admission, application_id=int(APPLICATION_ID), me=me)
    assert incoming.model_dump(exclude_defaults=True) == {
        "application_id": APPLICATION_ID,
        "channel_id": channel_id,
        "message_id": "1000000000000000005",
        "author_id": MEMBER_ID,
        "author_name": "Minnie",
        "content": "nova hi",
        "guild_id": GUILD_ID,
        "guild_name": "My Server",
        "channel_name": name,
        **({"is_thread": True} if is_thread else {}),
        "bot_user_id": BOT_ID,
    }


@pytest.mark.parametrize("channel_id", [CHANNEL_ID, THREAD_ID])
async def test_a_channel_that_not_everybody_reads_is_private(
    client: EverturnClient, channel_id: str
) -> None:
    """D78. What the cache does not hold counts as private."""

    def private() -> bool:
        return is_private(received(client, channel_id=channel_id).channel)

    assert private()
    joined(client)
    assert not private()
    joined(client, everyone=SEND)
    assert private()
    hidden = {"id": GUILD_ID, "type": 0, "allow": "0", "deny": str(VIEW)}
    joined(client, overwrites=[hidden])
    assert private()


async def test_what_the_channel_is_told_in_a_direct_message(client: EverturnClient) -> None:
    me = client.user
    assert me is not None
    heard = received(client, "hello", channel_id=DM_ID, guild_id=None)
    admission = admit(facts_of(heard, me, recently_refused=False), ())
    incoming = incoming_of(heard, admission, application_id=int(loopback.APPLICATION_ID), me=me)
    assert incoming.is_dm
    assert (incoming.guild_id, incoming.guild_name, incoming.channel_name) == (None, "", "")
    assert incoming.author_name == "Mina"
