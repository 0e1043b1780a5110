"""The plan of one message: the stages of behaviour 5 in their order.

In: a `PlanRequest`, the message with what its channel counts. Out: a `TurnPlan`: who answers, in
their order, or why nobody does. It takes what an answer needs to find free: a cooldown, a place
among the answers that are under way. What always holds: the same request plans the same turns, and
takes nothing twice; whoever is refused costs no model call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from temporalio import activity

from activities.planning.access import access_refusal
from activities.planning.arrival import arrived_at
from activities.planning.autochat import begun_anew, counted
from activities.planning.called import called_personas
from activities.planning.cascade import is_used_up, renewed
from activities.planning.credentials import (
    Credentials,
    PersonalProviders,
    credentials_of,
    nobody_has_one,
)
from activities.planning.guards import Guards
from activities.planning.known import Known, is_said, read_known
from activities.planning.quota import quota_refusal
from activities.planning.refusals import silent
from activities.planning.reply import is_answered
from activities.planning.selection import select_personas
from activities.planning.settings import PlanningSettings
from activities.planning.standing import standing_refusal
from activities.reminders.standing import still_stands
from storage import Persona, Storage
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.delivery import Nothing
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.planning import (
    GIVE_UP_PLAN,
    PLAN_TURNS,
    PlannedTurn,
    PlanReason,
    PlanRefusal,
    PlanRequest,
    TurnPlan,
)
from workflows.contracts.turn import TurnLimits

EMPTY_RETRIES = 2
"""How often an empty answer is asked for again (behaviour 18)."""


@dataclass(frozen=True)
class Choice:
    """What the message itself and the settings say, before any limit is asked."""

    counters: ChannelCounters
    personas: list[Persona] = field(default_factory=list[Persona])
    refusal: PlanRefusal | None = None
    credentials: Credentials = Credentials.SERVER
    count_reached: bool = False


class PlanningActivities:
    def __init__(
        self,
        storage: Storage,
        limits: TurnLimits | None = None,
        provider: str = "",
        model: str = "",
        settings: PlanningSettings | None = None,
        *,
        personal_providers: PersonalProviders = nobody_has_one,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`limits`, `provider` and `model` are this worker's; every plan carries them."""
        self._storage = storage
        self._limits = limits or TurnLimits()
        self._provider = provider
        self._model = model
        self._settings = settings or PlanningSettings()
        self._personal_providers = personal_providers
        self._clock = clock
        self._guards = Guards(storage, self._settings)

    @activity.defn(name=PLAN_TURNS.name)
    async def plan_turns(self, request: PlanRequest) -> TurnPlan:
        """Raises StorageError when the settings or the personas cannot be read."""
        message = request.invocation
        now = self._clock()
        if not await still_stands(self._storage, message):
            activity.logger.info("the reminder of message %s is gone", message.message_id)
            return TurnPlan()
        known = await read_known(self._storage, message)
        if known.main is None:
            activity.logger.warning(
                "no persona exists: the worker reads the persona files at start"
            )
        choice = choose(
            message,
            known,
            request.counters,
            self._settings,
            has_personal=await self._personal_providers(message.author_id),
            has_server_model=bool(self._provider),
            now=now,
        )
        refusal = choice.refusal or await self._limit(message, known, choice, now)
        counters = choice.counters
        if refusal is None and choice.count_reached:
            counters = begun_anew(message, known, counters)
        return TurnPlan(
            turns=[] if refusal else [_planned(persona) for persona in choice.personas],
            refusal=refusal,
            counters=counters if counters != request.counters else None,
            cascade_limit=known.server.triggers.cascade_limit,
            follow_up_eligible=_is_follow_up_eligible(message),
            max_follow_ups=self._settings.max_follow_ups,
            empty_retries=EMPTY_RETRIES,
            limits=self._limits,
            provider=self._provider,
            model=self._model,
        )

    @activity.defn(name=GIVE_UP_PLAN.name)
    async def give_up_plan(self, request: PlanRequest) -> Nothing:
        """A cooldown stays taken: it is counted from what was asked for, not from an answer."""
        await self._guards.release(request.invocation)
        return Nothing()

    async def _limit(
        self, message: ChatIncoming, known: Known, choice: Choice, now: datetime
    ) -> PlanRefusal | None:
        """The guards, and the quota; whoever brings a model of their own is only counted."""
        on_server = choice.credentials is Credentials.SERVER
        refusal = await self._guards.concurrency(message, now)
        if refusal is not None:
            return refusal
        if on_server:
            written = arrived_at(message, now)
            refusal = await self._guards.cooldown(message, known, written, now)
        cascade_limit = known.server.triggers.cascade_limit
        if refusal is None and is_used_up(message, choice.counters, cascade_limit):
            refusal = silent(PlanReason.CASCADE)
        if refusal is None and on_server:
            refusal = await quota_refusal(self._storage, message, known, now)
        if refusal is not None:
            await self._guards.release(message)
        return refusal


def choose(
    message: ChatIncoming,
    known: Known,
    counters: ChannelCounters,
    settings: PlanningSettings,
    *,
    has_personal: bool = False,
    has_server_model: bool = True,
    now: datetime,
) -> Choice:
    """Pure. Who would answer, if no limit is met; or why nobody does."""
    counters = renewed(message, counters, arrived_at(message, now))
    if refusal := standing_refusal(message, known):
        return Choice(counters, refusal=refusal)
    count = counted(message, known, counters)
    counters, reached = count.counters, count.reached
    if refusal := access_refusal(message, known):
        return Choice(counters, refusal=refusal)
    called = called_personas(message, known, settings.base_words)
    if not is_answered(message, known, called, count_reached=reached):
        return Choice(counters, refusal=silent(PlanReason.NON_TRIGGER))
    credentials = credentials_of(
        message, known, has_personal=has_personal, has_server_model=has_server_model
    )
    if isinstance(credentials, PlanRefusal):
        return Choice(counters, refusal=credentials)
    selection = select_personas(
        message,
        known,
        called,
        count_reached=reached,
        last_persona_id=counters.last_persona_id,
    )
    if not selection.personas:
        reason = PlanReason.WHITELIST if selection.withheld else PlanReason.NON_TRIGGER
        if message.is_persona_job and message.selected_persona_id is not None:
            reason = PlanReason.WHITELIST if selection.withheld else PlanReason.NO_PERSONA
        return Choice(counters, refusal=silent(reason))
    return Choice(counters, selection.personas, credentials=credentials, count_reached=reached)


def _planned(persona: Persona) -> PlannedTurn:
    return PlannedTurn(
        persona_id=persona.id,
        persona_name=persona.name,
        voice=Voice(name=persona.name, avatar_url=persona.avatar_url, is_main=persona.is_main),
    )


def _is_follow_up_eligible(message: ChatIncoming) -> bool:
    """What a member of a server has said, and did not begin by a command (behaviour 2.3); each of
    the personas that answer it gives way."""
    said = is_said(message.model_copy(update={"is_persona_job": False}))
    return message.guild_id is not None and not message.is_dm and said
