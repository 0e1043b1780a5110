"""What the tools may ask of Discord, through the real client (behaviour 12, 16)."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import discord
import pytest
import yarl
from hypothesis import given
from hypothesis import strategies as st
from temporalio.service import RPCError, RPCStatusCode

from bot.port import files
from bot.port.emoji import reaction_of
from tests.bot.ports import Table, table
from tests.bot.test_dispatch import incoming
from tests.bot.waiting import until
from workflows.contracts.discord_port import DiscordPort, DiscordRefused

NONCE = "t" * 22


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with table(tmp_path) as laid:
        yield laid


async def refusal(asked: Any) -> str:
    with pytest.raises(DiscordRefused) as raised:
        await asked
    assert "\n" not in raised.value.reason
    return raised.value.reason


async def test_channels_are_found_by_what_a_model_calls_them(at: Table) -> None:
    port: DiscordPort = at.port
    general = at.channel("general")
    for query in (general, f"<#{general}>", "general", "#General", " ＧＥＮＥＲＡＬ "):
        (found,) = await port.find_channels(at.guild, query)
        assert (found.id, found.name, found.is_thread) == (general, "general", False)
        assert found.takes_messages
    for query in ("side talk", "#side-talk"):
        (thread,) = await port.find_channels(at.guild, query)
        assert (thread.is_thread, thread.parent_id) == (True, general)
    for query in ("", "#", "gen", "<#123456789012345678>", "123456789012345678", "x" * 5000):
        assert await port.find_channels(at.guild, query) == []


async def test_two_channels_of_a_name_are_both_found(at: Table) -> None:
    """The tool asks which one is meant (behaviour 12)."""
    guild = at.client.guilds[0]
    general = at.client.get_channel(int(at.channel()))
    assert isinstance(general, discord.TextChannel)
    await general.create_thread(name="Random", type=discord.ChannelType.public_thread)
    await until(lambda: len(guild.threads) == 2)
    assert len(await at.port.find_channels(at.guild, "random")) == 2


async def test_what_the_bot_cannot_see_is_not_found(at: Table) -> None:
    random = at.channel("random")
    at.forbid("random", at.bot_id, "VIEW_CHANNEL")
    await at.settled("random")
    assert await at.port.find_channels(at.guild, "random") == []
    assert await at.port.find_channels(at.guild, random) == []


async def test_a_channel_is_only_found_in_its_own_server(at: Table) -> None:
    """Permissions are never computed from another place's roles."""
    dm = next(c for c in at.playground.services.world.channels.values() if c.is_dm)
    assert await at.port.find_channels(at.guild, str(dm.id)) == []
    asked = at.port.permissions(at.guild, str(dm.id), at.user("Ada"))
    assert await refusal(asked) == "There is no such channel in this server."
    assert "not in that server" in await refusal(at.port.find_channels("1", "general"))
    assert "not an id" in await refusal(at.port.find_channels("x/../y", "general"))


async def test_members_are_found_by_id_mention_and_name(at: Table) -> None:
    ada = at.user("Ada")
    for query in (ada, f"<@{ada}>", f"<@!{ada}>", "Ada", "@ada", "ADA"):
        (found,) = await at.port.find_members(at.guild, query)
        assert (found.id, found.name, found.is_bot) == (ada, "Ada", False)
    (bot,) = await at.port.find_members(at.guild, "everturn")
    assert (bot.id, bot.is_bot) == (at.bot_id, True)
    for query in ("", "@", "Ad", "Zoe", "<@123456789012345678>", "123456789012345678"):
        assert await at.port.find_members(at.guild, query) == []


async def test_permissions_are_those_of_the_place(at: Table) -> None:
    """C117, C130: roles, overwrites of the channel, and its threads after their parent."""
    ben, general = at.user("Ben"), at.channel()
    have = await at.port.permissions(at.guild, general, ben)
    assert {"view_channel", "send_messages", "read_message_history"} <= have
    assert "manage_messages" not in have
    assert "manage_guild" in await at.port.guild_permissions(at.guild, at.user("Ada"))
    assert "manage_guild" not in await at.port.guild_permissions(at.guild, ben)

    at.forbid("general", ben, "SEND_MESSAGES_IN_THREADS")
    await at.settled("general")
    in_thread = await at.port.permissions(at.guild, at.channel("side talk"), ben)
    assert "view_channel" in in_thread
    assert "send_messages_in_threads" not in in_thread
    at.forbid("general", ben, "VIEW_CHANNEL")
    await at.settled("general")
    for name in ("general", "side talk"):
        assert "view_channel" not in await at.port.permissions(at.guild, at.channel(name), ben)


