"""A persona that is not the main one: said through the channel's webhook, once, whatever happens
(D17, D56, D59, D61, D62; behaviour 5, 6.3, 6.8, 11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from bot.delivery.delete import DeleteActivities
from bot.delivery.send import BLOCKED_NOTICE, SendActivities
from bot.refusals import RefusalMemory
from bot.typing_sessions import TypingSessions
from playground import wire
from tests.bot.ports import Json, Table, table
from tests.bot.voices import LUNAS_VOICE, webhooks_of
from tests.bot.waiting import until
from workflows.contracts.delivery import (
    DeleteRequest,
    DeleteResult,
    Outgoing,
    OutgoingKind,
    SendRequest,
    SendResult,
)
from workflows.contracts.identity import Voice

POST = "POST /webhooks/"


class Stage:
    """The send activity as a bot process has it; `restarted` is the next process."""

    def __init__(self, at: Table, all_of_them: list[Stage]) -> None:
        self.at = at
        self.all = all_of_them
        self.all.append(self)
        self.trigger = ""
        self.webhooks = webhooks_of(at.client)
        self.env = ActivityEnvironment()
        self.refusals = RefusalMemory()
        self.typing = TypingSessions(lambda channel_id: _nothing())
        self.activities = SendActivities(at.client, self.typing, self.refusals, self.webhooks)
        self.deleting = DeleteActivities(at.client, self.webhooks)

    def restarted(self, attempt: int = 2) -> Stage:
        other = Stage(self.at, self.all)
        other.trigger = self.trigger
        other.env.info = replace(other.env.info, attempt=attempt)
        return other

    def request(self, *texts: str, **changes: Any) -> SendRequest:
        outgoing = [Outgoing(ordinal=ordinal, text=text) for ordinal, text in enumerate(texts)]
        return SendRequest(
            turn_id="t1",
            channel_id=self.at.channel(),
            trigger_message_id=self.trigger,
            persona_id=2,
            outgoing=outgoing,
            voice=LUNAS_VOICE,
            last=True,
        ).model_copy(update=changes)

    async def send(self, *texts: str, **changes: Any) -> SendResult:
        return await self.env.run(self.activities.send_segments, self.request(*texts, **changes))

    async def delete(self, sent: SendResult) -> DeleteResult:
        request = DeleteRequest(
            turn_id="t1",
            channel_id=self.at.channel(),
            message_ids=[each.message_id for each in sent.sent],
            webhook_ids={each.message_id: each.webhook_id for each in sent.sent if each.webhook_id},
        )
        return await self.env.run(self.deleting.delete_messages, request)

    async def said(self, channel: str = "general") -> list[Json]:
        """As Discord's JSON, oldest first."""
        services = self.at.playground.services
        found = services.store.messages(self.at.record(channel).id, after=int(self.trigger))
        return [
            wire.message(services.world, each) for each in sorted(found, key=lambda each: each.id)
        ]

    async def contents(self) -> list[str]:
        return [each["content"] for each in await self.said()]

    async def fault(self, match: str, action: str, **more: Any) -> None:
        await self.at.control("POST", "/faults", match=match, action=action, **more)


async def _nothing() -> None:
    return None


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with table(tmp_path) as at:
        stage = Stage(at, [])
        stage.trigger = (await at.say("Luna, are you there?"))["id"]
        yield stage
        for each in stage.all:
            await each.webhooks.close()


def looked_for(stage: Stage) -> int:
    lists = [line for line in stage.at.requests() if line.startswith("GET /channels")]
    return sum(line.endswith("/webhooks") for line in lists)


def executed(stage: Stage) -> int:
    return sum(line.startswith(POST) for line in stage.at.requests())


