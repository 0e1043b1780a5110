"""Whether a reminder that waits in its channel's queue is still wanted.

In: a message that is about to be planned. Out: False when what it delivers was taken away, moved or
worded anew since it was asked for, or tasks were switched off in its server. Its workflow hears
that nobody answered, and asks again for what its row says by then.
"""

from __future__ import annotations

from storage import Storage
from workflows.contracts.invocation import ChatIncoming, Origin


async def still_stands(storage: Storage, invocation: ChatIncoming) -> bool:
    """True for everything that is no reminder. Raises StorageError."""
    reminder = invocation.reminder
    if invocation.origin is not Origin.REMINDER or reminder is None:
        return True
    if invocation.is_persona_job or invocation.is_stop_response:
        return True  # it has been delivered, and its row may rightly have moved on
    row = await storage.reminders.get(reminder.reminder_id)
    if row is None:
        return False
    wanted = (row.channel_id, row.recipient_id, row.purpose)
    asked = (invocation.channel_id, reminder.recipient_id, invocation.content)
    if wanted != asked or reminder.due not in (None, row.due_at):
        return False
    return (await storage.configs.server(row.server_key)).tools.tasks
