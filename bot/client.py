"""The discord.py client: what it asks of the gateway, and what it does with a message.

It keeps no messages and no members but its own: everything it needs of a message comes with the
event, and what it sends is addressed by channel id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import discord
import structlog
from discord import app_commands

from bot.admission import Disposition, admit
from bot.commands.authorize import Caller, Needs, authorize
from bot.commands.tree import AnsweringTree
from bot.dispatch import Dispatcher
from bot.normalise import facts_of, incoming_of
from bot.personas import PersonaDirectory
from bot.refusals import RefusalMemory

log = structlog.get_logger(__name__)

ALLOWED_MENTIONS = discord.AllowedMentions(
    everyone=False, roles=False, users=True, replied_user=True
)
"""Default of every message, edit and interaction answer (D56)."""

LONGEST_RATE_LIMIT = 30.0
"""Seconds that discord.py waits for a rate limit itself (its minimum); Temporal waits for a longer
one, so that no activity sits on it."""


def intents() -> discord.Intents:
    """No member, presence or typing events: they are most of a large bot's traffic."""
    chosen = discord.Intents.none()
    chosen.guilds = True
    chosen.emojis_and_stickers = True  # rare, and what tools offer of the server stays true
    chosen.guild_messages = True
    chosen.dm_messages = True
    chosen.message_content = True
    return chosen


# It never speaks by voice, so what voice would need is not missing.
discord.VoiceClient.warn_nacl = False
discord.VoiceClient.warn_dave = False


class EverturnClient(discord.Client):
    def __init__(self) -> None:
        super().__init__(
            intents=intents(),
            allowed_mentions=ALLOWED_MENTIONS,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            max_ratelimit_timeout=LONGEST_RATE_LIMIT,
        )
        self.tree = AnsweringTree(
            self,
            allowed_contexts=app_commands.AppCommandContext(guild=True, dm_channel=True),
            allowed_installs=app_commands.AppInstallationType(guild=True),
        )
        self.gateway_ready = asyncio.Event()
        """Set at the first READY, and never cleared: a session that is lost is resumed."""
        self._intake: Intake | None = None

    def take_messages(self, intake: Intake | None) -> None:
        """Hand messages to `intake` from now on; None: let them pass by."""
        self._intake = intake

    def guild_ids(self) -> Iterable[str]:
        return [str(guild.id) for guild in self.guilds]

    async def on_connect(self) -> None:
        # discord.py's `connect` event is Discord's READY; its own `ready` waits two seconds more
        # for every server to be described, which nothing here depends on.
        self.gateway_ready.set()

    async def on_message(self, message: discord.Message) -> None:
        if self._intake is not None:
            self._intake.take(self, message)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        log.exception("an event could not be handled", event_name=event_method)


class Intake:
    """A gateway message's way into Temporal: normalise, admit, signal. No I/O before the signal."""

    def __init__(
        self, personas: PersonaDirectory, refusals: RefusalMemory, dispatcher: Dispatcher
    ) -> None:
        self._personas = personas
        self._refusals = refusals
        self._dispatcher = dispatcher

    def take(self, client: discord.Client, message: discord.Message) -> None:
        me = client.user
        application_id = client.application_id
        if me is None or application_id is None:  # only before the first READY
            return
        refused = self._refusals.refused(str(message.channel.id))
        facts = facts_of(message, me, recently_refused=refused)
        guild_id = str(message.guild.id) if message.guild else None
        admission = admit(facts, self._personas.known(guild_id))
        allowed = authorize(Caller.of_message(message), Needs.SPEAK) is None
        admitted = allowed and admission.disposition is Disposition.RUN
        if admitted:
            incoming = incoming_of(message, admission, application_id=application_id, me=me)
            self._dispatcher.submit(incoming)
        # Most messages of a server are not for the bot; a line for each would drown the others.
        tell = log.debug if admission.disposition is Disposition.IGNORE else log.info
        tell(
            "message admitted" if admitted else "message passed by",
            disposition=admission.disposition.value,
            reason=admission.reason.value,
            channel=str(message.channel.id),
            message=str(message.id),
        )
