"""The emoji that a model has written, as Discord takes it for a reaction.

A character, or a custom emoji of this server by its name or as `<:name:id>`; nothing else, so that
no text of a model's becomes a part of an address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import discord
import regex

from workflows.contracts.discord_port import DiscordRefused

_CUSTOM = re.compile(r"<a?:(?P<name>[0-9A-Za-z_]{1,32}):(?P<id>[0-9]{15,20})>")
_NAME = re.compile(r":?(?P<name>[0-9A-Za-z_]{2,32}):?")
_CHARACTER = regex.compile(r"(?=\p{Emoji})\X")
_DIGIT = regex.compile(r"[0-9#*]\uFE0F?")
"""By itself no emoji; with a keycap around it, it is one."""
LONGEST = 40
"""Code points of one emoji; a family with skin tones has about a dozen."""


def reaction_of(emoji: str, of_server: Sequence[discord.Emoji]) -> str:
    """What goes into the request. Raises DiscordRefused: it is no emoji that can be used here."""
    text = emoji.strip()
    if (custom := _CUSTOM.fullmatch(text)) is not None:
        found = [each for each in of_server if str(each.id) == custom["id"]]
        return _custom(found, custom["name"])
    if (named := _NAME.fullmatch(text)) is not None:
        name = named["name"]
        exact = [each for each in of_server if each.name == name]
        return _custom(
            exact or [each for each in of_server if each.name.casefold() == name.casefold()], name
        )
    if len(text) <= LONGEST and _CHARACTER.fullmatch(text) and not _DIGIT.fullmatch(text):
        return text
    raise DiscordRefused(
        "The emoji must be one emoji character, or the name of a custom emoji of this server."
    )


def _custom(found: Sequence[discord.Emoji], name: str) -> str:
    for each in found:
        if each.available:
            return f"{each.name}:{each.id}"
    raise DiscordRefused(
        f"There is no custom emoji {name!r} to use here; use an emoji character instead."
    )
