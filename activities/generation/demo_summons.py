"""What the demo model makes of a turn that no message began: a reminder, a task, a report. Pure.

In: the note that closes the context (`activities.context.summons`). Out: a `Summons`, or None for
anything else. What always holds: a member's line begins with their name, so nobody can write one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum, auto

_QUOTED = r'"([^"\n]*)"'
"""Nothing inside ends it early, see `activities.context.lines.quoted`."""
_WHERE = r'(?:"?(#[^"\n]*?)"?|another channel)'

_REMINDER = re.compile(
    rf"\A\[A reminder has come due\. Remind (<@\d+>) now,[^\"\n]*: {_QUOTED}\.", re.DOTALL
)
_OWN_TASK = re.compile(rf"\A\[A task that you set for yourself has come due: {_QUOTED}\.")
_SENT = re.compile(rf'\A\[("?)(.+?)\1 has sent you here from {_WHERE} with a task: {_QUOTED}\.')
_BACK = re.compile(
    rf'\A\[You are back from {_WHERE}, where ("?)(.+?)\2 had sent you with a task: {_QUOTED}\. '
    r"(.*?) ?Tell "
)
_LOST = re.compile(rf'\A\[You were in another channel with a task from ("?)(.+?)\1: {_QUOTED}\.')
_SAID_THERE = re.compile(rf"^  {_QUOTED}\]?$", re.MULTILINE)


class Kind(StrEnum):
    REMINDER = auto()
    OWN_TASK = auto()
    SENT_HERE = auto()
    BACK = auto()
    LOST = auto()


@dataclass(frozen=True)
class Summons:
    kind: Kind
    task: str
    """What is to be said or done, as it was written."""
    mention: str = ""
    """Of a reminder: whom to mention, as it has to stand in the answer."""
    asked_by: str = ""
    where: str = ""
    """The other channel, with its `#`; empty where it is not named."""
    outcome: str = ""
    """Of a report: how it came out, in a sentence or two."""
    last_said: str = ""
    """Of a report: the last message there, with its author; empty without any."""


def read_summons(note: str) -> Summons | None:
    if found := _REMINDER.match(note):
        return Summons(Kind.REMINDER, found[2], mention=found[1])
    if found := _OWN_TASK.match(note):
        return Summons(Kind.OWN_TASK, found[1])
    if found := _SENT.match(note):
        return Summons(Kind.SENT_HERE, found[4], asked_by=found[2], where=found[3] or "")
    if found := _BACK.match(note):
        said = _SAID_THERE.findall(note)
        return Summons(
            Kind.BACK,
            found[4],
            asked_by=found[3],
            where=found[1] or "",
            outcome=found[5],
            last_said=said[-1] if said else "",
        )
    if found := _LOST.match(note):
        return Summons(Kind.LOST, found[3], asked_by=found[2])
    return None
