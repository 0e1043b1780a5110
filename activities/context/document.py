"""The built context, as it is stored: what the model call reads, and what tools find in it.

The model knows messages as `ref_N`, files as `media_N` and people by their names; the real ids
behind them are here, and a tool acts on nothing that is not.
"""

from __future__ import annotations

import re
from typing import Literal, Protocol

from pydantic import AwareDatetime, BaseModel, ConfigDict

from storage import Storage
from text.labels import Named, alias_of, author_label, labels_beside
from workflows.contracts.history import StickerInfo
from workflows.contracts.invocation import ChatIncoming

_MENTION = re.compile(r"<@!?([0-9]{1,20})>")
_FROZEN = ConfigDict(frozen=True, extra="ignore")


class ContextItem(BaseModel):
    model_config = _FROZEN

    role: Literal["user", "model"]
    text: str


class MessageRef(BaseModel):
    """A message of the conversation that the model sees."""

    model_config = _FROZEN

    ref: str
    """`ref_1`, `ref_2`, …, as they stand in the conversation."""
    message_id: str
    author_id: str
    author_name: str
    is_self: bool = False
    """The persona of this turn has said it."""
    written_at: AwareDatetime


class MediaRef(BaseModel):
    """A file of such a message."""

    model_config = _FROZEN

    media_id: str
    """`media_1`, `media_2`, …, as they stand in the conversation."""
    message_id: str
    file_id: str
    filename: str
    content_type: str = ""
    size: int = 0
    """Bytes."""


class Person(BaseModel):
    """Somebody in the conversation, or who brought the turn about; never the persona."""

    model_config = _FROZEN

    user_id: str
    name: str
    """As the channel shows it."""
    is_bot: bool = False


class ContextBasis(BaseModel):
    """Which turn's document this is, so that a tool of it, and of no other turn, can make a richer
    one (behaviour 6.6)."""

    model_config = _FROZEN

    turn_id: str
    history_id: str
    reveals_messages: bool = False
    """Whether the model sees `ref_N` and times already."""


class ContextDocument(BaseModel):
    """Neutral towards providers: how roles and items become requests is the model call's matter.

    The first and the last item are always the user's.
    """

    model_config = _FROZEN

    persona_name: str
    system: str
    items: list[ContextItem]
    stop_strings: list[str] = []
    invocation: ChatIncoming = ChatIncoming(
        application_id="", channel_id="", message_id="", author_id="", author_name=""
    )
    """What is answered."""
    refs: list[MessageRef] = []
    media: list[MediaRef] = []
    people: list[Person] = []
    """Everybody in the conversation, in order of first appearance, and whoever is answered."""
    stickers: list[StickerInfo] = []
    """What the server has; empty unless the turn is offered the sticker tool."""
    basis: ContextBasis | None = None

    def message_of(self, ref_or_id: str) -> MessageRef | None:
        """The message that `ref_N`, or a real id that is known here, names."""
        wanted = ref_or_id.strip().strip("[]").lower()
        return next((ref for ref in self.refs if wanted in (ref.ref, ref.message_id)), None)

    def media_of(self, media_id: str) -> MediaRef | None:
        wanted = media_id.strip().strip("[]").lower()
        return next((media for media in self.media if media.media_id == wanted), None)

    def people_named(self, query: str) -> list[Person]:
        """Whom an id, a mention or a name means; a name without regard to case and width. More
        than one: the name alone does not tell. With what the conversation adds to a name, such as
        a number, it means that one person."""
        wanted = query.strip()
        mention = _MENTION.fullmatch(wanted)
        by_id = [p for p in self.people if p.user_id == (mention[1] if mention else wanted)]
        if by_id or mention:
            return by_id
        wanted = wanted.removeprefix("@")
        if not wanted:
            return []
        alias = alias_of(author_label(wanted))
        as_shown = alias_of(" ".join(wanted.split()))
        labels = self.labels()
        one = [
            person
            for person in self.people
            if labels[person.user_id] != author_label(person.name)
            and alias_of(labels[person.user_id]) == as_shown
        ]
        return one or [
            person for person in self.people if alias_of(author_label(person.name)) == alias
        ]

    def labels(self) -> dict[str, str]:
        """What people are called in it, by user id."""
        people = [Named(p.user_id, p.name, p.is_bot) for p in self.people]
        return labels_beside(people, [self.persona_name])


class _InContext(Protocol):
    @property
    def context_id(self) -> str: ...


async def load_document(storage: Storage, context: _InContext) -> ContextDocument:
    """The document of a `ToolContext` or a `ContextRef`. Raises BlobMissing, StorageError."""
    return await storage.blobs.get_model(context.context_id, ContextDocument)
