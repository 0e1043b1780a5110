"""What a context is made of, read from the database over one connection.

The persona, the history and the settings must be there. Everything else is an extra: one that
cannot be read is left out, is logged, and never fails the turn (behaviour 6.1).
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import structlog

from storage import Memory, Persona, Reminder, StmRecord, Storage
from storage.config import Privacy, ServerConfig, UserConfig
from workflows.contracts.base import server_key
from workflows.contracts.context import ContextRequest
from workflows.contracts.history import ChannelHistory
from workflows.contracts.invocation import BoomerangReport, Origin

Extra = TypeVar("Extra")

MAX_PEOPLE = 40
"""Participants whose memories are looked up; those who wrote last."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Sources:
    persona: Persona
    history: ChannelHistory
    """Without what members said whom no persona reads (behaviour 6.1, step 2); the message that is
    answered is there, whoever wrote it."""
    personas: Sequence[Persona] = ()
    """Those of the place, the main one first; they may speak in the history."""
    server: ServerConfig = field(default_factory=ServerConfig)
    user: UserConfig = field(default_factory=UserConfig)
    """Of whoever is answered."""
    memories: Sequence[Memory] = ()
    """Of the server, oldest first."""
    personal: Mapping[str, Sequence[Memory]] = field(default_factory=dict[str, Sequence[Memory]])
    """Of participants, by user id, oldest first; made in this server (D78)."""
    reminders: Sequence[Reminder] = ()
    """Pending ones of this persona in this server."""
    stm_here: StmRecord | None = None
    stm_elsewhere: Sequence[StmRecord] = ()
    """Newest first."""
    report: BoomerangReport | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


async def read_sources(storage: Storage, request: ContextRequest, now: datetime) -> Sources:
    """Raises BlobMissing and PersonaMissing, which no attempt mends, and StorageError."""
    invocation = request.invocation
    key = server_key(invocation.guild_id, invocation.author_id)
    persona_id = request.persona_id

    history = await storage.blobs.get_model(request.history_id, ChannelHistory)
    report = await _report(storage, request)
    people = _people(history, invocation.author_id)

    async def work() -> Sources:
        persona = await storage.personas.get(persona_id)
        personas = await _extra("personas", storage.personas.all(invocation.guild_id), [])
        server = await storage.configs.server(key)
        users = await storage.configs.users(people)
        user = users.get(invocation.author_id, UserConfig())
        reminders = await _extra("reminders", storage.reminders.pending(key), [])
        memories, personal = await _extra(
            "memories",
            storage.memories.of_server_and_users(
                key, persona_id, _remembered(people[:MAX_PEOPLE], users)
            ),
            ([], {}),
        )
        here: StmRecord | None = None
        elsewhere: list[StmRecord] = []
        if user.privacy is not Privacy.FULL and invocation.author_id:
            # both must want it: the server to show what was said elsewhere, and the user to take
            # it along
            other_servers = (
                server.memory.short_term.other_servers and user.short_term_from_other_servers
            )
            here, elsewhere = await _extra(
                "short-term memory",
                _short_term(storage, request, key, people, users, other_servers),
                (None, []),
            )
        return Sources(
            persona=persona,
            history=_readable(history, users, invocation.message_id),
            personas=personas,
            server=server,
            user=user,
            memories=memories,
            personal=personal,
            reminders=[reminder for reminder in reminders if reminder.persona_id == persona_id],
            stm_here=here,
            stm_elsewhere=elsewhere,
            report=report,
            now=now,
        )

    return await storage.database.read_together(work)


async def _report(storage: Storage, request: ContextRequest) -> BoomerangReport | None:
    invocation = request.invocation
    if invocation.origin is not Origin.BOOMERANG or invocation.report_id is None:
        return None
    found = storage.blobs.get_model(invocation.report_id, BoomerangReport)
    return await _extra("report", found, None)


def _people(history: ChannelHistory, invoker_id: str) -> list[str]:
    """Whoever is answered, then the members in the conversation, those who wrote last first."""
    latest = dict.fromkeys([invoker_id] if invoker_id else [])
    for message in reversed(history.messages):
        if not message.is_bot and not message.is_self:
            latest[message.author_id] = None
    return list(latest)


def _remembered(people: Sequence[str], users: Mapping[str, UserConfig]) -> list[str]:
    """Those of `people` who want no part of them kept from the persona."""
    return [
        user_id for user_id in people if users.get(user_id, UserConfig()).privacy is Privacy.NONE
    ]


async def _short_term(
    storage: Storage,
    request: ContextRequest,
    key: str,
    people: Sequence[str],
    users: Mapping[str, UserConfig],
    other_servers: bool,
) -> tuple[StmRecord | None, list[StmRecord]]:
    """Without the turns of members whom no persona reads: one may have ended while its member
    chose so. `users`: what those of `people` have set."""
    here, elsewhere = await storage.short_term.load(
        server_key=key,
        user_id=request.invocation.author_id,
        persona_id=request.persona_id,
        channel_id=request.invocation.channel_id,
        other_servers=other_servers,
    )
    records = [*([here] if here else []), *elsewhere]
    held = {entry.user_id for record in records for entry in record.entries}
    if others := held.difference(people, [""]):
        users = {**users, **await storage.configs.users(others)}
    unread = _unread(users)
    return here and _without(here, unread), [_without(record, unread) for record in elsewhere]


def _without(record: StmRecord, unread: Collection[str]) -> StmRecord:
    entries = [entry for entry in record.entries if entry.user_id not in unread]
    if len(entries) == len(record.entries):
        return record
    newest_at = entries[-1].at if entries else None
    return record.model_copy(update={"entries": entries, "newest_at": newest_at})


def _unread(users: Mapping[str, UserConfig]) -> set[str]:
    return {user_id for user_id, config in users.items() if config.privacy is Privacy.FULL}


def _readable(
    history: ChannelHistory, users: Mapping[str, UserConfig], trigger_id: str
) -> ChannelHistory:
    unread = _unread(users)
    if not unread:
        return history
    return history.model_copy(
        update={
            "messages": [
                message
                for message in history.messages
                if message.id == trigger_id or message.author_id not in unread
            ]
        }
    )


async def _extra(name: str, reading: Awaitable[Extra], without: Extra) -> Extra:
    try:
        return await reading
    except Exception as error:
        log.warning("context.part_left_out", part=name, error=type(error).__name__)
        return without
