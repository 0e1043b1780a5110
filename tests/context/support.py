"""What the context tests build their channels from."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from activities.context.compose import compose, conversation
from activities.context.document import ContextDocument
from activities.context.macros import Abilities
from activities.context.offer import Offer
from activities.context.sources import Sources
from storage import Persona
from workflows.contracts.context import ContextRequest
from workflows.contracts.history import ChannelHistory, HistoryMessage
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.tools import Situation

BOT = "900"
START = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)
NOW = START + timedelta(minutes=30)

NOVA = Persona(id=1, name="Nova", is_main=True, prompt="You are kind.", triggers=["nova"])


def said(id_: int, author: str, content: str, **more: Any) -> HistoryMessage:
    """Message `id_`, a minute after message `id_ - 1`; "Nova" is our own bot."""
    fields: dict[str, Any] = {
        "id": str(id_),
        "author_id": BOT if author == "Nova" else f"id-{author}",
        "author_name": author,
        "content": content,
        "created_at": START + timedelta(minutes=id_),
        "is_self": author == "Nova",
        "is_bot": author == "Nova",
    }
    return HistoryMessage(**{**fields, **more})


def asked(message: HistoryMessage, *, is_queued: bool = False, **more: Any) -> ContextRequest:
    """The request of a turn that answers `message`."""
    fields: dict[str, Any] = {
        "application_id": "800",
        "channel_id": "700",
        "message_id": message.id,
        "author_id": message.author_id,
        "author_name": message.author_name,
        "content": message.content,
        "guild_id": "600",
        "guild_name": "Home",
        "channel_name": "general",
        "bot_user_id": BOT,
    }
    return ContextRequest(
        turn_id="turn/700/1/1",
        persona_id=NOVA.id,
        history_id="h",
        invocation=ChatIncoming(**{**fields, **more}),
        is_queued=is_queued,
    )


def composed(
    request: ContextRequest,
    history: ChannelHistory,
    *,
    offered: Iterable[str] = (),
    due: bool = False,
    **sources: Any,
) -> ContextDocument:
    """The document of `request`, with these tools on offer; `sources` are fields of `Sources`."""
    offer = Offer(
        situation=Situation(short_term_memory_due=due),
        abilities=Abilities(frozenset(offered)),
    )
    read = Sources(**{"persona": NOVA, "history": history, "now": NOW, **sources})
    return compose(request, read, conversation(request, read), offer)


def whole(document: ContextDocument) -> str:
    return "\n".join([document.system, *(item.text for item in document.items)])
