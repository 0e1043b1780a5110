"""bot ──► tools: what a tool that runs on the Discord queue may ask of Discord.

`bot` implements `DiscordPort`; the tools of `activities/tools` use it; neither imports the other.
Every method makes at most a few requests, waits out ordinary rate limits, and raises
`DiscordRefused` with a sentence that the model may read.
"""

from __future__ import annotations

from typing import Protocol

from workflows.contracts.base import Contract
from workflows.contracts.history import HistoryMessage
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import ChatIncoming


class DiscordRefused(Exception):
    """Discord did not do it, or cannot be reached. `reason`: one sentence, no secret."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ChannelFacts(Contract):
    id: str
    name: str = ""
    is_thread: bool = False
    parent_id: str | None = None
    """Of a thread its channel, of a channel its category."""
    takes_messages: bool = True
    is_private: bool = False
    """Not every member of the server can read it; told by `find_channels`."""


class MemberFacts(Contract):
    id: str
    name: str
    """As the server shows it."""
    is_bot: bool = False


class CommandFacts(Contract):
    name: str
    """Without the `/`; of a subcommand the whole path."""
    description: str = ""


class DiscordPort(Protocol):
    async def commands(self) -> list[CommandFacts]:
        """The slash commands that members can use."""
        ...

    async def find_channels(self, guild_id: str, query: str) -> list[ChannelFacts]:
        """Channels and active threads that `query` means: an id, a mention, or else a name with
        or without `#`, without case. Only those of this server; without those the bot cannot
        see."""
        ...

    async def find_members(self, guild_id: str, query: str) -> list[MemberFacts]:
        """Members that `query` means: an id, a mention, or else a name, without case. At most
        10."""
        ...

    async def permissions(self, guild_id: str, channel_id: str, user_id: str) -> frozenset[str]:
        """discord.py's permission names that `user_id` has in the channel, asked anew; empty for
        somebody who is not a member. The bot's own timeout takes away what it takes away."""
        ...

    async def guild_permissions(self, guild_id: str, user_id: str) -> frozenset[str]:
        """The same, server-wide."""
        ...

    async def is_member(self, guild_id: str, user_id: str) -> bool:
        """A member may hold no permission at all."""
        ...

    async def read_messages(self, channel_id: str, limit: int) -> list[HistoryMessage]:
        """The newest messages, oldest first; notices of our own are left out."""
        ...

    async def get_message(self, channel_id: str, message_id: str) -> HistoryMessage | None:
        """None: there is no such message."""
        ...

    async def react(self, channel_id: str, message_id: str, emoji: str) -> None: ...

    async def reply(
        self, channel_id: str, message_id: str, text: str, nonce: str, voice: Voice | None = None
    ) -> list[str]:
        """Send `text` as a reply, cut like any answer; the ids of the messages. `nonce` is the
        first 22 characters of their nonces. `voice`: of the persona that says it; None: the main
        one."""
        ...

    async def pin(self, channel_id: str, message_id: str, pinned: bool) -> None: ...

    async def edit(self, channel_id: str, message_id: str, text: str) -> None:
        """Replace a message of our own. Mentions in `text` ping nobody."""
        ...

    async def delete(self, channel_id: str, message_ids: list[str]) -> int:
        """How many are gone now because of this."""
        ...

    async def create_thread(
        self,
        channel_id: str,
        name: str,
        first_message: str,
        nonce: str,
        voice: Voice | None = None,
    ) -> ChannelFacts:
        """A public thread with `first_message` in it. `nonce` and `voice` as in `reply`."""
        ...

    async def read_file(
        self, channel_id: str, message_id: str, file_id: str, limit: int
    ) -> bytes | None:
        """A file of a message, at most `limit` bytes: DiscordRefused for a larger one. None: the
        message, or the file, is gone."""
        ...

    async def dispatch(self, incoming: ChatIncoming) -> None:
        """Hand a synthetic message to its channel's workflow (signal-with-start). Raises
        DiscordRefused when Temporal does not take it."""
        ...