async def test_it_speaks_under_its_own_name_and_face(stage: Stage) -> None:
    """Issue 4: the persona's name and avatar, by the channel's webhook."""
    result = await stage.send("Here.", "And here.")
    first, second = await stage.said()
    for message in (first, second):
        assert message["author"]["username"] == "Luna"
        assert message["author"]["avatar"] == LUNAS_VOICE.avatar_url
    assert [sent.message_id for sent in result.sent] == [first["id"], second["id"]]
    assert {sent.webhook_id for sent in result.sent} == {first["webhook_id"]}


async def test_the_main_persona_is_the_bots_account(stage: Stage) -> None:
    result = await stage.send("Here.", voice=Voice(name="Nova"))
    (message,) = await stage.said()
    assert message.get("webhook_id") is None
    assert result.sent[0].webhook_id is None
    assert not any("webhook" in line for line in stage.at.requests())


async def test_in_a_thread_it_speaks_in_the_thread(stage: Stage) -> None:
    await stage.send("Here.", channel_id=stage.at.channel("side talk"))
    assert [each["content"] for each in await stage.said("side talk")] == ["Here."]
    assert await stage.said() == []


async def test_nobody_is_pinged_by_the_crowd(stage: Stage) -> None:
    """D56: webhooks too; a member who is named may be."""
    ada = stage.at.user("Ada")
    await stage.send(f"@everyone <@{ada}> look")
    (message,) = await stage.said()
    assert not message["mention_everyone"]
    assert [user["id"] for user in message["mentions"]] == [ada]


async def test_a_name_that_discord_forbids_is_changed_so_that_one_sees_it(stage: Stage) -> None:
    await stage.send("Hi", voice=Voice(name="Discord Fan", is_main=False))
    assert (await stage.said())[0]["author"]["username"] == "D-iscord Fan"


async def test_a_name_that_discord_still_refuses_is_spoken_for_by_the_account(stage: Stage) -> None:
    await stage.fault(POST, "status", status=400, code=50035, message="In username: no", times=9)
    await stage.send("one", "two")
    assert await stage.contents() == ["**Luna:** one", "two"]


async def test_a_queued_turn_links_what_it_answers(stage: Stage) -> None:
    """D62: a webhook cannot reply."""
    await stage.send("one", "two", reply_to=stage.trigger)
    one, two = await stage.contents()
    link = f"/{stage.at.guild}/{stage.at.channel()}/{stage.trigger}"
    assert one.startswith("-# ↪ https://")
    assert one.endswith(f"{link}\none")
    assert two == "two"


async def test_long_text_fits_with_what_stands_before_it(stage: Stage) -> None:
    text = "word " * 1000
    await stage.send(text, reply_to=stage.trigger)
    contents = await stage.contents()
    assert len(contents) > 2
    assert all(len(content) <= 2000 for content in contents)
    assert contents[0].startswith("-# ↪")


async def test_the_systems_words_are_the_accounts(stage: Stage) -> None:
    """Notices speak for nobody."""
    notice = Outgoing(ordinal=0, text="It failed.", kind=OutgoingKind.NOTICE)
    text = Outgoing(ordinal=1, text="Well.")
    await stage.send(outgoing=[notice, text])
    said = await stage.said()
    assert [each.get("webhook_id") is None for each in said] == [True, False]


async def test_a_sticker_is_its_picture(stage: Stage) -> None:
    """Behaviour 11: alter → sticker URL via webhook."""
    sticker = Outgoing(ordinal=0, text="wave", kind=OutgoingKind.STICKER, sticker_id="123")
    result = await stage.send(outgoing=[sticker])
    (content,) = await stage.contents()
    assert content.endswith("/stickers/123.png")
    assert [sent.ordinal for sent in result.sent] == [0]
    again = await stage.restarted().send(outgoing=[sticker])
    assert again.sent == result.sent
    assert len(await stage.contents()) == 1


# without a webhook


