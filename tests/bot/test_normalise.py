"""Whatever reaches the bot becomes facts and a ChatIncoming (behaviour 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import discord
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.admission import (
    OPEN,
    ChannelKind,
    MessageFacts,
    Reason,
    ReplyTarget,
    Speaker,
    admit,
)
from bot.client import EverturnClient
from bot.delivery.notices import plain_notice
from bot.delivery.signatures import with_name
from bot.normalise import (
    Begun,
    facts_of,
    incoming_of,
    incoming_of_command,
    is_private,
    standing_in,
)
from bot.reporting import invocation
from bot.webhooks import ManagedWebhooks
from tests.bot.interactions import COMMAND, command, interaction
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
from tests.bot.servers import BOB, LUNA, NOVA, server
from workflows.contracts.base import server_key
from workflows.contracts.delivery import ReportBack
from workflows.contracts.invocation import (
    Addressed,
    Boomerang,
    ChatIncoming,
    InvocationEnd,
    QuotaSource,
)

VIEW, SEND, SEND_IN_THREADS, MANAGE_GUILD = 0x400, 0x800, 1 << 38, 0x20
OWN_ROLE = "600000000000000001"
MESSAGE_ID = "1000000000000000005"
HOOK_ID = "800000000000000009"
SERVER = server()


def joined(client: EverturnClient, **changes: Any) -> EverturnClient:
    client._connection._add_guild_from_data(guild(**changes))  # type: ignore[arg-type]
    return client


def received(client: EverturnClient, content: str = "hi", **changes: Any) -> discord.Message:
    """A MESSAGE_CREATE in #general, as discord.py makes a message of it."""
    member = {"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "nick": "Minnie", "flags": 0}
    data = message(MESSAGE_ID, content, guild_id=GUILD_ID, member=member) | changes
    if data["guild_id"] is None:
        del data["guild_id"], data["member"]
    if "webhook_id" in data:  # whose author is no member
        data.pop("member", None)
    state = client._connection
    channel, _ = state._get_guild_channel(data)  # type: ignore[arg-type]
    return discord.Message(state=state, channel=channel, data=data)  # type: ignore[arg-type]


def webhooks_of(client: EverturnClient) -> ManagedWebhooks:
    return ManagedWebhooks(client, lambda guild_id: [NOVA, BOB, LUNA])


def me_of(client: EverturnClient) -> discord.ClientUser:
    assert client.user is not None
    return client.user


def facts(client: EverturnClient, *args: Any, **changes: Any) -> MessageFacts:
    heard = received(client, *args, **changes)
    return facts_of(heard, me_of(client), webhooks_of(client))


def incoming(
    client: EverturnClient, *args: Any, begun: Begun | None = None, **changes: Any
) -> ChatIncoming:
    """Of a message that is admitted."""
    heard = received(client, *args, **changes)
    me = me_of(client)
    found = facts_of(heard, me, webhooks_of(client))
    admission = admit(found, SERVER)
    return incoming_of(
        heard, found, admission, application_id=int(APPLICATION_ID), me=me, begun=begun
    )


def by_webhook(name: str, content: str) -> dict[str, Any]:
    """What a persona says through a webhook of ours."""
    author = user(HOOK_ID, bot=True, name=name) | {"username": name}
    return {
        "webhook_id": HOOK_ID,
        "application_id": APPLICATION_ID,
        "author": author,
        "content": content,
    }


def reply_to(target: Any) -> dict[str, Any]:
    reference = {"message_id": "1", "channel_id": CHANNEL_ID, "guild_id": GUILD_ID}
    return {"type": 19, "message_reference": reference, "referenced_message": target}


async def test_an_ordinary_message(client: EverturnClient) -> None:
    assert facts(joined(client)) == MessageFacts("hi", channel_id=CHANNEL_ID, author_id=MEMBER_ID)


async def test_mentions_of_the_user_and_of_its_own_role(client: EverturnClient) -> None:
    """The role that Discord made for the bot is what members pick from the list as readily."""
    joined(client)
    assert facts(client, mentions=[ME]).mentions_us
    assert facts(client, mention_roles=[OWN_ROLE]).mentions_us
    assert not facts(client, mentions=[user("700000000000000002")]).mentions_us
    assert not facts(client, mention_everyone=True).mentions_us


async def test_the_ping_of_a_reply_is_no_mention(client: EverturnClient) -> None:
    """Discord lists whoever is replied to among the mentions."""
    joined(client)
    answer = reply_to(message("1", "answer", author=ME)) | {"mentions": [ME]}
    assert not facts(client, "and?", **answer).mentions_us
    assert facts(client, f"and you, <@{BOT_ID}>?", **answer).mentions_us
    stranger = reply_to(message("1", "hey")) | {"mentions": [ME]}
    assert facts(client, **stranger).mentions_us


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (message("1", "answer", author=ME), (ReplyTarget.US, None)),
        (message("1", with_name("hello", "Luna"), author=ME), (ReplyTarget.PERSONA, 3)),
        (message("1", **by_webhook("Bob", "hello")), (ReplyTarget.PERSONA, 2)),
        (message("1", **by_webhook("Gone", "hello")), (ReplyTarget.PERSONA, None)),
        (message("1", "beep", author=user("42", bot=True)), (ReplyTarget.OTHER_BOT, None)),
        (
            message("1", "beep", author=user("43", bot=True), webhook_id="43"),
            (ReplyTarget.OTHER_BOT, None),
        ),
        (message("1", "hey"), (ReplyTarget.SOMEBODY, None)),
        (None, (ReplyTarget.SOMEBODY, None)),  # D40: deleted, it has no author
    ],
)
async def test_whose_message_is_replied_to(
    client: EverturnClient, target: Any, expected: tuple[ReplyTarget, int | None]
) -> None:
    """D40, D58: a persona is known by its webhook's owner, not by its name."""
    found = facts(joined(client), **reply_to(target))
    assert (found.reply_target, found.reply_persona_id) == expected