async def test_nobody_has_permissions_who_is_no_member(at: Table) -> None:
    stranger = "123456789012345678"
    assert await at.port.permissions(at.guild, at.channel(), stranger) == frozenset()
    assert await at.port.guild_permissions(at.guild, stranger) == frozenset()
    assert not await at.port.is_member(at.guild, stranger)
    assert await at.port.is_member(at.guild, at.user("Ben"))


async def test_a_time_out_takes_away_what_it_takes_away(at: Table) -> None:
    """D41: asked anew, so that one of a moment ago counts; the bot's own too."""
    for member in (at.bot_id, at.user("Ben")):
        await at.control("POST", "/timeout", seconds=600, member=member)
        have = await at.port.permissions(at.guild, at.channel(), member)
        assert "view_channel" in have
        assert not have & {"send_messages", "add_reactions", "send_messages_in_threads"}


async def test_a_private_thread_is_for_those_who_joined_it(at: Table) -> None:
    """C117: to see its channel is not to see it."""
    general = at.client.get_channel(int(at.channel()))
    assert isinstance(general, discord.TextChannel)
    at.forbid("general", at.bot_id, allow=("CREATE_PRIVATE_THREADS",))
    thread = await general.create_thread(name="quiet")
    ben = at.user("Ben")
    assert await at.port.permissions(at.guild, str(thread.id), ben) == frozenset()
    await thread.add_user(discord.Object(int(ben)))
    assert "view_channel" in await at.port.permissions(at.guild, str(thread.id), ben)


async def test_messages_are_read_oldest_first(at: Table) -> None:
    for number in range(5):
        await at.say(f"message {number}")
    mine = await at.own()
    await at.client.get_partial_messageable(int(at.channel())).send(
        embed=discord.Embed(description="something failed")
    )
    read = await at.port.read_messages(at.channel(), 3)
    assert [m.content for m in read] == ["message 3", "message 4", "mine"]
    assert [m.is_self for m in read] == [False, False, True]
    one = await at.port.get_message(at.channel(), mine)
    assert one is not None
    assert (one.id, one.is_self) == (mine, True)
    assert await at.port.get_message(at.channel("random"), mine) is None
    assert "no such channel" in await refusal(at.port.read_messages("123456789012345678", 5))


async def test_reactions_with_a_character_or_an_emoji_of_the_server(at: Table) -> None:
    said = await at.say()
    (spark,) = at.client.guilds[0].emojis
    for emoji in ("👍", "❤️", "1️⃣", "🇯🇵", "👩‍👩‍👧", "Spark", f"<:other:{spark.id}>"):
        await at.port.react(at.channel(), said["id"], emoji)
    (seen,) = await at.messages()
    emojis = [reaction["emoji"] for reaction in seen["reactions"]]
    assert emojis == ["👍", "❤️", "1️⃣", "🇯🇵", "👩‍👩‍👧", f"spark:{spark.id}"]
    one = await at.port.get_message(at.channel(), said["id"])
    assert one is not None
    assert [(r.emoji, r.count) for r in one.reactions] == [
        ("👍", 1),
        ("❤️", 1),
        ("1️⃣", 1),
        ("🇯🇵", 1),
    ]


async def test_what_is_no_emoji_is_refused_before_discord_is_asked(at: Table) -> None:
    """Hostile input: nothing a model writes becomes a part of an address."""
    said = await at.say()
    hostile = [
        "",
        "7",
        "👍👍",
        "../@me",
        "👍/../..",
        "<:x:123456789012345678>",
        ":nope:",
        "é",
        "x" * 9000,
    ]
    for emoji in hostile:
        assert "emoji" in await refusal(at.port.react(at.channel(), said["id"], emoji))
    assert not [line for line in at.requests() if "reactions" in line]
    assert "not an id" in await refusal(at.port.react(at.channel(), "../1", "👍"))


@given(st.text(max_size=60))
def test_an_emoji_is_one_cluster_or_nothing(text: str) -> None:
    try:
        taken = reaction_of(text, ())
    except DiscordRefused:
        return
    assert taken == text.strip()
    assert not taken.isascii()
    assert not set(taken) & set("/?%:. ")


