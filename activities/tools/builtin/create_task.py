"""`create_task`: a reminder for somebody, or a task that the persona sets itself (behaviour 16).

Runs in the bot, since the channel and whom it reminds are Discord's to tell. The row comes first,
then its workflow; without a workflow there is no row.
"""

from __future__ import annotations

import asyncio
from typing import Self

from pydantic import Field, model_validator
from temporalio.service import RPCError

from activities.reminders.place import find_place, is_said_in_private
from activities.reminders.recipients import find_recipient
from activities.reminders.schedule import start_reminder
from activities.reminders.telling import described, title_of
from activities.reminders.timing import (
    MAX_INTERVAL_HOURS,
    Purpose,
    TimingArguments,
    chosen_zone,
    utc_now,
)
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolFailure
from storage.config import ServerConfig
from storage.errors import ReminderLimitReached
from storage.reminders import Reminder
from workflows.contracts.base import server_key
from workflows.contracts.tools import (
    CREATE_TASK,
    DISCORD_TOOLS,
    NoticeColour,
    Situation,
    ToolContext,
    ToolNotice,
)

MAX_PENDING = 100
"""Of one server (behaviour 16)."""


class CreateTaskArguments(TimingArguments):
    reminder_purpose: Purpose = Field(
        description="What it is about, so that it can be understood on its own when it is due.",
    )
    repetition_interval_hours: int = Field(
        ge=0,
        le=MAX_INTERVAL_HOURS,
        description="Hours from one time to the next; 0: only once. 24 is every day, 168 every "
        "week, at the same time of day.",
    )
    target_user: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Whom to remind, by name, mention or id. Default: the user you are answering.",
    )
    self_reminder: bool = Field(
        default=False, description="A task of your own: you do it when it is due, nobody is pinged."
    )
    target_channel: str | None = Field(
        default=None,
        min_length=1,
        max_length=120,
        description="Where, by name, mention or id. Default: this channel.",
    )

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        if not self.says_when():
            raise ValueError("say when: `reminder_time`, or one of the …_from_now")
        if self.self_reminder and self.target_user is not None:
            raise ValueError("give either `target_user` or `self_reminder`, not both")
        return self


def is_available(situation: Situation, config: ServerConfig) -> bool:
    return config.tools.tasks


async def create_task(
    arguments: CreateTaskArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    storage = resources.storage
    key = server_key(context.guild_id, context.user_id)
    config = await storage.configs.server(key)
    if not is_available(context.situation, config):
        raise ToolFailure("Reminders and tasks are switched off in this server.")
    zone = chosen_zone(arguments.timezone, await storage.configs.user(context.user_id), config)
    when = arguments.occurrence(zone, utc_now())
    place = await find_place(arguments.target_channel, context, resources, config)
    recipient = None
    if not arguments.self_reminder:
        recipient = await find_recipient(
            arguments.target_user, place.channel_id, context, resources
        )
    try:
        reminder = await storage.reminders.add(
            limit=MAX_PENDING,
            server_key=key,
            guild_id=context.guild_id,
            guild_name=context.guild_name,
            application_id=context.application_id,
            bot_user_id=context.bot_user_id,
            channel_id=place.channel_id,
            channel_name=place.name,
            is_dm=context.guild_id is None,
            is_thread=place.is_thread,
            is_private=is_said_in_private(context) or place.is_private,
            persona_id=context.persona_id,
            user_id=context.user_id,
            user_name=context.user_name,
            recipient_id=recipient.user_id if recipient else None,
            purpose=arguments.reminder_purpose,
            wall_time=when.wall_time,
            zone=zone.key,
            interval_hours=arguments.repetition_interval_hours,
            due_at=when.due_at,
        )
    except ReminderLimitReached:
        raise ToolFailure(
            f"This server has {MAX_PENDING} pending tasks, and that is all there is room for."
        ) from None
    await _start(reminder, resources)
    return Answer(
        {"status": "task_created", **described(reminder)},
        notices=[
            ToolNotice(
                title=title_of(reminder, recipient.name if recipient else None),
                text=reminder.purpose,
                colour=NoticeColour.SUCCESS,
            )
        ],
    )


async def _start(reminder: Reminder, resources: ToolResources) -> None:
    """Start its workflow. Whatever stops that, a kill too, takes the row away again."""
    try:
        await start_reminder(resources.temporal, reminder)
    except BaseException as error:
        await asyncio.shield(resources.storage.reminders.remove(reminder.id))
        if isinstance(error, RPCError):
            raise ToolFailure(
                "The task could not be scheduled just now, and nothing was kept of it."
            ) from None
        raise


TOOL = Tool(
    name=CREATE_TASK,
    description=(
        "Remind somebody of something at a time, once or again and again, or give yourself a task "
        "for later. Times are the user's local time."
    ),
    arguments=CreateTaskArguments,
    run=create_task,
    task_queue=DISCORD_TOOLS,
    is_available_for_context=is_available,
    deliberate_target="reminder",
)
