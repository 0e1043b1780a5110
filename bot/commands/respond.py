"""`/respond`: let a persona speak in this channel without calling it (behaviour 17).

In: the command, with a persona or without one, and with something said to it or without. Out: a
signal to the channel, and the caller's private answer. What always holds: the answer to the caller
follows Temporal's (D30); one command is one turn, however often its signal is sent; the rules of a
message hold but those for triggers (behaviour 2.1), so privacy does not stand in its way (C007).

Who answers where no persona is given is decided when the turn is planned: the last one, the
caller's spotlight, the channel's own, the main one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Protocol

import discord
import structlog
from discord import app_commands
from temporalio.service import RPCError

from bot.admission import OPEN, ChannelKind, Disposition, MessageFacts, Reason, Standing, admit
from bot.client import EverturnClient
from bot.commands.answers import answer_privately
from bot.commands.authorize import Needs
from bot.commands.naming import no_such_persona, persona_named, personas_here, suggest_personas
from bot.directory import ServerDirectory
from bot.discord_faults import describe
from bot.normalise import incoming_of_command, role_ids
from storage.config import ServerConfig
from workflows.contracts.invocation import ChatIncoming

log = structlog.get_logger(__name__)

ASKED = "Asked."
ASKED_BEHIND = "Asked. This channel is still busy, so this waits its turn. `/kill` drops it."
"""Also while a stop is under way: what is asked then comes after it. No answer is promised: a later
stop, a full queue or a rule of the server's may still take it back."""
NOT_CONFIRMED = (
    "The answer engine has not confirmed this. If no answer comes, ask again in a moment."
)

CLOSED = {
    Reason.UNSUPPORTED_CHANNEL: "Personas cannot answer in this kind of channel.",
    Reason.SERVER_BLACKLISTED_USER: "You are not answered on this server.",
    Reason.MISSING_CHANNEL_PERMISSIONS: "I do not see this channel: give me View Channel here.",
    Reason.CANNOT_SEND_IN_CHANNEL: "I cannot speak here: give me Send Messages in this channel.",
    Reason.BOT_TIMED_OUT_IN_GUILD: "I am timed out on this server, so I cannot answer.",
    Reason.RECENT_SEND_REFUSED: "Discord has just refused my messages here. Try again later.",
}
"""What the caller is told where no persona could answer."""
NOT_HERE = "Personas do not answer here."
LOG_CHANNEL = "This is the log of the personas' tools; they do not speak here."
NOT_YOUR_ROLE = "Only members with certain roles are answered on this server."
PERSONA_ELSEWHERE = "That persona does not answer in this channel."

ASK_WITHIN = timedelta(seconds=20)
FIRST_PAUSE = timedelta(milliseconds=200)
LONGEST_PAUSE = timedelta(seconds=3)

Text = app_commands.Range[str, 1, 2_000]


class Signals(Protocol):
    """`bot.dispatch.Dispatcher`."""

    async def signal(self, incoming: ChatIncoming) -> None: ...


class Refusals(Protocol):
    """`bot.refusals.RefusalMemory`."""

    def refused(self, channel_id: str) -> bool: ...


class Responder:
    """What `/respond` needs of the bot."""

    def __init__(
        self,
        directory: ServerDirectory,
        refusals: Refusals,
        signals: Signals,
        is_busy: Callable[[str], bool],
    ) -> None:
        """`is_busy`: whether a turn runs in the channel, as far as is known here."""
        self._directory = directory
        self._refusals = refusals
        self._signals = signals
        self._is_busy = is_busy

    async def respond(
        self, interaction: discord.Interaction[Any], persona: str | None, message: str | None
    ) -> str:
        """Ask for a turn; what to tell the caller."""
        persona_id: int | None = None
        if persona is not None:
            found = persona_named(personas_here(self._directory, interaction), persona)
            if found is None:
                return no_such_persona(persona)
            persona_id = found.persona_id
        refusal = self._refusal(interaction, persona_id)
        if refusal is not None:
            return refusal
        incoming = incoming_of_command(
            interaction, content=(message or "").strip(), selected_persona_id=persona_id
        )
        busy = self._is_busy(incoming.channel_id)
        if not await self._asked(incoming):
            return NOT_CONFIRMED
        return ASKED_BEHIND if busy else ASKED

    def _refusal(self, interaction: discord.Interaction[Any], persona_id: int | None) -> str | None:
        guild_id = None if interaction.guild_id is None else str(interaction.guild_id)
        server = self._directory.server(guild_id)
        facts = _facts(interaction, self._refusals)
        member = self._directory.member(facts.author_id)
        admission = admit(facts, server, member, standing=lambda: standing_of(interaction))
        if admission.disposition is not Disposition.RUN:
            return CLOSED.get(admission.reason, NOT_HERE)
        return (
            None
            if guild_id is None
            else _by_lists(facts, role_ids(interaction.user), server.config, persona_id)
        )

    async def _asked(self, incoming: ChatIncoming) -> bool:
        """Whether Temporal has taken it. An attempt that was taken although its answer was lost is
        the same message again to the channel, which drops it."""
        pause = FIRST_PAUSE.total_seconds()
        try:
            async with asyncio.timeout(ASK_WITHIN.total_seconds()):
                while True:
                    try:
                        await self._signals.signal(incoming)
                    except (RPCError, OSError) as error:
                        log.warning(
                            "/respond did not reach Temporal; trying again",
                            channel=incoming.channel_id,
                            error=describe(error),
                        )
                    else:
                        return True
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE.total_seconds())
        except TimeoutError:
            log.warning("/respond was not confirmed", channel=incoming.channel_id)
            return False


