"""Whether whoever asked for a reminder may still have it said where it is due.

In: one occurrence of a reminder. Out: that it may be said, or why not. What always holds: the
member's rights are asked of Discord anew, and of the server's own list; a reminder in direct
messages, and one that is gone or due at another time, is for others to judge.
"""

from __future__ import annotations

from temporalio import activity
from temporalio.exceptions import ApplicationError

from storage import Reminder, Storage
from workflows.contracts.discord_port import DiscordPort, DiscordRefused
from workflows.contracts.reminders import CHECK_REMINDER, ReminderKey, ReminderStanding


class ReminderRights:
    def __init__(self, port: DiscordPort, storage: Storage) -> None:
        self._port = port
        self._storage = storage

    @activity.defn(name=CHECK_REMINDER.name)
    async def check_reminder(self, key: ReminderKey) -> ReminderStanding:
        """Raises StorageError, and ApplicationError where Discord does not say."""
        reminder = await self._storage.reminders.get(key.reminder_id)
        if reminder is None or reminder.due_at != key.due or reminder.guild_id is None:
            return ReminderStanding()
        config = await self._storage.configs.server(reminder.server_key)
        if reminder.user_id in config.access.blocked_user_ids:
            return _refused(reminder, "You are not answered on this server.", for_good=True)
        sending = "send_messages_in_threads" if reminder.is_thread else "send_messages"
        try:
            held = await self._port.permissions(
                reminder.guild_id, reminder.channel_id, reminder.user_id
            )
            if {"view_channel", sending} <= held:
                return ReminderStanding()
            is_member = await self._port.is_member(reminder.guild_id, reminder.user_id)
        except DiscordRefused as refused:
            raise ApplicationError(f"it cannot be told: {refused.reason}") from refused
        if is_member:
            return _refused(reminder, "You may not write there at the moment.", for_good=False)
        return _refused(reminder, "You are not a member of that server any more.", for_good=True)


def _refused(reminder: Reminder, why: str, *, for_good: bool) -> ReminderStanding:
    return ReminderStanding(
        allowed=False,
        why=why,
        is_over=for_good,
        recurs=reminder.interval_hours > 0,
        user_id=reminder.user_id,
        channel_id=reminder.channel_id,
        purpose=reminder.purpose,
    )
