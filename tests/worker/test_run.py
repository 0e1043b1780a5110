"""The worker against a real dev server: search attributes, options, pollers, the doctor's lines."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.client import Client

from activities.generation.models import ModelSource
from worker.connection import connect
from worker.database import open_database
from worker.dev_server import server_command, temporal_binary, without_temporal_variables
from worker.doctor import check_temporal, check_workers
from worker.errors import EXIT_CONFIGURATION, ConnectionFailed
from worker.ports import next_free_port
from worker.run import (
    MAX_WORKFLOW_TASKS,
    make_tools,
    make_worker,
    pollers,
    run_worker,
    sandbox,
)
from worker.search_attributes import (
    NAMES,
    missing_search_attributes,
    register_search_attributes,
)
from worker.settings import Settings, load_settings
from workflows.contracts.base import TURNS_QUEUE

NAMESPACE = "of-the-tests"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a dev server of our own making, without any search attributes."""
    import os

    home = tmp_path_factory.mktemp("server")
    port, ui_port = next_free_port(25_000), next_free_port(25_200)
    environ = without_temporal_variables(os.environ)
    process = subprocess.Popen(
        server_command(home, port, ui_port, NAMESPACE, {}),
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"127.0.0.1:{port}"
    health = [temporal_binary(), "operator", "cluster", "health", "--address", address]
    deadline = time.monotonic() + 20
    while subprocess.run(health, env=environ, capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, "the dev server does not start"
    yield address
    process.kill()
    process.wait()


@pytest.fixture
def settings(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TEMPORAL_ADDRESS", server)
    monkeypatch.setenv("TEMPORAL_NAMESPACE", NAMESPACE)
    monkeypatch.chdir(tmp_path)
    return load_settings({"EVERTURN_HOME": str(tmp_path)}, None)


async def test_search_attributes_are_registered_once_and_the_doctor_sees_it(
    settings: Settings,
) -> None:
    client = await connect(settings)
    assert await missing_search_attributes(client) == list(NAMES)
    before = await check_temporal(settings)
    assert not before.ok
    assert NAMES[0] in before.text
    await asyncio.gather(*(register_search_attributes(client) for _ in range(3)))
    await register_search_attributes(client)
    async with asyncio.timeout(10):
        while True:
            if not await missing_search_attributes(client):
                break
    after = await check_temporal(settings)
    assert after.ok
    assert NAMESPACE in after.text


async def test_a_namespace_that_does_not_exist_is_one_line(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "nowhere")
    finding = await check_temporal(settings)
    assert not finding.ok
    assert "no namespace nowhere" in finding.text
    with pytest.raises(ConnectionFailed, match="nowhere") as caught:
        await register_search_attributes(await connect(settings))
    assert caught.value.exit_code == EXIT_CONFIGURATION


async def test_the_options_that_a_stop_depends_on(settings: Settings) -> None:
    """T20, T18, T25: heartbeats at most half a second apart, no slot supplier of our own, and a
    shutdown that waits for what runs."""
    client = await connect(settings)
    storage = await open_database(settings)
    registry, resources = make_tools(settings)
    models = ModelSource(settings.generation())
    worker = make_worker(client, storage, settings, models, registry, resources, asyncio.Event())
    config = worker.config()
    await resources.aclose()
    await storage.close()
    assert config["max_heartbeat_throttle_interval"] <= timedelta(seconds=0.5)
    assert config["default_heartbeat_throttle_interval"] <= timedelta(seconds=0.5)
    assert config["graceful_shutdown_timeout"] >= timedelta(seconds=10)
    assert config["sticky_queue_schedule_to_start_timeout"] == timedelta(seconds=1)
    assert config["tuner"] is None
    # A run that is driven out of the cache in the middle of a local activity loses its task.
    assert config["max_cached_workflows"] >= 10 * MAX_WORKFLOW_TASKS


def test_our_contracts_pass_the_sandbox_untouched() -> None:
    """T13: the same classes on both sides, and no import of ours for every run."""
    modules = sandbox().restrictions.passthrough_modules
    assert {"workflows", "pydantic"} <= modules
    assert "activities" not in modules
    assert "httpx" not in modules


async def test_a_worker_runs_polls_and_ends_with_code_0(
    settings: Settings, server: str, tmp_path: Path
) -> None:
    missing = await check_workers(settings)
    assert not missing.ok
    assert "everturn worker" in missing.text
    stop = asyncio.Event()
    running = asyncio.create_task(run_worker(settings, stop))
    beacons = tmp_path / "run"
    async with asyncio.timeout(20):
        while True:
            assert not running.done() or running.result() is None
            if list(beacons.glob("worker.*.ready")):
                break
            await asyncio.sleep(0.02)
    client: Client = await connect(settings)
    kind = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
    assert len(await pollers(client, TURNS_QUEUE, kind)) == 1
    assert (await check_workers(settings)).ok
    assert (tmp_path / "personas" / "nova.md").is_file()
    stop.set()
    async with asyncio.timeout(10):
        assert await running == 0
