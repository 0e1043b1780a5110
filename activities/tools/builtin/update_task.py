"""`update_task`: change or take away a pending reminder or task (behaviour 16).

Only the persona that has it can. Whoever asked for it may change everything: it is in their name,
with what they may do, that it is done when it is due. Whom it reminds may move its time or take it
away, and who manages the server may take it away. A turn that delivers it does not change it. What
is not given stays as it is. The row changes first, then its workflow is told; when it
cannot be told the row becomes what it was, and it is told of that: it may have heard all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from typing import Self
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator
from temporalio.service import RPCError

from activities.context.document import load_document
from activities.reminders.calendar import Occurrence, at_wall_time
from activities.reminders.place import find_place, is_said_in_private
from activities.reminders.recipients import find_recipient
from activities.reminders.schedule import start_reminder
from activities.reminders.telling import described, title_of
from activities.reminders.timing import (
    MAX_INTERVAL_HOURS,
    Purpose,
    TimingArguments,
    chosen_zone,
    future,
    utc_now,
)
from activities.tools.builtin.create_task import is_available
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolFailure
from storage.config import ServerConfig, UserConfig
from storage.reminders import Reminder, ReminderChanges
from workflows.contracts.base import server_key
from workflows.contracts.invocation import Origin
from workflows.contracts.tools import DISCORD_TOOLS, NoticeColour, ToolContext, ToolNotice

MAX_LISTED = 10
"""Pending tasks that a model is told of which named one that is not there."""


MAKERS_OWN = frozenset(
    {
        "reminder_purpose",
        "repetition_interval_hours",
        "target_user",
        "self_reminder",
        "target_channel",
    }
)
"""Arguments that only who asked for it may give."""

TELL_AGAIN = timedelta(seconds=3)
"""For telling that a change was taken back: somebody waits, who may have stopped the turn."""


class UpdateTaskArguments(TimingArguments):
    task_id: int = Field(ge=1, le=2**31 - 1, description="N of [reminder:N] or [task:N].")
    remove: bool = Field(default=False, description="Take it away; nothing else is needed then.")
    reminder_purpose: Purpose | None = Field(default=None, description="What it is about.")
    repetition_interval_hours: int | None = Field(
        default=None, ge=0, le=MAX_INTERVAL_HOURS, description="0: only once."
    )
    target_user: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Whom to remind from now on, by name, mention or id.",
    )
    self_reminder: bool | None = Field(
        default=None, description="true: a task of your own. false: it reminds the user."
    )
    target_channel: str | None = Field(
        default=None,
        min_length=1,
        max_length=120,
        description="Where from now on, by name, mention or id.",
    )

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        if self.self_reminder and self.target_user is not None:
            raise ValueError("give either `target_user` or `self_reminder`, not both")
        if not (self.remove or self.model_fields_set - {"task_id", "remove"}):
            raise ValueError("say what is to change, or set `remove`")
        return self

    def given(self) -> set[str]:
        return {name for name in self.model_fields_set if getattr(self, name) is not None}


async def update_task(
    arguments: UpdateTaskArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    storage = resources.storage
    key = server_key(context.guild_id, context.user_id)
    config = await storage.configs.server(key)
    if not (arguments.remove or is_available(context.situation, config)):
        raise ToolFailure(
            "Reminders and tasks are switched off in this server; they can only be taken away."
        )
    reminder = await _known(arguments.task_id, key, context, resources)
    await _permit(arguments, reminder, context, resources)
    told_here = reminder.is_shown_in(context.channel_id)
    if arguments.remove:
        return await _remove(reminder, resources, told_here=told_here)
    await _refuse_due(reminder, context, resources)
    user = await storage.configs.user(context.user_id)
    changes = _changes(arguments, reminder, context, user, config)
    recipient_name = await _redirect(arguments, reminder, changes, context, resources, config)
    changed = await storage.reminders.replace(reminder.id, **changes)
    if changed is None:
        raise _no_such(arguments.task_id)
    await _tell(reminder, changed, changes, resources)
    return Answer(
        {"status": "task_updated", **described(changed, whole=told_here)},
        notices=[
            ToolNotice(
                title=title_of(changed, recipient_name),
                text=changed.purpose if told_here else arguments.reminder_purpose or "",
                colour=NoticeColour.AMBER,
            )
        ],
    )


async def _known(
    task_id: int, key: str, context: ToolContext, resources: ToolResources
) -> Reminder:
    """The task, if it is this persona's and this server's."""
    reminder = await resources.storage.reminders.get(task_id)
    if (
        reminder is not None
        and reminder.server_key == key
        and reminder.persona_id == context.persona_id
    ):
        return reminder
    pending = [
        described(other)
        for other in await resources.storage.reminders.pending(key)
        if other.persona_id == context.persona_id
        and context.user_id in (other.user_id, other.recipient_id)
        and other.is_shown_in(context.channel_id)
    ]
    raise _no_such(task_id, pending[:MAX_LISTED])


async def _permit(
    arguments: UpdateTaskArguments,
    reminder: Reminder,
    context: ToolContext,
    resources: ToolResources,
) -> None:
    """Raises ToolFailure when this user may not do that with it."""
    if context.user_id == reminder.user_id:
        return
    if context.user_id == reminder.recipient_id:
        if not arguments.remove and arguments.given() & MAKERS_OWN:
            raise ToolFailure(
                "Whom it reminds can have it at another time or taken away. Everything else is "
                "for who asked for it."
            )
        return
    if arguments.remove and context.guild_id is not None:
        rights = await resources.discord.guild_permissions(context.guild_id, context.user_id)
        if rights & {"manage_guild", "administrator"}:
            return
    raise ToolFailure(
        "That task is somebody else's. Only who asked for it can change it, and only they, whom it "
        "reminds, or who manages the server can take it away."
    )


async def _refuse_due(reminder: Reminder, context: ToolContext, resources: ToolResources) -> None:
    """Raises ToolFailure when this turn delivers that very task: what is said in the channel then
    would rule over what comes after it, with nobody asking."""
    if context.situation.origin is not Origin.REMINDER:
        return
    due = (await load_document(resources.storage, context)).invocation.reminder
    if due is None or due.reminder_id == reminder.id:
        raise ToolFailure("It is being done right now, and can only be taken away.")


def _changes(
    arguments: UpdateTaskArguments,
    reminder: Reminder,
    context: ToolContext,
    user: UserConfig,
    config: ServerConfig,
) -> ReminderChanges:
    """What of purpose, repetition and time is to change. What was private once stays so."""
    changes: ReminderChanges = {}
    if arguments.reminder_purpose is not None:
        changes["purpose"] = arguments.reminder_purpose
        if is_said_in_private(context):
            changes["is_private"] = True
    if arguments.repetition_interval_hours is not None:
        changes["interval_hours"] = arguments.repetition_interval_hours
    if arguments.says_when() or arguments.timezone is not None:
        zone = chosen_zone(arguments.timezone or reminder.zone, user, config)
        when = _when(arguments, reminder, zone)
        changes["zone"] = zone.key
        changes["wall_time"] = when.wall_time
        changes["due_at"] = when.due_at
    return changes


def _when(arguments: UpdateTaskArguments, reminder: Reminder, zone: ZoneInfo) -> Occurrence:
    """Another zone alone means the same time of day there."""
    now = utc_now()
    if arguments.says_when():
        return arguments.occurrence(zone, now)
    return future(at_wall_time(reminder.wall_time, zone), zone, now)


async def _redirect(
    arguments: UpdateTaskArguments,
    reminder: Reminder,
    changes: ReminderChanges,
    context: ToolContext,
    resources: ToolResources,
    config: ServerConfig,
) -> str | None:
    """Add to `changes` where and whom it is for; the recipient's name, where it had to be found."""
    if arguments.target_channel is not None:
        place = await find_place(arguments.target_channel, context, resources, config)
        if place.is_private:
            changes["is_private"] = True
        changes["channel_id"] = place.channel_id
        changes["channel_name"] = place.name
        changes["is_thread"] = place.is_thread
    if arguments.self_reminder:
        changes["recipient_id"] = None
        return None
    query = arguments.target_user
    if query is None and arguments.self_reminder is None:
        if reminder.recipient_id is None or arguments.target_channel is None:
            return None
        query = reminder.recipient_id  # who must be able to see the new channel
    channel_id = changes.get("channel_id", reminder.channel_id)
    recipient = await find_recipient(query, channel_id, context, resources)
    changes["recipient_id"] = recipient.user_id
    return recipient.name


