"""Send segments: a batch of a turn's text, message after message.

In: `SendRequest`. Out: `SendResult`, what stands in the channel now. Changes: the channel, the
turn's typing, the memory of refusals.

What always holds:
- each message goes out under the nonce of its place, so a repeated attempt creates nothing twice;
  past Discord's window the batch is reconciled with the channel before anything is sent;
- a persona's webhook knows no nonce: there a repeated attempt always reconciles first, and what may
  or may not have been said is looked for before it is said again;
- a message under way is never abandoned: a stop takes effect between two messages, and what went
  out is reported. A departing process finishes its message and leaves the rest to the next attempt;
- a pause that Discord asked for is kept to by whichever attempt comes next;
- text that Discord will not take is left out, and the turn says so once; the rest goes on;
- a sticker that cannot be sent is logged, and nothing else changes: it neither refuses the turn nor
  keeps anything waiting for long;
- typing ends before the turn's last message (D52);
- a refusal is a result, not a failure: it is logged with its code, remembered for admission, and
  the turn says nothing more here (D12, D41);
- what is for one member alone goes to their direct messages; one who takes none is not told.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

import discord
import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError

from bot.delivery.parts import Part, parts_of
from bot.delivery.pauses import Pauses
from bot.delivery.post import Blocked, Outcome, Posted, Refused, Vanished, post
from bot.delivery.post_by_webhook import UnclearError
from bot.delivery.reconcile import Said, floor_of, match, said_since
from bot.delivery.speaking import Mouth, Speaking
from bot.discord_faults import NETWORK_FAULTS, describe, is_transient, try_again
from bot.refusals import RefusalMemory
from bot.typing_sessions import TypingSessions
from bot.webhooks import ManagedWebhooks
from runtime.heartbeat import heartbeating
from workflows.contracts.delivery import (
    SEND_SEGMENTS,
    OutgoingKind,
    Refusal,
    SendRequest,
    SendResult,
    SentMessage,
)
from workflows.contracts.identity import Voice

log = structlog.get_logger(__name__)

FINISH_MESSAGE = 10.0
"""Seconds that a message under way has to finish when the activity is cancelled. It takes a tenth
of one; the bound is for a message that waits for a rate limit."""

BLOCKED_NOTICE = "A part of this answer is missing: this server's filters did not let it through."
MALFORMED_NOTICE = "A part of this answer is missing: Discord did not accept it."
"""One of the two is shown once in a turn, in place of the first message that was not taken."""
LONG_BATCH = 20_000
"""Code points. Cutting as many takes some 60 ms, and the gateway's heartbeat shares the event loop
(D37); below that a hop to a thread costs more than it saves."""
TURNS_REMEMBERED = 1000
STICKER_ATTEMPTS = 3
"""Attempts of this activity that a sticker may cost when Discord does not answer."""


@dataclass
class _Delivery:
    """One batch on its way."""

    request: SendRequest
    mouth: Mouth
    reply_to: str | None
    sent: list[SentMessage] = field(default_factory=list)
    refusal: Refusal | None = None

    def record(self, part: Part, posted: Posted) -> None:
        self.sent.append(
            SentMessage(
                ordinal=part.ordinal,
                part=part.part,
                message_id=posted.message_id,
                webhook_id=posted.webhook_id,
            )
        )


class SendActivities:
    def __init__(
        self,
        client: discord.Client,
        typing: TypingSessions,
        refusals: RefusalMemory,
        webhooks: ManagedWebhooks,
    ) -> None:
        self._client = client
        self._webhooks = webhooks
        self._speaking = Speaking(client, webhooks)
        self._typing = typing
        self._refusals = refusals
        self._pauses = Pauses()
        self._told_of_gaps: OrderedDict[str, None] = OrderedDict()

    @activity.defn(name=SEND_SEGMENTS.name)
    async def send_segments(self, request: SendRequest) -> SendResult:
        """Raises ApplicationError (retryable) while Discord does not answer, and when this process
        shuts down before the batch is out."""
        channel = self._client.get_partial_messageable(int(request.channel_id))
        # What is for one member alone is nobody's but the system's.
        voice = request.voice if request.direct_to is None else Voice()
        mouth = Mouth(voice, channel, request.turn_id)
        delivery = _Delivery(request, mouth, request.reply_to)
        async with heartbeating():
            try:
                await self._deliver(delivery)
            except asyncio.CancelledError as cancelled:
                details = activity.cancellation_details()
                if details is not None and details.cancel_requested:
                    return SendResult(sent=delivery.sent, stopped=True)
                if details is not None and details.worker_shutdown:
                    # A bare cancellation would be reported as "cancelled", which the server does
                    # not accept from an activity that nobody cancelled; the next attempt would
                    # wait for the heartbeat timeout.
                    raise ApplicationError(
                        "the bot shuts down; the rest of the batch follows in another attempt",
                        type="WorkerShutdown",
                    ) from cancelled
                raise
            finally:
                if request.last:
                    await self._typing.end(request.turn_id, request.channel_id)
        return SendResult(sent=delivery.sent, refusal=delivery.refusal)

    async def _deliver(self, delivery: _Delivery) -> None:
        request = delivery.request
        missing = await _cut(request)
        if missing:
            self._pauses.check(request.channel_id)
        if request.direct_to is not None:
            if not await self._turn_to(delivery, request.direct_to):
                return
        elif not request.last:
            # Types on where an earlier process of this bot began it.
            self._typing.begin(request.turn_id, request.channel_id)
        speaks = any(not part.is_notice for part in missing)
        # Without nonces any attempt but the first may repeat what the one before it has said.
        repeats = speaks and delivery.mouth.is_alter and activity.info().attempt > 1
        if request.reconcile or repeats:
            missing = await self._without_delivered(delivery, missing)
        for position, part in enumerate(missing):
            if delivery.refusal is not None:
                return
            if request.last and position == len(missing) - 1:
                await self._typing.end(request.turn_id, request.channel_id)
            await self._send_whole(delivery, part)

    async def _turn_to(self, delivery: _Delivery, user_id: str) -> bool:
        """To this member's direct messages. False when there are none to be had."""
        try:
            opened = await self._client.http.start_private_message(int(user_id))
        except discord.HTTPException as error:
            if is_transient(error):
                raise try_again(error) from error
            log.info("a member takes no direct messages", error=describe(error))
            return False
        except NETWORK_FAULTS as error:
            raise try_again(error) from error
        delivery.mouth.channel = self._client.get_partial_messageable(int(opened["id"]))
        delivery.reply_to = None  # the message that is answered stands elsewhere
        return True

    async def _without_delivered(self, delivery: _Delivery, parts: list[Part]) -> list[Part]:
        try:
            said = await self._said_since(delivery)
        except discord.HTTPException as error:
            if is_transient(error):
                raise try_again(error) from error
            log.warning(
                "delivery refused: the channel cannot be read",
                channel=delivery.request.channel_id,
                error=describe(error),
            )
            delivery.refusal = Refusal(code=error.code or error.status, message=describe(error))
            return parts
        except NETWORK_FAULTS as error:
            raise try_again(error) from error
        delivery.sent.extend(match(parts, said, delivery.request.reply_to))
        delivered = {(sent.ordinal, sent.part) for sent in delivery.sent}
        if parts and (parts[0].ordinal, parts[0].part) in delivered:
            delivery.reply_to = None
        return [part for part in parts if (part.ordinal, part.part) not in delivered]

    async def _said_since(self, delivery: _Delivery) -> list[Said]:
        """Raises what discord.py raises."""
        request, mouth = delivery.request, delivery.mouth
        own_id = self._client.user.id if self._client.user else 0
        return await said_since(
            mouth.channel,
            floor_of(request, delivery.sent),
            own_id,
            mouth.name,
            lambda message: mouth.is_own(self._webhooks, message),
        )

    async def _after_unclear(
        self, delivery: _Delivery, part: Part, unclear: UnclearError
    ) -> Outcome:
        """Look whether a message that got no answer stands in the channel. Raises ApplicationError
        (retryable) when it does not: it may still arrive, so the next attempt looks again."""
        try:
            found = match([part], await self._said_since(delivery))
        except (discord.HTTPException, *NETWORK_FAULTS) as error:
            raise try_again(error) from error
        if not found:
            raise try_again(unclear) from unclear
        return Posted(found[0].message_id, found[0].webhook_id)

    async def _send_whole(self, delivery: _Delivery, part: Part) -> None:
        """Send one message, and let it finish when a cancellation arrives meanwhile."""
        sending = asyncio.create_task(self._send(delivery, part))
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            _, unfinished = await asyncio.wait({sending}, timeout=FINISH_MESSAGE)
            if unfinished:
                sending.cancel()
            elif not sending.cancelled() and (fault := sending.exception()):
                log.warning("a message failed while its turn was stopped", error=describe(fault))
            raise

    async def _send(self, delivery: _Delivery, part: Part) -> None:
        reply_to, delivery.reply_to = delivery.reply_to, None
        request = delivery.request
        try:
            if part.kind is OutgoingKind.STICKER:
                await self._send_sticker(delivery, part, reply_to)
                return
            outcome = await self._say(delivery, part, reply_to)
            if isinstance(outcome, Blocked) and part.kind is not OutgoingKind.WORKING:
                outcome = await self._after_block(delivery, part, outcome, reply_to)
        except ApplicationError as error:
            if error.next_retry_delay is not None:
                self._pauses.note(request.channel_id, error.next_retry_delay)
            raise
        match outcome:
            case Posted():
                if request.direct_to is None:
                    self._refusals.clear(request.channel_id)
                delivery.record(part, outcome)
            case Refused(description=description) if request.direct_to is not None:
                log.info("a member takes no direct messages", error=description)
            case Refused(refusal=refusal, description=description):
                log.warning("delivery refused", channel=request.channel_id, error=description)
                self._refusals.note(request.channel_id, refusal.code)
                delivery.refusal = refusal
            case Vanished():
                log.info("a message was deleted before it was acknowledged", nonce=part.nonce)
            case _:
                pass

    async def _say(self, delivery: _Delivery, part: Part, reply_to: str | None) -> Outcome:
        try:
            return await self._speaking.say(delivery.mouth, part, reply_to)
        except UnclearError as unclear:
            return await self._after_unclear(delivery, part, unclear)

    async def _send_sticker(self, delivery: _Delivery, sticker: Part, reply_to: str | None) -> None:
        """Raises ApplicationError (retryable) while there are attempts left for it."""
        try:
            outcome = await self._say(delivery, sticker, reply_to)
        except ApplicationError as error:
            if activity.info().attempt < STICKER_ATTEMPTS:
                raise
            reason = error.message
        else:
            if isinstance(outcome, Posted):
                delivery.record(sticker, outcome)
                return
            reason = "deleted since" if isinstance(outcome, Vanished) else outcome.description
        log.warning(
            "a sticker could not be sent",
            channel=delivery.request.channel_id,
            sticker=sticker.sticker_id,
            error=reason,
        )
        delivery.reply_to = reply_to  # the next message is the first one

    async def _after_block(
        self, delivery: _Delivery, part: Part, blocked: Blocked, reply_to: str | None
    ) -> Outcome:
        """It is this text that is not taken: the turn goes on without it, and says so once. The
        notice takes the nonce of the message that was not created."""
        turn_id = delivery.request.turn_id
        log.warning(
            "message blocked", channel=delivery.request.channel_id, error=blocked.description
        )
        if turn_id in self._told_of_gaps:
            return blocked
        text = BLOCKED_NOTICE if blocked.by_filter else MALFORMED_NOTICE
        notice = Part(part.ordinal, part.part, OutgoingKind.NOTICE, text, part.nonce)
        outcome = await post(delivery.mouth.channel, notice, reply_to)
        if isinstance(outcome, Posted):
            # Only now: an attempt that fails on the way to its notice says it in the next one.
            self._told_of_gaps[turn_id] = None
            while len(self._told_of_gaps) > TURNS_REMEMBERED:
                self._told_of_gaps.popitem(last=False)
        return outcome


async def _cut(request: SendRequest) -> list[Part]:
    if sum(len(outgoing.text) for outgoing in request.outgoing) > LONG_BATCH:
        return await asyncio.to_thread(parts_of, request)
    return parts_of(request)
