"""Which model answers, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit

from pydantic import HttpUrl, SecretStr, TypeAdapter

FIRST_TOKEN_BUDGET = timedelta(seconds=300)
"""A slow provider was seen to think for 266 s before its first word (behaviour 15)."""

IDLE_BUDGET = timedelta(seconds=120)
"""Between two signs of life of a stream (behaviour 6.4, `STREAM_SDK_CALL_TIMEOUT_MS`)."""

SHORTEST_IDLE_BUDGET = timedelta(seconds=10)

DEFAULT_MAX_OUTPUT_TOKENS = 8192
"""Reserve for a reply, as in behaviour 6.3."""

DEMO_PACE = 35.0
"""Words per second: quicker than most people read, slow enough to be seen arriving."""

KEYED_PROVIDERS = ("anthropic", "openai", "google", "openrouter")
"""Providers that cannot be called without a key."""

PROVIDERS = ("demo", "custom", *KEYED_PROVIDERS)

DEFAULT_MODELS = {
    "demo": "demo",
    "anthropic": "claude-haiku-4-5",
    "openai": "gpt-5.6-luna",
    "google": "gemini-3.8-flash",
    "openrouter": "openrouter/auto",
}
"""Used when only a key was given. `custom` has none: every server names its models itself."""


_HTTP_ADDRESS = TypeAdapter(HttpUrl)


class GenerationSettingsError(ValueError):
    """The settings cannot work. One line that says which and what to do."""


def address_problem(url: str) -> str | None:
    """What is wrong with the address of an HTTP API, as "must …"; None when nothing is.

    It does not show the address, which may hold a password.
    """
    if not url.startswith(("http://", "https://")):
        return "must begin with http:// or https://"
    if not url.isprintable() or " " in url:
        return "must have no blanks and no control characters"
    try:
        address = urlsplit(url)
        host = address.hostname if address.port != 0 else None
        _HTTP_ADDRESS.validate_python(url)
    except ValueError:
        host = None
    if not host:
        return "must have a valid host, and a port from 1 to 65535 if any: http://host:port/path"
    return None


def stream_budgets(idle: timedelta = IDLE_BUDGET) -> tuple[timedelta, timedelta]:
    """(first-token budget, idle budget) for an operator's `idle` (behaviour 6.4).

    The idle budget is at least 10 s, the first-token budget at least 300 s and never the shorter.
    """
    idle = max(idle, SHORTEST_IDLE_BUDGET)
    return max(FIRST_TOKEN_BUDGET, idle), idle


@dataclass(frozen=True)
class GenerationSettings:
    """The model of this worker. Raises GenerationSettingsError when it cannot work.

    `model` empty: the provider's entry in `DEFAULT_MODELS`. `base_url` is required for `custom` and
    replaces the provider's own address elsewhere (for a proxy). `demo_pace` is in words per second;
    0: as fast as it goes.
    """

    provider: str = "demo"
    model: str = ""
    api_key: SecretStr | None = field(default=None, repr=False)
    base_url: str | None = None
    first_token_budget: timedelta = FIRST_TOKEN_BUDGET
    idle_budget: timedelta = IDLE_BUDGET
    max_output_tokens: int = DEFAULT_MAX_OUTPUT_TOKENS
    demo_pace: float = DEMO_PACE

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise GenerationSettingsError(
                f"unknown model provider {self.provider!r}: use one of {', '.join(PROVIDERS)}"
            )
        if self.provider in KEYED_PROVIDERS and self.key is None:
            raise GenerationSettingsError(
                f"provider {self.provider!r} needs an API key: set {self.provider.upper()}_API_KEY"
            )
        if self.provider == "custom" and not self.base_url:
            raise GenerationSettingsError(
                "provider 'custom' needs the base URL of an OpenAI-compatible API, "
                "such as http://127.0.0.1:11434/v1"
            )
        if not self.model_name:
            raise GenerationSettingsError(
                "provider 'custom' needs the name of a model that the server knows"
            )
        if self.base_url and (problem := address_problem(self.base_url)):
            raise GenerationSettingsError(f"the base URL of the model provider {problem}")
        if self.max_output_tokens < 1:
            raise GenerationSettingsError("the maximum of output tokens must be at least 1")

    @property
    def model_name(self) -> str:
        return self.model.strip() or DEFAULT_MODELS.get(self.provider, "")

    @property
    def key(self) -> str | None:
        """The key as text, for the provider's client only; blank counts as none."""
        return (self.api_key.get_secret_value().strip() or None) if self.api_key else None
