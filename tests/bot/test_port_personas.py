"""The port for personas that speak through webhooks (D61; behaviour 16)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from playground import wire
from tests.bot.ports import Json, Table, table
from tests.bot.voices import LUNA, LUNAS_VOICE, NOVA
from workflows.contracts.discord_port import DiscordRefused

NONCE = "t" * 22


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with table(tmp_path) as laid:
        yield laid


def stored(at: Table, message_id: str, channel: str = "general") -> Json:
    services = at.playground.services
    found = services.store.message(at.record(channel).id, int(message_id))
    assert found is not None
    assert found.deleted_at is None
    return wire.message(services.world, found)


async def spoken(at: Table, text: str = "mine") -> str:
    """Luna's, in answer to a member."""
    asked = await at.say("Luna?")
    (message_id,) = await at.port.reply(at.channel(), asked["id"], text, NONCE, LUNAS_VOICE)
    return message_id


async def test_a_reply_is_the_personas_own(at: Table) -> None:
    """D62: with the line that links what it answers, which readers do not see as its text."""
    message_id = await spoken(at)
    assert stored(at, message_id)["author"]["username"] == "Luna"
    assert stored(at, message_id)["content"].startswith("-# ↪ ")
    read = await at.port.get_message(at.channel(), message_id)
    assert read is not None
    assert (read.content, read.persona_id, read.is_self) == ("mine", LUNA.persona_id, False)
    assert read.reply_to == (await at.port.read_messages(at.channel(), 2))[0].id


async def test_the_main_persona_replies_as_ever(at: Table) -> None:
    asked = await at.say("Nova?")
    (message_id,) = await at.port.reply(at.channel(), asked["id"], "yes", NONCE)
    assert stored(at, message_id)["author"]["id"] == at.bot_id
    read = await at.port.get_message(at.channel(), message_id)
    assert read is not None
    assert (read.persona_id, read.reply_to) == (NOVA.persona_id, asked["id"])


async def test_an_edit_goes_through_the_webhook_and_pings_nobody(at: Table) -> None:
    """D61, D56: the bot's own token cannot."""
    message_id = await spoken(at)
    await at.port.edit(at.channel(), message_id, f"<@{at.user('Ada')}> @everyone better")
    now = stored(at, message_id)
    assert now["content"].endswith("better")
    assert now["mentions"] == []
    assert not now["mention_everyone"]


async def test_what_a_member_wrote_is_still_theirs(at: Table) -> None:
    theirs = await at.say("hands off")
    with pytest.raises(DiscordRefused, match="written by somebody else"):
        await at.port.edit(at.channel(), theirs["id"], "mine now")
    at.forbid("general", at.bot_id, "MANAGE_MESSAGES")
    with pytest.raises(DiscordRefused, match="lacks a permission"):
        await at.port.delete(at.channel(), [theirs["id"]])
    assert stored(at, theirs["id"])["content"] == "hands off"


async def test_a_deletion_goes_through_the_webhook_where_it_must(at: Table) -> None:
    at.forbid("general", at.bot_id, "MANAGE_MESSAGES")
    own, alters = await at.own(), await spoken(at)
    assert await at.port.delete(at.channel(), [own, alters]) == 2
    assert await at.port.delete(at.channel(), [own, alters]) == 0


async def test_a_threads_first_message_is_the_personas(at: Table) -> None:
    thread = await at.port.create_thread(at.channel(), "plans", "Begin.", NONCE, LUNAS_VOICE)
    (first,) = [
        message
        for message in at.playground.services.store.messages(int(thread.id), after=0)
        if message.content
    ]
    assert (first.webhook_name, first.content) == ("Luna", "Begin.")


async def test_without_a_webhook_the_account_says_for_whom(at: Table) -> None:
    at.forbid("general", at.bot_id, "MANAGE_WEBHOOKS")
    await at.settled("general")
    message_id = await spoken(at)
    assert stored(at, message_id)["content"] == "**Luna:** mine"


async def test_a_lost_answer_is_told_as_it_is(at: Table) -> None:
    """Said at most once: a tool has one attempt."""
    await at.control("POST", "/faults", match="POST /webhooks/", action="store_then_502")
    with pytest.raises(DiscordRefused, match="not certain"):
        await spoken(at)
    assert [each["content"].rpartition("\n")[2] for each in await at.messages()].count("mine") == 1
