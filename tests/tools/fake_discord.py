"""A small Discord behind `DiscordPort`, and turns that call a tool in it.

It keeps state like the real one (messages come and go, threads come to be, permissions are asked
at the moment of the call), so that a test looks at what became of the channel. `asked` lists every
method that was called, to show what was not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from temporalio.testing import ActivityEnvironment

from activities.context.document import ContextDocument, MediaRef, MessageRef
from activities.tools.registry import ToolRegistry
from activities.tools.resources import ToolResources
from activities.tools.run_tool import ToolActivities
from activities.tools.tool import Tool
from storage import Storage
from storage.config import ServerConfig, UserConfig
from workflows.contracts.discord_port import (
    ChannelFacts,
    DiscordPort,
    DiscordRefused,
    MemberFacts,
)
from workflows.contracts.history import HistoryMessage, StickerInfo
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.tools import (
    REPORTED_PERMISSIONS,
    Situation,
    ToolContext,
    ToolRequest,
    ToolResult,
)

GUILD, CHANNEL, OTHER = "100", "200", "201"
CATEGORY, THREAD = "300", "250"
BOT, MEMBER, STRANGER = "1", "10", "11"
TRIGGER = "1010"
EVERYTHING = frozenset(REPORTED_PERMISSIONS)
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

Model = TypeVar("Model", bound=BaseModel)


def message(
    message_id: str, text: str = "hello", author: str = MEMBER, **more: Any
) -> HistoryMessage:
    return HistoryMessage(
        id=message_id,
        author_id=author,
        author_name="Nova" if author == BOT else f"member {author}",
        content=text,
        created_at=BEGINNING + timedelta(seconds=int(message_id)),
        is_bot=author == BOT,
        is_self=author == BOT,
        **more,
    )


class FakeDiscord:
    """One server with `general`, `art` in a category, and a thread of `art`; all may do all until
    a test takes it away with `forbid`."""

    def __init__(self) -> None:
        self.channels = [
            ChannelFacts(id=CHANNEL, name="general"),
            ChannelFacts(id=OTHER, name="art", parent_id=CATEGORY),
            ChannelFacts(id=THREAD, name="sketches", is_thread=True, parent_id=OTHER),
        ]
        self.members = {MEMBER, STRANGER, BOT}
        self.messages: dict[str, list[HistoryMessage]] = {}
        self.files: dict[tuple[str, str, str], bytes] = {}
        self.reactions: list[tuple[str, str, str]] = []
        self.pins: set[tuple[str, str]] = set()
        self.sent: list[tuple[str, str, str | None, str]] = []
        self.voices: list[Voice | None] = []
        """Who said each of them."""
        """(channel, text, replied to, nonce)."""
        self.dispatched: list[ChatIncoming] = []
        self.asked: list[str] = []
        self.refusals: dict[str, str] = {}
        self._forbidden: dict[tuple[str, str], set[str]] = {}

    def forbid(self, user_id: str, channel_id: str, *permissions: str) -> None:
        self._forbidden.setdefault((user_id, channel_id), set()).update(permissions)

    def ids(self, channel_id: str = CHANNEL) -> list[str]:
        return [each.id for each in self.messages.get(channel_id, [])]

    def text(self, message_id: str, channel_id: str = CHANNEL) -> str:
        found = next(each for each in self.messages[channel_id] if each.id == message_id)
        return found.content

    def _ask(self, method: str) -> None:
        self.asked.append(method)
        if method in self.refusals:
            raise DiscordRefused(self.refusals[method])

    async def find_channels(self, guild_id: str, query: str) -> list[ChannelFacts]:
        self._ask("find_channels")
        if guild_id != GUILD:
            return []
        wanted = query.strip().removeprefix("<#").removesuffix(">").removeprefix("#").casefold()
        by_id = [each for each in self.channels if each.id == wanted]
        named = by_id or [each for each in self.channels if each.name.casefold() == wanted]
        return [each for each in named if "view_channel" in self._held(BOT, each.id)]

    async def find_members(self, guild_id: str, query: str) -> list[MemberFacts]:
        self._ask("find_members")
        return [
            MemberFacts(id=each, name=f"member {each}") for each in self.members if each == query
        ]

    async def permissions(self, guild_id: str, channel_id: str, user_id: str) -> frozenset[str]:
        self._ask("permissions")
        return self._held(user_id, channel_id) if guild_id == GUILD else frozenset()

    async def guild_permissions(self, guild_id: str, user_id: str) -> frozenset[str]:
        self._ask("guild_permissions")
        return EVERYTHING if user_id in self.members else frozenset()

    async def is_member(self, guild_id: str, user_id: str) -> bool:
        self._ask("is_member")
        return user_id in self.members

    def _held(self, user_id: str, channel_id: str) -> frozenset[str]:
        if user_id not in self.members:
            return frozenset()
        return EVERYTHING - self._forbidden.get((user_id, channel_id), set())

    async def read_messages(self, channel_id: str, limit: int) -> list[HistoryMessage]:
        self._ask("read_messages")
        return self.messages.get(channel_id, [])[-limit:]

    async def get_message(self, channel_id: str, message_id: str) -> HistoryMessage | None:
        self._ask("get_message")
        found = self.messages.get(channel_id, [])
        return next((each for each in found if each.id == message_id), None)

    async def react(self, channel_id: str, message_id: str, emoji: str) -> None:
        self._ask("react")
        self.reactions.append((channel_id, message_id, emoji))

    async def reply(
        self, channel_id: str, message_id: str, text: str, nonce: str, voice: Voice | None = None
    ) -> list[str]:
        self._ask("reply")
        self.voices.append(voice)
        self.sent.append((channel_id, text, message_id, nonce))
        return ["5000"]

    async def pin(self, channel_id: str, message_id: str, pinned: bool) -> None:
        self._ask("pin")
        (self.pins.add if pinned else self.pins.discard)((channel_id, message_id))

    async def edit(self, channel_id: str, message_id: str, text: str) -> None:
        self._ask("edit")
        self.messages[channel_id] = [
            each.model_copy(update={"content": text}) if each.id == message_id else each
            for each in self.messages[channel_id]
        ]

    async def delete(self, channel_id: str, message_ids: list[str]) -> int:
        self._ask("delete")
        before = self.messages.get(channel_id, [])
        self.messages[channel_id] = [each for each in before if each.id not in message_ids]
        return len(before) - len(self.messages[channel_id])

    async def create_thread(
        self,
        channel_id: str,
        name: str,
        first_message: str,
        nonce: str,
        voice: Voice | None = None,
    ) -> ChannelFacts:
        self._ask("create_thread")
        self.voices.append(voice)
        thread = ChannelFacts(id="260", name=name, is_thread=True, parent_id=channel_id)
        self.channels.append(thread)
        self.sent.append((thread.id, first_message, None, nonce))
        return thread

    async def read_file(
        self, channel_id: str, message_id: str, file_id: str, limit: int
    ) -> bytes | None:
        self._ask("read_file")
        data = self.files.get((channel_id, message_id, file_id))
        if data is not None and len(data) > limit:
            raise DiscordRefused("The file is too large.")
        return data

    async def dispatch(self, incoming: ChatIncoming) -> None:
        self._ask("dispatch")
        self.dispatched.append(incoming)


class _Blobs:
    def __init__(self) -> None:
        self.models: dict[str, BaseModel] = {}
        self.data: list[bytes] = []

    async def get_model(self, blob_id: str, model: type[Model]) -> Model:
        found = self.models[blob_id]
        assert isinstance(found, model)
        return found

    async def put(self, kind: str, data: bytes) -> str:
        self.data.append(data)
        return f"{len(self.data):064x}"


class _Configs:
    def __init__(self) -> None:
        self.servers: dict[str, ServerConfig] = {}
        self.users: dict[str, UserConfig] = {}

    async def server(self, server_key: str) -> ServerConfig:
        return self.servers.get(server_key, ServerConfig())

    async def user(self, user_id: str) -> UserConfig:
        return self.users.get(user_id, UserConfig())


class FirstCalls:
    """Every call is a first one, so that a test can repeat what a tool does under its own name."""

    async def claim(self, turn_id: str, iteration: int, position: int) -> bool:
        return True


class FakeStorage:
    def __init__(self) -> None:
        self.blobs = _Blobs()
        self.configs = _Configs()
        self.dispatches = FirstCalls()


class DiscordTurn:
    """A turn in `general`, brought about by `MEMBER`, whose tools run as an activity runs them.

    The conversation is what `discord.messages[CHANNEL]` holds when the first tool is called."""

    def __init__(self, **context: Any) -> None:
        self.discord = FakeDiscord()
        self.storage = FakeStorage()
        self.stickers: list[StickerInfo] = []
        self.media: list[MediaRef] = []
        situation = context.pop("situation", Situation(own_permissions=list(EVERYTHING)))
        self.context = ToolContext(
            **{
                "turn_id": f"turn/{CHANNEL}/{TRIGGER}/7",
                "application_id": "900",
                "bot_user_id": BOT,
                "guild_id": GUILD,
                "guild_name": "The Server",
                "channel_id": CHANNEL,
                "channel_name": "general",
                "trigger_message_id": TRIGGER,
                "user_id": MEMBER,
                "user_name": "Mia",
                "persona_id": 7,
                "persona_name": "Nova",
                "provider": "demo",
                "context_id": "context",
                "situation": situation,
                **context,
            }
        )

    def configure(self, config: ServerConfig) -> None:
        self.storage.configs.servers[GUILD] = config

    async def call(
        self, tool: Tool[Any], arguments: Mapping[str, Any], **context: Any
    ) -> ToolResult:
        self._remember_conversation()
        resources = ToolResources(
            storage=cast(Storage, self.storage), discord=cast(DiscordPort, self.discord)
        )
        activities = ToolActivities(
            ToolRegistry([("this test", tool)]), cast(Any, self.storage), resources
        )
        request = ToolRequest(
            call_id="call",
            name=tool.name,
            arguments=json.dumps(arguments),
            context=self.context.model_copy(update=context),
        )
        try:
            return await ActivityEnvironment().run(activities.run_tool, request)
        finally:
            await activities.aclose()

    def _remember_conversation(self) -> None:
        if "context" in self.storage.blobs.models:
            return
        self.storage.blobs.models["context"] = ContextDocument(
            persona_name="Nova",
            system="",
            items=[],
            refs=[
                MessageRef(
                    ref=f"ref_{index}",
                    message_id=each.id,
                    author_id=each.author_id,
                    author_name=each.author_name,
                    is_self=each.is_self,
                    written_at=each.created_at,
                )
                for index, each in enumerate(self.discord.messages.get(CHANNEL, []), start=1)
            ],
            media=self.media,
            stickers=self.stickers,
        )


def told(result: ToolResult) -> dict[str, Any]:
    """What the model reads of a result that fits."""
    assert result.content_id is None
    return json.loads(result.content)


def refused(result: ToolResult) -> str:
    assert not result.success
    return told(result)["reason"]
