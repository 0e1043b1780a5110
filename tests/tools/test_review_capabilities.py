"""`review_capabilities`: what is, for whoever may hear it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from activities.tools.registry import ToolRegistry
from storage.config import DeliberateConfig, ServerConfig, ToolsConfig
from workflows.contracts.discord_port import CommandFacts, DiscordRefused
from workflows.contracts.tools import DISCORD_TOOLS, Situation

GUILD = "7"


class Discord:
    def __init__(self, permissions: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        self.have = permissions
        self.asked: list[tuple[str, str]] = []

    async def commands(self) -> list[CommandFacts]:
        return [CommandFacts(name="kill", description="Stop the answer")]

    async def guild_permissions(self, guild_id: str, user_id: str) -> frozenset[str]:
        self.asked.append((guild_id, user_id))
        return frozenset(self.have)


@pytest.fixture
def reviewed(bench):
    async def call(
        kind: str, discord: Any = None, config: ServerConfig | None = None, **context: Any
    ) -> Any:
        made = bench(discord=discord or Discord(), storage=None)
        made.activities._resources.connect(storage=made.store)
        context = {"guild_id": GUILD, **context}
        made.store.configs.servers[context["guild_id"] or "dm10"] = config or ServerConfig()
        result = await made.call("review_capabilities", {"capability_type": kind}, **context)
        return made.whole(result)

    return call


async def test_the_tools_are_those_of_this_turn(reviewed):
    said = await reviewed(
        "chat",
        config=ServerConfig(tools=ToolsConfig(fetch_url=False)),
        persona_name="Nova",
        model="m-1",
        situation=Situation(disabled=["roll_dice"]),
    )
    assert (said["persona"], said["model"], said["provider"]) == ("Nova", "m-1", "demo")
    assert "web_search" in said["tools"]
    assert {"fetch_url", "roll_dice"} <= set(said["not_available_now"])
    assert not {"fetch_url", "roll_dice"} & set(said["tools"])


async def test_the_commands_are_those_that_discord_has(reviewed):
    assert await reviewed("commands") == {"commands": ["/kill: Stop the answer"]}


@pytest.mark.parametrize("permission", ["manage_guild", "administrator"])
async def test_settings_are_told_to_those_who_may_change_them(reviewed, permission):
    discord = Discord({permission})
    config = ServerConfig(deliberate=DeliberateConfig(enabled=True), timezone="Asia/Tokyo")
    said = await reviewed("settings", discord, config)
    assert said["settings"]["timezone"] == "Asia/Tokyo"
    assert said["settings"]["deliberate"]["enabled"] is True
    assert discord.asked == [(GUILD, "10")]


async def test_settings_are_not_told_to_others(reviewed):
    """Behaviour 16: the details need Manage Server, asked when the tool runs."""
    said = await reviewed(
        "settings", Discord({"manage_messages"}), ServerConfig(timezone="Asia/Tokyo")
    )
    assert "Manage Server" in said["reason"]
    assert "Tokyo" not in json.dumps(said)


async def test_direct_messages_belong_to_their_user(reviewed):
    discord = Discord()
    said = await reviewed("settings", discord, guild_id=None)
    assert said["settings"]["timezone"] == "UTC"
    assert discord.asked == []


async def test_a_discord_that_cannot_be_asked_tells_nothing(reviewed):
    class Down(Discord):
        async def guild_permissions(self, guild_id: str, user_id: str) -> frozenset[str]:
            raise DiscordRefused("Discord cannot be reached just now.")

    said = await reviewed("settings", Down(), ServerConfig(timezone="Asia/Tokyo"))
    assert said["reason"] == "Discord cannot be reached just now."


def test_it_runs_where_discord_is():
    examined = ToolRegistry.builtin().examine("review_capabilities", '{"capability_type": "chat"}')
    assert (examined.task_queue, examined.summary) == (DISCORD_TOOLS, "review_capabilities chat")
