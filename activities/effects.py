"""What is recorded when a turn is over (behaviour 6.9).

In order: the text quota, short-term memory, what was used, the place among the answers that are
under way, then the record of the turn. A failure of any but the last is logged and changes nothing
else. All of it is idempotent by turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from temporalio import activity

from activities.context.trigger import written_at
from activities.planning.quota import charge_answer
from storage import StmEntry, Storage
from storage.config import Privacy
from workflows.contracts.base import server_key
from workflows.contracts.delivery import Nothing
from workflows.contracts.effects import FINISH_TURN, FinishRequest
from workflows.contracts.generation import StreamStatus
from workflows.contracts.invocation import Origin

SCENE = "[Scene Metadata]"


class EffectsActivities:
    def __init__(self, storage: Storage, *, counts_active: bool = False) -> None:
        """`counts_active`: planning counts the answers that are under way (behaviour 5.4)."""
        self._storage = storage
        self._counts_active = counts_active

    @activity.defn(name=FINISH_TURN.name)
    async def finish_turn(self, request: FinishRequest) -> Nothing:
        """Idempotent by turn; what the turn consumed has been booked by its model calls."""
        await _attempt("text quota", self._charge, request)
        await _attempt("short-term memory", self._remember, request)
        await _attempt("tool counters", self._count_tools, request)
        await _attempt("concurrency guard", self._give_way, request)
        await self._storage.turns.finish(request)
        return Nothing()

    async def _charge(self, request: FinishRequest) -> None:
        await charge_answer(self._storage, request, datetime.now(UTC))

    async def _remember(self, request: FinishRequest) -> None:
        """Keep what was said, for the persona's other conversations (behaviour 7.1)."""
        response = _response(request)
        if not response or request.status is StreamStatus.STOPPED_BY_USER:
            return
        if (await self._storage.configs.user(request.user_id)).privacy is Privacy.FULL:
            return
        now = datetime.now(UTC)
        entries: list[StmEntry] = []
        # what brought a synthetic turn about was nobody's utterance, and its id tells no time
        is_synthetic = request.origin is not Origin.MESSAGE
        if not is_synthetic and request.user_text.strip():
            author = await self._author(request)
            entries.append(_entry(request, author, request.user_text, False, now))
        entries.append(_entry(request, request.persona_name, response, True, now))
        await self._storage.short_term.capture(
            turn_id=request.turn_id,
            server_key=server_key(request.guild_id, request.user_id),
            user_id=request.user_id,
            persona_id=request.persona_id,
            channel_id=request.channel_id,
            channel_name=request.channel_name,
            is_private=request.is_dm or request.is_private,
            entries=entries,
            # a turn that was under way when the channel was cleared does not come back (D78)
            as_of=now if is_synthetic else written_at(request.trigger_message_id),
        )

    async def _author(self, request: FinishRequest) -> str:
        if request.author_persona_id is None:
            return request.user_name
        return (await self._storage.personas.get(request.author_persona_id)).name

    async def _count_tools(self, request: FinishRequest) -> None:
        if request.is_dm or not request.tools_succeeded:
            return
        await self._storage.counters.tools_used(
            request.turn_id, server_key(request.guild_id, request.user_id), request.tools_succeeded
        )

    async def _give_way(self, request: FinishRequest) -> None:
        if self._counts_active:
            await self._storage.answering.end(request.channel_id, request.trigger_message_id)


def _response(request: FinishRequest) -> str:
    """What the persona remembers of its answer: its words, and what it wrote beside them
    (behaviour 6.7). Empty: nothing."""
    details = request.details_text.strip()
    scene = f"{SCENE}\n{details}" if details else ""
    return "\n\n".join(part for part in (request.reply_text.strip(), scene) if part)


def _entry(
    request: FinishRequest, author: str, text: str, is_persona: bool, at: datetime
) -> StmEntry:
    return StmEntry(
        author=author, text=text.strip(), is_persona=is_persona, user_id=request.user_id, at=at
    )


async def _attempt(
    effect: str, work: Callable[[FinishRequest], Awaitable[None]], request: FinishRequest
) -> None:
    try:
        await work(request)
    except Exception as error:
        # without the error's own words, which may quote what was said
        activity.logger.warning("%s of a turn: not recorded (%s)", effect, type(error).__name__)
