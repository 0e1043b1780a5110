"""What stands before a persona's words where Discord itself does not show it. Pure.

- A webhook cannot reply: the first message of a queued turn begins with a line of small print that
  links the message it answers (D62).
- Where there is no webhook the bot's account speaks for every persona: the first message of a turn
  begins with the name of one that is not the main one.

Neither is the persona's own text, so whoever reads the channel takes it off again.
"""

from __future__ import annotations

import re

LONGEST = 130
"""Code points of either, at most."""

_NAME_SHOWN = 50
_LINK = "https://discord.com/channels"
_MARK = "-# \u21aa "
_REPLY_LINE = re.compile(
    re.escape(f"{_MARK}{_LINK}") + r"/(?:[0-9]{1,20}|@me)/[0-9]{1,20}/(?P<target>[0-9]{1,20})\n"
)
_MARKDOWN = re.compile(r"[\\*_~`|<>\[\]()#:@-]")
_BLOCK = re.compile(r"(?:[-*+]|#{1,3}|-#|\d{1,9}[.)])\s|>|\||```|~~~")
"""What means something only at the start of a line."""


def with_reply_line(text: str, guild_id: str | None, channel_id: str, message_id: str) -> str:
    return f"{_MARK}{_LINK}/{guild_id or '@me'}/{channel_id}/{message_id}\n{text}"


def without_reply_line(content: str) -> tuple[str, str | None]:
    """A webhook's words, and the id of the message that they answer."""
    line = _REPLY_LINE.match(content)
    return (content, None) if line is None else (content[line.end() :], line["target"])


def with_name(text: str, name: str) -> str:
    separator = "\n" if _BLOCK.match(text) else " "
    return f"{_signature(name)}{separator}{text}"


def without_name(content: str, name: str) -> str | None:
    """The words behind the name; None when the message does not begin with it."""
    signature = _signature(name)
    if not content.startswith(signature) or not content[len(signature) :][:1].isspace():
        return None
    return content[len(signature) + 1 :]


def _signature(name: str) -> str:
    shown = " ".join(name.split())
    if len(shown) > _NAME_SHOWN:
        shown = shown[: _NAME_SHOWN - 1] + "\u2026"
    return f"**{_MARKDOWN.sub(lambda sign: chr(92) + sign[0], shown)}:**"
