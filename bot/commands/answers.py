"""Answering an interaction: for whoever may ask, acknowledged at once, told to the caller alone, or
to all where it concerns all.

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
from bot.delivery.post import COLOURS
from bot.discord_faults import NETWORK_FAULTS, describe
from workflows.contracts.tools import NoticeColour

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
    await _answer(interaction, needs, name, work, openly=False)


async def answer_openly(
    interaction: discord.Interaction[Any],
    needs: Needs,
    name: str,
    work: Callable[[], Coroutine[Any, Any, Answer]],
) -> None:
    """As `answer_privately`, for all in the channel to see: what was done is done to them too. It
    is a notice (`bot.delivery.notices`), so that no model reads it as a persona's words. Who may
    not is told so alone."""
    await _answer(interaction, needs, name, work, openly=True)


async def _answer(
    interaction: discord.Interaction[Any],
    needs: Needs,
    name: str,
    work: Callable[[], Coroutine[Any, Any, Answer]],
    *,
    openly: bool,
) -> None:
    refusal = refusal_of(interaction, needs)
    if refusal is not None:
        await interaction.response.send_message(refusal, ephemeral=True)
        return
    working = asyncio.create_task(_done(name, work))
    try:
        await interaction.response.defer(ephemeral=not openly, thinking=True)
    except (discord.HTTPException, *NETWORK_FAULTS) as error:
        # The answer alone may be lost; then the caller sees "thinking\u2026" and is answered below.
        log.warning("an interaction could not be acknowledged", name=name, error=describe(error))
    answer = await working
    if openly and isinstance(answer, str):
        answer = discord.Embed(description=answer, colour=COLOURS[NoticeColour.INFO])
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
