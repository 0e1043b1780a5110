"""The command tree, with one rule for every command: whoever called it gets an answer.

It also knows how long members wait between commands; nobody does until the bot says so. A command
that fails in a way nobody foresaw would leave Discord's "thinking…" for ever (D44), so the fault is
logged and the caller is told in a plain sentence.
"""

from __future__ import annotations

import discord
import structlog
from discord import app_commands
from discord.app_commands import AppCommandError

from bot.commands.answers import FAILED
from bot.commands.cooldown import CommandCooldowns
from bot.discord_faults import NETWORK_FAULTS, describe

log = structlog.get_logger(__name__)


class AnsweringTree(app_commands.CommandTree[discord.Client]):
    cooldowns = CommandCooldowns(scale=0)

    async def on_error(
        self, interaction: discord.Interaction[discord.Client], error: AppCommandError, /
    ) -> None:
        name = interaction.command.name if interaction.command else None
        log.error("a command failed", command=name, exc_info=error)
        try:
            if interaction.response.is_done():
                await interaction.edit_original_response(content=FAILED)
            else:
                await interaction.response.send_message(FAILED, ephemeral=True)
        except (discord.HTTPException, *NETWORK_FAULTS) as fault:
            log.warning("the caller could not be told", command=name, error=describe(fault))
