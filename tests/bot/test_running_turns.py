"""Which turns run, as Temporal lists them. Against a real one: `test_run`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from bot import running_turns
from bot.active_turns import ActiveTurns
from bot.running_turns import RunningTurns, turn_of
from tests.bot.waiting import until
from workflows.contracts.base import channel_workflow_id, turn_workflow_id
from workflows.contracts.history import HistoryRequest

TURN = turn_workflow_id("5", "1", 2)


class Temporal:
    def __init__(self, *ids: str) -> None:
        self.ids = list(ids)
        self.away = False
        self.silent = False
        self.asked = 0

    async def list_workflows(self, query: str, **options: Any) -> AsyncIterator[Any]:
        self.asked += 1
        if self.silent:
            await asyncio.Event().wait()
        if self.away:
            raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")
        for workflow_id in self.ids:
            yield SimpleNamespace(id=workflow_id)


def looking(temporal: Temporal) -> tuple[RunningTurns, ActiveTurns]:
    turns = ActiveTurns()
    return RunningTurns(cast(Client, temporal), turns), turns


@pytest.mark.parametrize("generation", [0, 2])
def test_a_turns_id_tells_what_it_is(generation: int) -> None:
    turn_id = turn_workflow_id("5", "1", 2, generation)
    assert turn_of(turn_id) == ("5", turn_id, 2)


@pytest.mark.parametrize("other", [channel_workflow_id("5"), "turn/5/1", f"{TURN}/x", ""])
def test_other_ids_are_no_turns(other: str) -> None:
    assert turn_of(other) is None


@pytest.mark.parametrize("how", ["away", "silent"])
async def test_a_temporal_that_does_not_answer_is_asked_again(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And holds up nobody."""
    monkeypatch.setattr(running_turns, "LISTED_WITHIN", running_turns.LISTED_WITHIN / 30)
    monkeypatch.setattr(running_turns, "LOOK_EVERY", 0.01)
    temporal = Temporal(TURN)
    setattr(temporal, how, True)
    running, turns = looking(temporal)
    await running.look()
    assert not turns.is_answered("5", "u1")
    setattr(temporal, how, False)
    keeping = asyncio.create_task(running.keep_looking())
    await until(lambda: turns.is_answered("5", "u1"))
    keeping.cancel()


async def test_it_looks_only_while_an_owner_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_turns, "LOOK_EVERY", 0)
    temporal = Temporal(TURN)
    running, turns = looking(temporal)
    await running.look()
    keeping = asyncio.create_task(running.keep_looking())
    await until(lambda: temporal.asked > 3)
    turns.heard(
        HistoryRequest(
            turn_id=TURN, channel_id="5", trigger_message_id="1", owner_id="u1", persona_id=2
        )
    )
    asked = temporal.asked + 1  # one may be under way
    for _ in range(20):
        await asyncio.sleep(0)
    assert temporal.asked <= asked
    keeping.cancel()
