"""The activity that builds a turn's context, once, and stores it.

It needs only the database and a few milliseconds, so it may run as a local activity.
"""

from __future__ import annotations

import asyncio
import time

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.context.budget import estimate_tokens
from activities.context.compose import compose, tokens_of
from storage import BlobMissing, PersonaMissing, Storage
from workflows.contracts.context import BUILD_CONTEXT, ContextRef, ContextRequest
from workflows.contracts.history import ChannelHistory


class ContextActivities:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @activity.defn(name=BUILD_CONTEXT.name)
    async def build_context(self, request: ContextRequest) -> ContextRef:
        """From a stored `ChannelHistory` to a stored `ContextDocument`.

        Idempotent: repeated, it yields the same id. A history or persona that is gone is an error
        that no attempt mends; any other StorageError may pass and is retried.
        """
        started = time.perf_counter()
        try:
            persona, history = await asyncio.gather(
                self._storage.personas.get(request.persona_id),
                self._storage.blobs.get_model(request.history_id, ChannelHistory),
            )
        except (BlobMissing, PersonaMissing) as error:
            raise ApplicationError(
                str(error), type=type(error).__name__, non_retryable=True
            ) from None
        document = compose(request, persona, history)
        return ContextRef(
            context_id=await self._storage.blobs.put_model("context", document),
            items=len(document.items),
            tokens_estimate=estimate_tokens(document.system) + tokens_of(document.items),
            build_ms=(time.perf_counter() - started) * 1000,
        )