def add_respond(client: EverturnClient, responder: Responder, directory: ServerDirectory) -> None:
    async def respond(
        interaction: discord.Interaction[Any],
        persona: str | None = None,
        message: Text | None = None,
    ) -> None:
        await answer_privately(
            interaction,
            Needs.SPEAK,
            "/respond",
            lambda: responder.respond(interaction, persona, message),
        )

    command = app_commands.Command[Any, ..., None](
        name="respond",
        description="Let a persona speak in this channel",
        callback=respond,
    )
    app_commands.describe(
        persona="Who speaks; without it, who spoke last, else the main one",
        message="Something you say to it",
    )(command)

    @command.autocomplete("persona")
    async def suggested(
        interaction: discord.Interaction[Any], typed: str
    ) -> list[app_commands.Choice[str]]:
        return suggest_personas(directory, interaction, typed, Needs.SPEAK)

    client.tree.add_command(command)


def _facts(interaction: discord.Interaction[Any], refusals: Refusals) -> MessageFacts:
    channel = interaction.channel
    parent_id = channel.parent_id if isinstance(channel, discord.Thread) else None
    channel_id = str(interaction.channel_id)
    return MessageFacts(
        channel=_kind(channel),
        channel_id=channel_id,
        parent_id=None if parent_id is None else str(parent_id),
        author_id=str(interaction.user.id),
        recently_refused=refusals.refused(channel_id),
        is_manual=True,
    )


def _kind(channel: object) -> ChannelKind:
    match channel:
        case discord.DMChannel():
            return ChannelKind.DM
        case discord.Thread():
            return ChannelKind.THREAD
        case discord.VoiceChannel():
            return ChannelKind.VOICE
        case discord.TextChannel() | discord.PartialMessageable():
            return ChannelKind.TEXT
        case _:
            return ChannelKind.UNSUPPORTED


def standing_of(interaction: discord.Interaction[Any]) -> Standing:
    """By the permissions that come with the interaction: Discord has just computed them."""
    guild = interaction.guild
    if guild is None:
        return OPEN
    # Typed as a Member, but None until the guild's own event has filled the cache.
    member: discord.Member | None = guild.me
    if member is not None and member.is_timed_out():
        return Standing(timed_out=True)
    own = interaction.app_permissions
    in_thread = isinstance(interaction.channel, discord.Thread)
    speaking = own.send_messages_in_threads if in_thread else own.send_messages
    allowed = own.administrator
    return Standing(allowed or own.view_channel, allowed or speaking)


def _by_lists(
    facts: MessageFacts, roles: Sequence[str], config: ServerConfig, persona_id: int | None
) -> str | None:
    """The server's lists, which planning holds to as well, but without a word to anybody."""
    access = config.access
    if facts.channel_id == config.notices.thought_log_channel_id:
        return LOG_CHANNEL
    if access.channels and not facts.is_in(frozenset(each.channel_id for each in access.channels)):
        return NOT_HERE
    if access.role_ids and set(access.role_ids).isdisjoint(roles):
        return NOT_YOUR_ROLE
    own = access.persona_channels.get(persona_id) if persona_id is not None else None
    if own and not facts.is_in(frozenset(own)):
        return PERSONA_ELSEWHERE
    return None
