"""`/kill`: stop what runs in this channel, and drop what waits (behaviour 4).

Anyone who may speak here may use it. Answered only to the caller. The stop is on its way to the
channel's workflow while Discord is still being told that an answer will come, so that neither
waits for the other.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import discord
import structlog
from discord import app_commands
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.service import RPCError, RPCStatusCode

from bot.client import EverturnClient
from bot.discord_faults import describe
from bot.typing_sessions import TypingSessions
from workflows.contracts.base import channel_workflow_id
from workflows.contracts.invocation import KILL_UPDATE, KillOutcome, KillRequest

log = structlog.get_logger(__name__)

STOPPED = "Stopped."
NOTHING_TO_STOP = "Nothing to stop here."
MAY_NOT_SPEAK = "You cannot send messages in this channel, so you cannot stop it either."
UNREACHABLE = "The answer engine cannot be reached right now. Try again in a moment."

RPC_TIMEOUT = timedelta(seconds=10)
"""The channel answers at once; this bounds a Temporal that does not."""


def add_kill(client: EverturnClient, temporal: Client, typing: TypingSessions) -> None:
    async def kill(interaction: discord.Interaction[EverturnClient]) -> None:
        await run_kill(interaction, temporal, typing)

    client.tree.add_command(
        app_commands.Command(
            name="kill",
            description="Stop the answer in this channel and drop what waits.",
            callback=kill,
        )
    )


async def run_kill(
    interaction: discord.Interaction[EverturnClient], temporal: Client, typing: TypingSessions
) -> None:
    if not may_speak(interaction):
        await interaction.response.send_message(MAY_NOT_SPEAK, ephemeral=True)
        return
    stopping = asyncio.create_task(stop_channel(interaction, temporal, typing))
    try:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.edit_original_response(content=await stopping)
    except discord.HTTPException as error:
        await stopping
        log.warning("/kill could not be answered", error=describe(error))


def may_speak(interaction: discord.Interaction[EverturnClient]) -> bool:
    """By the caller's permissions as they come with the interaction; always in a direct message."""
    if interaction.guild_id is None:
        return True
    permissions = interaction.permissions
    if isinstance(interaction.channel, discord.Thread):
        return permissions.send_messages_in_threads
    return permissions.send_messages


async def stop_channel(
    interaction: discord.Interaction[EverturnClient], temporal: Client, typing: TypingSessions
) -> str:
    """Stop the channel's turn; what to tell the caller. Never raises."""
    channel_id = str(interaction.channel_id)
    request = KillRequest(user_id=str(interaction.user.id), user_name=interaction.user.display_name)
    channel = temporal.get_workflow_handle(channel_workflow_id(channel_id))
    try:
        outcome: KillOutcome = await channel.execute_update(
            KILL_UPDATE, request, result_type=KillOutcome, rpc_timeout=RPC_TIMEOUT
        )
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return NOTHING_TO_STOP  # the channel never spoke, or has closed since
        log.warning("/kill did not reach Temporal", channel=channel_id, error=str(error))
        return UNREACHABLE
    except (WorkflowUpdateFailedError, OSError) as error:
        log.warning("/kill failed", channel=channel_id, error=str(error))
        return UNREACHABLE
    finally:
        await typing.end_channel(channel_id)
    return told(outcome)


def told(outcome: KillOutcome) -> str:
    waiting = "1 waiting message" if outcome.cleared == 1 else f"{outcome.cleared} waiting messages"
    if outcome.nothing_to_stop:
        return NOTHING_TO_STOP
    if not outcome.cleared:
        return STOPPED
    return f"Stopped, and dropped {waiting}." if outcome.stopped else f"Dropped {waiting}."
