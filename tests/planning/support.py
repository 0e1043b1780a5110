"""A small server to plan in: its personas, its settings, and what is said there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from activities.planning import PlanningSettings
from activities.planning.known import Known
from activities.planning.plan import Choice, choose
from storage import Persona, ServerConfig, UserConfig
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.invocation import Addressed, ChatIncoming

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
EPOCH = datetime(2015, 1, 1, tzinfo=UTC)

NOVA, ATLAS, ZOE, ILSE, REMY = 1, 2, 3, 4, 5
NAMES = {NOVA: "Nova", ATLAS: "Atlas", ZOE: "Zoe", ILSE: "Ilse", REMY: "Remy"}


def personas() -> list[Persona]:
    """Nova is main; the others in the order of their age."""
    return [
        Persona(id=id_, name=name, is_main=id_ == NOVA, prompt="Be kind.", triggers=[name.lower()])
        for id_, name in NAMES.items()
    ]


def id_at(moment: datetime, number: int = 0) -> str:
    """The id of a message that was written then."""
    return str((int((moment - EPOCH) / timedelta(milliseconds=1)) << 22) + number)


def message(**more: Any) -> ChatIncoming:
    """Mia mentions the bot in #7 of the server 6, just now."""
    fields: dict[str, Any] = {
        "application_id": "8", "channel_id": "7", "message_id": id_at(NOW), "author_id": "2",
        "author_name": "Mia", "guild_id": "6", "mentions_us": "addressed" not in more,
    }  # fmt: skip
    return ChatIncoming(**{**fields, **more})


def words(*persona_ids: int, **more: Any) -> ChatIncoming:
    """Mia names personas."""
    named = {"addressed": Addressed.TRIGGER_WORD, "persona_ids": list(persona_ids)}
    return message(**{**named, "content": " ".join(NAMES.get(i, "?") for i in persona_ids), **more})


def command(**more: Any) -> ChatIncoming:
    return message(addressed=Addressed.COMMAND, is_manual=True, **more)


def said_by(persona_id: int, *called: int, **more: Any) -> ChatIncoming:
    """A persona names others."""
    return words(*called, author_persona_id=persona_id, is_persona_job=True, **more)


def server(**sections: Any) -> ServerConfig:
    return ServerConfig.model_validate(sections)


def known(server: ServerConfig | None = None, user: UserConfig | None = None) -> Known:
    return Known(personas(), server or ServerConfig(), user or UserConfig())


def chosen(
    message: ChatIncoming,
    server: ServerConfig | None = None,
    user: UserConfig | None = None,
    counters: ChannelCounters | None = None,
    **more: Any,
) -> Choice:
    return choose(
        message,
        known(server, user),
        counters or ChannelCounters(),
        more.pop("settings", PlanningSettings()),
        now=NOW,
        **more,
    )


def answers(
    message: ChatIncoming,
    server: ServerConfig | None = None,
    user: UserConfig | None = None,
    counters: ChannelCounters | None = None,
    **more: Any,
) -> list[int] | str:
    """Who answers, or the reason why nobody does."""
    choice = chosen(message, server, user, counters, **more)
    if choice.refusal is not None:
        assert not choice.personas
        return choice.refusal.reason.value
    assert choice.personas
    return [persona.id for persona in choice.personas]
