"""What Discord's errors mean for an activity: worth another attempt, or final.

Codes are those of Discord's documentation (topics/opcodes-and-status-codes). discord.py has waited
out ordinary rate limits and retried 500, 502, 504 and 524 before any of this is asked.
"""

from __future__ import annotations

from datetime import timedelta

import aiohttp
import discord
from temporalio.exceptions import ApplicationError

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
SLOWMODE = 20016
CHANNEL_WRITE_LIMIT = 20028
MISSING_ACCESS = 50001
INVALID_FORM = 50035
REPLY_NEEDS_HISTORY = 160002
"""Cannot reply without permission to read message history."""
AUTOMOD_BLOCKED = 200000
HARMFUL_LINK = 240000

TRANSIENT_CODES = frozenset({SLOWMODE, CHANNEL_WRITE_LIMIT, 40062, 130000})
"""Also: service resource rate limited, API overloaded."""
TRANSIENT_STATUSES = frozenset({408, 429})

NETWORK_FAULTS = (aiohttp.ClientError, OSError, discord.RateLimited)
"""No answer, or one that discord.py did not wait for. TimeoutError is an OSError."""


def is_transient(error: discord.HTTPException) -> bool:
    return (
        error.status >= 500 or error.status in TRANSIENT_STATUSES or error.code in TRANSIENT_CODES
    )


def try_again(error: Exception) -> ApplicationError:
    """The failure of an attempt that Temporal repeats, after the pause that Discord asked for."""
    pause = None
    if isinstance(error, discord.RateLimited):
        pause = timedelta(seconds=error.retry_after)
    return ApplicationError(
        f"Discord is not available: {describe(error)}",
        type="DiscordUnavailable",
        next_retry_delay=pause,
    )


def describe(error: Exception) -> str:
    """One line for logs and histories."""
    if isinstance(error, discord.HTTPException):
        text = error.text.splitlines()[0] if error.text else error.response.reason or ""
        return f"HTTP {error.status}, code {error.code}: {text}"
    return f"{type(error).__name__}: {error}".rstrip(": ")
