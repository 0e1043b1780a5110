"""Provider faults: what the operator reads, what the member reads, and what nobody may read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from activities.generation import settings as settings_module
from activities.generation.models import ModelSource
from activities.generation.settings import (
    DEFAULT_MODELS,
    KEYED_PROVIDERS,
    GenerationSettings,
    GenerationSettingsError,
)
from tests.generation.conftest import KEY, Desk
from tests.support.model_server import Cut, EndWithout, Finish, ModelServer, Raw, Status, Step, Text
from workflows.contracts.generation import ErrorType, ModelError, ModelResult, StreamStatus

MODEL_NAMES = {
    "custom": "test-model",
    "openai": "gpt-4o-mini",
    "openrouter": "openai/gpt-4o-mini",
    "anthropic": "claude-haiku-4-5",
    "google": "gemini-2.5-flash",
}


def error_body(message: str, code: str | None = None, kind: str = "an_error") -> dict[str, Any]:
    return {"type": "error", "error": {"message": message, "type": kind, "code": code}}


def one_line(error: ModelError | None) -> ModelError:
    assert error is not None
    assert error.message
    assert error.member_message
    assert "\n" not in error.message + error.member_message
    assert len(error.message) < 300
    return error


@pytest.mark.parametrize(
    ("step", "kind", "retryable", "says"),
    [
        (Status(401, error_body("no")), ErrorType.API_ERROR, False, "API key"),
        (Status(403, error_body("no")), ErrorType.API_ERROR, False, "API key"),
        (Status(402, error_body("no")), ErrorType.RATE_LIMIT, False, "credit"),
        (
            Status(429, error_body("no", "insufficient_quota")),
            ErrorType.RATE_LIMIT,
            False,
            "credit",
        ),
        (Status(404, error_body("no", "model_not_found")), ErrorType.API_ERROR, False, "model"),
        (Status(429, error_body("slow down")), ErrorType.RATE_LIMIT, True, "rate"),
        (Status(400, error_body("no")), ErrorType.API_ERROR, False, "rejected"),
        (
            Status(400, error_body("no", "context_length_exceeded")),
            ErrorType.MODEL_ERROR,
            False,
            "context window",
        ),
        (Status(500, error_body("no")), ErrorType.API_ERROR, True, "error of its own"),
        (Status(502, b"<html>bad gateway</html>"), ErrorType.API_ERROR, True, "error of its own"),
        (Status(503, error_body("no")), ErrorType.PROVIDER_OVERLOADED, True, "unavailable"),
        (Status(529, error_body("no")), ErrorType.PROVIDER_OVERLOADED, True, "overloaded"),
        (Raw(b"<html>Welcome</html>", "text/html"), ErrorType.API_ERROR, True, "base URL"),
        (Raw(b"data: {not json\n\n"), ErrorType.API_ERROR, True, "base URL"),
        (Raw(b"\x00\xff\xfe garbage \x00"), ErrorType.API_ERROR, True, "base URL"),
        (Raw(b'{"answer": 1}', "application/json"), ErrorType.API_ERROR, True, "base URL"),
        (Raw(b""), ErrorType.API_ERROR, True, "base URL"),
        (EndWithout(), ErrorType.API_ERROR, True, "base URL"),
        (Cut(), ErrorType.API_ERROR, True, "connection broke"),
        (Finish("content_filter"), ErrorType.CONTENT_BLOCKED, False, "blocked"),
    ],
)
async def test_each_fault_is_one_result_with_two_plain_lines(
    desk: Desk, step: Step, kind: ErrorType, retryable: bool, says: str
) -> None:
    desk.server.script(step)
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.ERROR
    error = one_line(result.error)
    assert (error.type, error.retryable) == (kind, retryable)
    assert says in error.message
    assert error.code == (step.code if isinstance(step, Status) else None)
    assert len(desk.server.requests) == 1, "no retry hides in the provider's client"


async def test_an_error_inside_the_stream_keeps_the_text(desk: Desk) -> None:
    """D35, C086: 401 or anything else after text: the text stays, and no second request."""
    event = {"error": {"message": "expired", "code": "invalid_api_key"}}
    chunk = {"choices": [{"index": 0, "delta": {"content": "So far."}}]}
    body = "".join(f"data: {json.dumps(part)}\n\n" for part in (chunk, event))
    desk.server.script(Raw(body.encode()))
    result = await desk.call("Ada: hi")
    assert result.status is StreamStatus.ERROR
    assert "API key" in one_line(result.error).message
    assert desk.whole_text(result).strip() == "So far."
    assert len(desk.server.requests) == 1


async def test_blocked_content_keeps_what_was_shown(desk: Desk) -> None:
    desk.server.script(Text("Well, "), Finish("content_filter"))
    result = await desk.call("Ada: hi")
    assert one_line(result.error).type is ErrorType.CONTENT_BLOCKED
    assert desk.whole_text(result).strip() == "Well,"


@pytest.mark.parametrize(
    ("base_url", "says"),
    [
        ("http://127.0.0.1:1/v1", "refused"),
        ("http://provider.invalid/v1", "does not resolve"),
    ],
)
async def test_an_unreachable_provider_says_why(desk: Desk, base_url: str, says: str) -> None:
    desk.use(base_url=base_url)
    result = await desk.call("Ada: hi")
    error = one_line(result.error)
    assert error.retryable
    assert says in error.message


async def test_a_server_without_tls_behind_https_is_named_as_such(desk: Desk) -> None:
    async def talk_plainly(reader: Any, writer: Any) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    plain = await asyncio.start_server(talk_plainly, "127.0.0.1", 0)
    async with plain:
        desk.use(base_url=f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/v1")
        error = one_line((await desk.call("Ada: hi")).error)
    assert "TLS" in error.message


@pytest.mark.parametrize("status", [400, 401])
async def test_a_key_that_the_provider_echoes_goes_no_further(desk: Desk, status: int) -> None:
    """C129: not into the result (a history), not into the log."""
    body = error_body(f"Incorrect API key provided: {KEY}", code=KEY, kind=KEY)
    desk.server.script(Status(status, body, {"X-Echo": KEY}))
    with capture_logs() as logged:
        result = await desk.call("Ada: hi")
    assert desk.server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in result.model_dump_json()
    assert KEY not in repr(logged)


async def test_credentials_in_a_base_url_are_not_shown(desk: Desk) -> None:
    desk.use(base_url="http://user:hunter2hunter2@127.0.0.1:1/v1?token=abcdefgh")
    error = one_line((await desk.call("Ada: hi")).error)
    assert "hunter2" not in error.message
    assert "abcdefgh" not in error.message


@pytest.mark.parametrize(
    ("base_url", "endpoint"),
    [
        ("http://me:hunter2@host.example:8080/v1?token=abc", "http://host.example:8080"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ("http://[bad/v1", "provider 'custom'"),
        ("http://host:notaport/v1", "provider 'custom'"),
        ("http://host:99999/v1", "provider 'custom'"),
        ("http:///v1", "provider 'custom'"),
    ],
)
def test_the_endpoint_is_told_whatever_the_address_is(
    monkeypatch: pytest.MonkeyPatch, base_url: str, endpoint: str
) -> None:
    """Error handlers ask for it, so it never raises, even for what the settings refuse."""
    monkeypatch.setattr(settings_module, "address_problem", lambda _: None)
    source = ModelSource(GenerationSettings(provider="custom", model="m", base_url=base_url))
    assert source.endpoint == endpoint


def test_the_key_is_not_in_the_settings_repr() -> None:
    assert KEY not in repr(GenerationSettings(provider="openai", api_key=SecretStr(KEY)))


@pytest.mark.parametrize("provider", KEYED_PROVIDERS)
@pytest.mark.parametrize(
    ("step", "kind", "says"),
    [
        (Status(401, error_body("no", kind="authentication_error")), ErrorType.API_ERROR, "key"),
        (Status(429, error_body("no", kind="rate_limit_error")), ErrorType.RATE_LIMIT, "rate"),
        (Status(500, error_body("no", kind="api_error")), ErrorType.API_ERROR, "its own"),
        (Raw(b"<html>Welcome</html>", "text/html"), ErrorType.API_ERROR, "base URL"),
        (Cut(), ErrorType.API_ERROR, "connection broke"),
    ],
)
async def test_every_provider_maps_alike_and_is_asked_once(
    desk: Desk, provider: str, step: Step, kind: ErrorType, says: str
) -> None:
    result = await _call_provider(desk, provider, step)
    assert result.status is StreamStatus.ERROR
    error = one_line(result.error)
    assert error.type is kind
    assert says in error.message
    assert len(desk.server.requests) == 1
    assert KEY not in result.model_dump_json()


@pytest.mark.parametrize("provider", KEYED_PROVIDERS)
async def test_every_provider_that_is_down_is_unreachable(desk: Desk, provider: str) -> None:
    desk.use(provider=provider, model=MODEL_NAMES[provider], base_url="http://127.0.0.1:1")
    error = one_line((await desk.call("Ada: hi")).error)
    assert "refused" in error.message


def sse(*events: dict[str, Any]) -> bytes:
    lines = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return "".join(lines).encode()


ANTHROPIC_START = (
    {
        "type": "message_start",
        "message": {
            "id": "msg-1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 12, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Hello Ada."},
    },
)
ANTHROPIC_END = (
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 6},
    },
    {"type": "message_stop"},
)
OPENAI_TEXT = {
    "id": "1",
    "object": "chat.completion.chunk",
    "created": 1_700_000_000,
    "model": "openai/gpt-4o-mini",
    "provider": "OpenAI",
    "choices": [
        {
            "index": 0,
            "delta": {"role": "assistant", "content": "Hello Ada."},
            "finish_reason": None,
            "native_finish_reason": None,
        }
    ],
}
GOOGLE_TEXT = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello Ada."}]}}]}
GOOGLE_END = {
    "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 6, "totalTokenCount": 18},
}


@pytest.mark.parametrize(
    ("provider", "stream"),
    [
        ("anthropic", sse(*ANTHROPIC_START, *ANTHROPIC_END)),
        ("google", sse(GOOGLE_TEXT, GOOGLE_END)),
    ],
    ids=["anthropic", "google"],
)
async def test_native_streams_are_read_and_counted(
    desk: Desk, provider: str, stream: bytes
) -> None:
    result = await _call_provider(desk, provider, Raw(stream))
    assert result.error is None
    assert desk.whole_text(result).strip() == "Hello Ada."
    assert (result.usage.input_tokens, result.usage.output_tokens) == (12, 6)


@pytest.mark.parametrize(
    ("provider", "stream"),
    [
        ("anthropic", sse(*ANTHROPIC_START)),
        ("google", sse(GOOGLE_TEXT)),
        ("openai", sse(OPENAI_TEXT)),
        ("openrouter", sse(OPENAI_TEXT)),
    ],
    ids=["anthropic", "google", "openai", "openrouter"],
)
async def test_streams_without_their_end_are_cut(desk: Desk, provider: str, stream: bytes) -> None:
    """D34: no client complains by itself when a proxy ends the stream politely."""
    result = await _call_provider(desk, provider, Raw(stream))
    assert result.status is StreamStatus.ERROR
    assert "before the answer was complete" in one_line(result.error).message
    assert desk.whole_text(result).strip() == "Hello Ada."


async def _call_provider(desk: Desk, provider: str, step: Step) -> ModelResult:
    openai_like = provider in ("openai", "openrouter")
    address = desk.server.base_url if openai_like else desk.server.base_url.removesuffix("/v1")
    desk.use(provider=provider, model=MODEL_NAMES[provider], base_url=address)
    desk.server.script(step)
    return await desk.call("Ada: hi")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"provider": "opnai"}, "opnai"),
        ({"provider": "openai"}, "OPENAI_API_KEY"),
        ({"provider": "anthropic", "api_key": SecretStr("  ")}, "ANTHROPIC_API_KEY"),
        ({"provider": "custom", "model": "m"}, "base URL"),
        ({"provider": "custom", "base_url": "http://127.0.0.1:1/v1"}, "name of a model"),
        ({"provider": "custom", "model": "m", "base_url": "127.0.0.1:1"}, "http://"),
        ({"provider": "custom", "model": "m", "base_url": "http://[bad/v1"}, "valid host"),
        ({"max_output_tokens": 0}, "output tokens"),
    ],
)
def test_settings_that_cannot_work_say_what_to_do(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(GenerationSettingsError, match=says) as raised:
        GenerationSettings(**settings)
    assert "\n" not in str(raised.value)


def test_default_models_are_ones_that_the_library_knows() -> None:
    from pydantic_ai.models import known_model_names

    known = known_model_names()
    for provider in ("anthropic", "openai", "google"):
        assert f"{provider}:{DEFAULT_MODELS[provider]}" in known


async def test_a_custom_server_needs_no_key_and_is_never_given_another_ones(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    desk = Desk(server)
    desk.use(api_key=None)
    await desk.call("Ada: hi")
    await desk.close()
    assert KEY not in repr(server.requests[0].headers)


async def test_a_price_is_known_for_known_models_and_none_for_others(desk: Desk) -> None:
    from pydantic_ai.usage import RequestUsage

    from activities.generation.usage import usage_of

    tokens = RequestUsage(input_tokens=1000, output_tokens=1000)
    keyed = {"api_key": SecretStr(KEY)}
    known = GenerationSettings(provider="anthropic", model="claude-haiku-4-5", **keyed)
    assert (usage_of(tokens, known).cost_usd or 0) > 0
    unknown = GenerationSettings(provider="openai", model="no-such-model-9", **keyed)
    assert usage_of(tokens, unknown).cost_usd is None
    assert usage_of(tokens, desk.settings).cost_usd is None
    assert usage_of(RequestUsage(), known).cost_usd is None


async def test_the_model_is_made_once_and_closed() -> None:
    source = ModelSource(GenerationSettings(provider="openai", api_key=SecretStr(KEY)))
    assert await source.get() is await source.get()
    client = source._http
    assert client is not None
    await source.close()
    assert client.is_closed
