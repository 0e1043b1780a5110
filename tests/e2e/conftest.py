"""One stack of real processes for all end-to-end tests, and a scripted model behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from pytest_asyncio.plugin import PytestAsyncioFunction

from tests.support.model_server import ModelServer
from tests.support.page_server import PageServer
from tests.support.stack import Stack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them share the processes, and so the event loop of the servers behind them."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.xdist_group("e2e"))
            if isinstance(item, PytestAsyncioFunction):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def model_server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pages() -> AsyncIterator[PageServer]:
    async with PageServer() as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_stack(
    model_server: ModelServer, pages: PageServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    home = tmp_path_factory.mktemp("everturn")
    allow = f"127.0.0.1:{pages.port}"
    async with Stack(home, model_server.base_url, EVERTURN_FETCH_ALLOW=allow) as stack:
        yield stack


@pytest_asyncio.fixture(loop_scope="session")
async def stack(shared_stack: Stack, model_server: ModelServer) -> AsyncIterator[Stack]:
    """The stack, whole: what a test has killed and left is started again, its faults are gone."""
    model_server.reset()
    yield shared_stack
    await shared_stack.start(*(n for n in ("temporal", "playground") if _gone(shared_stack, n)))
    await shared_stack.discord.call("DELETE", "faults")
    await shared_stack.start(*(n for n in ("worker", "bot") if _gone(shared_stack, n)))


def _gone(stack: Stack, name: str) -> bool:
    process = stack.processes.get(name)
    return process is None or process.returncode is not None


@pytest.fixture
def model(model_server: ModelServer) -> ModelServer:
    return model_server
