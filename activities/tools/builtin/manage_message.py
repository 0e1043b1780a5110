"""`manage_message`: pin and unpin messages; edit and delete the persona's own.

What a member has written is never edited nor deleted (C132). Pinning changes the channel for all,
so it takes the permission of the bot and of the member who asked. What the persona has said is
changed only for a member who could speak there: it is no way around a permission.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, model_validator

from activities.context.document import load_document
from activities.tools.channels import (
    THE_BOT,
    THE_INVOKER,
    VIEW,
    guild_of,
    own_permissions,
    require,
    sending_in,
)
from activities.tools.messages import MAX_MESSAGE_NAME, is_own, message_named
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage.config import ServerConfig
from workflows.contracts.history import HistoryMessage
from workflows.contracts.tools import (
    DISCORD_TOOLS,
    NoticeColour,
    Situation,
    ToolContext,
    ToolNotice,
)

MAX_CONTENT = 2_000
"""Code points of one message (Discord, resources/message)."""
MAX_RANGE = 25
"""Messages that one call deletes."""
RANGE_READ = 100
"""How far back a range may reach: messages that are read to find what is in it."""

PINNING = ("manage_messages", "pin_messages")
"""Either of them pins: Discord has split the second from the first."""


class ManageMessageArguments(ToolArguments):
    action: Literal["pin", "unpin", "edit", "delete"]
    message_id: str = Field(
        min_length=1,
        max_length=MAX_MESSAGE_NAME,
        description="The message: its ref_N, or its id. To edit or delete, one of your own.",
    )
    end_message_id: str | None = Field(
        default=None,
        max_length=MAX_MESSAGE_NAME,
        description=(
            "Only for `delete`: the last of a range of your own messages that begins with "
            f"message_id, at most {MAX_RANGE}."
        ),
    )
    content: str | None = Field(
        default=None,
        max_length=MAX_CONTENT,
        description="Only for `edit`: the new text, in full.",
    )

    @model_validator(mode="after")
    def _check_action(self) -> ManageMessageArguments:
        if self.action == "edit" and not self.content:
            raise ValueError("to edit, give the new text as `content`")
        if self.action != "edit" and self.content is not None:
            raise ValueError(f"`content` belongs to edit, not to {self.action}")
        if self.action != "delete" and self.end_message_id is not None:
            raise ValueError(f"`end_message_id` belongs to delete, not to {self.action}")
        return self


class Managed(BaseModel):
    done: str
    count: int = 1


async def manage_message(
    arguments: ManageMessageArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    document = await load_document(resources.storage, context)
    if arguments.action in ("pin", "unpin"):
        await _check_pinning(context, resources)
    else:
        await _check_speaking(context, resources)
    message = await message_named(arguments.message_id, document, context, resources)
    if arguments.action == "edit":
        return await _edit(message, arguments.content or "", context, resources)
    if arguments.action == "delete":
        end = message
        if arguments.end_message_id is not None:
            end = await message_named(arguments.end_message_id, document, context, resources)
        return await _delete(message, end, context, resources)
    pinned = arguments.action == "pin"
    await resources.discord.pin(context.channel_id, message.id, pinned)
    return Answer(Managed(done="pinned" if pinned else "unpinned"))


async def _check_pinning(context: ToolContext, resources: ToolResources) -> None:
    if context.guild_id is None:
        return  # in a direct message both sides may
    invoker = await resources.discord.permissions(
        guild_of(context), context.channel_id, context.user_id
    )
    own = await own_permissions(context.channel_id, context, resources)
    for held, who in ((invoker, THE_INVOKER), (own, THE_BOT)):
        if not held.intersection(PINNING):
            require(held, PINNING[:1], who)


async def _check_speaking(context: ToolContext, resources: ToolResources) -> None:
    if context.guild_id is None:
        return
    invoker = await resources.discord.permissions(
        guild_of(context), context.channel_id, context.user_id
    )
    require(invoker, (VIEW, sending_in(context.situation.is_thread)), THE_INVOKER)


async def _edit(
    message: HistoryMessage, text: str, context: ToolContext, resources: ToolResources
) -> Answer:
    _require_own(message, context)
    if not message.content:
        raise ToolFailure("That message has no text of yours that could be edited.")
    await resources.discord.edit(context.channel_id, message.id, text)
    return Answer(Managed(done="edited"), notices=[_notice("Edited a message of its own")])


async def _delete(
    first: HistoryMessage, last: HistoryMessage, context: ToolContext, resources: ToolResources
) -> Answer:
    """From `first` to `last`, in whichever order; what others wrote between them stays."""
    _require_own(first, context)
    _require_own(last, context)
    message_ids = [first.id]
    if first.id != last.id:
        message_ids = await _own_between(first, last, context, resources)
    count = await resources.discord.delete(context.channel_id, message_ids)
    if not count:
        raise ToolFailure("Nothing was deleted: it is gone already.")
    title = f"Deleted {count} message{'s' if count > 1 else ''} of its own"
    return Answer(Managed(done="deleted", count=count), notices=[_notice(title)])


async def _own_between(
    first: HistoryMessage, last: HistoryMessage, context: ToolContext, resources: ToolResources
) -> list[str]:
    low, high = sorted((int(first.id), int(last.id)))
    recent = await resources.discord.read_messages(context.channel_id, RANGE_READ)
    if not recent or int(recent[0].id) > low:
        raise ToolFailure(f"The range begins before the newest {RANGE_READ} messages.")
    own = [
        message.id
        for message in recent
        if is_own(message, context) and low <= int(message.id) <= high
    ]
    if len(own) > MAX_RANGE:
        raise ToolFailure(f"The range holds {len(own)} of your messages; at most {MAX_RANGE}.")
    return own


def _require_own(message: HistoryMessage, context: ToolContext) -> None:
    if not is_own(message, context):
        raise ToolFailure("That message is somebody else's; you edit and delete only your own.")


def _notice(title: str) -> ToolNotice:
    return ToolNotice(title=title, colour=NoticeColour.AMBER, hidden=True)


def _is_available(situation: Situation, config: ServerConfig) -> bool:
    return config.tools.manage_message


def _action(arguments: ManageMessageArguments) -> str:
    return arguments.action


TOOL = Tool(
    name="manage_message",
    description=(
        "Pin or unpin a message of this channel, or edit or delete messages that you have sent "
        "yourself. Only when somebody asks for it."
    ),
    arguments=ManageMessageArguments,
    run=manage_message,
    summarise=_action,
    task_queue=DISCORD_TOOLS,
    is_available_for_context=_is_available,
    requires_follow_up=False,
    deliberate_target="message-action",
)
