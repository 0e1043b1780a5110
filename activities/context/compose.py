"""A turn's context from its parts. Pure: the same input gives the same document."""

from __future__ import annotations

from collections.abc import Iterable

from activities.context.authors import author_label, author_labels
from activities.context.budget import CONTEXT_BUDGET, MESSAGE_OVERHEAD, estimate_tokens, trim
from activities.context.dialogue import dialogue
from activities.context.directives import reply_directive
from activities.context.document import ContextDocument, ContextItem
from activities.context.participants import participants_note
from activities.context.system_prompt import place, system_prompt
from activities.context.trigger import with_trigger
from storage import Persona
from workflows.contracts.context import ContextRequest
from workflows.contracts.history import ChannelHistory

NO_TEXT = "(no text)"
"""Stands for a trigger without text and files, such as a sticker: it is to be answered as well."""


def compose(
    request: ContextRequest,
    persona: Persona,
    history: ChannelHistory,
    budget: int = CONTEXT_BUDGET,
) -> ContextDocument:
    """Rules, persona and place; participants; the conversation as far as it fits; a directive for
    a queued turn.

    `budget` is in tokens. What does not grow with the conversation is always in; of the
    conversation the newest stays.
    """
    invocation = request.invocation
    messages = with_trigger(history.messages, invocation, is_queued=request.is_queued)
    trigger = next(m for m in messages if m.id == invocation.message_id)
    if not trigger.content.strip() and not trigger.attachments:
        answered = trigger.model_copy(update={"content": NO_TEXT})
        messages = [answered if m is trigger else m for m in messages]
        trigger = answered

    labels = author_labels(messages, persona.name)
    system = system_prompt(persona.name, persona.prompt, place(invocation))
    opening = ContextItem(
        role="user",
        text=participants_note(labels, persona.name, invocation.bot_user_id, trigger.created_at),
    )
    closing = []
    if request.is_queued:
        author = labels.get(trigger.author_id) or author_label(trigger.author_name)
        closing = [ContextItem(role="user", text=reply_directive(author, trigger.content))]

    fixed = estimate_tokens(system) + tokens_of([opening, *closing])
    kept = trim(messages, trigger.id, budget - fixed)
    return ContextDocument(
        persona_name=persona.name,
        system=system,
        items=[opening, *dialogue(kept, labels, persona.name), *closing],
    )


def tokens_of(items: Iterable[ContextItem]) -> int:
    return sum(estimate_tokens(item.text) + MESSAGE_OVERHEAD for item in items)
