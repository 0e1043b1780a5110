"""INTERACTION_CREATE as the gateway delivers it, and what the caller is told in the end."""

from __future__ import annotations

from typing import Any

from tests.bot.loopback import (
    APPLICATION_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    THREAD_ID,
    Json,
    LoopbackDiscord,
    message,
    user,
)
from tests.bot.waiting import until

SEND, SEND_IN_THREADS, MANAGE_GUILD, ADMINISTRATOR = 0x800, 1 << 38, 0x20, 0x8

COMMAND, COMPONENT, AUTOCOMPLETE, FORM = 2, 3, 4, 5
STRING, INTEGER, USER, CHANNEL, ROLE = 3, 4, 6, 7, 8
RESOLVED = {USER: "users", CHANNEL: "channels", ROLE: "roles"}


def interaction(
    kind: int,
    data: Json,
    *,
    channel_id: str = CHANNEL_ID,
    permissions: int = SEND,
    own_permissions: int = ADMINISTRATOR,
    author: Json | None = None,
    interaction_id: str = "1100000000000000001",
) -> Json:
    channel_kind = {THREAD_ID: 11, DM_ID: 1}.get(channel_id, 0)
    body: Json = {
        "id": interaction_id,
        "application_id": APPLICATION_ID,
        "type": kind,
        "token": "interaction-token",
        "version": 1,
        "channel_id": channel_id,
        "channel": {"id": channel_id, "type": channel_kind, "name": "general"},
        "data": data,
        "locale": "en-US",
        "app_permissions": str(own_permissions),
        "entitlements": [],
        "authorizing_integration_owners": {},
        "attachment_size_limit": 1,
    }
    if channel_id == DM_ID:
        body["channel"] = {"id": channel_id, "type": channel_kind, "recipients": [user()]}
        return {**body, "user": author or user()}
    member = {
        "user": author or user(),
        "roles": [],
        "joined_at": "2026-01-01T00:00:00+00:00",
        "permissions": str(permissions),
        "flags": 0,
    }
    return {**body, "guild_id": GUILD_ID, "guild": {"id": GUILD_ID}, "member": member}


def command(path: str, focused: str | None = None, **options: Any) -> Json:
    """The data of `/path` with option values; `focused` is being completed. A channel, a role and a
    user are given as their JSON."""
    name, *inner = path.split()
    filled: list[Json] = []
    resolved: dict[str, Json] = {}
    for option, value in options.items():
        item: Json = {"name": option, "type": STRING, "value": value}
        if isinstance(value, int):
            item["type"] = INTEGER
        if isinstance(value, dict):
            kind = USER if "username" in value else ROLE if "color" in value else CHANNEL
            item |= {"type": kind, "value": value["id"]}
            resolved.setdefault(RESOLVED[kind], {})[value["id"]] = value
        filled.append(item | ({"focused": True} if option == focused else {}))
    for depth, part in enumerate(reversed(inner)):
        filled = [{"name": part, "type": 1 if depth == 0 else 2, "options": filled}]
    data: Json = {"id": "800000000000000001", "name": name, "type": 1, "options": filled}
    return data | ({"resolved": resolved} if resolved else {})


def role(role_id: str, name: str) -> Json:
    return {
        "id": role_id,
        "name": name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": 1,
        "permissions": "0",
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }


def form(custom_id: str, **fields: str) -> Json:
    """The data of a form that was filled in."""
    rows = [
        {"type": 1, "components": [{"type": 4, "custom_id": name, "value": value}]}
        for name, value in fields.items()
    ]
    return {"custom_id": custom_id, "components": rows}


def press(custom_id: str) -> tuple[Json, Json]:
    """The data of a press, and the message that the button is below."""
    button = {"type": 2, "style": 4, "label": "Stop", "custom_id": custom_id}
    row = {"type": 1, "components": [button]}
    shown = message("1000000000000000009", components=[row])
    return {"custom_id": custom_id, "component_type": 2}, shown


def answer_in(api: LoopbackDiscord) -> Json | None:
    """The last private answer: `content` or `embeds`, the `choices` of a completion, or a form."""
    for request in api.requests:
        if request.method == "PATCH":
            return request.body
        if request.body.get("type") in (4, 8, 9):
            return request.body["data"]
    return None


async def answered(api: LoopbackDiscord) -> Json:
    await until(lambda: answer_in(api) is not None)
    return answer_in(api) or {}