async def test_a_forward_is_no_reply(client: EverturnClient) -> None:
    reference = {"type": 1, "message_id": "1", "channel_id": CHANNEL_ID}
    found = facts(joined(client), message_reference=reference, message_snapshots=[])
    assert found.reply_target is ReplyTarget.NOBODY


@pytest.mark.parametrize(
    ("changes", "speaker", "persona_id"),
    [
        ({}, Speaker.PERSON, None),
        ({"author": ME}, Speaker.PERSONA, 1),
        ({"author": ME, "content": with_name("hi", "Luna")}, Speaker.PERSONA, 3),
        (by_webhook("Bob", "hi"), Speaker.PERSONA, 2),
        (by_webhook("Nobody", "hi"), Speaker.PERSONA, None),
        (
            by_webhook("Bob", "hi") | {"application_id": "42"},
            Speaker.WEBHOOK,
            None,
        ),
        ({"author": user("42", bot=True)}, Speaker.BOT, None),
        ({"webhook_id": "43", "author": user("43", bot=True)}, Speaker.WEBHOOK, None),
        ({"type": 7}, Speaker.SYSTEM, None),
        ({"author": ME, "content": plain_notice("No.")}, Speaker.OUR_NOTICE, None),
        ({"author": ME, "content": "", "embeds": [{"type": "rich"}]}, Speaker.OUR_NOTICE, None),
    ],
)
async def test_who_speaks(
    client: EverturnClient, changes: dict[str, Any], speaker: Speaker, persona_id: int | None
) -> None:
    """D57, D58: a stranger's webhook with a persona's name is a stranger's."""
    found = facts(joined(client), **changes)
    assert (found.speaker, found.persona_id) == (speaker, persona_id)
    if persona_id is not None:
        assert found.content == "hi"


async def test_the_turn_under_way_tells_whose_words_go_on_unsigned(client: EverturnClient) -> None:
    heard = received(joined(client), author=ME)
    found = facts_of(heard, me_of(client), webhooks_of(client), speaking=3)
    assert found.persona_id == 3
    hooked = received(client, **by_webhook("Bob", "hi"))
    assert facts_of(hooked, me_of(client), webhooks_of(client), speaking=3).persona_id == 2


async def test_a_voice_message_is_sound_without_text(client: EverturnClient) -> None:
    joined(client)

    def sound(kind: str) -> list[Any]:
        return [
            {"id": "1", "filename": "f", "size": 1, "url": "", "proxy_url": ""}
            | {"content_type": kind}
        ]

    assert facts(client, "", attachments=sound("audio/ogg")).is_voice
    assert not facts(client, "listen", attachments=sound("audio/ogg")).is_voice
    assert not facts(client, "", attachments=sound("image/png")).is_voice
    assert not facts(client, "").is_voice


