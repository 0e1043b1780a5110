"""The Stop button below a "still working" notice: it stops exactly the turn that the notice is of.

All that it needs is in its custom id, so it works in a process that never saw it sent (D44, D75).
Anyone who may speak here may press it, as with `/kill`. Answered only to the presser. In: a press.
Changes: the turn is asked to cancel, and the channel's typing ends. Pressed again, it changes
nothing more.
"""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Any

import discord
import structlog
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import TemporalError
from temporalio.service import RPCError, RPCStatusCode

from bot.client import EverturnClient
from bot.commands.answers import answer_privately
from bot.commands.authorize import Needs
from bot.discord_faults import describe
from bot.typing_sessions import TypingSessions
from workflows.contracts.base import turn_workflow_id
from workflows.contracts.delivery import STOP_BUTTON_PATTERN

log = structlog.get_logger(__name__)

STOPPING = "Stopping this answer."
ENDED = "This answer has ended already."
ELSEWHERE = "This button belongs to another channel."
UNREACHABLE = "The answer engine cannot be reached right now. Try again in a moment."

CANCEL_WITHIN = timedelta(seconds=5)
"""Needs the server alone."""


def add_stop_button(client: EverturnClient, temporal: Client, typing: TypingSessions) -> None:
    class StopButton(discord.ui.DynamicItem[discord.ui.Button[Any]], template=STOP_BUTTON_PATTERN):
        def __init__(self, button: discord.ui.Button[Any], channel_id: str, turn_id: str) -> None:
            super().__init__(button)
            self._channel_id = channel_id
            self._turn_id = turn_id

        @classmethod
        async def from_custom_id(
            cls,
            interaction: discord.Interaction[Any],
            item: discord.ui.Item[Any],
            match: re.Match[str],
            /,
        ) -> StopButton:
            assert isinstance(item, discord.ui.Button)
            channel_id = match["channel"]
            turn_id = turn_workflow_id(
                channel_id,
                match["trigger"],
                int(match["persona"]),
                int(match["generation"] or 0),
            )
            return cls(item, channel_id, turn_id)

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            pressed_in = str(interaction.channel_id)

            async def stop() -> str:
                told = await stop_turn(
                    temporal, typing, pressed_in, self._channel_id, self._turn_id
                )
                if told == STOPPING:
                    # What the persona was just saying here calls no other one any more.
                    interaction.client.stopped(self._channel_id)
                return told

            await answer_privately(interaction, Needs.SPEAK, "stop button", stop)

    client.add_dynamic_items(StopButton)


async def stop_turn(
    temporal: Client, typing: TypingSessions, pressed_in: str, channel_id: str, turn_id: str
) -> str:
    """Ask the turn to stop; what to tell the presser."""
    if pressed_in != channel_id:
        return ELSEWHERE  # who may speak there has not been asked
    turn = temporal.get_workflow_handle(turn_id)
    try:
        async with asyncio.timeout(CANCEL_WITHIN.total_seconds()):
            # Asked first: the server takes a cancel of a turn that has ended, and says nothing.
            found = await turn.describe(rpc_timeout=CANCEL_WITHIN)
            if found.status is not WorkflowExecutionStatus.RUNNING:
                return ENDED
            await turn.cancel(rpc_timeout=CANCEL_WITHIN)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return ENDED
        if error.status is not RPCStatusCode.ALREADY_EXISTS:  # it has been asked before
            return _unreachable(turn_id, error)
    except (TemporalError, OSError) as error:
        return _unreachable(turn_id, error)
    await typing.end_channel(channel_id)
    return STOPPING


def _unreachable(turn_id: str, error: Exception) -> str:
    log.warning("the stop did not reach Temporal", turn=turn_id, error=describe(error))
    return UNREACHABLE
