"""A turn's context from its parts. Pure: the same input gives the same document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from activities.context.authors import author_labels, is_persona, people_of, speaker_of
from activities.context.budget import CONTEXT_BUDGET, MESSAGE_OVERHEAD, estimate_tokens, trim
from activities.context.dialogue import dialogue
from activities.context.directives import (
    command_directive,
    reply_directive,
    retry_directive,
    stop_directive,
)
from activities.context.document import ContextBasis, ContextDocument, ContextItem, Person
from activities.context.macros import expand
from activities.context.memories import server_memories
from activities.context.offer import Offer
from activities.context.participants import Known, participants_note
from activities.context.perspective import as_seen_by
from activities.context.references import media_refs, message_refs
from activities.context.short_term import (
    block_depth,
    insert_at_depth,
    memory_block,
    nudge,
    visible_elsewhere,
)
from activities.context.sources import Sources
from activities.context.stickers import sticker_list
from activities.context.summons import summons
from activities.context.system_prompt import place, system_prompt
from activities.context.trigger import is_wordless_command, with_trigger
from text.labels import Named, author_label
from workflows.contracts.base import server_key
from workflows.contracts.context import ContextRequest
from workflows.contracts.history import HistoryMessage
from workflows.contracts.tools import SELECT_STICKER, UPDATE_SHORT_TERM_MEMORY

NO_TEXT = "(no text)"
"""Stands for a trigger without text and files, such as a sticker: it is to be answered as well."""


def conversation(request: ContextRequest, sources: Sources) -> list[HistoryMessage]:
    """The messages of the turn as its persona sees them (`perspective`), oldest first, its trigger
    among them and never without words."""
    trigger_id = request.invocation.message_id
    waited = request.is_queued or request.invocation.is_persona_job
    found = with_trigger(sources.history.messages, request.invocation, is_queued=waited)
    return [
        message.model_copy(update={"content": NO_TEXT})
        if message.id == trigger_id and not message.content.strip() and not message.attachments
        else message
        for message in as_seen_by(sources.persona, found, sources.personas)
    ]


def compose(
    request: ContextRequest,
    sources: Sources,
    messages: Sequence[HistoryMessage],
    offer: Offer,
    budget: int = CONTEXT_BUDGET,
) -> ContextDocument:
    """Rules, persona, place, memories and stickers; participants; the conversation as far as it
    fits, with short-term memory at its depth; and what is to be done, where no message says it.

    `messages` comes from `conversation`. `budget` is in tokens. What does not grow with the
    conversation is always in; of the conversation the newest stays.
    """
    invocation = request.invocation
    persona = sources.persona
    trigger = next((m for m in messages if m.id == invocation.message_id), None)
    invoker = Named(invocation.author_id, invocation.author_name)
    people = [one for one in people_of(messages, invoker) if not is_persona(one.id)]
    labels = author_labels(messages, persona.name, invoker)

    system = _system(request, sources, messages, offer, labels)
    opening = ContextItem(
        role="user",
        text=participants_note(
            labels,
            persona.name,
            invocation.bot_user_id,
            trigger.created_at if trigger else sources.now,
            Known(
                memories=sources.personal,
                answered_id=invocation.author_id,
                reminders=[r for r in sources.reminders if r.is_shown_in(invocation.channel_id)],
                channel_name="" if invocation.is_dm else invocation.channel_name,
                zone=sources.user.timezone or sources.server.timezone,
            ),
        ),
    )
    closing = _closing(request, sources, messages, labels)

    left = budget - estimate_tokens(system) - tokens_of([opening, *closing])
    kept = trim(messages, invocation.message_id, left)
    remembered = _short_term(request, sources, offer, kept)
    if remembered:
        left -= tokens_of(item for _, item in remembered)
        kept = trim(messages, invocation.message_id, left)

    media = media_refs(kept)
    spoken = dialogue(kept, labels, persona.name, media)
    return ContextDocument(
        persona_name=persona.name,
        system=system,
        items=[opening, *insert_at_depth(spoken, remembered), *closing],
        invocation=invocation,
        refs=message_refs(kept),
        media=media,
        people=[Person(user_id=p.id, name=p.name, is_bot=p.is_bot) for p in people],
        stickers=sources.history.stickers if SELECT_STICKER in offer.abilities.tools else [],
        basis=ContextBasis(turn_id=request.turn_id, history_id=request.history_id),
    )


def tokens_of(items: Iterable[ContextItem]) -> int:
    return sum(estimate_tokens(item.text) + MESSAGE_OVERHEAD for item in items)


def _system(
    request: ContextRequest,
    sources: Sources,
    messages: Sequence[HistoryMessage],
    offer: Offer,
    labels: dict[str, str],
) -> str:
    invocation = request.invocation
    own = author_label(sources.persona.name)
    user = labels.get(invocation.author_id) or author_label(invocation.author_name)
    authored = expand(sources.persona.prompt, offer.abilities, bot=own, user=user)
    remembered = server_memories(
        sources.memories,
        "" if invocation.is_dm else invocation.channel_name,
        (message.content for message in messages),
        bot=own,
        user=user,
    )
    stickers = ""
    if SELECT_STICKER in offer.abilities.tools:
        stickers = sticker_list(sources.history.stickers)
    return system_prompt(sources.persona.name, authored, place(invocation), remembered, stickers)


def _closing(
    request: ContextRequest,
    sources: Sources,
    messages: Sequence[HistoryMessage],
    labels: dict[str, str],
) -> list[ContextItem]:
    invocation = request.invocation
    notes = [_purpose(request, sources, messages, labels)]
    if invocation.retry_count:
        own = author_label(sources.persona.name)
        notes.append(retry_directive(invocation.empty_response_finish_reason, own))
    return [ContextItem(role="user", text=note) for note in notes if note]


def _purpose(
    request: ContextRequest,
    sources: Sources,
    messages: Sequence[HistoryMessage],
    labels: dict[str, str],
) -> str:
    """What is to be done, where the end of the conversation does not say it; else ""."""
    invocation = request.invocation
    if invocation.is_synthetic:
        return summons(invocation, sources.report)
    asked_by = labels.get(invocation.author_id) or author_label(invocation.author_name)
    if invocation.is_stop_response:
        return stop_directive(asked_by)
    if is_wordless_command(invocation):
        return command_directive(asked_by)
    trigger = next((m for m in messages if m.id == invocation.message_id), None)
    others_since = invocation.is_persona_job and trigger is not messages[-1]
    if trigger is None or not (request.is_queued or others_since):
        return ""
    author = labels.get(speaker_of(trigger)) or author_label(trigger.author_name)
    return reply_directive(author, trigger.content)


def _short_term(
    request: ContextRequest, sources: Sources, offer: Offer, kept: Sequence[HistoryMessage]
) -> list[tuple[int, ContextItem]]:
    """The block and the nudge with their depths; of the same depth, the block first."""
    config = sources.server.memory.short_term
    others = visible_elsewhere(sources.stm_elsewhere, config)
    here = sources.stm_here
    placed: list[tuple[int, ContextItem]] = []
    block = memory_block(
        here,
        others,
        config,
        persona_name=sources.persona.name,
        server_key=server_key(request.invocation.guild_id, request.invocation.author_id),
        shown_since=min((message.created_at for message in kept), default=None),
        now=sources.now,
    )
    if block is not None:
        moments = [r.newest_at for r in [here, *others] if r is not None and r.newest_at]
        depth = block_depth(config, max(moments, default=None), sources.now)
        placed.append((depth, block))
    if offer.situation.short_term_memory_due and (
        UPDATE_SHORT_TERM_MEMORY in offer.abilities.tools
    ):
        turns = here.turns_since_update if here else 0
        placed.append((config.nudge_depth, nudge(turns)))
    return placed