async def test_without_the_permission_the_account_speaks_and_says_for_whom(stage: Stage) -> None:
    stage.at.forbid("general", stage.at.bot_id, "MANAGE_WEBHOOKS")
    await stage.at.settled("general")
    await stage.send("one", "two", last=False)
    result = await stage.send(outgoing=[Outgoing(ordinal=2, text="three")])
    assert await stage.contents() == ["**Luna:** one", "two", "three"]
    assert result.sent[0].webhook_id is None
    assert executed(stage) == 0


async def test_thirty_thousand_and_seven_falls_back(stage: Stage) -> None:
    """D59."""
    await stage.fault("POST .*/webhooks$", "status", status=400, code=30007)
    await stage.send("> one")
    assert await stage.contents() == ["**Luna:**\n> one"]


@pytest.mark.parametrize(("status", "code"), [(404, 10015), (401, 50027)])
async def test_a_webhook_that_is_gone_is_looked_for_once(
    stage: Stage, status: int, code: int
) -> None:
    """D61."""
    await stage.send("one")
    looked_before = looked_for(stage)
    await stage.fault(POST, "status", status=status, code=code)
    await stage.send("two")
    assert await stage.contents() == ["one", "two"]
    assert looked_for(stage) == looked_before + 1
    await stage.fault(POST, "status", status=status, code=code, times=2)
    await stage.send("three")
    assert await stage.contents() == ["one", "two", "**Luna:** three"]


async def test_a_webhook_that_was_deleted_is_made_anew(stage: Stage) -> None:
    """D61, by the playground's own rule."""
    world = stage.at.playground.services.world
    await stage.send("one")
    world.delete_webhook(next(iter(world.webhooks.values())))
    result = await stage.send("two")
    assert await stage.contents() == ["one", "two"]
    assert result.sent[0].webhook_id == str(next(iter(world.webhooks)))


async def test_a_face_that_discord_refuses_is_left_out(stage: Stage) -> None:
    fault = {"status": 400, "code": 50035, "message": "In avatar_url: not well formed"}
    await stage.fault(POST, "status", **fault)
    await stage.send("one")
    (message,) = await stage.said()
    assert (message["author"]["username"], message["author"]["avatar"]) == ("Luna", None)


# a moderator moves it


def move(stage: Stage, channel: str = "random") -> None:
    """The only webhook goes to another channel."""
    world = stage.at.playground.services.world
    (hook,) = world.webhooks.values()
    hook.channel_id = stage.at.record(channel).id
    world.save_webhook(hook)


async def in_both(stage: Stage) -> tuple[list[str], list[str]]:
    random = [each["content"] for each in await stage.said("random")]
    return await stage.contents(), random


async def test_a_webhook_that_was_moved_speaks_here_no_more(stage: Stage) -> None:
    """D61: known before anything is said in the wrong place, though Discord told of the new channel
    alone."""
    stage.at.client.webhooks = stage.webhooks
    await stage.send("one")
    await until(lambda: stage.webhooks._changes == 1)  # by ourselves: it was made
    first = await stage.send("two")
    looked_before = looked_for(stage)
    await stage.send("three")
    assert looked_for(stage) == looked_before, "it is remembered"
    move(stage)
    await until(lambda: stage.webhooks._changes == 2)
    second = await stage.send("four")
    assert await in_both(stage) == (["one", "two", "three", "four"], [])
    assert first.sent[0].webhook_id != second.sent[0].webhook_id
    assert executed(stage) == 4


@pytest.mark.parametrize("where", ["general", "side talk"])
async def test_nobody_told_of_the_move_and_it_is_said_where_it_belongs(
    stage: Stage, where: str
) -> None:
    """What landed elsewhere is taken away; into a thread of the old channel nothing can land."""
    there = {"channel_id": stage.at.channel(where)}
    await stage.send("one", **there)
    move(stage)
    result = await stage.send("two", "three", **there)
    said = await stage.said(where)
    assert [each["content"] for each in said] == ["one", "two", "three"]
    assert (await in_both(stage))[1] == []
    assert [sent.message_id for sent in result.sent] == [each["id"] for each in said[1:]]
    assert executed(stage) == 4


