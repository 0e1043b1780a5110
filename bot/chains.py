"""What personas say to each other: who began it, and what of it starts anything.

A persona that names another starts a turn like a member does (behaviour 2.1 row 8, 5.1), on behalf
of the member whose message began it all. In: what the bot hears and sends. Out: a `Begun` for such
a message, and which personas it newly calls. Kept in memory and bounded: what was forgotten, or
began in another process, is said by the bot itself.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TypeVar

import discord

from bot.active_turns import ActiveTurn
from bot.normalise import Begun

SUPPRESSED_FOR = 5.0
"""Seconds (behaviour 2.1 row 2) after a stop: what was on its way then starts nothing anew."""
CHANNELS_KEPT = 10_000
MEMBERS_KEPT = 10_000
TURNS_KEPT = 2_000

Value = TypeVar("Value")


class PersonaChains:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._newest: OrderedDict[str, str] = OrderedDict()
        self._names: OrderedDict[str, str] = OrderedDict()
        self._called: OrderedDict[str, set[int]] = OrderedDict()
        self._suppressed_at: OrderedDict[str, float] = OrderedDict()

    def person_spoke(self, channel_id: str, message_id: str) -> None:
        """A person has said something in the channel, whomever it is for: a chain of personas
        begins anew after it (row 4)."""
        _keep(self._newest, channel_id, message_id, CHANNELS_KEPT)

    def person_addressed_us(self, user_id: str, name: str) -> None:
        """What is said in a chain that they began is said on their behalf."""
        _keep(self._names, user_id, name, MEMBERS_KEPT)

    def begun(self, channel_id: str, turn: ActiveTurn | None, me: discord.abc.User) -> Begun:
        """`turn`: whose words the message is."""
        newest = self._newest.get(channel_id)
        if turn is None or not turn.owner_id or turn.owner_id == str(me.id):
            return Begun(str(me.id), me.display_name, newest)
        return Begun(turn.owner_id, self._names.get(turn.owner_id, ""), newest)

    def newly_called(self, turn: ActiveTurn | None, persona_ids: Iterable[int]) -> tuple[int, ...]:
        """Those that no other message of the same answer has called: an answer is one thing that
        a persona says, in however many messages it stands."""
        if turn is None:
            return tuple(persona_ids)
        called = self._called.get(turn.turn_id, set[int]())
        new = tuple(persona_id for persona_id in persona_ids if persona_id not in called)
        _keep(self._called, turn.turn_id, called | set(new), TURNS_KEPT)
        return new

    def suppress(self, channel_id: str) -> None:
        """The next persona's message in the channel starts nothing, if it comes soon."""
        _keep(self._suppressed_at, channel_id, self._clock(), CHANNELS_KEPT)

    def is_suppressed(self, channel_id: str) -> bool:
        at = self._suppressed_at.get(channel_id)
        if at is None:
            return False
        if self._clock() - at < SUPPRESSED_FOR:
            return True
        del self._suppressed_at[channel_id]
        return False

    def consume(self, channel_id: str) -> None:
        """That message has come."""
        self._suppressed_at.pop(channel_id, None)


def _keep(memory: OrderedDict[str, Value], key: str, value: Value, most: int) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > most:
        memory.popitem(last=False)
