"""Whose words a message holds: which persona said it, and what of it is the persona's own text.

In: the messages of one channel, from the oldest to the newest, and the server's personas from
memory. Out: a `Speaker` for each. Changes nothing, no I/O. A webhook of ours speaks for the persona
whose name it bears; the bot's account for the main one, unless the name of another stands before
its words: then for that one, until somebody else speaks or a new answer begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import discord

from bot.delivery.signatures import without_name, without_reply_line
from bot.delivery.usernames import same_username


class KnownPersona(Protocol):
    @property
    def persona_id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def is_main(self) -> bool: ...


Personas: TypeAlias = Callable[[str | None], Iterable[KnownPersona]]
"""The personas of a server, from memory; None: those of direct messages."""


@dataclass(frozen=True)
class Speaker:
    words: str
    """The message's text, without what the bot put before it."""
    persona_id: int | None = None
    """None: no persona of ours, or one that is gone."""
    reply_to: str | None = None
    """What a webhook's message answers, which Discord itself does not know."""


class Speakers:
    def __init__(
        self,
        personas: Sequence[KnownPersona],
        recognise: Callable[[discord.Message], bool],
        me: discord.abc.User | None,
    ) -> None:
        """`personas`: of the server. `recognise`: whether a webhook of ours said a message."""
        self._personas = personas
        self._recognise = recognise
        self._own_id = me.id if me is not None else 0
        self._going_on: int | None = None
        """The persona that the bot's account was last speaking for, under its name."""

    def of(self, message: discord.Message) -> Speaker:
        if self._recognise(message):
            self._going_on = None
            words, reply_to = without_reply_line(message.content)
            return Speaker(words, named(self._personas, message.author.name), reply_to)
        if message.author.id != self._own_id:
            self._going_on = None
            return Speaker(message.content)
        return self._of_account(message)

    def _of_account(self, message: discord.Message) -> Speaker:
        main: int | None = None
        for persona in self._personas:
            if persona.is_main:
                main = persona.persona_id
            elif (words := without_name(message.content, persona.name)) is not None:
                self._going_on = persona.persona_id
                return Speaker(words, persona.persona_id)
        if message.type is discord.MessageType.reply:
            self._going_on = None
        return Speaker(message.content, self._going_on or main)


def named(personas: Iterable[KnownPersona], username: str) -> int | None:
    """The persona that speaks under this name through a webhook."""
    return next(
        (persona.persona_id for persona in personas if same_username(persona.name, username)), None
    )