@pytest.mark.parametrize("times", [1, 2])
async def test_what_landed_elsewhere_goes_by_whatever_way_there_is(
    stage: Stage, times: int
) -> None:
    stage.at.forbid("random", stage.at.bot_id, allow=("MANAGE_MESSAGES",))
    await stage.send("one")
    move(stage)
    await stage.fault("DELETE /webhooks/", "drop", times=times)
    await stage.send("two")
    assert await in_both(stage) == (["one", "two"], [])


async def test_where_it_cannot_be_taken_away_it_is_said_all_the_same(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never lost; and the operator is told which message stands where it should not."""
    await stage.send("one")
    token = next(iter(stage.at.playground.services.world.webhooks.values())).token
    move(stage)
    await stage.fault("DELETE ", "drop", times=9)
    await stage.send("two")
    assert await in_both(stage) == (["one", "two"], ["two"])
    told = capsys.readouterr().out
    assert "could not be taken away" in told
    assert (await stage.said("random"))[0]["id"] in told
    assert token not in told


async def test_after_a_lost_answer_nobody_trusts_where_it_stood(stage: Stage) -> None:
    """The next attempt looks for the webhook anew, so that it does not go astray again."""
    await stage.send("one")
    move(stage)
    await stage.fault(POST, "drop")
    with pytest.raises(ApplicationError, match="Discord is not available"):
        await stage.send("two")
    stage.env.info = replace(stage.env.info, attempt=2)
    await stage.send("two")
    assert await in_both(stage) == (["one", "two"], [])
    assert not any(line.startswith("DELETE") for line in stage.at.requests())


async def test_what_a_moved_webhook_has_said_here_is_not_taken_for_gone(stage: Stage) -> None:
    """D61: it knows the messages of the channel where it stands, and no others."""
    sent = await stage.send("one")
    move(stage)
    assert (await stage.delete(sent)).deleted == 0  # the bot has no right to it either
    assert await stage.contents() == ["one"]
    stage.at.forbid("general", stage.at.bot_id, allow=("MANAGE_MESSAGES",))
    assert (await stage.delete(sent)).deleted == 1
    assert await stage.contents() == []


async def test_a_thread_that_is_gone_refuses_the_turn(stage: Stage) -> None:
    there = {"channel_id": stage.at.channel("side talk")}
    await stage.send("one", **there)
    stage.at.playground.services.world.delete_channel(stage.at.record("side talk"))
    before = executed(stage)
    result = await stage.send("two", "three", **there)
    assert result.refusal is not None
    assert result.refusal.code == 10003
    assert executed(stage) - before <= 2
    assert await stage.contents() == []


# exactly once


@pytest.mark.parametrize("action", ["store_then_502", "store_then_drop"])
async def test_stored_and_the_answer_lost_is_one_message(stage: Stage, action: str) -> None:
    """D17 where there is no nonce: the channel is read before anything is said again."""
    await stage.fault(POST, action)
    result = await stage.send("one", "one", "two")
    assert await stage.contents() == ["one", "one", "two"]
    ids = [each["id"] for each in await stage.said()]
    assert [sent.message_id for sent in result.sent] == ids
    assert {sent.webhook_id for sent in result.sent} == {(await stage.said())[0]["webhook_id"]}
    assert executed(stage) == 3


@pytest.mark.parametrize("action", ["drop", "status"])
async def test_not_stored_and_the_answer_lost_is_said_by_the_next_attempt(
    stage: Stage, action: str
) -> None:
    await stage.fault(POST, action, skip=1)
    with pytest.raises(ApplicationError, match="Discord is not available"):
        await stage.send("one", "two")
    assert await stage.contents() == ["one"]
    result = await stage.restarted().send("one", "two")
    assert await stage.contents() == ["one", "two"]
    assert [sent.ordinal for sent in result.sent] == [0, 1]


@pytest.mark.parametrize("said", [0, 1, 2, 3])
async def test_another_attempt_says_only_what_is_missing(stage: Stage, said: int) -> None:
    """A process that died anywhere, equal texts counted: kill -9 between request and answer is the
    same as an answer that nobody kept."""
    texts = ["hm", "hm", "ok"]
    if said:
        await stage.send(*texts[:said], reply_to=stage.trigger)
    result = await stage.restarted().send(*texts, reply_to=stage.trigger)
    contents = await stage.contents()
    assert [content.rpartition("\n")[2] for content in contents] == texts
    assert sum(content.startswith("-# ↪") for content in contents) == 1
    assert [sent.message_id for sent in result.sent] == [each["id"] for each in await stage.said()]


async def test_what_was_said_before_is_not_taken_for_it(stage: Stage) -> None:
    """An earlier batch, another persona and a stranger have said the same words."""
    before = await stage.send("ok", last=False)
    await stage.send("ok", voice=Voice(name="Sol", is_main=False), persona_id=3)
    await stage.at.say("ok")
    sent_before = [sent.message_id for sent in before.sent]
    outgoing = [Outgoing(ordinal=1, text="ok")]
    await stage.restarted().send(outgoing=outgoing, sent_before=sent_before)
    authors = [each["author"]["username"] for each in await stage.said()]
    assert authors == ["Luna", "Sol", "ada", "Luna"]


async def test_what_stood_there_when_the_turn_began_is_not_taken_for_it(stage: Stage) -> None:
    """A queued turn: the answer before it is younger than its trigger."""
    earlier = await stage.send("ok")
    newest = earlier.sent[0].message_id
    await stage.restarted().send("ok", after_message_id=newest)
    assert await stage.contents() == ["ok", "ok"]


async def test_attempts_may_differ_in_who_speaks(stage: Stage) -> None:
    """The webhook was there for the first attempt and is not for the second; and the other way."""
    await stage.send("one")
    world = stage.at.playground.services.world
    world.delete_webhook(next(iter(world.webhooks.values())))
    await stage.fault("POST .*/webhooks$", "status", status=400, code=30007)
    await stage.restarted().send("one", "two")
    assert await stage.contents() == ["one", "**Luna:** two"]
    result = await stage.restarted(3).send("one", "two", "three")
    assert await stage.contents() == ["one", "**Luna:** two", "three"]
    assert [sent.webhook_id is None for sent in result.sent] == [False, True, False]


async def test_a_stop_meanwhile_still_reports_what_stands_there(stage: Stage) -> None:
    """Cancelled while the answer to a message is lost: it is looked for all the same."""
    await stage.fault(POST, "store_then_502")
    await stage.fault(r"GET /channels/\d+/messages", "delay", delay=0.2)
    sending = asyncio.create_task(stage.send("one", "two"))
    reading = stage.at.playground.services.faults.queue[1]
    await until(lambda: reading.hits)
    stage.env.cancel(cancellation_details=ActivityCancellationDetails(cancel_requested=True))
    result = await sending
    assert result.stopped
    assert await stage.contents() == ["one"]
    assert [sent.message_id for sent in result.sent] == [(await stage.said())[0]["id"]]


async def test_a_rate_limit_is_no_lost_answer(stage: Stage) -> None:
    """Nothing was made; a long one is handed to Temporal, and kept to by whoever comes next."""
    await stage.fault(POST, "429", retry_after=0.05)
    await stage.send("one")
    assert await stage.contents() == ["one"]
    await stage.fault(POST, "429", retry_after=900)
    for _ in range(2):
        with pytest.raises(ApplicationError) as raised:
            await stage.send("two")
        assert raised.value.next_retry_delay is not None
        assert raised.value.next_retry_delay.total_seconds() > 800
    assert await stage.contents() == ["one"]


# what is refused


async def test_blocked_text_is_left_out_and_said_so_by_the_account(stage: Stage) -> None:
    await stage.fault(POST, "status", status=400, code=200000)
    result = await stage.send("bad", "good")
    notice, good = await stage.said()
    assert notice["embeds"][0]["description"] == BLOCKED_NOTICE
    assert notice.get("webhook_id") is None
    assert good["content"] == "good"
    assert result.refusal is None


async def test_a_channel_that_is_gone_refuses_the_turn(stage: Stage) -> None:
    await stage.fault(POST, "status", status=404, code=10003, message="Unknown Channel")
    result = await stage.send("one", "two")
    assert result.refusal is not None
    assert result.refusal.code == 10003
    assert executed(stage) == 1


async def test_no_token_is_in_what_is_raised(stage: Stage) -> None:
    await stage.send("one")
    token = next(iter(stage.at.playground.services.world.webhooks.values())).token
    for action in ("drop", "status", "429"):
        await stage.fault(POST, action, **({"retry_after": 900} if action == "429" else {}))
        with pytest.raises(ApplicationError) as raised:
            await stage.send("two")
        fault: BaseException | None = raised.value
        while fault is not None:
            assert token not in f"{fault!r} {fault}"
            fault = fault.__cause__ or fault.__context__


# taking it away again


async def test_what_a_webhook_said_is_deleted_through_it(stage: Stage) -> None:
    """D61, behaviour 6.3: also by a process that has never met the webhook."""
    sent = await stage.send("one", "two")
    result = await stage.restarted(1).delete(sent)
    assert result.deleted == 2
    assert await stage.contents() == []
    assert (await stage.delete(sent)).deleted == 0  # gone already: no fault


async def test_what_a_webhook_that_is_gone_has_said_keeps_nothing_from_going(stage: Stage) -> None:
    world = stage.at.playground.services.world
    first = await stage.send("one")
    world.delete_webhook(next(iter(world.webhooks.values())))
    second = await stage.send("two")
    stage.at.forbid("general", stage.at.bot_id, "MANAGE_MESSAGES")
    both = SendResult(sent=[*first.sent, *second.sent])
    assert (await stage.delete(both)).deleted == 1
    assert await stage.contents() == ["one"]


async def test_a_webhook_gone_the_right_to_delete_does(stage: Stage) -> None:
    world = stage.at.playground.services.world
    stage.at.forbid("general", stage.at.bot_id, allow=("MANAGE_MESSAGES",))
    sent = await stage.send("one")
    world.delete_webhook(next(iter(world.webhooks.values())))
    assert (await stage.delete(sent)).deleted == 1
    assert await stage.contents() == []


# for one member alone


async def test_what_is_for_one_member_goes_to_their_direct_messages(stage: Stage) -> None:
    """Behaviour 5.4: a cooldown's notice."""
    notice = Outgoing(ordinal=0, text="Slow down.", kind=OutgoingKind.NOTICE)
    ada = stage.at.user("Ada")
    result = await stage.send(outgoing=[notice], direct_to=ada, reply_to=stage.trigger)
    assert await stage.said() == []
    assert len(result.sent) == 1
    dm = next(c for c in stage.at.playground.services.world.channels.values() if c.is_dm)
    (message,) = stage.at.playground.services.store.messages(dm.id, after=int(stage.trigger))
    assert message.embeds[0]["description"] == "Slow down."


@pytest.mark.parametrize("match", ["POST /users/@me/channels", "POST /channels/.*/messages"])
async def test_a_member_who_takes_none_is_not_told(stage: Stage, match: str) -> None:
    await stage.fault(match, "status", status=403, code=50007)
    notice = Outgoing(ordinal=0, text="Slow down.", kind=OutgoingKind.NOTICE)
    result = await stage.send(outgoing=[notice], direct_to=stage.at.user("Ada"))
    assert result == SendResult()
    assert not stage.refusals.refused(stage.at.channel())
