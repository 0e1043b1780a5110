"""A turn whose tools work on a real database: `DiscordTurn` with what it has of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from temporalio.testing import ActivityEnvironment

from activities.context.document import ContextDocument, ContextItem, Person
from activities.tools.limits import MemoryLimits
from activities.tools.registry import ToolRegistry
from activities.tools.resources import ToolResources
from activities.tools.run_tool import ToolActivities, ToolStore
from activities.tools.tool import Tool
from storage import Storage, open_storage
from storage.config import ServerConfig
from tests.tools.fake_discord import (
    BOT,
    CHANNEL,
    GUILD,
    MEMBER,
    STRANGER,
    TRIGGER,
    FakeDiscord,
    FirstCalls,
)
from workflows.contracts.base import server_key
from workflows.contracts.discord_port import DiscordPort
from workflows.contracts.tools import Situation, ToolContext, ToolRequest, ToolResult

SAM, ALEX, OTHER_ALEX, MUSIC_BOT = "21", "22", "23", "24"

PEOPLE = [
    Person(user_id=MEMBER, name="Mia"),
    Person(user_id=SAM, name="Sam"),
    Person(user_id=ALEX, name="Alex"),
    Person(user_id=OTHER_ALEX, name="alex"),
    Person(user_id=MUSIC_BOT, name="Jukebox", is_bot=True),
]

_empty: list[bytes] = []
"""The file of an empty database: its tables are made once, for all tests."""


async def empty_storage(folder: Path) -> Storage:
    file = folder / "everturn.db"
    url = f"sqlite:///{file}"
    if not _empty:
        await (await open_storage(url)).close()
        _empty.append(file.read_bytes())
    file.write_bytes(_empty[0])
    return await open_storage(url)


class Server(FakeDiscord):
    """With the people of the conversation in it, and those who manage it."""

    def __init__(self) -> None:
        super().__init__()
        self.members = {MEMBER, STRANGER, BOT, SAM, ALEX, OTHER_ALEX}
        self.managers: set[str] = set()

    async def guild_permissions(self, guild_id: str, user_id: str) -> frozenset[str]:
        held = await super().guild_permissions(guild_id, user_id)
        return held | ({"manage_guild"} if user_id in self.managers else set())


class StoredTurn:
    def __init__(self, storage: Storage, temporal: Any, context: ToolContext) -> None:
        self.storage = storage
        self.temporal = temporal
        self.context = context
        self.discord = Server()
        self.limits = MemoryLimits()
        self.environment = ActivityEnvironment()

    async def configure(self, config: ServerConfig) -> None:
        key = server_key(self.context.guild_id, self.context.user_id)
        await self.storage.configs.change_server(key, lambda _: config)

    async def configure_user(self, user_id: str, **changes: Any) -> None:
        await self.storage.configs.change_user(
            user_id, lambda user: user.model_copy(update=changes)
        )

    def situate(self, **situation: Any) -> None:
        changed = self.context.situation.model_copy(update=situation)
        self.context = self.context.model_copy(update={"situation": changed})

    async def call(self, tool: Tool[Any], arguments: Mapping[str, Any] | str) -> ToolResult:
        resources = ToolResources(
            storage=self.storage,
            temporal=self.temporal,
            discord=cast(DiscordPort, self.discord),
            memory_limits=self.limits,
        )
        store = SimpleNamespace(
            blobs=self.storage.blobs, configs=self.storage.configs, dispatches=FirstCalls()
        )
        activities = ToolActivities(
            ToolRegistry([("this test", tool)]), cast(ToolStore, store), resources
        )
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        request = ToolRequest(call_id="call", name=tool.name, arguments=text, context=self.context)
        try:
            return await self.environment.run(activities.run_tool, request)
        finally:
            await activities.aclose()

    @staticmethod
    def told(result: ToolResult) -> dict[str, Any]:
        assert result.content_id is None
        return json.loads(result.content)


async def stored_turn(storage: Storage, temporal: Any = None) -> StoredTurn:
    """Mia asks Nova in #general."""
    document = ContextDocument(
        persona_name="Nova",
        system="",
        items=[ContextItem(role="user", text="Mia: what about <@123456789012345678>?")],
        people=PEOPLE,
    )
    context = ToolContext(
        turn_id=f"turn/{CHANNEL}/{TRIGGER}/7",
        application_id="900",
        bot_user_id=BOT,
        guild_id=GUILD,
        guild_name="The Server",
        channel_id=CHANNEL,
        channel_name="general",
        trigger_message_id=TRIGGER,
        user_id=MEMBER,
        user_name="Mia",
        persona_id=7,
        persona_name="Nova",
        provider="demo",
        context_id=await storage.blobs.put_model("context", document),
        situation=Situation(),
    )
    return StoredTurn(storage, temporal, context)
