"""The personas' webhooks: found, made, refused, recognised (D58, D59, D61), and their names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.delivery import signatures
from bot.delivery.once import NoAnswerError, OneAttempt
from bot.speakers import named
from bot.webhooks import REFUSED_FOR, ManagedWebhook, ManagedWebhooks
from runtime.logs import redact
from tests.bot.ports import Table, table
from tests.bot.servers import persona
from tests.bot.voices import ALL, FAN, LUNA, webhooks_of
from tests.bot.waiting import until
from text.usernames import FALLBACK, NAME_LIMIT, same_username, told_apart_by, username_of

names = st.one_of(
    st.text(max_size=120),
    st.text(alphabet="discorDclyde \u200d\u2800\u0301é😀-", max_size=120),
)


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with table(tmp_path) as laid:
        yield laid


def hooks(at: Table, channel: str = "general") -> list[Any]:
    world = at.playground.services.world
    return [hook for hook in world.webhooks.values() if hook.channel_id == at.record(channel).id]


async def found(at: Table, channel: str = "general") -> ManagedWebhook:
    webhook = await at.webhooks.for_channel(at.channel(channel))
    assert webhook is not None
    return webhook


# names


@given(name=names)
def test_a_username_is_always_one_that_discord_takes(name: str) -> None:
    """1 to 80 characters, neither `clyde` nor `discord`; and the same however often it is made."""
    username = username_of(name)
    assert 1 <= len(username) <= NAME_LIMIT
    assert username == username.strip()
    assert "discord" not in username.lower()
    assert "clyde" not in username.lower()
    assert username_of(username) == username
    assert same_username(name, username)
    assert told_apart_by(username) == told_apart_by(name)


@pytest.mark.parametrize(
    ("name", "username"),
    [
        ("Luna", "Luna"),
        ("  Luna \n the  Second ", "Luna the Second"),
        ("Discord Fan", "D-iscord Fan"),
        ("aCLYDEa", "aC-LYDEa"),
        ("dis\u200dcord", "d-iscord"),
        ("", FALLBACK),
        ("\u2800\u3164", FALLBACK),
        ("\u200b\u0007", FALLBACK),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("x" * 200, "x" * 80),
    ],
)
def test_what_becomes_of_a_name(name: str, username: str) -> None:
    assert username_of(name) == username


@given(text=st.text(min_size=1).filter(lambda text: not text[0].isspace()), name=names)
def test_what_stands_before_the_words_comes_off_again(text: str, name: str) -> None:
    signed = signatures.with_name(text, name)
    assert signatures.without_name(signed, name) == text
    assert len(signed) - len(text) <= signatures.LONGEST
    linked = signatures.with_reply_line(text, "9" * 20, "8" * 20, "7" * 20)
    assert signatures.without_reply_line(linked) == (text, "7" * 20)
    assert len(linked) - len(text) <= signatures.LONGEST


@given(text=st.text())
def test_words_that_only_resemble_it_stay(text: str) -> None:
    content = f"-# ↪ somebody said {text}"
    assert signatures.without_reply_line(content) == (content, None)
    assert signatures.without_name(f"**Lunatic:** {text}", "Luna") is None


# finding and making


async def test_one_webhook_for_a_channel_however_many_ask(at: Table) -> None:
    """D59."""
    asked = [at.webhooks.for_channel(at.channel()) for _ in range(5)]
    answers = await asyncio.gather(*asked)
    assert len(hooks(at)) == 1
    assert {answer and answer.id for answer in answers} == {str(hooks(at)[0].id)}
    assert at.requests().count(f"POST /channels/{at.channel()}/webhooks") == 1


async def test_another_process_finds_the_same_one(at: Table) -> None:
    first = await found(at)
    later = webhooks_of(at.client)
    second = await later.for_channel(at.channel())
    await later.close()
    assert second is not None
    assert second.id == first.id
    assert len(hooks(at)) == 1


async def test_processes_that_make_one_at_once_come_to_use_the_same(at: Table) -> None:
    """D59: the channel has room for 15."""
    processes = [webhooks_of(at.client) for _ in range(3)]
    # All have looked before the first one makes any.
    await at.control(
        "POST", "/faults", match="POST .*/webhooks$", action="delay", delay=0.2, times=3
    )
    answers = await asyncio.gather(*(each.for_channel(at.channel()) for each in processes))
    assert at.requests().count(f"POST /channels/{at.channel()}/webhooks") == 3
    (hook,) = hooks(at)
    assert {answer and answer.id for answer in answers} == {str(hook.id)}
    for each in processes:
        await each.close()


async def test_a_moderator_may_name_it_as_they_like(at: Table) -> None:
    first = await found(at)
    (hook,) = hooks(at)
    hook.name = "not yours"
    at.playground.services.world.save_webhook(hook)
    later = webhooks_of(at.client)
    second = await later.for_channel(at.channel())
    await later.close()
    assert second is not None
    assert second.id == first.id


async def test_one_that_was_moved_is_of_no_use_for_what_it_said_before(at: Table) -> None:
    """D61: to change a message it has to stand where the message does."""
    webhook = await found(at)
    assert await at.webhooks.by_id(webhook.id, at.channel()) == webhook
    in_thread = await at.webhooks.by_id(webhook.id, at.channel("side talk"))
    assert in_thread is not None
    assert in_thread.thread_id == at.channel("side talk")
    (hook,) = hooks(at)
    hook.channel_id = at.record("random").id
    at.playground.services.world.save_webhook(hook)
    at.webhooks.changed(at.guild)
    assert await at.webhooks.by_id(webhook.id, at.channel()) is None
    assert await at.webhooks.by_id(webhook.id, at.channel("side talk")) is None
    assert await at.webhooks.by_id(webhook.id, at.channel("random")) is not None


async def test_a_change_meanwhile_is_not_overlooked(at: Table) -> None:
    """What Discord answered before it told of a change is not remembered after it."""
    await found(at)
    at.webhooks.changed(None)
    listing = rf"GET /channels/{at.channel()}/webhooks"
    await at.control("POST", "/faults", match=listing, action="delay", delay=0.2)
    looking = asyncio.create_task(found(at))
    (fault,) = at.playground.services.faults.queue
    await until(lambda: fault.hits)
    at.webhooks.changed(at.guild)
    await looking
    before = at.requests().count(listing)
    await found(at)
    assert at.requests().count(listing) == before + 1
    at.webhooks.changed("1234")  # another server's
    await found(at)
    assert at.requests().count(listing) == before + 1


async def test_a_thread_uses_its_channels(at: Table) -> None:
    webhook = await found(at, "side talk")
    assert webhook.channel_id == at.channel("general")
    assert webhook.thread_id == at.channel("side talk")
    assert (await found(at)).thread_id is None


async def test_a_direct_message_has_none(at: Table) -> None:
    dm = next(c for c in at.playground.services.world.channels.values() if c.is_dm)
    before = len(at.requests())
    assert await at.webhooks.for_channel(str(dm.id)) is None
    assert await at.webhooks.for_channel(str(dm.id)) is None
    assert len(at.requests()) - before <= 1
    assert await at.webhooks.for_channel("123456789012345678") is None


async def test_none_is_asked_for_where_the_cache_says_that_it_may_not(at: Table) -> None:
    at.forbid("general", at.bot_id, "MANAGE_WEBHOOKS")
    await at.settled("general")
    assert await at.webhooks.for_channel(at.channel()) is None
    assert not any("webhooks" in line for line in at.requests())


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [(50013, 403, "Manage Webhooks"), (30007, 400, "as many webhooks"), (50024, 400, "gives none")],
)
async def test_a_refusal_is_said_once_and_kept_for_ten_minutes(
    at: Table, code: int, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """D59: the text fits the code, and nobody knocks again."""
    now = [0.0]
    webhooks = ManagedWebhooks(at.client, lambda guild_id: ALL, lambda: now[0])
    fault = {"match": "POST .*/webhooks$", "action": "status", "times": 9}
    await at.control("POST", "/faults", **fault, status=status, code=code)
    for _ in range(3):
        assert await webhooks.for_channel(at.channel()) is None
    path = f"POST /channels/{at.channel()}/webhooks"
    assert at.requests().count(path) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if "no webhook" in line]
    assert len(lines) == 1
    assert said in lines[0]
    now[0] = REFUSED_FOR + 1
    assert await webhooks.for_channel(at.channel()) is None
    assert at.requests().count(path) == 2
    await webhooks.close()


async def test_fifteen_webhooks_of_others_leave_no_room(at: Table) -> None:
    """D59: 30007 by the playground's own rule."""
    channel = at.client.get_channel(int(at.channel()))
    assert isinstance(channel, discord.TextChannel)
    for number in range(15):
        await channel.create_webhook(name=f"feed {number}")
    for hook in hooks(at):
        hook.creator_id = int(at.user("Ada"))
    assert await at.webhooks.for_channel(at.channel()) is None


