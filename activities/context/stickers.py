"""Row 05: the server's stickers, for a turn that is offered the sticker tool."""

from __future__ import annotations

from collections.abc import Sequence

from activities.context.lines import plain_line
from workflows.contracts.history import StickerInfo
from workflows.contracts.tools import SELECT_STICKER

MAX_STICKERS = 60
"""As many as Discord lets a server have at the highest level."""

NAME_LENGTH = 40
DESCRIPTION_LENGTH = 100

HEADING = f"Stickers of this server, which `{SELECT_STICKER}` can send after your words:"


def sticker_list(stickers: Sequence[StickerInfo]) -> str:
    """Names, descriptions and the emoji that each is meant for, oldest first. Empty without any."""
    lines: list[str] = []
    for sticker in stickers[:MAX_STICKERS]:
        name = plain_line(sticker.name, NAME_LENGTH)
        description = plain_line(sticker.description, DESCRIPTION_LENGTH)
        emotion = plain_line(sticker.emotion, NAME_LENGTH)
        line = f"- {name}" + (f": {description}" if description else "")
        lines.append(line + (f" ({emotion})" if emotion else ""))
    return "\n".join([HEADING, *lines]) if lines else ""
