"""Who asked for a turn hears how it came out (behaviour 3 and 12).

In: a message that had its turn, or lost it, and how that ended. Out: a signal to the workflow that
asked (a reminder), a report to the channel that sent a persona here. What always holds: nobody
hears of it before the turn has closed (C027); one that cannot be told does not hold up the channel
for longer than REPORT_BACK's policy allows.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError

with workflow.unsafe.imports_passed_through():
    from workflows.activity_calls import start
    from workflows.contracts.base import discord_queue
    from workflows.contracts.delivery import REPORT_BACK, ReportBack
    from workflows.contracts.generation import StreamStatus
    from workflows.contracts.invocation import (
        OUTCOME_SIGNAL,
        ChatIncoming,
        InvocationEnd,
        InvocationOutcome,
    )


def end_of(status: StreamStatus) -> InvocationEnd:
    """What a turn that ended with `status` means to whoever asked for it."""
    match status:
        case StreamStatus.COMPLETED:
            return InvocationEnd.ANSWERED
        case StreamStatus.STOPPED_BY_USER | StreamStatus.FOLLOW_UP_INTERRUPT:
            return InvocationEnd.STOPPED
        case _:
            return InvocationEnd.FAILED


async def report(message: ChatIncoming, end: InvocationEnd) -> None:
    """Tell whoever waits for it. Never raises what they did wrong."""
    if message.answer_to is not None:
        waiting = workflow.get_external_workflow_handle(message.answer_to)
        outcome = InvocationOutcome(message_id=message.message_id, end=end)
        try:
            await waiting.signal(OUTCOME_SIGNAL, outcome)
        except FailureError:
            workflow.logger.info("%s does not wait any more", message.answer_to)
    if message.boomerang is not None:
        await _report_back(message, end)


async def _report_back(message: ChatIncoming, end: InvocationEnd) -> None:
    if message.boomerang is None:
        return
    request = ReportBack(
        application_id=message.application_id,
        guild_id=message.guild_id,
        guild_name=message.guild_name,
        channel_id=message.channel_id,
        channel_name=message.channel_name,
        task=message.content,
        end=end,
        boomerang=message.boomerang,
        user_id=message.author_id,
        user_name=message.author_name,
        bot_user_id=message.bot_user_id,
    )
    handle = start(
        REPORT_BACK,
        request,
        summary="reports back to the channel that asked",
        task_queue=discord_queue(message.application_id),
    )
    try:
        await handle
    except ActivityError:
        workflow.logger.error("the task of message %s is not reported", message.message_id)
