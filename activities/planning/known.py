"""What is known of a message's place and author: the settings, and who lives there.

In: the message. Out: `Known`, read over one connection. Changes nothing. A member's settings that
are not readable count as fully private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from storage import Persona, ServerConfig, Storage, UserConfig
from storage.config.models import AutochatChannel
from workflows.contracts.base import server_key
from workflows.contracts.invocation import Addressed, ChatIncoming


@dataclass(frozen=True)
class Known:
    personas: Sequence[Persona]
    """Who may answer in the server: main first, then oldest."""
    server: ServerConfig = field(default_factory=ServerConfig)
    user: UserConfig = field(default_factory=UserConfig)
    """Of the acting member."""

    @property
    def main(self) -> Persona | None:
        return next((persona for persona in self.personas if persona.is_main), None)

    def persona(self, persona_id: int | None) -> Persona | None:
        """None where it does not live, or not any more."""
        return next((persona for persona in self.personas if persona.id == persona_id), None)


async def read_known(storage: Storage, message: ChatIncoming) -> Known:
    """Raises StorageError: without the lists nobody may be answered."""
    key = server_key(message.guild_id, message.author_id)
    authors = [message.author_id] if message.author_id else []

    async def work() -> Known:
        users = await storage.configs.users(authors)
        return Known(
            personas=await storage.personas.all(message.guild_id),
            server=await storage.configs.server(key),
            user=users.get(message.author_id, UserConfig()),
        )

    return await storage.database.read_together(work)


def places(message: ChatIncoming) -> list[str]:
    """The channel; of a thread also the channel it belongs to, whose lists hold for it too."""
    parent = message.parent_channel_id
    return [message.channel_id, parent] if parent else [message.channel_id]


def is_said(message: ChatIncoming) -> bool:
    """A person has said it in the channel, and it is planned for the first time: no command, no
    persona's words, no further persona of the same message, nothing of the system's own."""
    return (
        not message.is_synthetic
        and message.author_persona_id is None
        and message.addressed is not Addressed.COMMAND
        and not (message.is_persona_job or message.is_stop_response)
    )


def is_follow_up(message: ChatIncoming) -> bool:
    """It took the place of an answer to its author, which gave way for it (behaviour 2.3): in a
    server, what a person has said is begun as if by a command only then."""
    return message.is_manual and not message.is_dm and is_said(message)


def autochat_channel(message: ChatIncoming, known: Known) -> AutochatChannel | None:
    """How the message's channel counts, if it does. A thread's own entry goes before its
    channel's."""
    if message.guild_id is None:
        return None
    entries = {entry.channel_id: entry for entry in reversed(known.server.triggers.autochat)}
    return next((entries[place] for place in places(message) if place in entries), None)


def channel_persona(message: ChatIncoming, known: Known) -> Persona | None:
    """Who answers what is addressed to nobody in a channel that counts."""
    entry = autochat_channel(message, known)
    if entry is None:
        return None
    return known.main if entry.persona_id is None else known.persona(entry.persona_id)


def spotlight_persona(message: ChatIncoming, known: Known) -> Persona | None:
    """The one persona that the member has chosen for what they say in this channel. It binds
    neither their commands nor what is done in their name."""
    if message.guild_id is None or not is_said(message):
        return None
    return spotlit_here(message, known)


def spotlit_here(message: ChatIncoming, known: Known) -> Persona | None:
    """The same, whatever has brought the message about."""
    spotlights = known.user.spotlights
    chosen = next((spotlights[place] for place in places(message) if place in spotlights), None)
    return known.persona(chosen)
