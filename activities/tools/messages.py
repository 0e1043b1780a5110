"""Messages that a tool acts on, and the names of those that it sends.

In: what the model calls a message (`ref_3`, or an id), and the turn. Out: the message as it is in
the channel now, and nonces. It changes nothing.
What always holds: a tool acts only on messages of the conversation that the model sees, and on our
own in the same channel; a nonce never meets one of the turn's outbox.
"""

from __future__ import annotations

import re

from activities.context.document import ContextDocument
from activities.tools.resources import ToolResources
from activities.tools.tool import ToolFailure
from workflows.contracts.delivery import message_nonce
from workflows.contracts.history import HistoryMessage
from workflows.contracts.tools import ToolContext

NONCE_PREFIX = 22
"""Of a nonce's characters: all but the part, which whoever sends the parts appends."""

_ORDINALS = 36**3
"""How many ordinals a nonce has room for. The outbox counts from 0 up, tools from the end down."""
_TOOL_ORDINALS = 10_000
_CALLS_IN_A_RESPONSE = 32

MAX_MESSAGE_NAME = 40
"""Code points of `ref_N` or an id, as a model writes it."""

_SNOWFLAKE = re.compile(r"[0-9]{1,20}")
_TURN_WITH_GENERATION = re.compile(r"turn/[^/]+/[^/]+/[^/]+/([0-9]+)")


def tool_ordinal(context: ToolContext) -> int:
    """The ordinal of what this call sends; another call of the turn has another one."""
    call = context.iteration * _CALLS_IN_A_RESPONSE + context.position
    return _ORDINALS - 1 - call % _TOOL_ORDINALS


def tool_nonce(context: ToolContext) -> str:
    """The first `NONCE_PREFIX` characters of the nonces of what this call sends."""
    generation = _TURN_WITH_GENERATION.fullmatch(context.turn_id)
    return message_nonce(
        context.trigger_message_id,
        context.persona_id,
        int(generation[1]) if generation else 0,
        tool_ordinal(context),
        0,
    )[:NONCE_PREFIX]


def is_own(message: HistoryMessage, context: ToolContext) -> bool:
    """Whether the persona that acts has said it. Several may speak through the bot's account, the
    others through webhooks; of a message of the account's that nobody is known for, all have."""
    if message.persona_id is None or not context.persona_id:
        return message.is_self
    return message.persona_id == context.persona_id


async def message_named(
    name: str, document: ContextDocument, context: ToolContext, resources: ToolResources
) -> HistoryMessage:
    """The message that the model means, asked anew. Raises ToolFailure.

    One that is not in the conversation is found only if it is our own: this turn may have sent it.
    """
    known = document.message_of(name)
    message_id = known.message_id if known is not None else name.strip()
    if known is None and not _SNOWFLAKE.fullmatch(message_id):
        raise ToolFailure(
            f"There is no message {name[:MAX_MESSAGE_NAME]!r} in this conversation; "
            "name one by its ref_N or its id."
        )
    message = await resources.discord.get_message(context.channel_id, message_id)
    if message is None:
        gone = "has been deleted" if known is not None else "is not in this conversation"
        raise ToolFailure(f"The message {name[:MAX_MESSAGE_NAME]} {gone}.")
    if known is None and not is_own(message, context):
        raise ToolFailure(f"The message {message_id} is not in this conversation.")
    return message
