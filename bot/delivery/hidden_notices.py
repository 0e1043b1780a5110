"""Hidden notices: what a turn's tools did, as cards in the server's thought log (behaviour 10).

In: `HiddenNotices`, once, when the turn is over. Out: nothing. Changes: the log channel.
What always holds:
- nothing is posted of a channel that not everybody on the server sees, nor into another server's
  channel; what this process does not know to be public counts as private (C111);
- the cards ping nobody, make no sound, and lead to the turn's own messages;
- a repeated attempt posts nothing twice: each message has its nonce;
- nothing that goes wrong here reaches the turn: it is logged, and the rest is given up (C112).
"""

from __future__ import annotations

from collections.abc import Sequence

import discord
import structlog
from temporalio import activity

from bot.delivery.parts import EMBED_LIMIT, TITLE_LIMIT
from bot.delivery.post import COLOURS
from bot.discord_faults import describe, is_about_content
from runtime.heartbeat import heartbeating
from workflows.contracts.delivery import POST_HIDDEN_NOTICES, HiddenNotices, Nothing, base36

log = structlog.get_logger(__name__)

EMBEDS = 10
"""Of one message, and the code points of all of them together (Discord, resources/message)."""
CODE_POINTS = 6000
MESSAGES = 36 * 36
"""What two digits of the nonce tell apart; far more than a turn has notices."""
AUTHOR_LIMIT = 256


class HiddenNoticeActivities:
    def __init__(self, client: discord.Client) -> None:
        self._client = client

    @activity.defn(name=POST_HIDDEN_NOTICES.name)
    async def post_hidden_notices(self, request: HiddenNotices) -> Nothing:
        async with heartbeating():
            try:
                await self._post(request)
            except Exception as error:
                _lost(request, error)
        return Nothing()

    async def _post(self, request: HiddenNotices) -> None:
        source = self._public_source(request)
        if source is None:
            log.info("hidden notices are not shown", channel=request.source_channel_id)
            return
        # By its id alone: the guard above has looked that it is this server's.
        channel = self._client.get_partial_messageable(int(request.log_channel_id))
        for index, embeds in enumerate(packed(cards_of(request, source.name))[:MESSAGES]):
            try:
                await channel.send(
                    embeds=embeds,
                    silent=True,
                    nonce=notice_nonce(request, index),
                    allowed_mentions=discord.AllowedMentions.none(),
                )
            except discord.HTTPException as error:
                if not is_about_content(error):
                    raise
                _lost(request, error)

    def _public_source(
        self, request: HiddenNotices
    ) -> discord.abc.GuildChannel | discord.Thread | None:
        """The channel of the turn; None where its notices may not be shown in the log."""
        guild = self._client.get_guild(_number(request.guild_id))
        if guild is None or guild.get_channel_or_thread(_number(request.log_channel_id)) is None:
            return None
        source = guild.get_channel_or_thread(_number(request.source_channel_id))
        if source is None or (isinstance(source, discord.Thread) and source.is_private()):
            return None
        try:
            visible = source.permissions_for(guild.default_role).view_channel
        except discord.ClientException:  # a thread whose channel this bot does not see
            return None
        return source if visible else None


def _lost(request: HiddenNotices, error: Exception) -> None:
    log.warning(
        "hidden notices could not be posted", channel=request.log_channel_id, error=describe(error)
    )


def cards_of(request: HiddenNotices, channel_name: str) -> list[discord.Embed]:
    """One embed for each notice. Pure."""
    link = f"https://discord.com/channels/{request.guild_id}/{request.source_channel_id}"
    trigger_id = None if request.is_synthetic else request.trigger_message_id
    if message_id := request.first_message_id or trigger_id:
        link += f"/{message_id}"
    where = f"{request.persona_name} in #{channel_name}".strip()[:AUTHOR_LIMIT]
    cards: list[discord.Embed] = []
    for notice in request.notices:
        card = discord.Embed(
            title=" ".join(notice.title.split())[:TITLE_LIMIT] or None,
            description=notice.text.strip()[:EMBED_LIMIT].rstrip() or None,
            colour=COLOURS[notice.colour],
        )
        card.set_author(name=where, url=link)
        cards.append(card)
    return cards


def packed(cards: Sequence[discord.Embed]) -> list[list[discord.Embed]]:
    """The cards in order, in as few messages as Discord's limits allow. Pure."""
    messages: list[list[discord.Embed]] = []
    room = 0
    for card in cards:
        if not messages or len(messages[-1]) == EMBEDS or len(card) > room:
            messages.append([])
            room = CODE_POINTS
        messages[-1].append(card)
        room -= len(card)
    return messages


def notice_nonce(request: HiddenNotices, index: int) -> str:
    """21 characters: `h`, trigger, persona, generation, index. It is no turn's message."""
    return (
        "h"
        + base36(int(request.trigger_message_id), 13)
        + base36(request.persona_id, 4)
        + base36(request.generation, 1)
        + base36(index, 2)
    )


def _number(snowflake: str) -> int:
    """0, which no channel has, for what is no id."""
    return int(snowflake) if snowflake.isascii() and snowflake.isdecimal() else 0
