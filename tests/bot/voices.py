"""The personas of a server as the bot's memory has them, for tests."""

from __future__ import annotations

from dataclasses import dataclass

import discord

from bot.webhooks import ManagedWebhooks
from workflows.contracts.identity import Voice


@dataclass(frozen=True)
class Known:
    persona_id: int
    name: str
    is_main: bool = False


NOVA = Known(1, "Nova", is_main=True)
LUNA = Known(2, "Luna")
FAN = Known(3, "Discord Fan")
ALL = (NOVA, LUNA, FAN)

LUNAS_VOICE = Voice(name="Luna", avatar_url="https://faces.test/luna.png", is_main=False)


def webhooks_of(client: discord.Client, *known: Known) -> ManagedWebhooks:
    return ManagedWebhooks(client, lambda guild_id: known or ALL)
