"""Slash commands, buttons, forms and completions, as a member uses them."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from playground.control import values, views
from playground.control.answers import (
    ControlError,
    find_channel,
    find_member,
    needed,
    order,
    seconds,
    services_of,
)
from playground.interactions import Interaction, InteractionType, Status
from playground.records import Channel
from playground.services import Services

routes = web.RouteTableDef()

DEFAULT_WAIT = 5.0


def view(services: Services, interaction: Interaction) -> dict[str, Any]:
    original = interaction.original
    pressed = interaction.kind is InteractionType.COMPONENT and original is interaction.source
    return {
        "id": str(interaction.id),
        "name": interaction.name,
        "status": interaction.status,
        "ephemeral": bool(original and original.ephemeral),
        "response": None if original is None or pressed else views.message(services, original),
        "followups": [views.message(services, m) for m in interaction.followups],
        "choices": interaction.choices,
        "form": interaction.form.view() if interaction.form else None,
    }


async def _answered(services: Services, interaction: Interaction, wait: float) -> web.Response:
    def settled() -> bool:
        return interaction.status in (Status.ANSWERED, Status.UNANSWERED)

    await services.hub.until(settled, wait)
    return web.json_response(view(services, interaction))


async def _who_and_where(
    request: web.Request,
) -> tuple[Services, dict[str, Any], Channel, int]:
    services, body = services_of(request), await order(request)
    channel = find_channel(services, needed(body, "channel"))
    member_id = find_member(services, needed(body, "member"))
    if not services.world.can(member_id, channel, "VIEW_CHANNEL"):
        raise ControlError("that member does not see the channel", 403)
    return services, body, channel, member_id


@routes.post("/commands")
async def command(request: web.Request) -> web.Response:
    services, body, channel, member_id = await _who_and_where(request)
    name = str(needed(body, "name"))
    data = services.commands.invocation(name, _options(body))
    _check_rights(services, channel, member_id, int(data["id"]))
    kind = InteractionType.COMMAND
    interaction = services.interactions.start(kind, name.lstrip("/"), channel, member_id, data)
    return await _answered(services, interaction, seconds(body.get("wait"), DEFAULT_WAIT))


def _options(body: dict[str, Any]) -> dict[str, Any]:
    given = body.get("options")
    return {} if given is None else values.table(given, "options")


def _check_rights(services: Services, channel: Channel, member_id: int, key: int) -> None:
    """Discord shows a member only the commands that `default_member_permissions` lets them use."""
    needs = int(services.commands.get(key).get("default_member_permissions") or 0)
    have = services.world.permissions_of(member_id, channel)
    if not channel.is_dm and have & needs != needs:
        raise ControlError("that member lacks the permissions this command asks for", 403)


@routes.post("/autocomplete")
async def autocomplete(request: web.Request) -> web.Response:
    services, body, channel, member_id = await _who_and_where(request)
    name, focused = str(needed(body, "name")), str(needed(body, "focused"))
    data = services.commands.invocation(name, _options(body), focused)
    kind = InteractionType.AUTOCOMPLETE
    interaction = services.interactions.start(kind, name, channel, member_id, data)
    return await _answered(services, interaction, seconds(body.get("wait"), DEFAULT_WAIT))


@routes.post("/components")
async def component(request: web.Request) -> web.Response:
    services, body, channel, member_id = await _who_and_where(request)
    given, custom_id = (
        values.snowflake(needed(body, "message"), "message"),
        str(needed(body, "custom_id")),
    )
    message = services.interactions.ephemeral(given, member_id)
    message = message or services.messages.get(channel, given)
    part = _find_component(message.components, custom_id)
    if part is None:
        raise ControlError(f"the message has no component {custom_id!r}", 404)
    if part.get("disabled"):
        raise ControlError(f"{custom_id!r} is disabled", 409)
    data = {"custom_id": custom_id, "component_type": part["type"]}
    if body.get("values") is not None:
        data["values"] = values.texts(body["values"], "values")
    kind = InteractionType.COMPONENT
    interaction = services.interactions.start(kind, custom_id, channel, member_id, data, message)
    return await _answered(services, interaction, seconds(body.get("wait"), DEFAULT_WAIT))


def _find_component(parts: list[dict[str, Any]], custom_id: str) -> dict[str, Any] | None:
    for part in parts:
        if part.get("custom_id") == custom_id:
            return part
        inner = [*(part.get("components") or [])]
        if accessory := part.get("accessory"):
            inner.append(accessory)
        if found := _find_component(inner, custom_id):
            return found
    return None


@routes.post("/forms")
async def form(request: web.Request) -> web.Response:
    services, body = services_of(request), await order(request)
    opener = _known(services, values.snowflake(needed(body, "interaction"), "interaction"))
    if opener.form is None:
        raise ControlError("no form is open there: it has been sent, or was never shown", 409)
    if find_member(services, needed(body, "member")) != opener.member_id:
        raise ControlError("that form is shown to another member", 403)
    given = {
        key: values.text(text, key)
        for key, text in values.table(body.get("values") or {}, "values").items()
    }
    interaction = services.interactions.submit(opener, given)
    return await _answered(services, interaction, seconds(body.get("wait"), DEFAULT_WAIT))


@routes.get(r"/interactions/{interaction:\d+}")
async def get(request: web.Request) -> web.Response:
    services = services_of(request)
    interaction = _known(services, int(request.match_info["interaction"]))
    return await _answered(services, interaction, seconds(request.query.get("wait"), 0))


def _known(services: Services, key: int) -> Interaction:
    interaction = services.interactions.get(key)
    if interaction is None:
        raise ControlError("no such interaction (only recent ones are kept)", 404)
    return interaction
