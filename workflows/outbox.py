"""The outbox: everything a turn puts into the channel, in order, exactly once.

In: segments that the model activity signals while it streams, the tail that its result carries,
and notices of our own. Out: one `send_segments` activity at a time on the Discord queue, and a
ledger of the messages that exist because of it.

What always holds:

- segments leave in the order (call, sequence), each once, however often a signal is repeated;
- a segment's ordinal is given once and never reused, so the nonces of its messages are the same
  in every attempt to send them;
- when a model call starts over on another worker, what the dead attempt had queued is dropped and
  what it had shown is deleted, before anything of the new attempt is sent;
- a model that does not come to an end is cut off after `max_segments`;
- after a stop nothing new is sent; nor is what waits for Discord, when the member who is being
  answered stops it in words, or writes more before a tool was called.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from workflows.activity_calls import (
        NOTICE_GOES_POLICY,
        RECONCILE_POLICY,
        Stop,
        StoppedError,
        outcome_of,
        settle,
        start,
    )
    from workflows.contracts.base import discord_queue
    from workflows.contracts.delivery import (
        DELETE_MESSAGES,
        END_TYPING,
        SEND_SEGMENTS,
        DeleteRequest,
        EndTyping,
        Outgoing,
        OutgoingKind,
        Refusal,
        SendRequest,
        SendResult,
        stop_button_id,
    )
    from workflows.contracts.generation import ModelResult, Segment, SegmentBatch, StreamStatus
    from workflows.contracts.tools import NoticeColour, StickerChoice, ToolNotice
    from workflows.contracts.turn import TurnInput
    from workflows.progress import Progress

MAX_BATCH = 10
"""Segments in one send. At Discord's usual pace of five messages in five seconds that is well
inside the nonce window."""

FLUSHED = 2
"""Segments that are still sent after a stop in words: what the stream had ready at that moment
(behaviour 2.4). More than that has been waiting for Discord, and is dropped as a whole: an answer
with a hole in it says what nobody meant."""


@dataclass(frozen=True)
class Origin:
    """Which attempt of which model call a piece of text comes from."""

    call_index: int
    attempt: int


NOTICE = Origin(call_index=-1, attempt=0)
"""Origin of our own words; no attempt ever replaces them."""

WORKING = Origin(call_index=-2, attempt=0)
"""Origin of the word that the turn is still at work, which goes away with it."""

STICKER = Origin(call_index=-3, attempt=0)

_OWN = (NOTICE, WORKING)
"""What is not the persona's."""


@dataclass
class Row:
    """A line of the ledger: a message that stands in the channel because of this turn."""

    origin: Origin
    ordinal: int
    message_id: str
    webhook_id: str | None = None


@dataclass
class _Call:
    """What has arrived of one model call."""

    attempt: int = 1
    next_sequence: int = 0
    early: dict[int, Segment] = field(default_factory=dict[int, Segment])
    """Segments that arrived before one that precedes them."""