async def test_a_reply_is_cut_like_any_answer_and_made_once(at: Table) -> None:
    """D17, D56: the same nonce again creates nothing, and no crowd is pinged."""
    said = await at.say()
    text = "@everyone listen\n\n" + "word " * 600
    first = await at.port.reply(at.channel(), said["id"], text, NONCE)
    again = await at.port.reply(at.channel(), said["id"], text, NONCE)
    assert first == again
    assert len(first) == 2
    _, one, two = await at.messages()
    assert (one["reply_to"]["id"], two["reply_to"]) == (said["id"], None)
    assert one["nonce"] == NONCE + "00"
    assert one["pings"] == []
    assert "no text" in await refusal(at.port.reply(at.channel(), said["id"], " \n", NONCE))
    assert "at most" in await refusal(at.port.reply(at.channel(), said["id"], "a" * 50_000, NONCE))


async def test_a_refused_reply_is_remembered(at: Table) -> None:
    """D41: admission hears of it, and of the next success."""
    at.forbid("random", at.bot_id, "SEND_MESSAGES")
    said = await at.say(channel="random")
    asked = at.port.reply(at.channel("random"), said["id"], "hi", NONCE)
    assert await refusal(asked) == "The bot lacks a permission that this needs here."
    assert at.refusals.refused(at.channel("random"))
    at.forbid("random", at.bot_id)
    await at.port.reply(at.channel("random"), said["id"], "hi", NONCE)
    assert not at.refusals.refused(at.channel("random"))


async def test_pins(at: Table) -> None:
    said = await at.say()
    await at.port.pin(at.channel(), said["id"], True)
    assert (await at.messages())[0]["pinned"]
    await at.port.pin(at.channel(), said["id"], False)
    assert not (await at.messages())[0]["pinned"]
    at.forbid("general", at.bot_id, "PIN_MESSAGES", "MANAGE_MESSAGES")
    assert "permission" in await refusal(at.port.pin(at.channel(), said["id"], True))


async def test_an_edit_of_ones_own_pings_nobody(at: Table) -> None:
    """D56, C132"""
    mine, said = await at.own(), await at.say()
    await at.port.edit(at.channel(), mine, f"@everyone and <@{at.user('Ben')}>")
    edited = (await at.messages())[0]
    assert f"<@{at.user('Ben')}>" in edited["content"]
    assert edited["pings"] == []
    assert "somebody else" in await refusal(at.port.edit(at.channel(), said["id"], "taken over"))
    assert "2001 characters" in await refusal(at.port.edit(at.channel(), mine, "a" * 2001))
    assert "no text" in await refusal(at.port.edit(at.channel(), mine, " "))


async def test_deleting_counts_what_goes(at: Table) -> None:
    """C132: a member's message stays where the bot may not manage messages."""
    mine = [await at.own(f"mine {number}") for number in range(3)]
    said = await at.say()
    assert await at.port.delete(at.channel(), [mine[0], "123456789012345678"]) == 1
    assert await at.port.delete(at.channel(), [mine[0]]) == 0
    reason = await refusal(at.port.delete(at.channel(), [mine[1], said["id"], mine[2]]))
    assert reason.startswith("1 of 3 messages were deleted, then: The bot lacks")
    assert {m["content"] for m in await at.messages()} == {"mine 2", "hello"}


async def test_a_thread_begins_with_its_first_message(at: Table) -> None:
    facts = await at.port.create_thread(at.channel(), " Rain \n songs ", "@here la la", NONCE)
    assert (facts.name, facts.is_thread, facts.parent_id) == ("Rain songs", True, at.channel())
    (first,) = [m for m in await at.messages("Rain songs") if m["content"]]
    assert first["pings"] == []
    assert first["nonce"] == NONCE + "00"
    for name in ("", " ", "n" * 101):
        assert "1 to 100" in await refusal(at.port.create_thread(at.channel(), name, "x", NONCE))
    assert "no text" in await refusal(at.port.create_thread(at.channel(), "fine", "", NONCE))
    inside = at.port.create_thread(at.channel("side talk"), "deeper", "x", NONCE)
    assert "kind of channel" in await refusal(inside)
    at.forbid("general", at.bot_id, "CREATE_PUBLIC_THREADS")
    assert "permission" in await refusal(at.port.create_thread(at.channel(), "no", "x", NONCE))


async def test_a_thread_whose_answer_is_lost_is_not_made_twice(at: Table) -> None:
    """A thread has no nonce: it is asked for once, and the model hears that it may exist."""
    await at.control("POST", "/faults", match="POST .*/threads$", action="store_then_502")
    asked = at.port.create_thread(at.channel(), "Rain songs", "la la", NONCE)
    assert "not certain" in await refusal(asked)
    active = await at.client.http.get_active_threads(int(at.guild))
    assert [thread["name"] for thread in active["threads"]].count("Rain songs") == 1