async def test_one_that_was_made_although_the_answer_got_lost_is_found(at: Table) -> None:
    await at.control("POST", "/faults", match="POST .*/webhooks$", action="store_then_502")
    with pytest.raises(discord.DiscordServerError):
        await at.webhooks.for_channel(at.channel())
    await found(at)
    assert len(hooks(at)) == 1


async def test_after_it_is_gone_another_is_made(at: Table) -> None:
    """D61."""
    first = await found(at)
    at.playground.services.world.delete_webhook(hooks(at)[0])
    assert (await found(at)).id == first.id  # from memory: nobody has told us
    at.webhooks.forget(first)
    assert (await found(at)).id != first.id
    assert at.webhooks.is_ours(first.id)  # what it has said stays ours


# whose a message is


async def test_a_webhook_is_ours_before_it_speaks(at: Table) -> None:
    """D58: its first message may arrive before the answer to the request that made it."""
    webhook = await found(at)
    assert at.webhooks.is_ours(webhook.id)
    assert at.webhooks.is_ours(int(webhook.id))
    assert not at.webhooks.is_ours("12345")
    assert not at.webhooks.is_ours(None)
    assert at.webhooks.persona_of(webhook.id, "luna", at.guild) == LUNA.persona_id
    assert at.webhooks.persona_of(webhook.id, "D-iscord Fan", at.guild) == FAN.persona_id
    assert at.webhooks.persona_of(webhook.id, "Somebody", at.guild) is None
    assert at.webhooks.persona_of("12345", "Luna", at.guild) is None


