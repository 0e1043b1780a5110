"""Answering an interaction: for whoever may ask, acknowledged at once, told to the caller alone.

In: the interaction, what it needs, and the work. Out: nothing. What always holds (D44):
- the work is under way while Discord is being told that an answer will come, so that neither waits
  for the other, and the acknowledgement never waits for a database or for Temporal;
- the caller gets one answer, also when the work fails in a way that nobody foresaw;
- a command counts for its cooldown only where its caller may use it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import discord
import structlog

from bot.commands.authorize import Caller, Needs, authorize
from bot.commands.cooldown import category_of
from bot.discord_faults import NETWORK_FAULTS, describe

log = structlog.get_logger(__name__)

FAILED = "Something went wrong with this command. The operator finds the reason in the log."

Answer: TypeAlias = "str | discord.Embed"


async def answer_privately(
    interaction: discord.Interaction[Any],
    needs: Needs,
    name: str,
    work: Callable[[], Coroutine[Any, Any, Answer]],
) -> None:
    """`name`: for the log. `work` is not begun for a caller who may not have it done."""
    refusal = refusal_of(interaction, needs)
    if refusal is not None:
        await interaction.response.send_message(refusal, ephemeral=True)
        return
    working = asyncio.create_task(_done(name, work))
    try:
        await interaction.response.defer(ephemeral=True, thinking=True)
    except (discord.HTTPException, *NETWORK_FAULTS) as error:
        # The answer alone may be lost; then the caller sees "thinking\u2026" and is answered below.
        log.warning("an interaction could not be acknowledged", name=name, error=describe(error))
    answer = await working
    shown: dict[str, Any] = {"content": answer} if isinstance(answer, str) else {"embed": answer}
    try:
        await interaction.edit_original_response(**shown)
    except (discord.HTTPException, *NETWORK_FAULTS) as error:
        log.warning("an interaction could not be answered", name=name, error=describe(error))


def refusal_of(interaction: discord.Interaction[Any], needs: Needs) -> str | None:
    """None: go ahead, and a command's cooldown begins. Else what the caller is told. To be asked
    once, by whatever answers an interaction that does something."""
    refusal = authorize(Caller.of_interaction(interaction), needs)
    category = category_of(interaction)
    if refusal is not None or category is None:
        return refusal
    return interaction.client.tree.cooldowns.begin(interaction.user.id, category)


async def _done(name: str, work: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
    try:
        return await work()
    except Exception:
        log.exception("an interaction failed", name=name)
        return FAILED
