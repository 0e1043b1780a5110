"""Notices: the system's words, told from a persona's wherever they stand.

A notice is an embed; beside it stands at most the mention of the one member it is for. Without the
Embed Links permission Discord refuses an embed, and a member must not be left with nothing (D68):
then it is plain text behind a mark, which makes it small print and keeps it out of what a model
reads. Pure.
"""

from __future__ import annotations

import re

from text.split import MESSAGE_LIMIT

MARK = "-# \u26a0 "
"""Discord's small print, and a warning sign."""

_MENTION = re.compile(r"<@[0-9]{1,20}>")


def plain_notice(text: str, title: str = "", mention_user_id: str | None = None) -> str:
    """A notice on one marked line, as one message."""
    words = ": ".join(" ".join(said.split()) for said in (title, text) if said.strip())
    line = MARK + f"{mention(mention_user_id)} {words}".strip()
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "\u2026"


def mention(user_id: str | None) -> str:
    """What stands beside the embed: a ping, or nothing."""
    return f"<@{user_id}>" if user_id is not None else ""


def is_plain_notice(content: str) -> bool:
    return content.startswith(MARK)


def is_notice(content: str, has_embeds: bool) -> bool:
    """Whether a message of our own account is a notice. What a persona says never is: a mention
    alone has no link in it that Discord could make an embed of."""
    if is_plain_notice(content):
        return True
    return has_embeds and (not content or _MENTION.fullmatch(content) is not None)
