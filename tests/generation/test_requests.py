"""What each provider's client sends: one request, with every message in it once."""

from __future__ import annotations

import json
import time

import pytest

from tests.generation.conftest import Desk
from tests.generation.test_provider_errors import MODEL_NAMES
from tests.support.model_server import Status, Text
from workflows.contracts.generation import StreamStatus

SAID = [f"Line {number} of the talk." for number in range(81)]


@pytest.mark.parametrize("provider", ["custom", "openai", "openrouter"])
async def test_one_request_has_every_message_once(desk: Desk, provider: str) -> None:
    desk.use(provider=provider, model=MODEL_NAMES[provider])
    desk.server.script(Text("Hello."))
    result = await desk.call(*SAID)
    assert result.status is StreamStatus.COMPLETED
    (request,) = desk.server.requests
    assert [message["content"] for message in request.messages] == ["You are Nova.", *SAID]
    body = json.dumps(request.body)
    assert [body.count(f'"{line}"') for line in SAID] == [1] * len(SAID)
    assert request.body["model"] == MODEL_NAMES[provider]
    assert request.body["stream"] is True
    assert request.body["tools"]
    assert "extra_body" not in request.body


@pytest.mark.parametrize("provider", ["custom", "openai", "openrouter", "anthropic", "google"])
async def test_a_fault_that_a_client_would_retry_is_one_request(desk: Desk, provider: str) -> None:
    openai_like = provider in ("custom", "openai", "openrouter")
    address = desk.server.base_url if openai_like else desk.server.base_url.removesuffix("/v1")
    desk.use(provider=provider, model=MODEL_NAMES[provider], base_url=address)
    desk.server.default = (Status(503, {"error": {"message": "no"}}, {"Retry-After": "0"}),)
    assert (await desk.call("Ada: hi")).status is StreamStatus.ERROR
    assert len(desk.server.requests) == 1


@pytest.mark.parametrize("provider", ["custom", "openai", "openrouter", "anthropic"])
async def test_a_client_does_not_walk_over_every_message(desk: Desk, provider: str) -> None:
    """A walk took 30 ms of a blocked event loop for 80 messages; without it, it is far less."""
    openai_like = provider != "anthropic"
    address = desk.server.base_url if openai_like else desk.server.base_url.removesuffix("/v1")
    desk.use(provider=provider, model=MODEL_NAMES[provider], base_url=address)
    desk.server.default = (Status(503),)

    async def cost(*said: str) -> float:
        request = await desk.request(*said)
        started = time.thread_time()
        await desk.start(request)
        return time.thread_time() - started

    await cost("warm up")
    short = min([await cost("Ada: hi") for _ in range(4)])
    long = min([await cost(*SAID) for _ in range(4)])
    assert long - short < 0.02
