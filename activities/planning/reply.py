"""Is the message answered? Behaviour 5.1, with the settings as they are now. Pure.

In: the message, whom its words call, and whether the channel's count is reached. Out: yes or no;
commands, stop responses, and what the system itself has begun, are not asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.planning.known import Known, places, spotlight_persona
from storage import Persona
from workflows.contracts.invocation import Addressed, ChatIncoming

TO_US = (
    Addressed.COMMAND,
    Addressed.DIRECT_MESSAGE,
    Addressed.MENTION,
    Addressed.REPLY,
)


def is_unasked(message: ChatIncoming) -> bool:
    """The gates for triggers do not apply."""
    return message.is_manual or message.is_stop_response or message.is_synthetic


def is_answered(
    message: ChatIncoming, known: Known, called: Sequence[Persona], *, count_reached: bool
) -> bool:
    if is_unasked(message):
        return True
    if message.addressed is Addressed.NOT:
        return False
    if message.author_persona_id is not None:
        # personas answer each other only by name, else a channel would never be quiet again
        return bool(called)
    if message.addressed in TO_US or called:
        return True
    return (
        count_reached
        or replies_always(message, known)
        or spotlight_persona(message, known) is not None
    )


def replies_always(message: ChatIncoming, known: Known) -> bool:
    """Whether everything that people say here is answered."""
    if message.guild_id is None:
        return False
    triggers = known.server.triggers
    return triggers.always_reply or bool(
        set(triggers.always_reply_channel_ids) & set(places(message))
    )
