"""What Discord's errors mean for an activity: worth another attempt, or final.

Codes are those of Discord's documentation (topics/opcodes-and-status-codes). discord.py has waited
out ordinary rate limits and retried 500, 502, 504 and 524 before any of this is asked.
"""

from __future__ import annotations

from datetime import timedelta

import aiohttp
import discord
from temporalio.exceptions import ApplicationError

from runtime.logs import brief

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
EXPLICIT_CONTENT = 20009
SLOWMODE = 20016
CHANNEL_WRITE_LIMIT = 20028
REQUEST_TOO_LARGE = 40005
MISSING_ACCESS = 50001
CANNOT_EDIT_OTHERS = 50005
EMPTY_MESSAGE = 50006
MISSING_PERMISSIONS = 50013
INVALID_FORM = 50035
REPLY_NEEDS_HISTORY = 160002
"""Cannot reply without permission to read message history."""
AUTOMOD_BLOCKED = 200000
HARMFUL_LINK = 240000

FILTER_CODES = frozenset({AUTOMOD_BLOCKED, HARMFUL_LINK, EXPLICIT_CONTENT})
"""Something that reads what is written objects to it."""
CONTENT_CODES = FILTER_CODES | {EMPTY_MESSAGE, INVALID_FORM, REQUEST_TOO_LARGE}
CONTENT_STATUSES = frozenset({400, 413})
CHANNEL_CODES = frozenset({50007, 50008, 50024, 50033, 50083, 50278, 160005})
"""Where Discord may answer 400, and every other message would get the same: this user or channel
type takes no messages, the thread is archived or locked."""

TRANSIENT_CODES = frozenset({SLOWMODE, CHANNEL_WRITE_LIMIT, 40062, 130000})
"""Also: service resource rate limited, API overloaded."""
TRANSIENT_STATUSES = frozenset({408, 429})

NETWORK_FAULTS = (aiohttp.ClientError, OSError, discord.RateLimited)
"""No answer, or one that discord.py did not wait for. TimeoutError is an OSError."""


def is_transient(error: discord.HTTPException) -> bool:
    return (
        error.status >= 500 or error.status in TRANSIENT_STATUSES or error.code in TRANSIENT_CODES
    )


def is_about_content(error: discord.HTTPException) -> bool:
    """Whether this one message is refused for what it says, and another one may pass."""
    return error.code in CONTENT_CODES or (
        error.status in CONTENT_STATUSES and error.code not in CHANNEL_CODES
    )


def try_again(error: Exception) -> ApplicationError:
    """The failure of an attempt that Temporal repeats, after the pause that Discord asked for."""
    return ApplicationError(
        f"Discord is not available: {describe(error)}",
        type="DiscordUnavailable",
        next_retry_delay=_pause_asked_for(error),
    )


def _pause_asked_for(error: Exception) -> timedelta | None:
    if isinstance(error, discord.RateLimited):
        return timedelta(seconds=error.retry_after)
    if isinstance(error, discord.HTTPException) and error.status == 429:
        # Discord's front door, whose body discord.py does not read (it may last an hour).
        seconds = error.response.headers.get("Retry-After", "")
        return timedelta(seconds=int(seconds)) if seconds.isdecimal() else None
    return None


def describe(error: BaseException) -> str:
    """One short line for logs and histories."""
    if isinstance(error, discord.HTTPException):
        text = error.text.splitlines()[0] if error.text else error.response.reason or ""
        return brief(f"HTTP {error.status}, code {error.code}: {text}")
    return brief(f"{type(error).__name__}: {error}".rstrip(": "))
