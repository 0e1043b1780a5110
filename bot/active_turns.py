"""Who is being answered, and by whom: one turn at most in each channel.

For: what a member writes while they are being answered may be a follow-up or a stop in words
(behaviour 2.3, 2.4) although it addresses nobody, so it must reach the channel's workflow; and what
a persona says belongs to the member whose message began it. In: what is handed to Temporal; the
requests of turns that this process carries out, seen on their way to the activities, and what came
of them; the turns that run, as Temporal lists them (`running_turns`). Out: an `ActiveTurn`, from
memory.
What always holds: a turn is active from its first request until its typing has ended or its last
message is out, or until nothing was heard of it for LONGEST; one that was begun in another process
is known without its owner, who may then be anybody. Whoever has asked counts as being answered
already, and a little longer than their turn seems to run: what comes to nothing in the channel's
workflow costs a signal, what never reaches it is lost. A message is the turn's that sent it,
however late it arrives, and whoever is being answered by then.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import discord
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
)

from workflows.contracts.base import turn_workflow_id
from workflows.contracts.delivery import EndTyping, SendRequest, SendResult, spoken_in
from workflows.contracts.history import HistoryRequest
from workflows.contracts.invocation import Addressed, ChatIncoming

LONGEST = 15 * 60.0
"""Seconds without a request: longer than any tool may run."""
ENDED_COUNTS = 60.0
"""Seconds for which what the turn said may still arrive."""
GRACE = 5.0
"""Seconds for which its owner still counts as being answered: an empty answer is asked for again
after a second, and the next persona of the same message has to be planned first."""
EXPECTED_WITHIN = 60.0
"""Seconds in which who has asked has a turn, from the moment at which nothing stood before it. Many
never have one: a rule of the server's, or a count, decides that later."""
CHANNELS_KEPT = 10_000
MESSAGES_KEPT = 10_000
MEMBERS_KEPT = 100
"""Who wait in one channel."""


@dataclass(frozen=True)
class ActiveTurn:
    turn_id: str
    persona_id: int
    owner_id: str = ""
    """The member who is being answered; empty: nobody here knows."""
    heard_at: float = 0.0
    ended: bool = False

    def may_answer(self, user_id: str) -> bool:
        return self.owner_id in ("", user_id)


class RunningTurn(NamedTuple):
    """As its workflow's id tells it."""

    channel_id: str
    turn_id: str
    persona_id: int


@dataclass(frozen=True)
class _Asked:
    message_id: str
    at: float


