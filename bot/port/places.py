"""Channels, threads and members: found by what a model calls them.

The cache holds servers, their channels and active threads; members, and threads that are archived,
are asked for. Nothing of another server is ever found: an id is held against the server it is
asked in.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, TypeAlias

import discord
from discord.http import Route

from bot.normalise import is_private
from bot.port.refusing import UNKNOWN_MEMBER, UNKNOWN_USER, refusing
from workflows.contracts.discord_port import ChannelFacts, DiscordRefused, MemberFacts

Place: TypeAlias = discord.abc.GuildChannel | discord.Thread

MOST_CHANNELS = 25
MOST_MEMBERS = 10
LONGEST_QUERY = 100
"""Code points. Names of channels have at most 100, names of members 32."""
SEARCHED_MEMBERS = 100
"""Members whose names begin alike; Discord finds by the beginning only."""

_ID = re.compile(r"[0-9]{15,20}")
_CHANNEL_MENTION = re.compile(r"<#([0-9]{15,20})>")
_MEMBER_MENTION = re.compile(r"<@!?([0-9]{15,20})>")
_GAPS = re.compile(r"[\s_-]+")

_TAKES_MESSAGES = (discord.TextChannel, discord.VoiceChannel)
_NO_PLACE = (discord.CategoryChannel,)


def server(client: discord.Client, guild_id: str) -> discord.Guild:
    """Raises DiscordRefused where the bot is not, or while Discord does not describe it."""
    guild = client.get_guild(snowflake(guild_id))
    # `me` is typed as a Member, but None until the guild's own event has filled the cache.
    if guild is None or guild.unavailable or _me(client, guild) is None:
        raise DiscordRefused("The bot is not in that server, or Discord cannot reach it now.")
    return guild


def _me(client: discord.Client, guild: discord.Guild) -> discord.Member | None:
    return guild.get_member(client.user.id) if client.user else None


async def place(client: discord.Client, guild_id: str, channel_id: str) -> Place:
    """A channel or thread of this server. Raises DiscordRefused: there is none with this id."""
    guild = server(client, guild_id)
    key = snowflake(channel_id)
    found: object = guild.get_channel_or_thread(key)
    if found is None:  # an archived thread, or one of another server
        with refusing():
            found = await client.fetch_channel(key)
    if not isinstance(found, Place) or found.guild.id != guild.id:
        raise DiscordRefused("There is no such channel in this server.")
    return found


async def find_channels(client: discord.Client, guild_id: str, query: str) -> list[ChannelFacts]:
    guild = server(client, guild_id)
    query = query.strip()[:LONGEST_QUERY]
    if (key := _key(query, _CHANNEL_MENTION)) is not None:
        try:
            found = [await place(client, guild_id, key)]
        except DiscordRefused:
            found = []
        if found or _CHANNEL_MENTION.fullmatch(query):
            return [facts(each) for each in found if _is_seen(each)]
    places = [each for each in (*guild.channels, *guild.threads) if _is_seen(each)]
    wanted = folded(query).removeprefix("#").strip()
    if not wanted:
        return []
    exact = [each for each in places if folded(each.name) == wanted]
    named = exact or [each for each in places if _loose(each.name) == _loose(wanted)]
    return [facts(each) for each in sorted(named, key=lambda each: each.id)[:MOST_CHANNELS]]


def _is_seen(each: Place) -> bool:
    """Whether it is something to write or read in, and the bot sees it."""
    if isinstance(each, _NO_PLACE):
        return False
    if isinstance(each, discord.Thread) and each.parent is None:
        return False
    return each.permissions_for(each.guild.me).view_channel


def facts(each: Place) -> ChannelFacts:
    is_thread = isinstance(each, discord.Thread)
    parent_id = each.parent_id if isinstance(each, discord.Thread) else each.category_id
    return ChannelFacts(
        id=str(each.id),
        name=each.name,
        is_thread=is_thread,
        parent_id=None if parent_id is None else str(parent_id),
        takes_messages=is_thread or isinstance(each, _TAKES_MESSAGES),
        is_private=is_private(each),
    )


async def find_members(client: discord.Client, guild_id: str, query: str) -> list[MemberFacts]:
    guild = server(client, guild_id)
    query = query.strip()[:LONGEST_QUERY]
    if (key := _key(query, _MEMBER_MENTION)) is not None:
        found = await member(guild, key)
        if found is not None or _MEMBER_MENTION.fullmatch(query):
            return [] if found is None else [_member_facts(found)]
    wanted = folded(query).removeprefix("@").strip()
    if not wanted:
        return []
    route = Route("GET", "/guilds/{guild_id}/members/search", guild_id=guild.id)
    asked = {"query": query.removeprefix("@").strip(), "limit": SEARCHED_MEMBERS}
    with refusing():
        answer: list[dict[str, Any]] = await client.http.request(route, params=asked)
    named = [each for each in answer if wanted in map(folded, _names(each))]
    return [
        MemberFacts(
            id=str(each["user"]["id"]),
            name=_names(each)[0],
            is_bot=bool(each["user"].get("bot")),
        )
        for each in named[:MOST_MEMBERS]
    ]


async def member(guild: discord.Guild, user_id: str) -> discord.Member | None:
    """Asked anew. None: not a member."""
    try:
        with refusing():
            return await guild.fetch_member(snowflake(user_id))
    except DiscordRefused as error:
        cause = error.__cause__
        unknown = (UNKNOWN_MEMBER, UNKNOWN_USER)
        if isinstance(cause, discord.NotFound) and cause.code in unknown:
            return None
        raise


def _member_facts(found: discord.Member) -> MemberFacts:
    return MemberFacts(id=str(found.id), name=found.display_name, is_bot=found.bot)


def _names(found: dict[str, Any]) -> list[str]:
    """All names of a member as the API gives it, first the one that the server shows."""
    user = found["user"]
    names = [found.get("nick"), user.get("global_name"), user.get("username")]
    return [str(name) for name in names if name] or [str(user["id"])]


def _key(query: str, mention: re.Pattern[str]) -> str | None:
    """The id that `query` is, or mentions."""
    if (named := mention.fullmatch(query)) is not None:
        return named[1]
    return query if _ID.fullmatch(query) else None


def snowflake(text: str) -> int:
    """Raises DiscordRefused for what is no id."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        raise DiscordRefused("That is not an id of Discord's.")
    return int(text)


def folded(name: str) -> str:
    """How names are compared: without case and compatibility forms."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _loose(name: str) -> str:
    """`side talk`, `side-talk` and `side_talk` are the same to somebody who types a name."""
    return _GAPS.sub("-", folded(name))
