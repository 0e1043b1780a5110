"""The activity that builds a turn's context, once, and stores it.

It needs only the database and a few milliseconds, so it may run as a local activity.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.context.budget import CONTEXT_BUDGET, estimate_tokens
from activities.context.compose import compose, conversation, tokens_of
from activities.context.offer import make_offer
from activities.context.sources import read_sources
from activities.tools.registry import ToolRegistry
from storage import BlobMissing, PersonaMissing, Storage
from workflows.contracts.context import BUILD_CONTEXT, ContextRef, ContextRequest, NoticeStyle


def _clock() -> datetime:
    return datetime.now(UTC)


class ContextActivities:
    def __init__(
        self,
        storage: Storage,
        registry: ToolRegistry,
        clock: Callable[[], datetime] = _clock,
        budget: int = CONTEXT_BUDGET,
    ) -> None:
        """`budget` is in tokens, for the whole context."""
        self._storage = storage
        self._registry = registry
        self._clock = clock
        self._budget = budget

    @activity.defn(name=BUILD_CONTEXT.name)
    async def build_context(self, request: ContextRequest) -> ContextRef:
        """From a stored `ChannelHistory` to a stored `ContextDocument`, and the tools of the turn.

        A history or persona that is gone is an error that no attempt mends; any other StorageError
        may pass and is retried.
        """
        started = time.perf_counter()
        try:
            sources = await read_sources(self._storage, request, self._clock())
        except (BlobMissing, PersonaMissing) as error:
            raise ApplicationError(
                str(error), type=type(error).__name__, non_retryable=True
            ) from None
        messages = conversation(request, sources)
        offer = make_offer(request, sources, messages, self._registry)
        document = compose(request, sources, messages, offer, self._budget)
        if offer.situation.has_files and not document.media:
            # the files stand in messages that no longer fit: nothing is left to be opened
            shown = {ref.message_id for ref in document.refs}
            kept = [message for message in messages if message.id in shown]
            offer = make_offer(request, sources, kept, self._registry)
            document = compose(request, sources, messages, offer, self._budget)
        server = sources.server
        return ContextRef(
            context_id=await self._storage.blobs.put_model("context", document),
            tools=offer.tools,
            situation=offer.situation,
            retain_for=server.deliberate.context_turns if offer.tools.deliberate else 0,
            notices=NoticeStyle(server.notices.tool_notices),
            log_channel_id=(
                None if request.invocation.is_dm else server.notices.thought_log_channel_id
            ),
            items=len(document.items),
            tokens_estimate=estimate_tokens(document.system) + tokens_of(document.items),
            build_ms=(time.perf_counter() - started) * 1000,
        )
