"""channel ──► worker: which personas answer an accepted message, and what that costs whom.

In: the message, and the channel's counters as the lock holds them. Out: the turns in their order,
or why there are none; and the counters as they are now. One call does the check and the set of a
cooldown in one statement, so that two channels cannot both pass it.
"""

from __future__ import annotations

from enum import StrEnum

from workflows.contracts.base import ActivityStub, Contract
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.delivery import Nothing
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.turn import TurnLimits


class PlannedTurn(Contract):
    persona_id: int
    """Row id in the database, at most 36**4 - 1 (it has four places in a message's nonce)."""
    persona_name: str
    voice: Voice = Voice()


class PlanReason(StrEnum):
    """Why nobody answers (behaviour 2 and 5); the names are those of the behaviour where it has
    some."""

    NO_PERSONA = "no_persona_state"
    FOREIGN_AUTHOR = "foreign_author"
    THOUGHT_LOG_CHANNEL = "thought_log_channel"
    BLACKLISTED = "server_blacklisted_user"
    WHITELIST = "rejected_by_whitelist"
    NON_TRIGGER = "non_trigger"
    """Among others an autochat count that is not reached."""
    NO_CREDENTIALS = "no_credentials"
    RATE_LIMITED = "rate_limited"
    COOLDOWN = "cooldown"
    CASCADE = "cascade_limit"
    QUOTA = "text_quota"
    PRIVACY = "full_privacy_user"


class PlanRefusal(Contract):
    reason: PlanReason
    notice: str = ""
    """For the author, where errors of this message may be shown; empty: silent."""
    by_direct_message: bool = False
    """The notice goes to the author alone (cooldowns, behaviour 5.4)."""


class PlanRequest(Contract):
    invocation: ChatIncoming
    counters: ChannelCounters = ChannelCounters()
    active_here: int = 0
    """Turns that run in this channel beside the one that is planned: none, with one lock."""


class TurnPlan(Contract):
    turns: list[PlannedTurn] = []
    """In the order they run. Empty: nobody answers."""
    refusal: PlanRefusal | None = None
    counters: ChannelCounters | None = None
    """As they are now; None: as they were."""
    cascade_limit: int = 3
    """Answers beyond the first without a person in between."""
    follow_up_eligible: bool = False
    """The author may interrupt this answer by writing more (behaviour 2.3)."""
    max_follow_ups: int = 3
    empty_retries: int = 0
    """How often an empty answer is asked for again (behaviour 18: 2); 0 in plans of before."""
    limits: TurnLimits = TurnLimits()
    provider: str = ""
    model: str = ""
    """Who will be asked; what a turn shows until it has been answered."""


PLAN_TURNS = ActivityStub("plan_turns", PlanRequest, TurnPlan)

GIVE_UP_PLAN = ActivityStub("give_up_plan", PlanRequest, Nothing)
"""No turn of the plan records its end: what the plan took for it is free again. Repeated, it
changes nothing more."""
