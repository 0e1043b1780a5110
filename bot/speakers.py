"""Whose words a message holds: which persona said it, and what of it is the persona's own text.

In: the messages of one channel, from the oldest to the newest, and the server's personas from
memory. Out: a `Speaker` for each. Changes nothing, no I/O. A webhook of ours speaks for the persona
whose name it bears, the bot's account for the one that it was told to speak for. Where that is not
known (another process sent it), it speaks for the main one, unless the name of another stands
before its words: then for that one, until somebody else speaks or a new answer begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import discord

from bot.delivery.signatures import without_name, without_reply_line
from text.usernames import same_username


class KnownPersona(Protocol):
    @property
    def persona_id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def is_main(self) -> bool: ...


Personas: TypeAlias = Callable[[str | None], Iterable[KnownPersona]]
"""The personas of a server, from memory; None: those of direct messages."""


SaidBy: TypeAlias = Callable[[discord.Message], int | None]
"""The persona that a message of the bot's account was sent for; None: it is not known."""


def nobody_known(message: discord.Message) -> int | None:
    return None


@dataclass(frozen=True)
class Speaker:
    words: str
    """The message's text, without what the bot put before it."""
    persona_id: int | None = None
    """None: no persona of ours, or one that is gone."""
    reply_to: str | None = None
    """What a webhook's message answers, which Discord itself does not know."""
    is_alter: bool = False
    """The bot's account says it for a persona that is not the main one."""


class Speakers:
    def __init__(
        self,
        personas: Sequence[KnownPersona],
        recognise: Callable[[discord.Message], bool],
        me: discord.abc.User | None,
        said_by: SaidBy = nobody_known,
    ) -> None:
        """`personas`: of the server. `recognise`: whether a webhook of ours said a message."""
        self._personas = personas
        self._recognise = recognise
        self._own_id = me.id if me is not None else 0
        self._said_by = said_by
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
        sent_for = self._said_by(message)
        for persona in self._personas:
            if persona.persona_id == sent_for:
                return self._of_known(message, persona)
        main: int | None = None
        for persona in self._personas:
            if persona.is_main:
                main = persona.persona_id
            elif (words := without_name(message.content, persona.name)) is not None:
                self._going_on = persona.persona_id
                return Speaker(words, persona.persona_id, is_alter=True)
        if message.type is discord.MessageType.reply:
            self._going_on = None
        return Speaker(message.content, self._going_on or main)

    def _of_known(self, message: discord.Message, persona: KnownPersona) -> Speaker:
        if persona.is_main:
            self._going_on = None
            return Speaker(message.content, persona.persona_id)
        self._going_on = persona.persona_id
        words = without_name(message.content, persona.name)
        words = message.content if words is None else words
        return Speaker(words, persona.persona_id, is_alter=True)


def named(personas: Iterable[KnownPersona], username: str) -> int | None:
    """The persona that speaks under this name through a webhook. Of several that Discord shows
    alike, as older databases may hold them, the one whose name it is to the letter."""
    alike = [persona for persona in personas if same_username(persona.name, username)]
    if not alike:
        return None
    return max(alike, key=lambda persona: persona.name == username).persona_id
