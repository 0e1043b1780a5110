"""`review_capabilities`: what the persona can do here, so that it does not have to guess.

It tells what is: the tools as this turn is offered them, the commands as Discord has them, the
settings as they are stored. The settings in detail are for those who may change them, which is
asked of Discord at this moment. Keys and tokens are in none of the three.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from activities.tools.resources import ToolResources
from activities.tools.tool import Tool, ToolArguments, ToolFailure, ToolOutput
from storage.config import ServerConfig
from workflows.contracts.base import server_key
from workflows.contracts.tools import DISCORD_TOOLS, ToolContext

MAX_DESCRIPTION = 160
"""Code points of a tool's description; the model has the whole of those it can call."""

_MAY_SEE_SETTINGS = {"manage_guild", "administrator"}


class CapabilityType(StrEnum):
    CHAT = "chat"
    COMMANDS = "commands"
    SETTINGS = "settings"


class ReviewCapabilitiesArguments(ToolArguments):
    capability_type: CapabilityType = Field(
        description="chat: your tools here. commands: slash commands. settings: the server's."
    )


async def review_capabilities(
    arguments: ReviewCapabilitiesArguments, context: ToolContext, resources: ToolResources
) -> ToolOutput:
    match arguments.capability_type:
        case CapabilityType.CHAT:
            return _chat(context, resources, await _config(context, resources))
        case CapabilityType.COMMANDS:
            commands = await resources.discord.commands()
            return {"commands": [f"/{each.name}: {each.description}" for each in commands]}
        case CapabilityType.SETTINGS:
            if context.guild_id is not None:
                await _check_standing(context.guild_id, context, resources)
            config = await _config(context, resources)
            return {"settings": config.model_dump(mode="json"), "changed_with": "/config"}


def _chat(context: ToolContext, resources: ToolResources, config: ServerConfig) -> dict[str, Any]:
    offered, situation, provider = resources.offered, context.situation, context.provider
    return {
        "persona": context.persona_name,
        "provider": provider,
        "model": context.model,
        "tools": {
            tool.name: tool.description[:MAX_DESCRIPTION]
            for tool in offered.available(provider, situation, config)
        },
        "not_available_now": offered.withheld(provider, situation, config),
        "further_tools": (
            "Those whose names begin with mcp_ in your own list come from servers that the "
            "operator has connected."
            if config.tools.mcp
            else "Tools of MCP servers are switched off here."
        ),
        "deliberate_tool_mode": (
            "On: a message offers only the tools that its words ask for."
            if config.deliberate.enabled
            else "Off, unless a member has switched it on."
        ),
    }


async def _check_standing(guild_id: str, context: ToolContext, resources: ToolResources) -> None:
    """Raises ToolFailure for somebody who may not see the settings in detail."""
    have = await resources.discord.guild_permissions(guild_id, context.user_id)
    if not have & _MAY_SEE_SETTINGS:
        raise ToolFailure(
            "The settings in detail are only told to members with the Manage Server permission, "
            "and whoever asked does not have it."
        )


async def _config(context: ToolContext, resources: ToolResources) -> ServerConfig:
    return await resources.storage.configs.server(server_key(context.guild_id, context.user_id))


TOOL = Tool(
    name="review_capabilities",
    description=(
        "Look up what you can do here (tools, slash commands, settings) before you tell somebody "
        "what you can or cannot do."
    ),
    arguments=ReviewCapabilitiesArguments,
    run=review_capabilities,
    summarise=lambda arguments: arguments.capability_type.value,
    task_queue=DISCORD_TOOLS,
    deliberate_target="capabilities",
)
