"""`/kill`: stop what runs in this channel, and drop what waits (behaviour 4).

Anyone who may speak here may use it. Answered only to the caller. Where no worker takes the stop
up, it is left as a signal, which the server keeps.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import discord
import structlog
from discord import app_commands
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import TemporalError
from temporalio.service import RPCError, RPCStatusCode

from bot.client import EverturnClient
from bot.commands.answers import answer_privately
from bot.commands.authorize import Needs
from bot.discord_faults import describe
from bot.typing_sessions import TypingSessions
from workflows.contracts.base import channel_workflow_id
from workflows.contracts.invocation import KILL_SIGNAL, KILL_UPDATE, KillOutcome, KillRequest

log = structlog.get_logger(__name__)

STOPPED = "Stopped."
NOTHING_TO_STOP = "Nothing to stop here."
STOPS_LATER = (
    "Nobody is at work right now; the stop is on its way, and comes first when a worker is back."
)
UNREACHABLE = "The answer engine cannot be reached right now. Try again in a moment."

ANSWER_WITHIN = timedelta(seconds=3)
"""The channel answers at once where a worker is there; this is how long one is waited for."""
SIGNAL_WITHIN = timedelta(seconds=5)
"""Needs the server alone."""


def add_kill(client: EverturnClient, temporal: Client, typing: TypingSessions) -> None:
    async def kill(interaction: discord.Interaction[EverturnClient]) -> None:
        await run_kill(interaction, temporal, typing)

    client.tree.add_command(
        app_commands.Command(
            name="kill",
            description="Stop the answer in this channel and drop what waits",
            callback=kill,
        )
    )


async def run_kill(
    interaction: discord.Interaction[EverturnClient], temporal: Client, typing: TypingSessions
) -> None:
    await answer_privately(
        interaction, Needs.SPEAK, "/kill", lambda: stop_channel(interaction, temporal, typing)
    )


async def stop_channel(
    interaction: discord.Interaction[EverturnClient], temporal: Client, typing: TypingSessions
) -> str:
    """Stop the channel's turn; what to tell the caller."""
    channel_id = str(interaction.channel_id)
    request = KillRequest(
        user_id=str(interaction.user.id),
        user_name=interaction.user.display_name,
        command_id=str(interaction.id),
    )
    channel = temporal.get_workflow_handle(channel_workflow_id(channel_id))
    try:
        return await _stop_now(channel, request) or await _stop_later(channel, request)
    finally:
        # What a persona was just saying here calls no other one any more.
        interaction.client.stopped(channel_id)
        await typing.end_channel(channel_id)


async def _stop_now(channel: WorkflowHandle[Any, Any], request: KillRequest) -> str | None:
    """Stop with an answer. None when none came: it is not known whether anything was stopped."""
    try:
        async with asyncio.timeout(ANSWER_WITHIN.total_seconds()):
            outcome: KillOutcome = await channel.execute_update(
                KILL_UPDATE, request, result_type=KillOutcome, rpc_timeout=ANSWER_WITHIN
            )
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return NOTHING_TO_STOP  # the channel never spoke, or has closed since
        log.warning("/kill was not answered", channel=channel.id, error=describe(error))
    except (TemporalError, OSError) as error:
        log.warning("/kill was not answered", channel=channel.id, error=describe(error))
    else:
        return told(outcome)
    return None


async def _stop_later(channel: WorkflowHandle[Any, Any], request: KillRequest) -> str:
    """Leave the stop with the server. Stopping twice does no harm, should the first have arrived
    after all."""
    try:
        async with asyncio.timeout(SIGNAL_WITHIN.total_seconds()):
            await channel.signal(KILL_SIGNAL, request, rpc_timeout=SIGNAL_WITHIN)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return NOTHING_TO_STOP
        log.warning("/kill did not reach Temporal", channel=channel.id, error=describe(error))
        return UNREACHABLE
    except (TemporalError, OSError) as error:
        log.warning("/kill did not reach Temporal", channel=channel.id, error=describe(error))
        return UNREACHABLE
    return STOPS_LATER


def told(outcome: KillOutcome) -> str:
    waiting = "1 waiting message" if outcome.cleared == 1 else f"{outcome.cleared} waiting messages"
    if outcome.nothing_to_stop:
        return NOTHING_TO_STOP
    if not outcome.cleared:
        return STOPPED
    return f"Stopped, and dropped {waiting}." if outcome.stopped else f"Dropped {waiting}."
