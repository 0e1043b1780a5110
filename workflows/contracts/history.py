"""turn ──► bot: read the channel's recent messages. The text goes to `storage`, an id comes
back."""

from __future__ import annotations

from pydantic import AwareDatetime

from workflows.contracts.base import ActivityStub, Contract


class HistoryRequest(Contract):
    turn_id: str
    channel_id: str
    trigger_message_id: str
    limit: int = 80
    owner_id: str = ""
    """Whose message is answered: what they write meanwhile is told to the channel, even where it
    addresses nobody."""
    persona_id: int = 0
    omit_message_ids: list[str] = []
    """Messages still queued for their own turn; never the trigger."""


class HistoryRef(Contract):
    history_id: str
    """Blob id of a `ChannelHistory` in `storage`."""
    count: int = 0
    fetch_ms: float = 0
    bot_user_id: str = ""
    newest_message_id: str | None = None
    """Newest message in the channel when it was read, of whatever kind. What this turn says is
    younger, and what an earlier turn said is not."""
    is_private: bool = False
    """Not every member of the server can read this channel: what is said in it is not shown in
    others (behaviour 7.1). A direct message need not say so."""
    own_permissions: list[str] = []
    """Those of `contracts.tools.REPORTED_PERMISSIONS` that the bot has here, from its cache."""


class FileInfo(Contract):
    """A file of a message. Its address expires, so a tool asks Discord for the message again."""

    id: str
    filename: str
    content_type: str = ""
    size: int = 0
    """Bytes."""


class ReactionInfo(Contract):
    emoji: str
    """A character, or the name of a custom emoji."""
    count: int = 1


class StickerInfo(Contract):
    """A sticker of the server."""

    id: str
    name: str
    description: str = ""
    emotion: str = ""
    """The emoji that Discord suggests it for."""


class HistoryMessage(Contract):
    """One message as it stands in the stored history."""

    id: str
    author_id: str
    author_name: str
    content: str = ""
    created_at: AwareDatetime
    is_bot: bool = False
    is_self: bool = False
    """Sent by our own bot account."""
    persona_id: int | None = None
    """The persona that said it: by a webhook of ours, or, for the main one, by the bot account."""
    reply_to: str | None = None
    attachments: list[str] = []
    """File names only; never addresses, which expire."""
    files: list[FileInfo] = []
    """The same files, with what a tool needs to find them again."""
    reactions: list[ReactionInfo] = []
    """At most 4 (behaviour 6.1)."""


class ChannelHistory(Contract):
    """The stored document behind `HistoryRef.history_id`: oldest message first."""

    messages: list[HistoryMessage] = []
    stickers: list[StickerInfo] = []
    """What the server has, oldest first; empty in a direct message."""


READ_HISTORY = ActivityStub("read_history", HistoryRequest, HistoryRef)
"""Also begins the typing indicator of `turn_id`, which ends with its last message."""
