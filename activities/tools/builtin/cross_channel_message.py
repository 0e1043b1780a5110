"""`cross_channel_message`: send the persona to another channel of the server, or look into one.

A task is a full chat turn there, as the same persona, with this tool withheld (behaviour 12). With
`boomerang` this turn ends at once, and the outcome comes back as a turn of its own; with
`peek_only` nothing is sent, and the newest messages come back.

What always holds: whoever asks must be able to see that channel; nothing is read or sent before
every check has passed (C117); one call is one task, however often it is delivered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import AwareDatetime, BaseModel, Field, model_validator

from activities.tools.channels import (
    MAX_CHANNEL_NAME,
    THE_BOT,
    THE_INVOKER,
    VIEW,
    find_channel,
    own_permissions,
    refuse_blocked,
    require,
    sending_in,
    settings_of,
)
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage.config import Privacy, ServerConfig
from workflows.contracts.base import synthetic_message_id
from workflows.contracts.discord_port import ChannelFacts
from workflows.contracts.history import HistoryMessage
from workflows.contracts.invocation import Boomerang, ChatIncoming, Origin
from workflows.contracts.tools import (
    CROSS_CHANNEL_MESSAGE,
    DISCORD_TOOLS,
    Situation,
    ToolContext,
    ToolNotice,
)

MAX_TASK = 4_000
PEEKED_MESSAGES = 20
MAX_MESSAGE = 1_500
"""Code points of one message that is shown (behaviour 12)."""

READ_HISTORY = "read_message_history"

_SENT_BY_THIS_TOOL = frozenset({Origin.CROSS_CHANNEL, Origin.BOOMERANG})
"""Turns that this tool began: without the rule, two channels could keep each other busy."""


class CrossChannelArguments(ToolArguments):
    target_channel: str = Field(
        min_length=1,
        max_length=MAX_CHANNEL_NAME,
        description="Name, mention or id of the other channel or thread, in this server.",
    )
    task: str = Field(
        min_length=1,
        max_length=MAX_TASK,
        description=(
            "What you are to do there, complete in itself: nothing of this conversation is known "
            "there. With `peek_only`, what you want to find out."
        ),
    )
    boomerang: bool = Field(
        default=False,
        description=(
            "Whether the outcome is to be reported here. Your turn ends with this call; you are "
            "asked again when the task is done."
        ),
    )
    peek_only: bool = Field(
        default=False,
        description="Only read the newest messages there, and send nothing.",
    )

    @model_validator(mode="after")
    def _check_one_way(self) -> CrossChannelArguments:
        if self.boomerang and self.peek_only:
            raise ValueError("give either `boomerang` or `peek_only`: a peek is answered at once")
        return self


class SentThere(BaseModel):
    status: str
    channel_id: str
    channel_name: str
    note: str


class PeekedMessage(BaseModel):
    author: str
    text: str
    written_at: AwareDatetime
    files: list[str] = []


class Peeked(BaseModel):
    channel_id: str
    channel_name: str
    messages: list[PeekedMessage]
    """Oldest first."""


async def cross_channel_message(
    arguments: CrossChannelArguments, context: ToolContext, resources: ToolResources
) -> Answer | Peeked:
    target = await _target(arguments, context, resources)
    if arguments.peek_only:
        return await _peek(target, resources)
    task = _task(arguments, target, context)
    await resources.discord.dispatch(task)
    return Answer(
        SentThere(
            status="dispatched",
            channel_id=target.id,
            channel_name=target.name,
            note=(
                "You will hear how it came out."
                if arguments.boomerang
                else "You are at work there now, and will not hear of it here."
            ),
        ),
        notices=[
            # a mention, not a name: Discord shows the name only to those who can see the channel
            ToolNotice(title="Went to another channel", text=f"<#{target.id}>\n{arguments.task}")
        ],
        end_turn=arguments.boomerang,
    )


async def _target(
    arguments: CrossChannelArguments, context: ToolContext, resources: ToolResources
) -> ChannelFacts:
    """Where to go, after every check. Raises ToolFailure."""
    if not _may_leave(context.situation):
        raise ToolFailure("You were sent by this tool yourself; it cannot be used again from here.")
    found = await find_channel(arguments.target_channel, context, resources)
    channel = found.channel
    if channel.id == context.channel_id:
        raise ToolFailure("That is the channel of this conversation; answer here.")
    config = await settings_of(context, resources)
    await refuse_blocked(channel, config, context, resources)
    if not channel.takes_messages:
        raise ToolFailure("That channel holds no messages of its own; name a text channel.")
    own = await own_permissions(channel.id, context, resources)
    if arguments.peek_only:
        require(found.invoker, (VIEW, READ_HISTORY), THE_INVOKER)
        require(own, (VIEW, READ_HISTORY), THE_BOT)
    else:
        require(own, (VIEW, sending_in(channel.is_thread)), THE_BOT)
    if arguments.boomerang:
        # what is said there will be shown here
        require(found.invoker, (READ_HISTORY,), THE_INVOKER)
    return channel


def _task(
    arguments: CrossChannelArguments, target: ChannelFacts, context: ToolContext
) -> ChatIncoming:
    """The turn there. Its id names this very call, so that one that is delivered twice runs once;
    the same words from another call are another task."""
    call = (context.turn_id, str(context.iteration), str(context.position))
    boomerang = None
    if arguments.boomerang:
        boomerang = Boomerang(
            channel_id=context.channel_id,
            channel_name=context.channel_name,
            message_id=synthetic_message_id("boomerang", *call),
            persona_id=context.persona_id,
            is_dm=context.situation.is_dm,
            is_thread=context.situation.is_thread,
        )
    return ChatIncoming(
        application_id=context.application_id,
        channel_id=target.id,
        message_id=synthetic_message_id("cross_channel", *call),
        author_id=context.user_id,
        author_name=context.user_name,
        content=arguments.task,
        guild_id=context.guild_id,
        guild_name=context.guild_name,
        channel_name=target.name,
        is_thread=target.is_thread,
        bot_user_id=context.bot_user_id,
        surface_errors=False,
        locale=context.locale,
        origin=Origin.CROSS_CHANNEL,
        selected_persona_id=context.persona_id,
        disabled_tools=[CROSS_CHANNEL_MESSAGE],
        boomerang=boomerang,
    )


async def _peek(target: ChannelFacts, resources: ToolResources) -> Peeked:
    messages = await resources.discord.read_messages(target.id, PEEKED_MESSAGES)
    private = await _fully_private(messages, resources)
    return Peeked(
        channel_id=target.id,
        channel_name=target.name,
        messages=[
            PeekedMessage(
                author=message.author_name,
                text=message.content[:MAX_MESSAGE],
                written_at=message.created_at,
                files=message.attachments,
            )
            for message in messages
            if message.author_id not in private
        ],
    )


async def _fully_private(
    messages: Sequence[HistoryMessage], resources: ToolResources
) -> frozenset[str]:
    """Authors whose messages no persona reads (behaviour 6.1, step 2)."""
    authors = sorted({message.author_id for message in messages if not message.is_bot})
    settings = await asyncio.gather(*(resources.storage.configs.user(each) for each in authors))
    return frozenset(
        author
        for author, config in zip(authors, settings, strict=True)
        if config.privacy is Privacy.FULL
    )


def _may_leave(situation: Situation) -> bool:
    return not situation.is_dm and situation.origin not in _SENT_BY_THIS_TOOL


def _is_available(situation: Situation, config: ServerConfig) -> bool:
    return config.tools.cross_channel and _may_leave(situation)


def _is_available_for(provider: str) -> bool:
    return provider != "novelai"  # behaviour 16


def _manner(arguments: CrossChannelArguments) -> str:
    if arguments.peek_only:
        return "peek"
    return "boomerang" if arguments.boomerang else "task"


TOOL = Tool(
    name=CROSS_CHANNEL_MESSAGE,
    description=(
        "Go to another channel of this server and do something there as yourself, or, with "
        "`peek_only`, read what was said there last. Only when somebody asks for it."
    ),
    arguments=CrossChannelArguments,
    run=cross_channel_message,
    summarise=_manner,
    task_queue=DISCORD_TOOLS,
    is_available_for=_is_available_for,
    is_available_for_context=_is_available,
    deliberate_target="cross-channel",
)
