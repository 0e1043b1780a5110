"""The activity: from ids to an id."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.context.build import ContextActivities
from activities.context.document import ContextDocument
from storage import Storage, open_storage
from tests.context.support import asked, said
from workflows.contracts.context import ContextRequest
from workflows.contracts.history import ChannelHistory


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    await opened.personas.seed(tmp_path / "personas")
    yield opened
    await opened.close()


async def request_for(storage: Storage, history: ChannelHistory) -> ContextRequest:
    nova = await storage.personas.main(None)
    history_id = await storage.blobs.put_model("history", history)
    trigger = asked(history.messages[-1])
    return trigger.model_copy(update={"persona_id": nova.id, "history_id": history_id})


async def build(storage: Storage, request: ContextRequest):
    return await ActivityEnvironment().run(ContextActivities(storage).build_context, request)


async def test_the_context_is_stored_and_named(storage: Storage) -> None:
    history = ChannelHistory(messages=[said(1, "Mia", "hello nova")])
    request = await request_for(storage, history)
    ref = await build(storage, request)
    document = await storage.blobs.get_model(ref.context_id, ContextDocument)
    assert document.items[-1].text == "Mia: hello nova"
    assert "warm, curious and quick" in document.system
    assert ref.items == len(document.items) == 3
    assert 100 < ref.tokens_estimate < 1000
    assert (await build(storage, request)).context_id == ref.context_id


async def test_it_is_quick(storage: Storage) -> None:
    """D37: the longest channel takes the event loop for much less than 250 ms."""
    text = "とても長い話 and some English.\n" * 80
    history = ChannelHistory(messages=[said(n, f"M{n % 30}", text[:2000]) for n in range(80)])
    request = await request_for(storage, history)
    started = time.process_time()
    ref = await build(storage, request)
    assert time.process_time() - started < 0.25
    assert 0 < ref.build_ms < 250


async def test_a_history_or_persona_that_is_gone_is_final(storage: Storage) -> None:
    """No attempt would find them, so none is made."""
    request = await request_for(storage, ChannelHistory(messages=[said(1, "Mia", "x")]))
    for lost, error in (
        (request.model_copy(update={"history_id": "0" * 64}), "BlobMissing"),
        (request.model_copy(update={"persona_id": 77}), "PersonaMissing"),
    ):
        with pytest.raises(ApplicationError) as caught:
            await build(storage, lost)
        assert (caught.value.type, caught.value.non_retryable) == (error, True)
