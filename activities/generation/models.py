"""The one model of this worker, as a pydantic-ai `Model`.

Provider libraries take a second or two to import, so each is imported when it is first needed, in a
thread: a worker starts at once, and its event loop (which carries every heartbeat) never stands
still.

Our rules for every provider:

- no retries inside the provider's client: they would hide time from the budgets, and an error is a
  result that the turn decides about;
- transport timeouts lie beyond our budgets, so that the budgets decide;
- thinking tags in text are taken out by `text.think` alone. pydantic-ai's own handling only knows a
  tag that arrives as a whole chunk, and would take an answer for thoughts when the closing tag
  arrives in pieces;
- a stream needs a terminal marker to count as finished (D34).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_ai.settings import ModelSettings

from activities.generation.settings import GenerationSettings
from runtime.logs import register_secret

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.profiles.openai import OpenAIModelProfile

CONNECT_TIMEOUT = 10.0
"""Seconds to open a connection; a server that does not accept one is down, not slow."""

_NO_RETRIES = ModelSettings(max_retries=0)

_BEYOND_BUDGETS = 30.0
"""Seconds that the transport's own timeouts lie beyond the budgets."""


class ModelSource:
    """Makes the model on first use and keeps it, with its connection pool, until `close`."""

    def __init__(self, settings: GenerationSettings) -> None:
        register_secret(settings.api_key)
        self.settings = settings
        self._model: Model | None = None
        self._http: httpx2.AsyncClient | None = None
        self._making = asyncio.Lock()

    async def get(self) -> Model:
        """The model. The first call may take two seconds."""
        async with self._making:
            if self._model is None:
                self._model = await asyncio.to_thread(_MAKERS[self.settings.provider], self)
            return self._model

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._http is not None:
            await self._http.aclose()
        self._model = self._http = None

    @property
    def endpoint(self) -> str:
        """Where the provider is, for messages to the operator: never with user, path or query.

        Never raises: error handlers ask for it.
        """
        try:
            address = urlsplit(self.settings.base_url or "")
            scheme, host, port = address.scheme, address.hostname, address.port
        except ValueError:
            scheme = host = port = None
        if not host:
            return f"provider {self.settings.provider!r}"
        host = f"[{host}]" if ":" in host else host
        return f"{scheme}://{host}:{port}" if port else f"{scheme}://{host}"

    def http_client(self) -> httpx2.AsyncClient:
        import httpx2
        from pydantic_ai.models import create_async_httpx2_client

        longest = max(self.settings.first_token_budget, self.settings.idle_budget).total_seconds()
        self._http = create_async_httpx2_client(
            timeout=httpx2.Timeout(longest + _BEYOND_BUDGETS, connect=CONNECT_TIMEOUT)
        )
        return self._http


def _demo(source: ModelSource) -> Model:
    from activities.generation.demo import DemoModel

    return DemoModel(pace=source.settings.demo_pace)


def _strict_chat_profile() -> OpenAIModelProfile:
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    return OpenAIModelProfile(
        openai_chat_streaming_requires_finish_reason=True,
        # Two empty strings match no chunk: pydantic-ai then leaves tags in the text, for us.
        thinking_tags=("", ""),
    )


def _prepare(client: AsyncOpenAI) -> None:
    """No retries, and no walk over every message before it is sent.

    The library compares each message with each form a message may have, to rename fields that are
    named on the wire already: 30 ms of a blocked event loop for 80 messages, against 10 ms for all
    the rest of the request. Extra parts of the body are sent as they are.
    """
    client.max_retries = 0
    create = client.chat.completions.create

    async def create_quickly(*, messages: object, extra_body: object = None, **rest: Any) -> Any:
        body = {**extra_body} if isinstance(extra_body, dict) else {}
        return await create(messages=[], extra_body={**body, "messages": messages}, **rest)

    client.chat.completions.create = create_quickly


def _custom(source: ModelSource) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    settings = source.settings
    assert settings.base_url is not None, "GenerationSettings requires it for 'custom'"
    provider = OpenAICompatibleProvider(
        "custom",
        base_url=settings.base_url,
        api_key=settings.key,
        http_client=source.http_client(),
    )
    _prepare(provider.client)
    profile = _strict_chat_profile()
    # `max_tokens` is what compatible servers have always understood.
    profile["openai_chat_supports_max_completion_tokens"] = False
    return OpenAIChatModel(settings.model_name, provider=provider, profile=profile)


def _openai(source: ModelSource) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    settings = source.settings
    provider = OpenAIProvider(
        base_url=settings.base_url, api_key=settings.key, http_client=source.http_client()
    )
    _prepare(provider.client)
    return OpenAIChatModel(settings.model_name, provider=provider, profile=_strict_chat_profile())


def _openrouter(source: ModelSource) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    settings = source.settings
    if settings.base_url:
        # Its provider takes no address of its own, only a ready client.
        client = AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.key,
            http_client=source.http_client(),
        )
        provider = OpenRouterProvider(openai_client=client)
    else:
        provider = OpenRouterProvider(
            api_key=settings.key, app_title="Everturn", http_client=source.http_client()
        )
    _prepare(provider.client)
    return OpenRouterModel(settings.model_name, provider=provider, profile=_strict_chat_profile())


def _anthropic(source: ModelSource) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    settings = source.settings
    provider = AnthropicProvider(
        api_key=settings.key, base_url=settings.base_url, http_client=source.http_client()
    )
    return AnthropicModel(settings.model_name, provider=provider, settings=_NO_RETRIES)


def _google(source: ModelSource) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    settings = source.settings
    provider = GoogleProvider(
        api_key=settings.key, base_url=settings.base_url, http_client=source.http_client()
    )
    return GoogleModel(settings.model_name, provider=provider, settings=_NO_RETRIES)


_MAKERS: dict[str, Callable[[ModelSource], Model]] = {
    "demo": _demo,
    "custom": _custom,
    "openai": _openai,
    "anthropic": _anthropic,
    "google": _google,
    "openrouter": _openrouter,
}
