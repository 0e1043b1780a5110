"""Which personas a message still calls by their words (5.1, deliberate trigger mode). Pure.

The bot has found the words, exactly, with the settings of that moment. Where plain words count no
more by now, what is left are those that an `@` stands before. That is looked for in a simpler way
than the bot does it, since here it only ever takes away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from activities.planning.known import Known, channel_persona
from storage import Persona
from text.words import drawn_in, folded
from workflows.contracts.invocation import Addressed, ChatIncoming

_MENTION = re.compile(r"<@!?(\d+)>")


def called_personas(
    message: ChatIncoming, known: Known, base_words: Sequence[str] = ()
) -> list[Persona]:
    """In the order in which the bot found them, each once; never the one who said it."""
    ids: list[int] = list(dict.fromkeys(message.persona_ids))
    main = known.main
    if not ids and message.addressed is Addressed.TRIGGER_WORD and main is not None:
        ids = [main.id]
    called = [
        persona
        for persona_id in ids
        if persona_id != message.author_persona_id
        and (persona := known.persona(persona_id)) is not None
    ]
    if not _is_deliberate(message, known):
        return called
    exempt = channel_persona(message, known)
    at_words = _AtWords(message.content)
    return [
        persona
        for persona in called
        if persona == exempt or at_words.call(_words_of(persona, known, base_words))
    ]


def _is_deliberate(message: ChatIncoming, known: Known) -> bool:
    """Off in direct messages. A persona's words follow the server, as it is nobody's own mode."""
    if message.is_dm or message.guild_id is None:
        return False
    server = known.server.triggers.deliberate
    if message.author_persona_id is not None:
        return server
    return known.user.deliberate_triggers.over(server)


def _words_of(persona: Persona, known: Known, base_words: Sequence[str]) -> list[str]:
    words = [*persona.triggers, persona.name]
    if persona.is_main:
        own = known.server.triggers.base_words
        words += base_words if own is None else own
    return [word for word in words if word.strip()]


class _AtWords:
    """Looks in one text for words with an `@` before them, however drawn out."""

    def __init__(self, text: str) -> None:
        self._mentioned = {match[1] for match in _MENTION.finditer(text)}
        self._text = drawn_in(folded(text))

    def call(self, words: Sequence[str]) -> bool:
        return any(self._calls(folded(word)) for word in words)

    def _calls(self, word: str) -> bool:
        mention = _MENTION.fullmatch(word)
        if mention is not None:
            return mention[1] in self._mentioned
        # a word may have been given with its sign
        return drawn_in(f"@{word.lstrip('@')}") in self._text
