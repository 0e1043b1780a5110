"""Turns in flight survive a deploy: recorded histories replay with today's code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from tests.histories.record import SCENARIOS
from workflows.channel import ChannelWorkflow
from workflows.reminder import ReminderWorkflow
from workflows.turn import TurnWorkflow

HISTORIES = sorted((Path(__file__).parents[1] / "histories").glob("*.json"))


@pytest.fixture(params=HISTORIES, ids=lambda path: path.stem)
def history(request: pytest.FixtureRequest) -> WorkflowHistory:
    path: Path = request.param
    return WorkflowHistory.from_json(path.stem, json.loads(path.read_text()))


async def test_a_recorded_history_replays(history: WorkflowHistory) -> None:
    replayer = Replayer(
        workflows=[ChannelWorkflow, TurnWorkflow, ReminderWorkflow],
        data_converter=pydantic_data_converter,
    )
    await replayer.replay_workflow(history)


def test_every_scenario_is_recorded() -> None:
    assert {path.name.split(".")[0] for path in HISTORIES} == set(SCENARIOS)
