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

COMMAND, COMPONENT, AUTOCOMPLETE = 2, 3, 4
STRING, INTEGER, CHANNEL = 3, 4, 7


def interaction(
    kind: int,
    data: Json,
    *,
    channel_id: str = CHANNEL_ID,
    permissions: int = SEND,
    author: Json | None = None,
) -> Json:
    channel_kind = {THREAD_ID: 11, DM_ID: 1}.get(channel_id, 0)
    body: Json = {
        "id": "1100000000000000001",
        "application_id": APPLICATION_ID,
        "type": kind,
        "token": "interaction-token",
        "version": 1,
        "channel_id": channel_id,
        "channel": {"id": channel_id, "type": channel_kind, "name": "general"},
        "data": data,
        "locale": "en-US",
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
    """The data of `/path` with option values; `focused` is being completed. A channel is given as
    its JSON."""
    name, *inner = path.split()
    filled: list[Json] = []
    resolved: Json = {}
    for option, value in options.items():
        item: Json = {"name": option, "type": STRING, "value": value}
        if isinstance(value, int):
            item["type"] = INTEGER
        if isinstance(value, dict):
            item |= {"type": CHANNEL, "value": value["id"]}
            resolved[value["id"]] = value
        filled.append(item | ({"focused": True} if option == focused else {}))
    for depth, part in enumerate(reversed(inner)):
        filled = [{"name": part, "type": 1 if depth == 0 else 2, "options": filled}]
    data: Json = {"id": "800000000000000001", "name": name, "type": 1, "options": filled}
    return data | ({"resolved": {"channels": resolved}} if resolved else {})


def press(custom_id: str) -> tuple[Json, Json]:
    """The data of a press, and the message that the button is below."""
    button = {"type": 2, "style": 4, "label": "Stop", "custom_id": custom_id}
    row = {"type": 1, "components": [button]}
    shown = message("1000000000000000009", components=[row])
    return {"custom_id": custom_id, "component_type": 2}, shown


def answer_in(api: LoopbackDiscord) -> Json | None:
    """The last private answer: `content` or `embeds`, or the `choices` of a completion."""
    for request in api.requests:
        if request.method == "PATCH":
            return request.body
        if request.body.get("type") in (4, 8):
            return request.body["data"]
    return None


async def answered(api: LoopbackDiscord) -> Json:
    await until(lambda: answer_in(api) is not None)
    return answer_in(api) or {}
