"""What a person reads in the Temporal UI: summaries and current details. Pure.

Names and states only. Summaries and details are covered by the payload codec, but no content of a
conversation belongs there all the same.
"""

from __future__ import annotations

from workflows.contracts.invocation import ChatIncoming, Origin
from workflows.contracts.turn import TurnInput


def place(message: ChatIncoming) -> str:
    if message.is_dm:
        return f"a direct message with {message.author_name}"
    return f"#{message.channel_name}" if message.channel_name else f"channel {message.channel_id}"


def plan(message: ChatIncoming) -> str:
    return f"who {_deed(message)} in {place(message)}"


def turn(turn: TurnInput) -> str:
    return f"{turn.persona_name} {_deed(turn.invocation)} in {place(turn.invocation)}"


def _deed(message: ChatIncoming) -> str:
    """What a turn does for `message`: most answer somebody."""
    match message.origin:
        case Origin.MESSAGE:
            return f"answers {message.author_name}"
        case Origin.REMINDER:
            return _reminds(message)
        case Origin.CROSS_CHANNEL:
            return f"does a task for {message.author_name}"
        case Origin.BOOMERANG:
            return f"reports back to {message.author_name}"


def _reminds(message: ChatIncoming) -> str:
    recipient = message.reminder.recipient_id if message.reminder else None
    if recipient is None:
        return "does a task of its own"
    if recipient == message.author_id:
        return f"reminds {message.author_name}"
    return f"reminds user {recipient} for {message.author_name}"


def channel_details(busy: bool, waiting: int) -> str:
    now = "A turn is running." if busy else "Idle."
    queue = "Nothing waits." if not waiting else f"**{waiting}** waiting in the queue."
    return f"{now} {queue}"