async def test_channel_kinds(client: EverturnClient) -> None:
    joined(client)
    assert facts(client, channel_id=THREAD_ID).channel is ChannelKind.THREAD
    assert facts(client, channel_id="500000000000000009").channel is ChannelKind.UNSUPPORTED
    assert facts(client, channel_id=DM_ID, guild_id=None).channel is ChannelKind.DM
    unknown = "500000000000000077"
    assert facts(client, channel_id=unknown).channel is ChannelKind.TEXT
    assert standing_in(received(client, channel_id=unknown)) == OPEN
    assert facts(client, channel_id=THREAD_ID).parent_id == CHANNEL_ID


async def test_permissions_are_those_of_the_channel_and_of_threads(
    client: EverturnClient,
) -> None:
    """Behaviour 2.1 row 13: SendMessagesInThreads for threads, else SendMessages."""

    def can_send(**changes: Any) -> bool:
        return standing_in(received(client, **changes)).can_send

    denied = [{"id": GUILD_ID, "type": 0, "allow": "0", "deny": str(SEND)}]
    joined(client, overwrites=denied)
    assert not can_send()
    assert can_send(channel_id=THREAD_ID)
    joined(client, everyone=VIEW | SEND)
    assert can_send()
    assert not can_send(channel_id=THREAD_ID)
    joined(client, everyone=SEND | SEND_IN_THREADS)
    assert not standing_in(received(client)).can_view


async def test_a_timed_out_bot_is_seen_as_such(client: EverturnClient) -> None:
    """C004, D41: from the cache, with the permission bits still there."""

    def reason() -> Reason:
        heard = received(client, mentions=[ME])
        found = facts_of(heard, me_of(client), webhooks_of(client))
        return admit(found, SERVER, standing=lambda: standing_in(heard)).reason

    joined(client, timed_out_until="2999-01-01T00:00:00+00:00")
    assert reason() is Reason.BOT_TIMED_OUT_IN_GUILD
    joined(client, timed_out_until="2020-01-01T00:00:00+00:00")
    assert reason() is Reason.MENTION


@pytest.mark.parametrize(
    ("channel_id", "name", "is_thread"),
    [(CHANNEL_ID, "general", False), (THREAD_ID, "recipes", True)],
)
async def test_what_the_channel_is_told_in_a_server(
    client: EverturnClient, channel_id: str, name: str, is_thread: bool
) -> None:
    thread = {"is_thread": True, "parent_channel_id": CHANNEL_ID} if is_thread else {}
    found = incoming(joined(client), "nova hi", channel_id=channel_id, mentions=[ME])
    assert found.model_dump(exclude_defaults=True) == {
        "application_id": APPLICATION_ID,
        "channel_id": channel_id,
        "message_id": MESSAGE_ID,
        "author_id": MEMBER_ID,
        "author_name": "Minnie",
        "content": "nova hi",
        "guild_id": GUILD_ID,
        "guild_name": "My Server",
        "channel_name": name,
        **thread,
        "bot_user_id": BOT_ID,
        "persona_ids": [1],
        "persona_named": True,
        "mentions_us": True,
        "is_manager": True,  # the test server is this member's own
    }


async def test_by_what_it_was_addressed_is_told(client: EverturnClient) -> None:
    joined(client)
    assert incoming(client, "bob?").addressed is Addressed.TRIGGER_WORD
    replied = incoming(client, "oh?", **reply_to(message("1", **by_webhook("Bob", "hello"))))
    assert (replied.addressed, replied.reply_persona_id) == (Addressed.REPLY, 2)
    assert not replied.mentions_us
    answered = incoming(client, "oh?", **reply_to(message("1", "answer", author=ME)))
    assert (answered.addressed, answered.mentions_us) == (Addressed.REPLY, True)


async def test_roles_and_standing_of_the_author(client: EverturnClient) -> None:
    """Behaviour 5.4: who has Manage Server is a manager; `@everyone` is nobody's role."""
    joined(client)
    member = {"roles": [OWN_ROLE], "joined_at": "2026-01-01T00:00:00+00:00", "flags": 0}
    other = {"author": user("700000000000000002"), "member": member}
    found = incoming(client, "nova", **other)
    assert (found.role_ids, found.is_manager) == ([OWN_ROLE], False)
    joined(client, everyone=VIEW | SEND | MANAGE_GUILD)
    assert incoming(client, "nova", **other).is_manager


