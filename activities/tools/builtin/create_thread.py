"""`create_thread`: a public thread with its first message, here or in another channel.

The bot and the member who asked must both be able to make threads there: a persona is no way
around a permission.
"""

from __future__ import annotations

from pydantic import BaseModel, Field, field_validator

from activities.tools.channels import (
    MAX_CHANNEL_NAME,
    THE_BOT,
    THE_INVOKER,
    VIEW,
    find_channel,
    guild_of,
    own_permissions,
    refuse_blocked,
    require,
    settings_of,
)
from activities.tools.messages import tool_nonce
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage.config import ServerConfig
from text.graphemes import boundary_at_or_before
from text.visible import has_visible, strip_invisible
from workflows.contracts.tools import DISCORD_TOOLS, Situation, ToolContext

MAX_THREAD_NAME = 100
"""Code points (Discord, resources/channel)."""
MAX_FIRST_MESSAGE = 2_000

NEEDED = ("create_public_threads", "send_messages_in_threads")


class CreateThreadArguments(ToolArguments):
    thread_name: str = Field(
        min_length=1,
        max_length=300,
        description=f"Name of the thread; what is over {MAX_THREAD_NAME} characters is cut off.",
    )
    first_message: str = Field(
        min_length=1,
        max_length=MAX_FIRST_MESSAGE,
        description="The message that opens the thread, in your own words.",
    )
    channel_name: str | None = Field(
        default=None,
        max_length=MAX_CHANNEL_NAME,
        description="Name or id of the text channel; without it, the channel of this conversation.",
    )

    @field_validator("thread_name")
    @classmethod
    def _clean_name(cls, name: str) -> str:
        cleaned = clean_thread_name(name)
        if not cleaned:
            raise ValueError("the name needs at least one visible character")
        return cleaned


class CreatedThread(BaseModel):
    thread_id: str
    name: str
    mention: str


def clean_thread_name(name: str) -> str:
    """`name` on one line, of at most `MAX_THREAD_NAME` code points, never cut within a character;
    empty when nothing of it can be seen."""
    line = " ".join(strip_invisible(name).split())
    line = line[: boundary_at_or_before(line, 0, MAX_THREAD_NAME)].strip()
    return line if has_visible(line) else ""


async def create_thread(
    arguments: CreateThreadArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    guild_id = guild_of(context)
    if arguments.channel_name:
        found = await find_channel(arguments.channel_name, context, resources)
        channel_id, invoker = found.channel.id, found.invoker
        if channel_id != context.channel_id:
            config = await settings_of(context, resources)
            await refuse_blocked(found.channel, config, context, resources)
        if not found.channel.takes_messages:
            raise ToolFailure("That is no text channel.")
        in_thread = found.channel.is_thread
    else:
        channel_id, in_thread = context.channel_id, context.situation.is_thread
        invoker = await resources.discord.permissions(guild_id, channel_id, context.user_id)
    if in_thread:
        raise ToolFailure("A thread cannot be opened within a thread; name a text channel.")
    require(invoker, (VIEW, *NEEDED), THE_INVOKER)
    require(await own_permissions(channel_id, context, resources), (VIEW, *NEEDED), THE_BOT)
    thread = await resources.discord.create_thread(
        channel_id,
        arguments.thread_name,
        arguments.first_message,
        tool_nonce(context),
        context.voice,
    )
    created = CreatedThread(thread_id=thread.id, name=thread.name, mention=f"<#{thread.id}>")
    return Answer(created, delivered=channel_id == context.channel_id)


def _is_available(situation: Situation, config: ServerConfig) -> bool:
    return (
        config.tools.thread_creation
        and not situation.is_dm
        and not situation.is_thread
        and all(permission in situation.own_permissions for permission in NEEDED)
    )


TOOL = Tool(
    name="create_thread",
    description=(
        "Open a public thread with a first message, in this channel or in another text channel of "
        "this server. Only when somebody asks for a thread."
    ),
    arguments=CreateThreadArguments,
    run=create_thread,
    task_queue=DISCORD_TOOLS,
    is_available_for_context=_is_available,
    requires_follow_up=False,
    deliberate_target="thread",
)
