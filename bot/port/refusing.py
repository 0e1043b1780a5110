"""Discord's errors as one sentence each: what the model reads when Discord did not do it.

The sentences are ours; of Discord's own words only the reason of a malformed request is passed on,
since nothing else says what was wrong with it. What is missing on our side, and every code that has
no sentence, is logged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import discord
import structlog

from bot import discord_faults as faults
from workflows.contracts.discord_port import DiscordRefused

log = structlog.get_logger(__name__)

UNKNOWN_GUILD = 10004
UNKNOWN_MEMBER = 10007
UNKNOWN_USER = 10013
UNKNOWN_EMOJI = 10014

_SENTENCES = {
    faults.UNKNOWN_CHANNEL: "There is no such channel.",
    UNKNOWN_GUILD: "The bot is not in that server.",
    UNKNOWN_MEMBER: "There is no such member in this server.",
    faults.UNKNOWN_MESSAGE: "There is no such message in that channel.",
    UNKNOWN_USER: "There is no such user.",
    UNKNOWN_EMOJI: "Discord does not know that emoji.",
    faults.EXPLICIT_CONTENT: "Discord did not let the text through: it is taken for explicit.",
    faults.SLOWMODE: "The channel is in slow mode; the bot has to wait before it may write again.",
    faults.CHANNEL_WRITE_LIMIT: "The channel takes no more messages for the moment.",
    30003: "The channel has as many pinned messages as Discord allows; unpin one first.",
    30010: "The message has as many different reactions as Discord allows.",
    30046: "The message was edited too often lately; Discord allows no further edit for now.",
    faults.REQUEST_TOO_LARGE: "That is larger than Discord takes.",
    faults.MISSING_ACCESS: "The bot cannot see that channel.",
    50005: "That message was written by somebody else; only one's own can be edited.",
    faults.EMPTY_MESSAGE: "An empty message cannot be sent.",
    50007: "This user takes no messages from the bot.",
    faults.MISSING_PERMISSIONS: "The bot lacks a permission that this needs here.",
    50021: "Discord's own notices cannot be changed or reacted to.",
    50024: "This kind of channel does not allow it.",
    50083: "The thread is archived or locked.",
    50278: "This user takes no messages from the bot.",
    90001: "A member whose message this is has blocked the bot, so it cannot react.",
    faults.REPLY_NEEDS_HISTORY: "The bot may not read the history here, so it cannot reply.",
    160005: "The thread is locked.",
    160006: "The server has as many active threads as Discord allows.",
    faults.AUTOMOD_BLOCKED: "The server's filters did not let the text through.",
    faults.HARMFUL_LINK: "Discord did not let the text through: a link in it is taken for harmful.",
}

UNREACHABLE = "Discord does not answer at the moment; it is not certain whether this was done."
TOO_MANY = "Discord asks to wait longer than a tool may; this was not done."
_LONGEST_DETAIL = 200
"""Code points of what Discord says about a malformed request."""


@contextmanager
def refusing() -> Iterator[None]:
    """Turn what discord.py raises in the block into `DiscordRefused`."""
    try:
        yield
    except discord.HTTPException as error:
        raise refused(error) from error
    except faults.NETWORK_FAULTS as error:
        limited = isinstance(error, discord.RateLimited)
        log.warning("a tool could not reach Discord", error=faults.describe(error))
        raise DiscordRefused(TOO_MANY if limited else UNREACHABLE) from error


def refused(error: discord.HTTPException) -> DiscordRefused:
    log.warning("a tool was refused by Discord", error=faults.describe(error))
    return DiscordRefused(_sentence(error))


def sentence_for(code: int) -> str | None:
    """What a JSON error code of Discord's means, where there is a sentence for it."""
    return _SENTENCES.get(code)


def _sentence(error: discord.HTTPException) -> str:
    if (known := _SENTENCES.get(error.code)) is not None:
        return known
    if error.status == 429:
        return TOO_MANY
    if faults.is_transient(error):
        return UNREACHABLE
    if error.code == faults.INVALID_FORM:
        detail = " ".join(error.text.split())[:_LONGEST_DETAIL]
        return f"Discord found it malformed: {detail}"
    if error.status == 403:
        return "Discord does not allow the bot to do this here."
    if error.status == 404:
        return "Discord does not know it; it may be gone."
    return f"Discord did not take it (code {error.code or error.status})."
