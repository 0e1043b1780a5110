"""The beacon of a well process, and when a silent Temporal is worth a warning."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import structlog
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

import worker.beacon
from worker.beacon import keep_lit


class Temporal:
    """Gives the next of `answers` to each question: True, or the status of an error; then True."""

    def __init__(self, answers: list[bool | RPCStatusCode]) -> None:
        self.answers = answers
        self.asked = 0
        self.service_client = self

    async def check_health(self, *, timeout: timedelta) -> bool:
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else True
        if isinstance(answer, RPCStatusCode):
            raise RPCError("", answer, b"")
        return answer


async def lines_of(
    temporal: Temporal, path: Path, monkeypatch: pytest.MonkeyPatch, until: Callable[[], bool]
) -> list[dict[str, Any]]:
    monkeypatch.setattr(worker.beacon, "INTERVAL", timedelta(0))
    with structlog.testing.capture_logs() as logs:
        beating = asyncio.create_task(keep_lit(path, cast(Client, temporal)))
        async with asyncio.timeout(5):
            while True:
                if until():
                    break
                await asyncio.sleep(0)
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating
    return [dict(line) for line in logs]


async def test_one_late_answer_is_no_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporal = Temporal([True, RPCStatusCode.CANCELLED, True, RPCStatusCode.UNAVAILABLE])
    path = tmp_path / "run" / "worker.ready"
    logs = await lines_of(temporal, path, monkeypatch, lambda: temporal.asked > 5)
    assert logs == []
    assert path.exists()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (RPCStatusCode.CANCELLED, "Temporal did not answer within 5 s, 2 times in a row"),
        (RPCStatusCode.UNAVAILABLE, "Temporal cannot be reached, 2 times in a row"),
        (RPCStatusCode.RESOURCE_EXHAUSTED, "Temporal answered: resource exhausted, 2 times"),
        (False, "Temporal answered that it is not well, 2 times in a row"),
    ],
)
async def test_a_silence_is_told_in_words_and_so_is_its_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: bool | RPCStatusCode,
    words: str,
) -> None:
    temporal = Temporal([answer, answer])
    path = tmp_path / "worker.ready"
    warning, end = await lines_of(temporal, path, monkeypatch, path.exists)
    assert warning["event"] == "temporal.unreachable"
    assert warning["reason"].startswith(words)
    assert (end["event"], end["log_level"]) == ("temporal.reachable", "info")
