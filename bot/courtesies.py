"""What admission has to say to a member itself: who they are to the bot, and why it stays silent.

In: a message that was passed by, and the `Courtesy` due. Out: one notice in reply, by the bot's
account. Best effort, beside the message path, and never often: each once in a while for a channel,
or for a member.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

import discord
import structlog

from bot.admission import Courtesy
from bot.delivery.notices import plain_notice
from bot.delivery.post import COLOURS
from bot.directory import ServerDirectory
from bot.discord_faults import MISSING_PERMISSIONS, NETWORK_FAULTS, describe
from bot.refusals import RefusalMemory
from storage.config.models import Privacy
from workflows.contracts.tools import NoticeColour

log = structlog.get_logger(__name__)

PAUSES = {
    Courtesy.WHOAMI: 5.0,
    Courtesy.UNSUPPORTED_CHANNEL: 600.0,
    Courtesy.THOUGHT_LOG: 600.0,
}
"""Seconds between two: for a member that asks who they are, else for a channel (behaviour 2.5)."""
REMEMBERED = 10_000
AT_ONCE = 50
"""Notices under way; Discord that is slow is not asked for more."""

UNSUPPORTED = "I cannot talk in this kind of channel. Text and voice channels and threads work."
THOUGHT_LOG = (
    "This channel is this server's thought log, so nobody answers here. Ask in another channel."
)
PRIVACY = {
    Privacy.NONE: "none (no limits: personas answer you, and may remember what you tell them)",
    Privacy.PARTIAL: "partial (personas answer you, and remember nothing about you for long)",
    Privacy.FULL: "full (personas do not see what you write, except by a command of yours or in"
    " direct messages)",
}
"""What each level means, for the member whose it is."""


class Courtesies:
    def __init__(
        self,
        directory: ServerDirectory,
        refusals: RefusalMemory,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._refusals = refusals
        self._clock = clock
        self._told_at: OrderedDict[tuple[Courtesy, int], float] = OrderedDict()
        self._under_way: set[asyncio.Task[None]] = set()

    def offer(self, courtesy: Courtesy, message: discord.Message) -> None:
        """Say it, unless it was said lately. Returns at once."""
        about = message.author.id if courtesy is Courtesy.WHOAMI else message.channel.id
        now = self._clock()
        told_at = self._told_at.get((courtesy, about))
        if told_at is not None and now - told_at < PAUSES[courtesy]:
            return
        if len(self._under_way) >= AT_ONCE or self._refusals.refused(str(message.channel.id)):
            return
        self._told_at[courtesy, about] = now
        self._told_at.move_to_end((courtesy, about))
        if len(self._told_at) > REMEMBERED:
            self._told_at.popitem(last=False)
        task = asyncio.create_task(self._say(message, *self._words(courtesy, message)))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _words(self, courtesy: Courtesy, message: discord.Message) -> tuple[str, str]:
        """Title and text."""
        match courtesy:
            case Courtesy.UNSUPPORTED_CHANNEL:
                return "", UNSUPPORTED
            case Courtesy.THOUGHT_LOG:
                return "", THOUGHT_LOG
            case Courtesy.WHOAMI:
                return "Who you are to me", self._whoami(message)

    def _whoami(self, message: discord.Message) -> str:
        author = message.author
        guild_id = str(message.guild.id) if message.guild else None
        personas = ", ".join(persona.name for persona in self._directory.known(guild_id))
        privacy = self._directory.member(str(author.id)).privacy
        name = discord.utils.escape_markdown(author.display_name)
        lines = [
            f"Name: {name}",
            f"Account: {discord.utils.escape_markdown(author.name)}, id {author.id}",
            f"Privacy: {PRIVACY[privacy]}",
        ]
        if personas:
            lines.append(f"Who answers here: {discord.utils.escape_markdown(personas)[:1000]}")
        return "\n".join(lines)

    async def _say(self, message: discord.Message, title: str, text: str) -> None:
        embed = discord.Embed(title=title or None, description=text)
        embed.colour = COLOURS[NoticeColour.INFO]
        channel_id = str(message.channel.id)
        channel = message.channel
        reply = discord.MessageReference(
            message_id=message.id, channel_id=channel.id, fail_if_not_exists=False
        )
        quietly = discord.AllowedMentions.none()
        try:
            try:
                await channel.send(embed=embed, reference=reply, allowed_mentions=quietly)
            except discord.Forbidden as error:
                if error.code != MISSING_PERMISSIONS:
                    raise
                # Embed Links is a permission of its own (D68).
                await channel.send(
                    plain_notice(text, title), reference=reply, allowed_mentions=quietly
                )
            self._refusals.clear(channel_id)
        except discord.HTTPException as error:
            self._refusals.note(channel_id, error.code)
            log.info("a member could not be told", channel=channel_id, error=describe(error))
        except NETWORK_FAULTS as error:
            log.info("a member could not be told", channel=channel_id, error=describe(error))
