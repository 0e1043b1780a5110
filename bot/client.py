"""The discord.py client: what it asks of the gateway, and what it does with a message.

It keeps no messages and no members but its own: everything it needs of a message comes with the
event, and what it sends is addressed by channel id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import discord
import structlog
from discord import app_commands

from bot.active_turns import ActiveTurn, ActiveTurns
from bot.admission import Admission, Disposition, MessageFacts, Reason, Speaker, admit
from bot.chains import PersonaChains
from bot.commands.authorize import Caller, Needs, authorize
from bot.commands.tree import AnsweringTree
from bot.courtesies import Courtesies
from bot.directory import Server, ServerDirectory
from bot.dispatch import Dispatcher
from bot.normalise import Begun, PersonaWebhooks, facts_of, incoming_of, standing_in
from bot.refusals import RefusalMemory
from workflows.contracts.invocation import Addressed, ChatIncoming
from workflows.natural_stop import asks_to_stop

log = structlog.get_logger(__name__)
_stdlib_log = logging.getLogger(__name__)

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
    chosen.webhooks = True  # rare as well: a moderator moves a persona's
    chosen.guild_messages = True
    chosen.dm_messages = True
    chosen.message_content = True
    return chosen


# It never speaks by voice, so what voice would need is not missing.
discord.VoiceClient.warn_nacl = False
discord.VoiceClient.warn_dave = False


class MessageTaker(Protocol):
    """`Intake`, or what stands before it."""

    def take(self, client: discord.Client, message: discord.Message, /) -> object: ...
    def stopped(self, channel_id: str, /) -> None: ...


class SessionWatcher(Protocol):
    """`bot.missed.MissedMessages`."""

    def session_began(self, client: discord.Client, /) -> None: ...
    def server_described(self, client: discord.Client, guild: discord.Guild, /) -> None: ...
    def all_described(self, client: discord.Client, /) -> None: ...


class WebhookWatcher(Protocol):
    """`bot.webhooks.ManagedWebhooks`."""

    def changed(self, guild_id: str | None, /) -> None: ...


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
        self.sessions: SessionWatcher | None = None
        """Told of each session that was not resumed."""
        self.webhooks: WebhookWatcher | None = None
        """Told when webhooks of a server have changed, or may have: between sessions."""
        self._intake: MessageTaker | None = None

    def take_messages(self, intake: MessageTaker | None) -> None:
        """Hand messages to `intake` from now on; None: let them pass by."""
        self._intake = intake

    def stopped(self, channel_id: str) -> None:
        """Somebody has stopped what runs in the channel."""
        if self._intake is not None:
            self._intake.stopped(channel_id)

    def guild_ids(self) -> Iterable[str]:
        return [str(guild.id) for guild in self.guilds]

    async def on_connect(self) -> None:
        # discord.py's `connect` event is Discord's READY; its own `ready` waits two seconds more
        # for every server to be described, which nothing here depends on.
        self.gateway_ready.set()
        if self.webhooks is not None:
            self.webhooks.changed(None)
        if self.sessions is not None:
            self.sessions.session_began(self)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        if self.sessions is not None:
            self.sessions.server_described(self, guild)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self.on_guild_available(guild)

    async def on_ready(self) -> None:
        if self.sessions is not None:
            self.sessions.all_described(self)

    async def on_message(self, message: discord.Message) -> None:
        if self._intake is not None:
            self._intake.take(self, message)

    async def on_webhooks_update(self, channel: discord.abc.GuildChannel) -> None:
        if self.webhooks is not None:
            self.webhooks.changed(str(channel.guild.id))

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        log.exception("an event could not be handled", event_name=event_method)


class Intake:
    """A gateway message's way into Temporal: normalise, admit, signal. No I/O before the signal."""

    def __init__(
        self,
        directory: ServerDirectory,
        refusals: RefusalMemory,
        dispatcher: Dispatcher,
        webhooks: PersonaWebhooks,
        turns: ActiveTurns,
    ) -> None:
        self._directory = directory
        self._refusals = refusals
        self._dispatcher = dispatcher
        self._webhooks = webhooks
        self._turns = turns
        self._chains = PersonaChains()
        self._courtesies = Courtesies(directory, refusals)

    def take(self, client: discord.Client, message: discord.Message) -> ChatIncoming | None:
        """What of a message was handed to the dispatcher; None: it was passed by."""
        me = client.user
        application_id = client.application_id
        if me is None or application_id is None:  # only before the first READY
            return None
        server = self._directory.server(str(message.guild.id) if message.guild else None)
        facts = self._facts(message, me, server)
        admission = self._admit(facts, server, message)
        allowed = (
            facts.speaker is Speaker.PERSONA
            or authorize(Caller.of_message(message), Needs.SPEAK) is None
        )
        incoming: ChatIncoming | None = None
        if allowed and admission.disposition is Disposition.RUN:
            begun = self._begun(facts, message, me) if admission.is_persona_job else None
            incoming = incoming_of(
                message, facts, admission, application_id=application_id, me=me, begun=begun
            )
            if facts.is_person:
                self._chains.person_addressed_us(incoming.author_id, incoming.author_name)
            self._dispatcher.submit(incoming)
        if allowed and admission.courtesy is not None:
            self._courtesies.offer(admission.courtesy, message)
        _tell(admission, facts, message.id, admitted=incoming is not None)
        return incoming

    def concerns_us(self, client: discord.Client, message: discord.Message) -> bool:
        """Whether a member's message is for us, whatever rules there are for the member. Changes
        nothing."""
        me = client.user
        if me is None:
            return False
        server = self._directory.server(str(message.guild.id) if message.guild else None)
        facts = self._facts(message, me, server)
        if not facts.is_person:
            return False
        if self._turns.is_answered(facts.channel_id, facts.author_id):
            return True
        member = self._directory.member(facts.author_id)
        return admit(facts, server, member).addressed is not Addressed.NOT

    def stopped(self, channel_id: str) -> None:
        """Somebody has stopped what runs in the channel: what a persona was just saying there
        starts nothing anew."""
        self._chains.suppress(channel_id)

    async def close(self) -> None:
        await self._courtesies.close()

    def _facts(
        self, message: discord.Message, me: discord.abc.User, server: Server
    ) -> MessageFacts:
        channel_id = str(message.channel.id)
        turn = self._heard(message) if message.author.id == me.id else None
        return facts_of(
            message,
            me,
            self._webhooks,
            recently_refused=self._refusals.refused(channel_id),
            suppressed=self._chains.is_suppressed(channel_id),
            speaking=(turn.persona_id or None) if turn is not None else None,
            allowed_roles=server.allowed_roles,
        )

    def _admit(self, facts: MessageFacts, server: Server, message: discord.Message) -> Admission:
        standing = partial(standing_in, message)
        if facts.is_person:
            is_answered = self._turns.is_answered(facts.channel_id, facts.author_id)
            # A stop begins no chain anew; where nothing runs the words are no stop (C021).
            runs = self._turns.active(facts.channel_id)
            stops = runs is not None and runs.may_answer(facts.author_id)
            if not (stops and asks_to_stop(facts.content, as_shown=True)):
                self._chains.person_spoke(facts.channel_id, str(message.id))
            member = self._directory.member(facts.author_id)
            return admit(facts, server, member, is_answered=is_answered, standing=standing)
        admission = admit(facts, server, standing=standing)
        if admission.reason is Reason.SELF_REPLY_SUPPRESSED:
            self._chains.consume(facts.channel_id)
        if not admission.is_persona_job:
            return admission
        turn = self._turn_of(facts, message)
        called = self._chains.newly_called(turn, admission.persona_ids)
        if not called:
            return Admission(Disposition.IGNORE, Reason.PERSONA_CALLED_ALREADY)
        return replace(admission, persona_ids=called)

    def _begun(self, facts: MessageFacts, message: discord.Message, me: discord.abc.User) -> Begun:
        return self._chains.begun(facts.channel_id, self._turn_of(facts, message), me)

    def _heard(self, message: discord.Message) -> ActiveTurn | None:
        """The turn that sent a message of ours; where nothing tells, the channel's latest."""
        return self._turns.sender(message) or self._turns.latest(str(message.channel.id))

    def _turn_of(self, facts: MessageFacts, message: discord.Message) -> ActiveTurn | None:
        """The turn whose words a persona's message is."""
        turn = self._heard(message)
        return turn if turn is not None and turn.persona_id == facts.persona_id else None


def _tell(admission: Admission, facts: MessageFacts, message_id: int, *, admitted: bool) -> None:
    # Most messages of a server are not for the bot; a line for each would drown the others, and
    # cost more than the rest of what is done with them.
    passed_by = admission.addressed is Addressed.NOT or admission.disposition is Disposition.IGNORE
    if passed_by and not admitted and not _stdlib_log.isEnabledFor(logging.DEBUG):
        return
    tell = log.debug if passed_by and not admitted else log.info
    tell(
        "message admitted" if admitted else "message passed by",
        disposition=admission.disposition.value,
        reason=admission.reason.value,
        channel=facts.channel_id,
        message=str(message_id),
    )
