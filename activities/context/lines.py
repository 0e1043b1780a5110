"""Stored words as they may stand in the prompt: one visible line that cannot pass for another.

What members, a persona or a file have left behind (memories, sticker texts, file names, tasks) is
data. In the prompt it stands on one line, bounded, and without the brackets that begin a note.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from text.labels import BRACKETS, QUOTES, author_label
from text.visible import strip_invisible

_BRACKETS = str.maketrans(BRACKETS)
_QUOTES = str.maketrans(QUOTES)


def plain_line(text: str, limit: int) -> str:
    """`text` on one visible line of at most `limit` characters, without square brackets."""
    head = text[: limit * 4]  # enough, whatever is taken out; what is stored may be long
    line = " ".join(strip_invisible(head).translate(_BRACKETS).split())
    if len(line) <= limit and len(head) == len(text):
        return line
    return line[: limit - 1].rstrip() + "…"


def quoted(text: str, limit: int) -> str:
    """`plain_line` in double quotes that nothing in it can end."""
    return '"' + plain_line(text, limit).translate(_QUOTES) + '"'


def named(name: str) -> str:
    """What somebody or something is called, as it may stand in a sentence of ours."""
    return f'"{author_label(name)}"'


def channel(name: str) -> str:
    return f'"#{author_label(name)}"'


def zone_of(name: str | None) -> tzinfo:
    """The zone of an IANA name; UTC for one that this machine does not know."""
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")


def local_time(moment: datetime, zone: str) -> str:
    """`2026-03-02 15:00 Europe/Berlin`."""
    local = moment.astimezone(zone_of(zone))
    return f"{local:%Y-%m-%d %H:%M} {getattr(local.tzinfo, 'key', 'UTC')}"


def ago(moment: datetime, now: datetime) -> str:
    """`12 min ago`, in the unit that tells most."""
    passed = max(now - moment, timedelta())
    minutes = int(passed.total_seconds()) // 60
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    if minutes < 48 * 60:
        return f"{minutes // 60} h ago"
    return f"{minutes // (24 * 60)} days ago"
