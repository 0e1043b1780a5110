"""Forms (Discord's modals) that are taken in by any process, also one that never showed them.

discord.py finds a submitted form by what it remembers, so one that was filled in across a restart
would be lost with all that was written (D44). Here a form is known by its custom id, which carries
all that its handler needs. In: every interaction of the client. Out: the handler's answer; a fault
that nobody foresaw is logged and answered, as for commands.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import discord
import structlog

from bot.client import EverturnClient
from bot.commands.answers import FAILED
from bot.discord_faults import NETWORK_FAULTS, describe

log = structlog.get_logger(__name__)

Values = Mapping[str, str]
"""What was written, by the custom ids of the fields."""
Handler = Callable[[discord.Interaction[Any], str, Values], Awaitable[None]]
"""Receives the interaction, the form's custom id without its prefix, and what was written."""


def take_forms(client: EverturnClient, handlers: Mapping[str, Handler]) -> None:
    """`handlers` by the prefix of the custom ids. Once for a client."""

    async def on_interaction(interaction: discord.Interaction[Any]) -> None:
        if interaction.type is not discord.InteractionType.modal_submit:
            return
        data: Mapping[str, Any] = interaction.data or {}
        custom_id = str(data.get("custom_id", ""))
        for prefix, handler in handlers.items():
            if custom_id.startswith(prefix):
                rest = custom_id.removeprefix(prefix)
                await _handle(handler, interaction, rest, dict(written(data)))
                return

    client.event(on_interaction)


async def _handle(
    handler: Handler, interaction: discord.Interaction[Any], rest: str, values: Values
) -> None:
    try:
        await handler(interaction, rest, values)
    except Exception:
        log.exception("a form could not be handled")
        try:
            if interaction.response.is_done():
                await interaction.edit_original_response(content=FAILED)
            else:
                await interaction.response.send_message(FAILED, ephemeral=True)
        except (discord.HTTPException, *NETWORK_FAULTS) as fault:
            log.warning("the caller could not be told", error=describe(fault))


def written(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every field with text, wherever it stands: in a row, or below a label."""
    custom_id, value = part.get("custom_id"), part.get("value")
    if isinstance(custom_id, str) and isinstance(value, str):
        yield custom_id, value
    inner = [*(part.get("components") or []), part.get("component")]
    for each in inner:
        if isinstance(each, Mapping):
            yield from written(each)  # type: ignore[reportUnknownArgumentType]