def test_of_names_that_discord_shows_alike_the_exact_one_speaks() -> None:
    """D58: a persona that was taken for its namesake would hear itself."""
    known = [
        persona(1, "Nova", is_main=True),
        persona(2, "Discord Fan"),
        persona(3, "D-iscord Fan"),
    ]
    assert named(known, "D-iscord Fan") == 3
    assert named(known[:2], "D-iscord Fan") == 2
    assert named(known, "d-iscord fan") == 2
    assert named(known, "Luna") is None


async def test_another_processs_webhook_is_recognised_by_its_message(at: Table) -> None:
    """D58: and a stranger's that calls itself Luna is not (reply to a foreign webhook)."""
    channel = at.client.get_channel(int(at.channel()))
    assert isinstance(channel, discord.TextChannel)
    theirs, ours = [await channel.create_webhook(name=name) for name in ("feed", "bot")]
    at.playground.services.world.webhooks[theirs.id].creator_id = int(at.user("Ada"))
    for webhook, is_ours in ((theirs, False), (ours, True)):
        said = await webhook.send("hi", username="Luna", wait=True)
        message = await channel.fetch_message(said.id)
        assert at.webhooks.recognise(message) is is_ours
        assert at.webhooks.is_ours(webhook.id) is is_ours
        speaker = at.webhooks.speakers(at.guild).of(message)
        assert speaker.persona_id == (LUNA.persona_id if is_ours else None)


# one attempt


async def test_a_request_is_made_once_and_no_token_is_told(at: Table) -> None:
    webhook = await found(at)
    once = OneAttempt(at.client)
    for action, fault in (("drop", NoAnswerError), ("status", discord.DiscordServerError)):
        await at.control("POST", "/faults", match="POST /webhooks/", action=action, times=1)
        before = len(at.requests())
        with pytest.raises(fault) as raised:
            await once.request("POST", webhook.path, bucket="b", body={"content": "hi"})
        assert len(at.requests()) == before + 1
        assert webhook.token not in str(raised.value)
    await once.close()
    assert webhook.token not in repr(webhook)
    assert webhook.token not in redact(f"a line with {webhook.token} in it")


async def test_a_rate_limit_is_waited_out_or_handed_on(at: Table) -> None:
    webhook = await found(at)
    limit = {"match": "POST /webhooks/", "action": "429", "times": 1}
    await at.control("POST", "/faults", **limit, retry_after=0.05)
    body = {"content": "hi"}
    params = {"wait": "true"}
    path = webhook.path
    made = await at.webhooks.once.request("POST", path, bucket="b", body=body, params=params)
    assert made["content"] == "hi"
    await at.control("POST", "/faults", **limit, retry_after=900)
    before = len(at.requests())
    for _ in range(2):  # the second one is not even asked
        with pytest.raises(discord.RateLimited) as raised:
            await at.webhooks.once.request("POST", path, bucket="b", body=body, params=params)
        assert raised.value.retry_after > 800
    assert len(at.requests()) == before + 1
