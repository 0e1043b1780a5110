"""How a reminder is told: to the model, and to people."""

from __future__ import annotations

from typing import Any

from storage.reminders import Reminder


def described(reminder: Reminder, *, whole: bool = True) -> dict[str, Any]:
    """For the model; without `whole` not what it is about, and where, which are for another
    channel."""
    times = {
        "due": f"{reminder.wall_time:%Y-%m-%d %H:%M}",
        "timezone": reminder.zone,
        "repetition_interval_hours": reminder.interval_hours,
    }
    if not whole:
        return {"task_id": reminder.id, **times}
    return {
        "task_id": reminder.id,
        "purpose": reminder.purpose,
        **times,
        "channel": f"#{reminder.channel_name}" if reminder.channel_name else "this conversation",
        "reminds_user_id": reminder.recipient_id,
    }


def title_of(reminder: Reminder, recipient: str | None) -> str:
    """For people, in one line. `recipient`: a name, if there is one at hand."""
    what = "Task" if reminder.recipient_id is None else "Reminder"
    if recipient:
        what = f"{what} for {recipient}"
    when = f"{reminder.wall_time:%Y-%m-%d %H:%M} ({reminder.zone})"
    return f"{what}: {when}{_repeated(reminder.interval_hours)}"


def summary_of(reminder: Reminder) -> str:
    """For whoever operates this, without what it is about: it names the workflow in the UI."""
    what = f"Reminder {reminder.id} for {reminder.user_name or reminder.user_id}"
    if reminder.recipient_id is None:
        what = f"Task {reminder.id} of the persona's own"
    elif reminder.recipient_id != reminder.user_id:
        what = f"Reminder {reminder.id} for user {reminder.recipient_id}"
    return f"{what} in {'a direct message' if reminder.is_dm else f'#{reminder.channel_name}'}"


def _repeated(hours: int) -> str:
    if hours == 0:
        return ""
    if hours % 24:
        return ", every hour" if hours == 1 else f", every {hours} hours"
    days = hours // 24
    return ", every day" if days == 1 else f", every {days} days"
