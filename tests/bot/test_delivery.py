"""Delivery to a loopback Discord, through the real discord.py."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from bot.client import EverturnClient
from bot.delivery import send
from bot.delivery.delete import DeleteActivities
from bot.delivery.notices import is_plain_notice, plain_notice
from bot.delivery.parts import Part, parts_of
from bot.delivery.pauses import Pauses
from bot.delivery.send import BLOCKED_NOTICE, LONG_BATCH, MALFORMED_NOTICE, SendActivities
from bot.refusals import RefusalMemory
from bot.typing_sessions import TypingSessions
from tests.bot.loopback import CHANNEL_ID, THREAD_ID, TRIGGER_ID, LoopbackDiscord, user
from tests.bot.voices import webhooks_of
from tests.bot.waiting import until
from workflows.contracts.delivery import (
    DeleteRequest,
    Outgoing,
    OutgoingKind,
    SendRequest,
    SendResult,
    message_nonce,
    stop_button_id,
)


class Sender:
    """The send activity as one bot process has it."""

    def __init__(self, client: EverturnClient) -> None:
        self.client = client
        self.refusals = RefusalMemory()
        self.typing = TypingSessions(lambda channel_id: client.http.send_typing(int(channel_id)))
        self.activities = SendActivities(client, self.typing, self.refusals, webhooks_of(client))
        self.env = ActivityEnvironment()

    async def send(self, *texts: str, **changes: Any) -> SendResult:
        return await self.env.run(self.activities.send_segments, request(*texts, **changes))


def request(*texts: str, **changes: Any) -> SendRequest:
    outgoing = [Outgoing(ordinal=ordinal, text=text) for ordinal, text in enumerate(texts)]
    return SendRequest(
        turn_id="t1",
        channel_id=CHANNEL_ID,
        trigger_message_id=TRIGGER_ID,
        persona_id=3,
        outgoing=outgoing,
        last=True,
    ).model_copy(update=changes)


def ids(result: SendResult) -> list[tuple[int, int]]:
    return [(sent.ordinal, sent.part) for sent in result.sent]


@pytest.fixture
def sender(client: EverturnClient) -> Sender:
    return Sender(client)


async def test_a_batch_arrives_in_order_under_its_nonces(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D17, D56: own nonces, enforced; nobody but the named users can be pinged, in any payload."""
    result = await sender.send("one", "two @everyone")
    assert [stored["id"] for stored in discord_api.channels[CHANNEL_ID]] == [
        sent.message_id for sent in result.sent
    ]
    assert discord_api.contents()[0] == "one"
    assert "@everyone" not in discord_api.contents()[1]
    for ordinal, body in enumerate(discord_api.sent()):
        assert body["nonce"] == message_nonce(TRIGGER_ID, 3, 0, ordinal, 0)
        assert body["enforce_nonce"] is True
        assert body["allowed_mentions"] == {"parse": ["users"], "replied_user": False}


