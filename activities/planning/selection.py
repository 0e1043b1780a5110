"""Which personas answer, and in which order (behaviour 5.2). Pure.

In: a message that is answered. Out: the personas in the order they run, each once, none that may
not answer here, at most `match_limit`. What was begun on purpose (a command, a reminder, a further
persona) is answered by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from activities.planning.access import may_answer
from activities.planning.known import Known, channel_persona, spotlight_persona, spotlit_here
from activities.planning.reply import is_unasked, replies_always
from storage import Persona
from workflows.contracts.invocation import DIRECT, Addressed, ChatIncoming


@dataclass(frozen=True)
class Selection:
    personas: list[Persona]
    withheld: bool = False
    """Somebody was called who may not answer here."""


def select_personas(
    message: ChatIncoming,
    known: Known,
    called: Sequence[Persona],
    *,
    count_reached: bool,
    last_persona_id: int | None,
) -> Selection:
    selected = known.persona(message.selected_persona_id)
    if selected is not None:
        return _allowed([selected], message, known)
    if message.is_persona_job and message.selected_persona_id is not None:
        return Selection([])  # it has been removed, and nobody takes its place
    if is_unasked(message):
        return _one(message, known, last_persona_id)
    if message.author_persona_id is not None:
        others = [persona for persona in called if persona.id != last_persona_id]
        return _allowed(others, message, known)
    wanted = _distinct([*_forced(message, known, count_reached=count_reached), *called])
    if not wanted and message.addressed in DIRECT:
        wanted = _distinct([known.main])
    chosen = _allowed(wanted, message, known)
    if chosen.personas:
        return chosen
    fallback = _fallback(message, known, count_reached=count_reached)
    return Selection(fallback, withheld=not fallback)


def _forced(message: ChatIncoming, known: Known, *, count_reached: bool) -> list[Persona | None]:
    """Those who answer whatever the words of the message are."""
    forced: list[Persona | None] = []
    if message.reply_persona_id is not None:
        forced.append(known.persona(message.reply_persona_id))
    if message.mentions_us:
        forced.append(known.main)
    if not any(forced) and count_reached:
        forced.append(channel_persona(message, known))
    return forced


def _fallback(message: ChatIncoming, known: Known, *, count_reached: bool) -> list[Persona]:
    """Who answers what is answered in any case, and calls nobody who may."""
    spotlight = spotlight_persona(message, known)
    if spotlight is None and not (count_reached or replies_always(message, known)):
        return []
    order = [spotlight, channel_persona(message, known), known.main, *known.personas]
    return _allowed(_distinct(order), message, known).personas[:1]


def _one(message: ChatIncoming, known: Known, last_persona_id: int | None) -> Selection:
    """The one persona of what was begun on purpose without choosing one."""
    by_system = message.is_synthetic or message.is_stop_response
    if message.addressed is not Addressed.COMMAND or message.is_dm or by_system:
        return _allowed(_distinct([known.main]), message, known)
    order = [
        known.persona(last_persona_id),
        spotlit_here(message, known),
        channel_persona(message, known),
        known.main,
    ]
    allowed = _allowed(_distinct(order), message, known)
    return Selection(allowed.personas[:1], allowed.withheld)


def _allowed(personas: Sequence[Persona], message: ChatIncoming, known: Known) -> Selection:
    allowed = [persona for persona in personas if may_answer(persona, message, known)]
    return Selection(
        allowed[: known.server.triggers.match_limit], withheld=len(allowed) < len(personas)
    )


def _distinct(personas: Iterable[Persona | None]) -> list[Persona]:
    return list({persona.id: persona for persona in personas if persona is not None}.values())
