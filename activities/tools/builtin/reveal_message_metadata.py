"""`reveal_message_metadata`: shows the model by which references, and when, messages were written.

It answers with a restart (behaviour 6.6): the model is asked again, with the references in its
context, as if it had not called.
"""

from __future__ import annotations

from activities.context.document import load_document
from activities.context.references import revealed
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage import BlobMissing
from storage.config import ServerConfig
from workflows.contracts.history import ChannelHistory
from workflows.contracts.tools import (
    REVEAL_MESSAGE_METADATA,
    ContextRestart,
    RestartKind,
    Situation,
    ToolContext,
)

NO_CONTEXT = "The conversation of this turn is not available; answer without references."
REVEALED_ALREADY = "The references are shown already; do not call this again."


class RevealArguments(ToolArguments):
    """None."""


async def reveal_message_metadata(
    arguments: RevealArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    try:
        document = await load_document(resources.storage, context)
        if document.basis is None or document.basis.turn_id != context.turn_id:
            raise ToolFailure(NO_CONTEXT)
        if document.basis.reveals_messages:
            raise ToolFailure(REVEALED_ALREADY)
        history = await resources.storage.blobs.get_model(document.basis.history_id, ChannelHistory)
    except BlobMissing:
        raise ToolFailure(NO_CONTEXT) from None
    richer = revealed(document, history.messages)
    return Answer(
        output={"status": "revealed"},
        restart=ContextRestart(
            kind=RestartKind.MESSAGE_METADATA,
            context_id=await resources.storage.blobs.put_model("context", richer),
        ),
    )


def _is_available(situation: Situation, config: ServerConfig) -> bool:
    return REVEAL_MESSAGE_METADATA not in situation.disabled


TOOL = Tool(
    name=REVEAL_MESSAGE_METADATA,
    description=(
        "Show the reference (ref_1, ref_2, …) and the time of each recent message in this "
        "conversation. Call it first when another tool needs to know which message is meant, or "
        "when it matters when something was said. At most once in an answer."
    ),
    arguments=RevealArguments,
    run=reveal_message_metadata,
    is_available_for_context=_is_available,
    deliberate_target="message-action",
)