class ActiveTurns:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turns: OrderedDict[str, ActiveTurn] = OrderedDict()
        self._sent: OrderedDict[str, ActiveTurn] = OrderedDict()
        """By the ids of messages."""
        self._asked: OrderedDict[str, OrderedDict[str, _Asked]] = OrderedDict()
        """By channel and member, their newest message that has no turn yet."""

    def active(self, channel_id: str) -> ActiveTurn | None:
        """The turn that runs in the channel."""
        turn = self._turns.get(channel_id)
        if turn is None or turn.ended:
            return None
        return turn if self._clock() - turn.heard_at < LONGEST else None

    def latest(self, channel_id: str) -> ActiveTurn | None:
        """The turn that runs in the channel, or has ended so lately that its words may still be on
        their way to us."""
        turn = self._turns.get(channel_id)
        if turn is None or not turn.ended:
            return self.active(channel_id)
        return turn if self._clock() - turn.heard_at < ENDED_COUNTS else None

    def sender(self, message: discord.Message) -> ActiveTurn | None:
        """The turn that sent a message of ours: by the id that Discord gave it, or, before that is
        known here and where another process sent it, by its nonce, which Discord repeats in the
        event. A webhook's has none. None: nothing tells."""
        known = self._sent.get(str(message.id))
        spoken = spoken_in(message.nonce) if known is None else None
        if spoken is None:
            return known
        channel_id = str(message.channel.id)
        turn_id = turn_workflow_id(channel_id, *spoken)
        latest = self._turns.get(channel_id)
        if latest is not None and latest.turn_id == turn_id:
            return latest
        return ActiveTurn(turn_id, spoken.persona_id)

    def said_by(self, message: discord.Message) -> int | None:
        """The persona for which a message of the bot's account was sent, if that is known."""
        turn = self.sender(message)
        return turn.persona_id if turn is not None else None

    def is_answered(self, channel_id: str, user_id: str) -> bool:
        """Whether a turn answers this member in the channel, or is about to, or has just done."""
        turn = self._turns.get(channel_id)
        now = self._clock()
        free_since = 0.0
        if turn is not None and not turn.ended and now - turn.heard_at < LONGEST:
            return turn.may_answer(user_id)
        if turn is not None and turn.ended:
            free_since = turn.heard_at
            if now - free_since < GRACE and turn.may_answer(user_id):
                return True
        waiting = self._asked.get(channel_id)
        asked = waiting.get(user_id) if waiting is not None else None
        if asked is None or now - asked.at >= LONGEST:
            return False
        return now - max(asked.at, free_since) < EXPECTED_WITHIN

    def asked(self, incoming: ChatIncoming) -> None:
        """A message is on its way to its channel's workflow."""
        if incoming.is_persona_job or incoming.addressed is Addressed.NOT:
            return  # nobody waits for an answer to it
        members = self._asked.setdefault(incoming.channel_id, OrderedDict())
        members[incoming.author_id] = _Asked(incoming.message_id, self._clock())
        members.move_to_end(incoming.author_id)
        if len(members) > MEMBERS_KEPT:
            members.popitem(last=False)
        self._asked.move_to_end(incoming.channel_id)
        if len(self._asked) > CHANNELS_KEPT:
            self._asked.popitem(last=False)

    @property
    def owners_unknown(self) -> bool:
        """Whether a turn runs of which nobody here knows whom it answers."""
        return any(
            not turn.owner_id and self.active(channel_id) is not None
            for channel_id, turn in self._turns.items()
        )

    def listed(self, running: Iterable[RunningTurn]) -> None:
        """Temporal has told all turns that run, without their owners. What is known from their
        requests is known better; a turn of another process's that is not among them is over."""
        found = {turn.turn_id: turn for turn in running}
        for channel_id, turn in list(self._turns.items()):
            if not turn.owner_id and turn.turn_id not in found:
                self.end(channel_id, turn.turn_id)
        for turn in found.values():
            known = self._turns.get(turn.channel_id)
            if known is None or (known.turn_id == turn.turn_id and not known.ended):
                self._note(turn.channel_id, turn.turn_id, turn.persona_id)

    def heard(self, request: object) -> None:
        """A request of a turn is about to be carried out."""
        match request:
            case HistoryRequest():
                self._has_its_turn(request)
                self._note(
                    request.channel_id, request.turn_id, request.persona_id, request.owner_id
                )
            case SendRequest() if request.persona_id:  # 0: the channel itself tells something
                self._note(request.channel_id, request.turn_id, request.persona_id)
            case _:
                return

    def carried_out(self, request: object, result: object = None) -> None:
        """It has been: its turn may have said something, and its last."""
        if isinstance(request, SendRequest) and isinstance(result, SendResult):
            self._remember(request, result)
        if isinstance(request, EndTyping) or (isinstance(request, SendRequest) and request.last):
            self.end(request.channel_id, request.turn_id)

    def end(self, channel_id: str, turn_id: str) -> None:
        """Another turn's in the same channel goes on."""
        turn = self._turns.get(channel_id)
        if turn is not None and turn.turn_id == turn_id and not turn.ended:
            self._turns[channel_id] = replace(turn, ended=True, heard_at=self._clock())

    def _has_its_turn(self, request: HistoryRequest) -> None:
        waiting = self._asked.get(request.channel_id)
        asked = waiting.get(request.owner_id) if waiting is not None else None
        if waiting is None or asked is None or asked.message_id != request.trigger_message_id:
            return
        del waiting[request.owner_id]
        if not waiting:
            del self._asked[request.channel_id]

    def _remember(self, request: SendRequest, result: SendResult) -> None:
        turn = self._turns.get(request.channel_id)
        if turn is None or turn.turn_id != request.turn_id:
            turn = ActiveTurn(request.turn_id, request.persona_id)
        for sent in result.sent:
            self._sent[sent.message_id] = turn
        while len(self._sent) > MESSAGES_KEPT:
            self._sent.popitem(last=False)

    def _note(self, channel_id: str, turn_id: str, persona_id: int, owner_id: str = "") -> None:
        known = self._turns.get(channel_id)
        if known is not None and known.turn_id == turn_id:
            owner_id = owner_id or known.owner_id
            persona_id = persona_id or known.persona_id
        self._turns[channel_id] = ActiveTurn(turn_id, persona_id, owner_id, self._clock())
        self._turns.move_to_end(channel_id)
        while len(self._turns) > CHANNELS_KEPT:
            self._turns.popitem(last=False)


class WatchedTurns(Interceptor):
    """Tells `ActiveTurns` of every request that the Discord queue carries out."""

    def __init__(self, turns: ActiveTurns) -> None:
        self._turns = turns

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Watching(next, self._turns)


class _Watching(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, turns: ActiveTurns) -> None:
        super().__init__(next)
        self._turns = turns

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        for argument in input.args:
            self._turns.heard(argument)
        result = await super().execute_activity(input)
        for argument in input.args:
            self._turns.carried_out(argument, result)
        return result
