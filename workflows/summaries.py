"""What a person reads in the Temporal UI: summaries and current details. Pure.

Names and states only. Summaries and details are covered by the payload codec, but no content of a
conversation belongs there all the same.
"""

from __future__ import annotations

from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.turn import TurnInput


def place(message: ChatIncoming) -> str:
    if message.is_dm:
        return f"a direct message with {message.author_name}"
    return f"#{message.channel_name}" if message.channel_name else f"channel {message.channel_id}"


def plan(message: ChatIncoming) -> str:
    return f"who answers {message.author_name} in {place(message)}"


def turn(turn: TurnInput) -> str:
    return f"{turn.persona_name} answers {turn.invocation.author_name} in {place(turn.invocation)}"


def channel_details(busy: bool, waiting: int) -> str:
    now = "A turn is running." if busy else "Idle."
    queue = "Nothing waits." if not waiting else f"**{waiting}** waiting in the queue."
    return f"{now} {queue}"
