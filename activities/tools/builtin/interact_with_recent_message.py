"""`interact_with_recent_message`: a reaction or a reply to a message of the conversation.

Only messages that the model sees can be meant. The reply of a queued turn is the turn itself, so
there it only reacts (behaviour 16).
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, Field

from activities.context.document import load_document
from activities.tools.channels import THE_BOT, own_permissions, require, sending_in
from activities.tools.messages import MAX_MESSAGE_NAME, tool_nonce
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage.config import ServerConfig
from workflows.contracts.invocation import Source
from workflows.contracts.tools import DISCORD_TOOLS, Situation, ToolContext

MAX_REPLY = 4_000
MAX_EMOJI = 60
"""Code points: a custom emoji is a name of 32, an id of 20, and what is around them."""

READ_HISTORY = "read_message_history"
ADD_REACTIONS = "add_reactions"

_EMOJI = re.compile(r"\S{1,60}")


class InteractArguments(ToolArguments):
    action: Literal["react", "reply"] = Field(
        description="`react` adds an emoji to the message, `reply` answers it."
    )
    message_id: str = Field(
        min_length=1,
        max_length=MAX_MESSAGE_NAME,
        description="The message: its ref_N, or its id.",
    )
    content: str = Field(
        min_length=1,
        max_length=MAX_REPLY,
        description=(
            "For `react` one emoji: a character, or :name: of one of the server's. For `reply` "
            "the text."
        ),
    )


class Interaction(BaseModel):
    done: str
    message_ids: list[str] = []
    """Of a reply."""


async def interact(
    arguments: InteractArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    is_reply = arguments.action == "reply"
    if is_reply and _is_queued(context):
        raise ToolFailure("Your answer is a reply already; replying is off in this turn.")
    if not is_reply and not _EMOJI.fullmatch(arguments.content):
        raise ToolFailure("To react, `content` must be one emoji and nothing else.")
    document = await load_document(resources.storage, context)
    target = document.message_of(arguments.message_id)
    if target is None:
        raise ToolFailure(
            f"There is no message {arguments.message_id!r} in this conversation; "
            "name a recent one by its ref_N or its id."
        )
    await _check(is_reply, context, resources)
    if not is_reply:
        await resources.discord.react(context.channel_id, target.message_id, arguments.content)
        return Answer(Interaction(done="reacted"), delivered=True)
    sent = await resources.discord.reply(
        context.channel_id, target.message_id, arguments.content, tool_nonce(context), context.voice
    )
    replied = Interaction(done="replied", message_ids=sent)
    return Answer(replied, delivered=True, said=arguments.content)


def _is_queued(context: ToolContext) -> bool:
    return context.situation.is_queued or context.source is Source.QUEUE


async def _check(is_reply: bool, context: ToolContext, resources: ToolResources) -> None:
    """The bot's permissions, as they are now; the persona acts for itself, for no member."""
    if context.guild_id is None:
        return  # in a direct message both sides may
    acting = sending_in(context.situation.is_thread) if is_reply else ADD_REACTIONS
    held = await own_permissions(context.channel_id, context, resources)
    require(held, (acting, READ_HISTORY), THE_BOT)


def _is_available(situation: Situation, config: ServerConfig) -> bool:
    if not config.tools.message_interaction:
        return False
    if situation.is_dm:
        return True
    own = situation.own_permissions
    can_reply = not situation.is_queued and sending_in(situation.is_thread) in own
    return READ_HISTORY in own and (ADD_REACTIONS in own or can_reply)


def _action(arguments: InteractArguments) -> str:
    return arguments.action


TOOL = Tool(
    name="interact_with_recent_message",
    description=(
        "React with an emoji to a recent message of this channel, or reply to one directly. Your "
        "normal answer needs no tool; use this to address another message than the newest."
    ),
    arguments=InteractArguments,
    run=interact,
    summarise=_action,
    task_queue=DISCORD_TOOLS,
    is_available_for_context=_is_available,
    requires_follow_up=False,
    deliberate_target="message-action",
)
