"""Make the commands known to Discord: one bulk PUT, and only when they have changed (D74).

Discord counts creations and refuses a whole list for one command too many, so what it has is read
and compared first. Once in a process, never on every READY.
"""

from __future__ import annotations

from typing import Any

import structlog

from bot.client import EverturnClient
from bot.discord_faults import describe

log = structlog.get_logger(__name__)

MAX_COMMANDS = 100
"""Global chat-input commands of an application; also the limits below are Discord's
(interactions/application-commands)."""
MAX_OPTIONS = 25
MAX_CHARACTERS = 8000
"""Names, descriptions and values of one command, together."""


async def sync_commands(client: EverturnClient) -> bool:
    """Bring Discord's list of our global commands up to date; whether it had to be written.

    A failure is logged and leaves the commands as they are: messages are answered without them.
    """
    application_id = client.application_id
    if application_id is None:
        raise RuntimeError("commands are synced after the login")
    try:
        known = await client.http.get_global_commands(application_id)
        if canonical(known) == canonical(payload(client)):
            return False
        await client.tree.sync()
    except Exception as error:
        log.warning("slash commands could not be synced", error=describe(error))
        return False
    log.info("slash commands synced")
    return True


def payload(client: EverturnClient) -> list[dict[str, Any]]:
    """The commands as we would send them."""
    return [command.to_dict(client.tree) for command in client.tree.get_commands()]


def canonical(commands: Any) -> list[dict[str, Any]]:
    """What matters of a list of commands, alike for ours and for Discord's answer, which adds ids,
    versions and every default."""
    return sorted((_command(command) for command in commands), key=lambda c: (c["type"], c["name"]))


def _command(command: dict[str, Any]) -> dict[str, Any]:
    permissions = command.get("default_member_permissions")
    return {
        "type": command.get("type", 1),
        "name": command["name"],
        "description": command.get("description", ""),
        "options": [_option(option) for option in command.get("options") or []],
        "nsfw": command.get("nsfw", False),
        "default_member_permissions": None if permissions is None else str(permissions),
        "contexts": sorted(command.get("contexts") or []),
        "integration_types": sorted(command.get("integration_types") or []),
    }


def _option(option: dict[str, Any]) -> dict[str, Any]:
    # Discord leaves out what is false or empty; discord.py sends some of it.
    kept = {key: value for key, value in option.items() if value not in (None, False, [], {})}
    if "options" in kept:
        kept["options"] = [_option(inner) for inner in kept["options"]]
    return kept