async def test_what_the_channel_is_told_of_a_persona(client: EverturnClient) -> None:
    """Row 8: on behalf of the member who began it, and with none of their rights."""
    joined(client)
    begun = Begun("700000000000000002", "Ada", "999")
    found = incoming(client, begun=begun, **by_webhook("Bob", "Nova, what do you think?"))
    assert found.is_persona_job
    assert (found.author_persona_id, found.persona_ids) == (2, [1])
    assert (found.author_id, found.author_name) == ("700000000000000002", "Ada")
    assert found.newest_human_id == "999"
    assert not found.surface_errors
    assert (found.role_ids, found.is_manager, found.mentions_us) == ([], False, False)


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
    """Behaviour 2.1: a direct message is manual; its server is the person it is with."""
    found = incoming(client, "hello", channel_id=DM_ID, guild_id=None)
    assert found.is_dm
    assert found.is_manual
    assert (found.guild_id, found.guild_name, found.channel_name) == (None, "", "")
    assert found.author_name == "Mina"
    assert (found.addressed, found.persona_ids) == (Addressed.DIRECT_MESSAGE, [])


def called(client: EverturnClient, **options: Any) -> ChatIncoming:
    body = interaction(COMMAND, command("respond"), **options)
    heard = discord.Interaction(data=body, state=client._connection)  # type: ignore[arg-type]
    return incoming_of_command(heard)


async def test_a_command_in_a_direct_message_belongs_to_its_user(client: EverturnClient) -> None:
    """C003: whoever spoke last there, the server key is the person's."""
    found = called(client, channel_id=DM_ID)
    assert found.author_id != BOT_ID
    assert server_key(found.guild_id, found.author_id) == f"dm{MEMBER_ID}"


def reported(client: EverturnClient) -> ChatIncoming:
    source = Boomerang(channel_id=CHANNEL_ID, message_id="1", persona_id=1)
    request = ReportBack(
        application_id=APPLICATION_ID,
        channel_id="2",
        end=InvocationEnd.ANSWERED,
        boomerang=source,
        user_id=MEMBER_ID,
    )
    return invocation(request, "report")


def least(client: EverturnClient) -> ChatIncoming:
    return ChatIncoming(
        application_id=APPLICATION_ID,
        channel_id=CHANNEL_ID,
        message_id="1",
        author_id=MEMBER_ID,
        author_name="",
    )


SOURCES: dict[str, Callable[[EverturnClient], ChatIncoming]] = {
    "message": lambda client: incoming(client, "nova"),
    "direct message": lambda client: incoming(client, "x", channel_id=DM_ID, guild_id=None),
    "command": called,
    "report": reported,
    "nothing but ids": least,
}


@pytest.mark.parametrize("source", SOURCES)
async def test_what_is_not_given_has_its_default(client: EverturnClient, source: str) -> None:
    """C001: of the five defaults, those that a contract knows; and nothing is invented."""
    found = SOURCES[source](joined(client))
    assert found.retry_count == 0
    assert not found.skip_lock
    assert not found.is_persona_job
    assert found.text_quota_source is QuotaSource.USER
    assert found.text_quota_key is None
    assert not found.is_from_queue
    assert not found.is_stop_response
    assert found.empty_response_finish_reason is None
    assert (found.reminder, found.answer_to, found.author_persona_id) == (None, None, None)


async def test_normalising_asks_nobody(client: EverturnClient, discord_api: Any) -> None:
    """C001: no I/O."""
    for source in SOURCES.values():
        source(joined(client))
    assert discord_api.requests == []


@given(
    content=st.text(max_size=60),
    kind=st.sampled_from([0, 7, 19, 20, 46]),
    bot=st.booleans(),
    hooked=st.sampled_from([None, HOOK_ID, APPLICATION_ID]),
    place=st.sampled_from([CHANNEL_ID, THREAD_ID, "500000000000000009", "500000000000000077"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
async def test_normalising_is_total(
    client: EverturnClient, content: str, kind: int, bot: bool, hooked: str | None, place: str
) -> None:
    """Whatever Discord sends has facts, and a disposition."""
    changes: dict[str, Any] = {"type": kind, "channel_id": place}
    changes["author"] = user("42", bot=bot)
    if hooked is not None:
        changes["webhook_id"] = hooked
    found = facts(joined(client), content, **changes)
    assert admit(found, SERVER).reason in Reason
