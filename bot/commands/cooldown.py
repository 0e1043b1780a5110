"""How long a member waits between commands (behaviour 17): in this process's memory, no round trip.

In: who calls which command. Out: None, and the wait begins; or how long it still is, in one line
for the caller. What always holds: a command that is turned away prolongs nothing; nobody waits to
stop something (`/kill`; the Stop button is no command, nor is a form that was filled in: its
command has been counted); memory is bounded, and what does not fit is let through. Members with
Manage Server wait too: behaviour 5.4 exempts them from the types 1 to 3 of cooldowns, and this is
type 5.

A category is a command with all that is below it, such as `/persona`; each has a wait of its own.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import discord

PERSONA = 10.0
LISTED = 3.0
OTHERS = 1.6
"""Seconds (behaviour 17)."""

_SECONDS = {
    "kill": 0.0,
    "persona": PERSONA,
    # those that behaviour 17 lists by name
    **dict.fromkeys(("config", "personal", "refresh", "respond"), LISTED),
}

REMEMBERED = 10_000
"""Waits of members that are kept at a time; past that the oldest are forgotten."""


class CommandCooldowns:
    def __init__(self, scale: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        """`scale`: `COMMAND_COOLDOWN_SCALE`; 0: nobody waits. `clock`: in seconds."""
        self._scale = scale
        self._clock = clock
        self._free_at: OrderedDict[tuple[int, str], float] = OrderedDict()

    def begin(self, user_id: int, category: str) -> str | None:
        """None: go ahead, and the wait of this member and category begins."""
        length = _SECONDS.get(category, OTHERS) * self._scale
        if length <= 0:
            return None
        now = self._clock()
        key = user_id, category
        left = self._free_at.get(key, now) - now
        if left > 0:
            return told(category, left)
        self._free_at[key] = now + length
        self._free_at.move_to_end(key)
        if len(self._free_at) > REMEMBERED:
            self._free_at.popitem(last=False)
        return None


def category_of(interaction: discord.Interaction[Any]) -> str | None:
    """None: no command, but what comes after one, or before it."""
    command = interaction.command
    if interaction.type is not discord.InteractionType.application_command or command is None:
        return None
    root = getattr(command, "root_parent", None) or command
    return root.name


def told(category: str, left: float) -> str:
    seconds = math.ceil(left)
    unit = "second" if seconds == 1 else "seconds"
    return f"You have used /{category} just now. You can use it again in {seconds} {unit}."