async def test_two_thousand_lobsters_are_one_message(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D09: Discord counts code points."""
    await sender.send("🦞" * 2000)
    assert discord_api.contents() == ["🦞" * 2000]


async def test_a_long_piece_becomes_parts(discord_api: LoopbackDiscord, sender: Sender) -> None:
    """D12, D13."""
    result = await sender.send("word " * 900)
    assert len(discord_api.contents()) >= 3
    assert ids(result) == [(0, part) for part in range(len(discord_api.contents()))]
    assert "".join("".join(discord_api.contents()).split()) == "word" * 900


async def test_stored_then_502_is_one_message(discord_api: LoopbackDiscord, sender: Sender) -> None:
    """D17."""
    discord_api.fail("POST", "messages", 502, stored=True)
    result = await sender.send("once")
    assert discord_api.contents() == ["once"]
    assert len(discord_api.sent()) == 2
    assert ids(result) == [(0, 0)]


async def test_a_repeat_by_another_process_creates_nothing(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    """D28: the first process died after its second message, before it could report."""
    await Sender(client).send("one", "two", last=False)
    result = await Sender(client).send("one", "two", "three")
    assert discord_api.contents() == ["one", "two", "three"]
    assert [sent.message_id for sent in result.sent] == [
        stored["id"] for stored in discord_api.channels[CHANNEL_ID]
    ]


async def test_a_message_deleted_before_the_repeat_stays_deleted(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    first = await sender.send("one", "two")
    await sender.env.run(
        DeleteActivities(sender.client, webhooks_of(sender.client)).delete_messages,
        DeleteRequest(turn_id="t1", channel_id=CHANNEL_ID, message_ids=[first.sent[0].message_id]),
    )
    again = await sender.send("one", "two")
    assert discord_api.contents() == ["two"]
    assert ids(again) == [(1, 0)]
    assert again.refusal is None


async def test_only_the_first_message_replies(discord_api: LoopbackDiscord, sender: Sender) -> None:
    await sender.send("one", "two", reply_to=TRIGGER_ID)
    first, second = discord_api.sent()
    assert str(first["message_reference"]["message_id"]) == TRIGGER_ID
    assert first["message_reference"]["fail_if_not_exists"] is False
    assert first["allowed_mentions"]["replied_user"] is False
    assert "message_reference" not in second


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 404, "code": 10008},
        {"status": 403, "code": 160002},
        {
            "status": 400,
            "code": 50035,
            "errors": {"message_reference": {"_errors": [{"code": "X", "message": "Unknown"}]}},
        },
    ],
)
async def test_a_deleted_reply_target_costs_the_reply_and_no_text(
    discord_api: LoopbackDiscord, sender: Sender, fault: dict[str, Any]
) -> None:
    """D40."""
    replies = {"when": lambda body: "message_reference" in body, "times": 9}
    discord_api.fail("POST", "messages", **fault, **replies)
    result = await sender.send("one", "two", reply_to=TRIGGER_ID)
    assert discord_api.contents() == ["one", "two"]
    assert ids(result) == [(0, 0), (1, 0)]


@pytest.mark.parametrize(
    ("status", "code", "remembered"),
    [(403, 50013, True), (403, 50001, True), (403, 50007, False), (404, 10003, False)],
)
async def test_a_refusal_is_a_result_and_is_remembered(
    discord_api: LoopbackDiscord, sender: Sender, status: int, code: int, remembered: bool
) -> None:
    """C005, D12, D41: no retry, nothing more is tried in this batch."""
    is_second = {"when": lambda body: body.get("content") == "two", "times": 9}
    discord_api.fail("POST", "messages", status, code=code, message="No", **is_second)
    result = await sender.send("one", "two", "three")
    assert result.refusal is not None
    assert (result.refusal.code, result.refusal.message) == (code, "No")
    assert ids(result) == [(0, 0)]
    assert discord_api.contents() == ["one"]
    assert sender.refusals.refused(CHANNEL_ID) is remembered
    await sender.send("four", trigger_message_id="1000000000000000009")
    assert not sender.refusals.refused(CHANNEL_ID)


@pytest.mark.parametrize(
    ("status", "code"), [(400, 50035), (400, 50006), (403, 20009), (413, 40005), (400, 0)]
)
async def test_text_that_discord_will_not_take_costs_that_text_alone(
    discord_api: LoopbackDiscord, sender: Sender, status: int, code: int
) -> None:
    """D12, D68: the rest of the answer arrives, and the gap is named once in the turn."""
    errors = {"content": {"_errors": [{"code": "X", "message": "Bad"}]}} if code == 50035 else None
    bad = {"when": lambda body: "bad" in (body.get("content") or ""), "times": 9}
    discord_api.fail("POST", "messages", status, code=code, errors=errors, **bad)
    result = await sender.send("bad one", "fine", "bad two", "good", reply_to=TRIGGER_ID)
    assert result.refusal is None
    assert discord_api.contents() == ["", "fine", "good"]
    notice = BLOCKED_NOTICE if code == 20009 else MALFORMED_NOTICE
    assert discord_api.channels[CHANNEL_ID][0]["embeds"][0]["description"] == notice
    assert ids(result) == [(0, 0), (1, 0), (3, 0)]
    assert not sender.refusals.refused(CHANNEL_ID)


@pytest.mark.parametrize("code", [50008, 50083, 160005])
async def test_a_channel_that_takes_no_messages_is_not_about_the_text(
    discord_api: LoopbackDiscord, sender: Sender, code: int
) -> None:
    """Discord answers 400 here too; one request is enough to know."""
    discord_api.fail("POST", "messages", 400, code=code, times=9)
    result = await sender.send("one", "two")
    assert result.refusal is not None
    assert result.refusal.code == code
    assert len(discord_api.sent()) == 1


async def test_a_gap_is_named_by_the_next_attempt_when_this_one_fails(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    blocked = {"when": lambda body: body.get("content") == "bad", "times": 2}
    discord_api.fail("POST", "messages", 400, code=200000, **blocked)
    discord_api.fail("POST", "messages", 503, when=lambda body: bool(body.get("embeds")))
    with pytest.raises(ApplicationError):
        await sender.send("bad", "good")
    await sender.send("bad", "good")
    assert discord_api.contents() == ["", "good"]
    assert discord_api.channels[CHANNEL_ID][0]["embeds"][0]["description"] == BLOCKED_NOTICE


async def test_a_gap_is_named_at_the_next_one_when_its_notice_is_blocked_too(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    bad = {"when": lambda body: "bad" in (body.get("content") or ""), "times": 9}
    discord_api.fail("POST", "messages", 400, code=200000, **bad)
    is_notice = {"when": lambda body: bool(body.get("embeds"))}
    discord_api.fail("POST", "messages", 400, code=200000, **is_notice)
    result = await sender.send("bad one", "bad two", "good")
    assert discord_api.contents() == ["", "good"]
    assert ids(result) == [(1, 0), (2, 0)]


async def test_a_notice_is_plain_text_where_embeds_are_not_allowed(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D68, D56: the same nonce, and nobody is pinged."""
    no_embeds = {"when": lambda body: bool(body.get("embeds")), "times": 9}
    discord_api.fail("POST", "messages", 403, code=50013, **no_embeds)
    notice = Outgoing(ordinal=7, text="The model failed.\nTell <@1>.", kind=OutgoingKind.NOTICE)
    result = await sender.send(outgoing=[notice], reply_to=TRIGGER_ID)
    assert discord_api.contents() == ["-# \u26a0 The model failed. Tell <@1>."]
    assert (ids(result), result.refusal) == ([(7, 0)], None)
    embed, plain = discord_api.sent()
    assert embed["nonce"] == plain["nonce"]
    assert plain["allowed_mentions"] == {"parse": [], "replied_user": False}
    assert str(plain["message_reference"]["message_id"]) == TRIGGER_ID
    assert not sender.refusals.refused(CHANNEL_ID)


async def test_a_notice_that_is_refused_as_text_too_is_refused(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    discord_api.fail("POST", "messages", 403, code=50013, times=9)
    notice = Outgoing(ordinal=7, text="The model failed.", kind=OutgoingKind.NOTICE)
    result = await sender.send(outgoing=[notice])
    assert result.refusal is not None
    assert result.refusal.code == 50013
    assert len(discord_api.sent()) == 2
    assert sender.refusals.refused(CHANNEL_ID)


def test_a_long_plain_notice_fits_into_a_message() -> None:
    """D09."""
    assert len(plain_notice("word " * 800)) == 2000
    assert is_plain_notice(plain_notice("x"))


async def test_the_loop_goes_on_while_a_long_batch_is_cut(
    discord_api: LoopbackDiscord, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D37."""
    loop_goes_on = threading.Event()
    went_on: list[bool] = []

    def slow(request: SendRequest) -> list[Part]:
        asyncio.run_coroutine_threadsafe(_set(loop_goes_on), loop)
        went_on.append(loop_goes_on.wait(timeout=1))
        return parts_of(request)

    async def _set(event: threading.Event) -> None:
        event.set()

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(send, "parts_of", slow)
    await sender.send("word " * (LONG_BATCH // 5 + 1))
    assert went_on == [True]
    assert len(discord_api.contents()) > 10


@pytest.mark.parametrize("via", [True, False], ids=["rate limit", "front door"])
async def test_the_next_attempt_keeps_to_the_pause(
    discord_api: LoopbackDiscord, sender: Sender, via: bool
) -> None:
    """A pause longer than the nonce window ends the activity; the one that reconciles must not
    send at once."""
    now = 1000.0
    sender.activities._pauses = Pauses(clock=lambda: now)
    discord_api.via = via
    discord_api.fail("POST", "messages", 429, retry_after=300)
    with pytest.raises(ApplicationError) as raised:
        await sender.send("one", reply_to=TRIGGER_ID)
    assert raised.value.next_retry_delay == timedelta(seconds=300)
    now += 100
    asked = len(discord_api.requests)
    with pytest.raises(ApplicationError) as raised:
        await sender.send("one", reconcile=True)
    assert raised.value.next_retry_delay == timedelta(seconds=200)
    assert not raised.value.non_retryable
    assert len(discord_api.requests) == asked
    await sender.send("two", channel_id=THREAD_ID)
    assert discord_api.contents(THREAD_ID) == ["two"]
    now += 200
    await sender.send("one", reconcile=True)
    assert discord_api.contents() == ["one"]


async def test_a_rate_limit_is_kept_to_while_reconciling(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    discord_api.fail("POST", "messages", 429, retry_after=300)
    with pytest.raises(ApplicationError) as raised:
        await sender.send("one", reconcile=True)
    assert raised.value.next_retry_delay == timedelta(seconds=300)


@pytest.mark.parametrize(
    ("status", "code"), [(503, 0), (429, 20016), (403, 20028)], ids=["outage", "slowmode", "limit"]
)
async def test_what_may_get_better_is_tried_again(
    discord_api: LoopbackDiscord, sender: Sender, status: int, code: int
) -> None:
    """C005: neither an outage nor slowmode is a refusal."""
    discord_api.via = False  # discord.py raises such a 429 at once
    discord_api.fail("POST", "messages", status, code=code)
    with pytest.raises(ApplicationError) as raised:
        await sender.send("one")
    assert not raised.value.non_retryable
    assert not sender.refusals.refused(CHANNEL_ID)
    await sender.send("one")
    assert discord_api.contents() == ["one"]


async def test_what_automod_blocks_is_left_out_and_said_once(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D12: the rest of the answer arrives, and the gap is named once in the turn."""
    bad = {"when": lambda body: "bad" in (body.get("content") or ""), "times": 9}
    discord_api.fail("POST", "messages", 400, code=200000, **bad)
    result = await sender.send("good", "bad one", "fine", "bad two")
    assert discord_api.contents() == ["good", "", "fine"]
    assert discord_api.channels[CHANNEL_ID][1]["embeds"][0]["description"] == BLOCKED_NOTICE
    assert ids(result) == [(0, 0), (1, 0), (2, 0)]
    assert result.refusal is None


async def test_a_notice_is_an_embed(discord_api: LoopbackDiscord, sender: Sender) -> None:
    notice = Outgoing(ordinal=7, text="The model failed.", kind=OutgoingKind.NOTICE)
    await sender.send(outgoing=[notice])
    (body,) = discord_api.sent()
    assert body["embeds"][0]["description"] == "The model failed."
    assert not body.get("content")
    assert body["nonce"] == message_nonce(TRIGGER_ID, 3, 0, 7, 0)
    assert body["allowed_mentions"]["parse"] == ["users"]


async def test_typing_ends_before_the_last_message(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D52: the last POST comes before the send; and a batch that is not the last types on."""
    await sender.send("one", last=False)
    await until(lambda: "POST typing" in discord_api.calls())
    assert sender.typing.active(CHANNEL_ID) == "t1"
    await sender.send("one", "two")
    assert sender.typing.active(CHANNEL_ID) is None
    calls = discord_api.calls()
    assert calls[-1] == "POST messages"
    await asyncio.sleep(0.02)
    assert discord_api.calls() == calls


async def test_a_batch_without_text_still_ends_the_typing(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    sender.typing.begin("t1", CHANNEL_ID)
    assert await sender.send("  \n ") == SendResult()
    assert sender.typing.active(CHANNEL_ID) is None
    assert discord_api.contents() == []


async def cancelled_during_the_second(
    discord_api: LoopbackDiscord, sender: Sender, details: ActivityCancellationDetails
) -> asyncio.Task[SendResult]:
    """Run a batch of three and cancel it while Discord still thinks about the second message."""
    discord_api.hold.clear()
    discord_api.hold_content = "two"
    running = asyncio.create_task(sender.send("one", "two", "three"))
    await until(lambda: len(discord_api.sent()) == 2)
    sender.env.cancel(cancellation_details=details)
    await asyncio.sleep(0.02)
    assert not running.done()
    discord_api.hold.set()
    return running


async def test_a_stop_takes_effect_between_two_messages(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """T04: the message under way is finished and reported; nothing follows it."""
    details = ActivityCancellationDetails(cancel_requested=True)
    result = await (await cancelled_during_the_second(discord_api, sender, details))
    assert result.stopped
    assert ids(result) == [(0, 0), (1, 0)]
    assert discord_api.contents() == ["one", "two"]


async def test_a_departing_process_leaves_the_rest_to_the_next(
    discord_api: LoopbackDiscord, sender: Sender, client: EverturnClient
) -> None:
    """T25: a deploy is not a stop; the next attempt repeats the nonces and adds what is missing."""
    details = ActivityCancellationDetails(worker_shutdown=True)
    running = await cancelled_during_the_second(discord_api, sender, details)
    with pytest.raises(ApplicationError) as raised:
        await running
    assert raised.value.type == "WorkerShutdown"
    assert not raised.value.non_retryable
    assert discord_api.contents() == ["one", "two"]
    await Sender(client).send("one", "two", "three")
    assert discord_api.contents() == ["one", "two", "three"]


async def test_reconcile_sends_only_what_is_missing(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D20: past the nonce window the channel is read; the same text twice is told apart."""
    discord_api.forget_nonces = True
    known = discord_api.say("hm")
    first = discord_api.say("hm")
    discord_api.say("hm", author=user("42", bot=True))
    second = discord_api.say("two")
    result = await sender.send(
        "hm", "two", "hm", "four", reconcile=True, sent_before=[known["id"]], reply_to=TRIGGER_ID
    )
    assert [body["content"] for body in discord_api.sent()] == ["hm", "four"]
    assert all("message_reference" not in body for body in discord_api.sent())
    assert sorted(ids(result)) == [(0, 0), (1, 0), (2, 0), (3, 0)]
    by_place = {sent.ordinal: sent.message_id for sent in result.sent}
    assert (by_place[0], by_place[1]) == (first["id"], second["id"])


async def test_reconcile_leaves_an_earlier_turns_answer_to_it(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D20: a queued turn's trigger is older than the answer before it, which may say the same."""
    discord_api.forget_nonces = True
    discord_api.say("Done.")
    newest = discord_api.say("thanks", author=user())
    own = discord_api.say("First.")
    result = await sender.send("First.", "Done.", reconcile=True, after_message_id=newest["id"])
    assert [body["content"] for body in discord_api.sent()] == ["Done."]
    assert result.sent[0].message_id == own["id"]


async def test_reconcile_sees_whom_a_message_replies_to(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D20: what replies to another message is another turn's."""
    discord_api.forget_nonces = True
    other = {"message_id": "1000000000000000007", "channel_id": CHANNEL_ID}
    reply = discord_api.say("Done.", type=19, message_reference=other)
    await sender.send("Done.", reconcile=True, reply_to=TRIGGER_ID)
    assert [body["content"] for body in discord_api.sent()] == ["Done."]
    again = await sender.send("Done.", reconcile=True, reply_to=other["message_id"])
    assert [sent.message_id for sent in again.sent] == [reply["id"]]
    assert len(discord_api.sent()) == 1


async def test_reconcile_knows_notices_and_refusals(
    discord_api: LoopbackDiscord, sender: Sender
) -> None:
    """D20."""
    discord_api.say("", embeds=[{"type": "rich", "description": "It failed."}])
    notice = Outgoing(ordinal=0, text="It failed.", kind=OutgoingKind.NOTICE)
    result = await sender.send(outgoing=[notice], reconcile=True)
    assert (ids(result), discord_api.sent()) == ([(0, 0)], [])
    discord_api.fail("GET", "messages", 403, code=50001)
    refused = await sender.send("one", reconcile=True)
    assert refused.refusal is not None
    assert (refused.refusal.code, discord_api.sent()) == (50001, [])


async def test_deleting_is_idempotent(discord_api: LoopbackDiscord, client: EverturnClient) -> None:
    mine = [discord_api.say(text)["id"] for text in ("one", "two", "three")]
    delete = DeleteActivities(client, webhooks_of(client)).delete_messages
    asked = DeleteRequest(turn_id="t1", channel_id=CHANNEL_ID, message_ids=[mine[0], "1", mine[2]])
    assert (await ActivityEnvironment().run(delete, asked)).deleted == 2
    assert (await ActivityEnvironment().run(delete, asked)).deleted == 0
    assert discord_api.contents() == ["two"]


async def test_deleting_waits_out_an_outage_and_accepts_a_refusal(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    delete = DeleteActivities(client, webhooks_of(client)).delete_messages
    mine = discord_api.say("one")["id"]
    asked = DeleteRequest(turn_id="t1", channel_id=CHANNEL_ID, message_ids=[mine])
    discord_api.fail("DELETE", "message", 503)
    with pytest.raises(ApplicationError):
        await ActivityEnvironment().run(delete, asked)
    discord_api.fail("DELETE", "message", 403, code=50001)
    assert (await ActivityEnvironment().run(delete, asked)).deleted == 0


async def test_a_stop_button_is_found_by_its_id(
    discord_api: LoopbackDiscord, client: EverturnClient
) -> None:
    """The process that sent it died before it could say so: nobody knows the message's id."""
    older = discord_api.say("older")["id"]
    button = stop_button_id(CHANNEL_ID, "5", 1)
    for custom_id in (button, stop_button_id(CHANNEL_ID, "6", 1)):
        row = {"type": 1, "components": [{"type": 2, "style": 4, "custom_id": custom_id}]}
        discord_api.say(custom_id, components=[row])
    asked = DeleteRequest(
        turn_id="t1", channel_id=CHANNEL_ID, stop_button_id=button, after_message_id=older
    )
    delete = DeleteActivities(client, webhooks_of(client)).delete_messages
    assert (await ActivityEnvironment().run(delete, asked)).deleted == 1
    assert (await ActivityEnvironment().run(delete, asked)).deleted == 0
    assert discord_api.contents() == ["older", stop_button_id(CHANNEL_ID, "6", 1)]