class Outbox:
    def __init__(self, turn: TurnInput, turn_id: str, stop: Stop, progress: Progress) -> None:
        self._turn = turn
        self._turn_id = turn_id
        self._stop = stop
        self._progress = progress
        self._queue = discord_queue(turn.invocation.application_id)
        self._calls: dict[int, _Call] = {}
        self._pending: list[tuple[Origin, Outgoing]] = []
        self._ledger: list[Row] = []
        self._stale: list[Origin] = []
        self._next_ordinal = 0
        self._replied = False
        self._sealed = False
        self._typing_ended = False
        self._said: dict[int, str] = {}
        """The persona's words by their ordinals, delivered or not."""
        self._muted = False
        """Nothing of the persona's is taken any more."""
        self._working_unknown = False
        """The word that the turn is still at work was on its way when the sending was stopped."""
        self._sending = 0
        """Segments that are on their way."""
        self._cut = False
        """What waits, and what is still said, is not wanted any more."""
        self.was_cut = False
        """Something that was said is not in the channel because of that."""
        self.may_give_way = True
        """To a follow-up: until a tool is called (behaviour 2.3)."""
        self.newest_message_id: str | None = None
        """The newest message that is older than anything of this turn."""
        self.flooded = False
        """Set once a model call has said more than `max_segments`; the rest of it is dropped."""
        self.refusal: Refusal | None = None
        """Set once Discord has said that it takes no messages here."""

    # What comes in

    def accept(self, batch: SegmentBatch) -> None:
        """Take what a model call signalled. Repeats, and late words of a dead attempt, are
        dropped."""
        call = self._attempt(batch.call_index, batch.attempt)
        if call is None:
            return
        for segment in batch.segments:
            if segment.sequence >= call.next_sequence:
                call.early.setdefault(segment.sequence, segment)
        while call.next_sequence in call.early:
            segment = call.early.pop(call.next_sequence)
            call.next_sequence += 1
            if call.next_sequence > self._turn.limits.max_segments:
                self.flooded = True
                continue
            self._append(Origin(batch.call_index, call.attempt), segment.text, OutgoingKind.TEXT)

    def accept_result(self, call_index: int, result: ModelResult) -> None:
        """Take the end of a model call. An attempt that failed before it said anything leaves
        what an earlier attempt had shown: a partial answer is better than none."""
        failed = result.status in (StreamStatus.ERROR, StreamStatus.TIMEOUT)
        if result.tail or not failed:
            batch = SegmentBatch(
                call_index=call_index, attempt=result.attempt, segments=result.tail
            )
            self.accept(batch)

    def notice(self, text: str) -> None:
        """Queue a word of the system's own, shown apart from the persona's."""
        self._append(
            NOTICE,
            text,
            OutgoingKind.NOTICE,
            Outgoing(ordinal=0, text="", colour=NoticeColour.AMBER),
        )

    def card(self, notice: ToolNotice) -> None:
        """Queue what a tool has to tell people."""
        self._append(
            NOTICE,
            notice.text,
            OutgoingKind.NOTICE,
            Outgoing(ordinal=0, text="", title=notice.title, colour=notice.colour),
        )

    def still_working(self, text: str) -> None:
        """Queue the word that the turn goes on, with a button that stops it."""
        self._append(WORKING, text, OutgoingKind.WORKING)

    def sticker(self, choice: StickerChoice) -> None:
        """Queue the persona's sticker; it follows all text."""
        self._append(
            STICKER,
            choice.name,
            OutgoingKind.STICKER,
            Outgoing(ordinal=0, text="", sticker_id=choice.sticker_id),
        )

    def stop_in_words(self) -> None:
        """The member who is being answered has asked that it stop."""
        if len(self._pending) + self._sending > FLUSHED:
            self._cut = True

    def give_way(self) -> None:
        """The member who is being answered has written more."""
        if self.may_give_way:
            self._cut = True

    @property
    def is_cut(self) -> bool:
        return self._cut

    def discard(self) -> None:
        """Drop what has not been sent, and what its model call may still say: something else takes
        this answer's place."""
        self.was_cut = self.was_cut or any(origin not in _OWN for origin, _ in self._pending)
        self._pending.clear()
        self._muted = True

    def seal(self) -> None:
        """Nothing more will come: the batch that empties the outbox is the turn's last."""
        self._pending = [item for item in self._pending if item[0] != WORKING]
        self._sealed = True

    # What is known

    @property
    def messages_sent(self) -> int:
        return len(self._ledger)

    @property
    def delivered_text(self) -> bool:
        """Whether the persona's own words stand in the channel, or are on their way."""
        text = any(row.origin not in _OWN for row in self._ledger)
        return text or any(origin not in _OWN for origin, _ in self._pending)

    @property
    def first_message_id(self) -> str | None:
        return self._ledger[0].message_id if self._ledger else None

    def said(self) -> str:
        """What of the persona's words stands in the channel, as it was accepted."""
        delivered = {row.ordinal for row in self._ledger}
        return "\n".join(text for ordinal, text in self._said.items() if ordinal in delivered)

    @property
    def idle(self) -> bool:
        """Nothing waits, and nothing is on its way."""
        return not self._pending and not self._stale and not self._sending

    def _message_ids(self) -> list[str]:
        return [row.message_id for row in self._ledger]

    # What goes out

    async def run(self) -> None:
        """Send until the outbox is sealed and empty, the turn is stopped, or Discord refuses."""
        try:
            while True:
                await workflow.wait_condition(
                    lambda: self._stop.requested or not self.idle or self._sealed
                )
                if self._stop.requested or self.refusal is not None:
                    break
                if self._cut:
                    self.discard()
                if self._stale:
                    await self._delete_stale()
                elif self._pending:
                    await self._send_batch()
                elif self._sealed:
                    break
        except StoppedError:
            pass
        except Exception:
            # A bug of ours. Nobody may wait for an outbox that will not move again.
            self.refusal = Refusal(code=0, message="the outbox failed")
            raise
        finally:
            self._pending.clear()
            self._stale.clear()

    async def drained(self) -> None:
        """Wait until all that was accepted has been sent. Raises StoppedError after a stop."""
        await workflow.wait_condition(
            lambda: self.idle or self._stop.requested or self.refusal is not None
        )
        self._stop.check()

    async def end_typing(self) -> None:
        """Stop the typing indicator, unless the last message has done it already."""
        if self._typing_ended:
            return
        request = EndTyping(turn_id=self._turn_id, channel_id=self._turn.invocation.channel_id)
        handle = start(END_TYPING, request, summary="typing ends", task_queue=self._queue)
        try:
            await handle
        except ActivityError:
            workflow.logger.info("the bot is away; its typing indicator runs out by itself")

    async def remove_working(self) -> None:
        """Take away the word that the turn is still at work. Best effort: the bot may be away."""
        rows = [row for row in self._ledger if row.origin == WORKING]
        if not rows and not self._working_unknown:
            return
        self._ledger = [row for row in self._ledger if row.origin != WORKING]
        message = self._turn.invocation
        turn = self._turn
        button = stop_button_id(
            message.channel_id, message.message_id, turn.persona_id, turn.generation
        )
        request = DeleteRequest(
            turn_id=self._turn_id,
            channel_id=message.channel_id,
            message_ids=[row.message_id for row in rows],
            stop_button_id=button if self._working_unknown else None,
            after_message_id=self.newest_message_id,
        )
        handle = start(
            DELETE_MESSAGES,
            request,
            summary="the notice goes",
            task_queue=self._queue,
            policy=NOTICE_GOES_POLICY,
        )
        try:
            await handle
        except ActivityError:
            workflow.logger.warning("the notice of turn %s stays", self._turn_id)

    async def _send_batch(self) -> None:
        batch = self._pending[:MAX_BATCH]
        del self._pending[:MAX_BATCH]
        last = self._sealed and not self._pending
        message = self._turn.invocation
        replies = self._turn.is_queued and not self._replied and message.is_in_channel
        request = SendRequest(
            turn_id=self._turn_id,
            channel_id=message.channel_id,
            trigger_message_id=message.message_id,
            persona_id=self._turn.persona_id,
            generation=self._turn.generation,
            outgoing=[outgoing for _, outgoing in batch],
            voice=self._turn.voice,
            # A webhook knows no nonces: what it may have said already is looked for after this.
            after_message_id=self.newest_message_id,
            sent_before=[] if self._turn.voice.is_main else self._message_ids(),
            reply_to=message.message_id if replies else None,
            last=last,
        )
        self._replied = True
        self._sending = len(batch)
        try:
            result = await self._send(request)
        finally:
            self._sending = 0
        origins = {outgoing.ordinal: origin for origin, outgoing in batch}
        arrived = {sent.ordinal for sent in result.sent}
        if self._cut and any(each.ordinal not in arrived for _, each in batch):
            self.was_cut = True
        if any(at == WORKING and each.ordinal not in arrived for at, each in batch):
            self._working_unknown = True
        for sent in result.sent:
            origin = origins[sent.ordinal]
            self._ledger.append(Row(origin, sent.ordinal, sent.message_id, sent.webhook_id))
        self._progress.delivered(len(self._ledger))
        self.refusal = result.refusal
        self._typing_ended = last and result.refusal is None

    async def _send(self, request: SendRequest) -> SendResult:
        """Send inside Discord's nonce window; past it, never again without reading first."""
        count = len(request.outgoing)
        summary = f"{self._turn.persona_name}: {count} segment{'s' if count > 1 else ''}"
        handle = start(SEND_SEGMENTS, request, summary=summary, task_queue=self._queue)
        try:
            return await self._sent(handle)
        except ActivityError:
            workflow.logger.warning("not sent inside the nonce window; reading the channel first")
        request = request.model_copy(
            update={
                "reconcile": True,
                "after_message_id": self.newest_message_id,
                "sent_before": self._message_ids(),
            }
        )
        handle = start(
            SEND_SEGMENTS,
            request,
            summary=f"{summary}, after reading the channel",
            task_queue=self._queue,
            policy=RECONCILE_POLICY,
        )
        try:
            return await self._sent(handle)
        except ActivityError:
            return SendResult(refusal=Refusal(code=0, message="Discord was out of reach too long"))

    async def _sent(self, handle: workflow.ActivityHandle[SendResult]) -> SendResult:
        """The send's result. After a stop, what had gone out before it still enters the ledger; it
        ends between two messages. Raises ActivityError."""
        await workflow.wait_condition(lambda: handle.done() or self._stop.requested or self._cut)
        if handle.done() and not self._stop.requested:
            return await handle
        await settle(handle)
        if handle.done() and not handle.cancelled() and handle.exception() is None:
            return handle.result()
        return SendResult(stopped=True)

    async def _delete_stale(self) -> None:
        """Take away what an attempt that died had shown."""
        stale = list(self._stale)
        rows = [row for row in self._ledger if row.origin in stale]
        if rows:
            request = DeleteRequest(
                turn_id=self._turn_id,
                channel_id=self._turn.invocation.channel_id,
                message_ids=[row.message_id for row in rows],
                webhook_ids={row.message_id: row.webhook_id for row in rows if row.webhook_id},
            )
            handle = start(
                DELETE_MESSAGES,
                request,
                summary=f"the worker died: {len(rows)} unfinished messages go",
                task_queue=self._queue,
            )
            try:
                await outcome_of(handle, self._stop)
            except ActivityError:
                workflow.logger.error("messages of a dead attempt could not be deleted")
        self._ledger = [row for row in self._ledger if row.origin not in stale]
        self._stale = [origin for origin in self._stale if origin not in stale]
        if not self._ledger:
            self._replied = False  # the reply went with them

    def _attempt(self, call_index: int, attempt: int) -> _Call | None:
        """The call's state for this attempt; None when a later attempt has begun already."""
        call = self._calls.setdefault(call_index, _Call(attempt=attempt))
        if attempt < call.attempt:
            return None
        if attempt > call.attempt:
            dead = [Origin(call_index, number) for number in range(1, attempt)]
            self._pending = [item for item in self._pending if item[0] not in dead]
            self._stale.extend(dead)
            call = self._calls[call_index] = _Call(attempt=attempt)
        return call

    def _append(
        self, origin: Origin, text: str, kind: OutgoingKind, like: Outgoing | None = None
    ) -> None:
        if self._stop.requested or self.refusal is not None:
            return
        if self._muted and origin not in _OWN:
            return
        if kind is OutgoingKind.TEXT:
            self._said[self._next_ordinal] = text
        outgoing = (like or Outgoing(ordinal=0, text="")).model_copy(
            update={"ordinal": self._next_ordinal, "text": text, "kind": kind}
        )
        self._next_ordinal += 1
        self._pending.append((origin, outgoing))