async def file_at(at: Table, data: bytes, name: str = "notes.txt") -> tuple[str, str]:
    """A member's message with a file: its id and the file's."""
    file = {"filename": name, "content_type": "text/plain", "data": base64.b64encode(data).decode()}
    said = await at.say("", files=[file])
    message = await at.port.get_message(at.channel(), said["id"])
    assert message is not None
    (info,) = message.files
    assert (info.filename, info.content_type, info.size) == (name, "text/plain", len(data))
    return said["id"], info.id


async def test_a_file_is_read_from_a_fresh_address(at: Table) -> None:
    """D50: what an address was worth an hour ago does not matter."""
    message_id, file_id = await file_at(at, b"first line", "my notes?.txt")
    old = await at.client.get_partial_messageable(int(at.channel())).fetch_message(int(message_id))
    await at.control("POST", "/files/expire")
    async with at.session.get(old.attachments[0].url) as stale:
        assert stale.status == 404
    assert await at.port.read_file(at.channel(), message_id, file_id, 1000) == b"first line"
    assert await at.port.read_file(at.channel(), message_id, "1", 1000) is None
    await at.control("DELETE", "/messages", channel="general", message=message_id)
    assert await at.port.read_file(at.channel(), message_id, file_id, 1000) is None


async def test_a_file_is_bounded_before_and_while_it_is_read(
    at: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id, file_id = await file_at(at, b"x" * 300_000)
    asked = at.port.read_file(at.channel(), message_id, file_id, 100_000)
    assert "too large" in await refusal(asked)
    told = discord.Attachment.__init__

    def lie(self: discord.Attachment, **options: Any) -> None:
        told(self, **options)
        self.size = 10

    monkeypatch.setattr(discord.Attachment, "__init__", lie)
    asked = at.port.read_file(at.channel(), message_id, file_id, 100_000)
    assert "too large" in await refusal(asked)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", True),
        ("https://media.discordapp.net/attachments/1/2/a.png", True),
        ("http://cdn.discordapp.com/attachments/1/2/a.txt", False),
        ("https://cdn.discordapp.com:8443/a.txt", False),
        ("https://cdn.discordapp.com.evil.example/a.txt", False),
        ("https://cdn.discordapp.com@evil.example/a.txt", False),
        ("http://127.0.0.1:8090/attachments/1/a.txt", False),
        ("http://169.254.169.254/latest", False),
        ("/attachments/1/a.txt", False),
        ("file:///etc/passwd", False),
    ],
)
def test_only_discords_file_servers_are_asked(address: str, allowed: bool) -> None:
    """D80: with Discord's own API, nothing else; with a playground, its own address too."""
    discords = yarl.URL("https://discord.com/api/v10")
    playground = yarl.URL("http://127.0.0.1:8090/api/v10")
    assert files.is_file_address(yarl.URL(address), discords) is allowed
    local = address.startswith("http://127.0.0.1:8090/")
    assert files.is_file_address(yarl.URL(address), playground) is (allowed or local)


async def test_an_invocation_is_handed_over_and_acknowledged(at: Table) -> None:
    await at.port.dispatch(incoming("10"))
    assert at.temporal.signalled["1"] == ["10"]
    at.temporal.failures["1"] = 1
    at.temporal.error = RPCError("secret://address refused", RPCStatusCode.UNAVAILABLE, b"")
    reason = await refusal(at.port.dispatch(incoming("11")))
    assert "cannot be reached" in reason
    assert "secret" not in reason


async def test_the_commands_that_members_see(at: Table) -> None:
    async def answer(interaction: discord.Interaction) -> None: ...

    group = discord.app_commands.Group(name="config", description="Settings.")
    for name, parent in (("kill", at.client.tree), ("show", group)):
        command = discord.app_commands.Command(name=name, description="It.", callback=answer)
        parent.add_command(command)
    at.client.tree.add_command(group)
    assert await at.port.commands() == []
    await at.client.tree.sync()
    assert [(each.name, each.description) for each in await at.port.commands()] == [
        ("config show", "It."),
        ("kill", "It."),
    ]


async def test_a_discord_that_does_not_answer_is_a_sentence(at: Table) -> None:
    said = await at.say()
    await at.control("POST", "/faults", match="PUT .*/reactions/", action="status", status=503)
    reason = await refusal(at.port.react(at.channel(), said["id"], "👍"))
    assert "does not answer" in reason
    await at.control(
        "POST", "/faults", match="PUT .*/pins/", action="status", status=403, code=987654
    )
    assert "does not allow" in await refusal(at.port.pin(at.channel(), said["id"], True))
