"""What the playground remembers: users, members, roles, channels, messages, webhooks.

Ids are integers here and become strings on the wire. A record is a plain dataclass whose fields
are JSON values, so that it is stored as it stands.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any, Self


class ChannelType(IntEnum):
    TEXT = 0
    DM = 1
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12


class MessageType(IntEnum):
    DEFAULT = 0
    PINNED = 6
    THREAD_CREATED = 18
    REPLY = 19
    CHAT_INPUT_COMMAND = 20
    THREAD_STARTER = 21


SYSTEM_TYPES = {MessageType.PINNED, MessageType.THREAD_CREATED, MessageType.THREAD_STARTER}

EPHEMERAL = 1 << 6
LOADING = 1 << 7
SUPPRESS_NOTIFICATIONS = 1 << 12
COMPONENTS_V2 = 1 << 15


@dataclass
class User:
    id: int
    name: str
    bot: bool = False


@dataclass
class Role:
    id: int
    name: str
    permissions: int
    position: int = 0
    managed: bool = False


@dataclass
class Member:
    user_id: int
    joined_at: str
    roles: list[int] = field(default_factory=list)
    timed_out_until: str | None = None


@dataclass
class Overwrite:
    """Permissions changed in one channel, for a role or for a member (`kind` 0 or 1)."""

    id: int
    kind: int
    allow: int = 0
    deny: int = 0


@dataclass
class Channel:
    id: int
    type: int
    name: str = ""
    position: int = 0
    topic: str | None = None
    guild_id: int | None = None
    parent_id: int | None = None
    owner_id: int | None = None
    recipient_id: int | None = None
    overwrites: list[Overwrite] = field(default_factory=list)
    archived: bool = False
    locked: bool = False
    archive_changed_at: str | None = None
    last_message_id: int | None = None
    message_count: int = 0
    thread_members: list[int] = field(default_factory=list)
    """Who has joined a private thread."""

    @property
    def is_thread(self) -> bool:
        return self.type in (ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD)

    @property
    def is_dm(self) -> bool:
        return self.type == ChannelType.DM

    @classmethod
    def load(cls, body: dict[str, Any]) -> Self:
        body = {**body, "overwrites": [Overwrite(**item) for item in body["overwrites"]]}
        return cls(**body)


@dataclass
class Message:
    """A message and what became of it. A deleted one stays, marked, for whoever asserts on it."""

    id: int
    channel_id: int
    author_id: int
    type: int = MessageType.DEFAULT
    content: str = ""
    nonce: str | int | None = None
    tts: bool = False
    flags: int = 0
    embeds: list[dict[str, Any]] = field(default_factory=list)
    components: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    stickers: list[int] = field(default_factory=list)
    reactions: dict[str, list[int]] = field(default_factory=dict)
    """Emoji to the ids of those who reacted, in order."""
    reference: dict[str, int] | None = None
    """`message_id` and `channel_id` of what this replies to."""
    mentions: list[int] = field(default_factory=list)
    mention_everyone: bool = False
    pings: list[str] = field(default_factory=list)
    """Who was notified: user ids, `@everyone`, `@here`, `role:<id>`."""
    pinned_at: str | None = None
    webhook_id: int | None = None
    webhook_name: str | None = None
    webhook_avatar: str | None = None
    interaction: dict[str, Any] | None = None
    """`id`, `type`, `name`, `user_id` of the interaction this answers."""
    edited_at: str | None = None
    edits: list[dict[str, str]] = field(default_factory=list)
    """Earlier contents, oldest first: `content` and `until`."""
    deleted_at: str | None = None
    deleted_by: int | None = None

    @property
    def ephemeral(self) -> bool:
        return bool(self.flags & EPHEMERAL)


@dataclass
class Emoji:
    """A custom emoji of the guild."""

    id: int
    name: str


@dataclass
class Sticker:
    """A sticker of the guild. `emoji` is the one that Discord suggests it for."""

    id: int
    name: str
    description: str = ""
    emoji: str = ""


@dataclass
class Webhook:
    id: int
    channel_id: int
    name: str
    token: str
    creator_id: int
    avatar: str | None = None


def dump(record: Any) -> dict[str, Any]:
    """A record as JSON values."""
    return asdict(record)
