"""The model call against the real store: the same two calls, read and written for real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from storage import open_storage
from tests.generation.conftest import Desk
from tests.support.model_server import Finish, Text, ToolCall
from workflows.contracts.generation import StreamStatus, Usage
from workflows.contracts.tools import ToolResult, TranscriptEntry


async def test_a_tool_turn_is_stored_replayed_and_booked(desk: Desk, tmp_path: Path) -> None:
    """The request of a later call does not grow with the turn: its ids do not, its entries do not
    (T01 at this boundary)."""
    storage: Any = await open_storage(f"sqlite:///{tmp_path / 'everturn.db'}")
    try:
        desk.storage = storage
        desk.server.script(
            Text("Look."), ToolCall("roll_dice", '{"sides": 6}', "c1"), Finish(usage=(10, 3))
        )
        first = await desk.call("Ada: roll")
        assert first.status is StreamStatus.FUNCTION_CALL
        assert first.response_id is not None
        result = ToolResult(call_id="c1", name="roll_dice", success=True, content='{"total": 4}')
        entry = TranscriptEntry(response_id=first.response_id, results=[result])
        desk.server.script(Text("A four."), Finish(usage=(20, 2)))
        second = await desk.call("Ada: roll", call_index=1, new_entries=(entry,))
        assert second.status is StreamStatus.COMPLETED
        roles = [message["role"] for message in desk.server.requests[1].messages]
        assert roles == ["system", "user", "assistant", "tool"]
        assert await storage.transcript.load("turn/1/2/3", 1) == [entry]
        total = await storage.usage.total("turn/1/2/3")
        assert total == Usage(input_tokens=30, output_tokens=5)
    finally:
        await storage.close()


async def test_a_store_that_fails_is_named_to_the_operator(desk: Desk, tmp_path: Path) -> None:
    storage: Any = await open_storage(f"sqlite:///{tmp_path / 'everturn.db'}")
    desk.storage = storage
    request = (await desk.request("Ada: hi")).model_copy(update={"context_id": "0" * 64})
    try:
        result = await desk.start(request)
    finally:
        await storage.close()
    assert result.status is StreamStatus.ERROR
    assert result.error is not None
    assert result.error.message.startswith("internal: ")
    assert "000000" in result.error.message
    assert desk.server.requests == []