async def _remove(reminder: Reminder, resources: ToolResources, *, told_here: bool) -> Answer:
    if not await resources.storage.reminders.remove(reminder.id):
        raise _no_such(reminder.id)
    with contextlib.suppress(RPCError):  # its workflow finds the row gone when the time comes
        await start_reminder(resources.temporal, reminder, changed=True)
    return Answer(
        {"status": "task_removed", "task_id": reminder.id},
        notices=[
            ToolNotice(
                title="Reminder removed" if reminder.recipient_id else "Task removed",
                text=reminder.purpose if told_here else "",
                colour=NoticeColour.RED,
            )
        ],
    )


async def _tell(
    before: Reminder, after: Reminder, changes: ReminderChanges, resources: ToolResources
) -> None:
    """Tell its workflow. Whatever stops that, a kill too, takes the changes back."""
    try:
        await start_reminder(resources.temporal, after, changed=True)
    except BaseException as error:
        old: ReminderChanges = {}
        for name in changes:
            old[name] = getattr(before, name)
        await asyncio.shield(_take_back(after, old, resources))
        if isinstance(error, RPCError):
            raise ToolFailure("The task could not be changed just now, and is as it was.") from None
        raise


async def _take_back(after: Reminder, old: ReminderChanges, resources: ToolResources) -> None:
    """Undo the changes. The workflow may have been told of them although the answer was lost; if
    it cannot be reached at once, a worker tells it later."""
    row = await resources.storage.reminders.replace(after.id, only_if_due_at=after.due_at, **old)
    if row is not None:
        with contextlib.suppress(RPCError, TimeoutError):
            async with asyncio.timeout(TELL_AGAIN.total_seconds()):
                await start_reminder(resources.temporal, row, changed=True)


def _no_such(task_id: int, pending: list[dict[str, object]] | None = None) -> ToolFailure:
    return ToolFailure(
        f"There is no pending task {task_id} of yours for this user here.",
        data={"pending": pending} if pending else None,
    )


TOOL = Tool(
    name="update_task",
    description=(
        "Change a pending reminder or task, or take it away. Give only what is to change. "
        "Times are local to the task's own time zone."
    ),
    arguments=UpdateTaskArguments,
    run=update_task,
    summarise=lambda arguments: f"task {arguments.task_id}",
    task_queue=DISCORD_TOOLS,
    deliberate_target="reminder",
)
