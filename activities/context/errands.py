"""Row 06: what is still to come due, with the ids by which it can be changed."""

from __future__ import annotations

from collections.abc import Sequence

from activities.context.lines import channel, local_time, plain_line
from storage import Reminder

MAX_SHOWN = 10
"""For each person, and of the persona's own tasks; the next ones."""

PURPOSE_LENGTH = 200


def reminder_lines(reminders: Sequence[Reminder], user_id: str) -> list[str]:
    """The reminders that `user_id` is to get, the next one first."""
    return _lines("reminder", [r for r in reminders if r.recipient_id == user_id])


def task_lines(reminders: Sequence[Reminder]) -> list[str]:
    """The persona's own tasks, the next one first."""
    return _lines("task", [r for r in reminders if r.recipient_id is None])


def _lines(kind: str, reminders: Sequence[Reminder]) -> list[str]:
    coming = sorted(reminders, key=lambda r: (r.due_at, r.id))[:MAX_SHOWN]
    return [_line(kind, reminder) for reminder in coming]


def _line(kind: str, reminder: Reminder) -> str:
    where = "in direct messages"
    if not reminder.is_dm:
        where = f"in {channel(reminder.channel_name)}" if reminder.channel_name else ""
    hours = reminder.interval_hours
    facts = (
        local_time(reminder.due_at, reminder.zone),
        f"then every {hours} h" if hours else "",
        where,
    )
    when = ", ".join(fact for fact in facts if fact)
    return f"[{kind}:{reminder.id}] {when}: {plain_line(reminder.purpose, PURPOSE_LENGTH)}"
