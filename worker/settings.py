"""Every setting, in one place: environment variables, and a `.env` file beside them.

`load_settings` is the only way to get a `Settings`. The environment wins over `.env`; an empty or
blank value counts as not set. A malformed value or an unknown name is a `SettingsError` that names
it and never shows a value, since any value may be a secret.

Temporal's own variables (`TEMPORAL_ADDRESS` and the others) are not fields here: the SDK reads
them, in `worker.connection`. They may stand in `.env` all the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import dotenv
from dotenv.parser import parse_stream
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from worker.errors import SettingsError
from worker.names import misspelt, nearest

if TYPE_CHECKING:
    from activities.generation.settings import GenerationSettings
    from activities.planning.settings import PlanningSettings
    from activities.tools.limits import MemoryLimits
    from workflows.contracts.turn import TurnLimits

ENV_FILE = Path(".env")
"""Read from the working directory."""

TEMPORAL_NAMES = frozenset(
    {
        "TEMPORAL_ADDRESS",
        "TEMPORAL_NAMESPACE",
        "TEMPORAL_API_KEY",
        "TEMPORAL_PROFILE",
        "TEMPORAL_CONFIG_FILE",
        "TEMPORAL_TLS",
        "TEMPORAL_TLS_CLIENT_CERT_PATH",
        "TEMPORAL_TLS_CLIENT_CERT_DATA",
        "TEMPORAL_TLS_CLIENT_KEY_PATH",
        "TEMPORAL_TLS_CLIENT_KEY_DATA",
        "TEMPORAL_TLS_SERVER_CA_CERT_PATH",
        "TEMPORAL_TLS_SERVER_CA_CERT_DATA",
        "TEMPORAL_TLS_SERVER_NAME",
        "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION",
    }
)
"""What `temporalio.envconfig` reads; beside them any `TEMPORAL_GRPC_META_<NAME>`."""

TEMPORAL_SWITCHES = ("TEMPORAL_TLS", "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION")
"""Of the above, those that are true or false. `temporalio.envconfig` ignores any other value."""

COMPOSE_NAMES = frozenset({"POSTGRES_PASSWORD"})
"""Read by `docker-compose.yml` from the same `.env`, and by nothing here."""


class Provider(StrEnum):
    """Who answers. `demo` is offline and needs nothing."""

    DEMO = "demo"
    CUSTOM = "custom"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"
    OPENROUTER = "openrouter"


KEY_NAMES = {
    Provider.CUSTOM: "CUSTOM_BASE_URL",
    Provider.OPENAI: "OPENAI_API_KEY",
    Provider.ANTHROPIC: "ANTHROPIC_API_KEY",
    Provider.GOOGLE: "GOOGLE_API_KEY",
    Provider.OPENROUTER: "OPENROUTER_API_KEY",
}
"""The setting without which a provider cannot be used. Without EVERTURN_PROVIDER, the first one
that is set, in this order, chooses the provider."""

OTHER_MAX_OUTPUT_TOKENS = 8192
"""For the providers that have no setting of their own for it (behaviour 18)."""

LONGEST_MEMORY = 1_000
"""Characters of a memory that the prompt shows (`activities.context.memories.MEMORY_LENGTH`): what
is over them would be kept and never read."""

WARN_AT_ITERATION = 20
"""Model calls after which a turn says that it is still at work (behaviour 6.4)."""


def _setting(name: str, default: Any, description: str, *others: str, **limits: Any) -> Any:
    """A field that is read from `name`, or from one of the `others`."""
    return Field(
        default, validation_alias=AliasChoices(name, *others), description=description, **limits
    )


class Settings(BaseSettings):
    """All settings of all processes. `.env.example` shows them in the same order and words."""

    model_config = SettingsConfigDict(
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        case_sensitive=True,
    )

    discord_token: SecretStr | None = _setting(
        "DISCORD_TOKEN",
        None,
        "Bot token from the Discord developer portal. Without it the bot joins the playground.",
    )
    provider_choice: Provider | None = _setting(
        "EVERTURN_PROVIDER",
        None,
        "Who answers: demo, custom, openai, anthropic, google or openrouter."
        " Default: the first whose key is set, in that order, else demo.",
    )
    model_choice: str | None = _setting(
        "EVERTURN_MODEL",
        None,
        "Model name as the provider calls it. Default: a quick and cheap one of the provider."
        " Required with custom.",
    )
    custom_base_url: str | None = _setting(
        "CUSTOM_BASE_URL",
        None,
        "Address of an OpenAI-compatible server, such as http://127.0.0.1:11434/v1.",
        repr=False,
    )
    custom_api_key: SecretStr | None = _setting(
        "CUSTOM_API_KEY", None, "Key of that server, when it wants one."
    )
    openai_api_key: SecretStr | None = _setting("OPENAI_API_KEY", None, "Key for openai.")
    anthropic_api_key: SecretStr | None = _setting("ANTHROPIC_API_KEY", None, "Key for anthropic.")
    google_api_key: SecretStr | None = _setting(
        "GOOGLE_API_KEY", None, "Key for google. GEMINI_API_KEY is read too.", "GEMINI_API_KEY"
    )
    openrouter_api_key: SecretStr | None = _setting(
        "OPENROUTER_API_KEY", None, "Key for openrouter."
    )
    home_choice: Path | None = _setting(
        "EVERTURN_HOME",
        None,
        "Folder of all data: databases, logs, playground."
        " Default: the platform's data folder of the user.",
    )
    database_choice: str | None = _setting(
        "DATABASE_URL",
        None,
        "Database, such as postgresql://user:password@host:5432/everturn."
        " Default: a SQLite file in EVERTURN_HOME.",
        repr=False,
    )
    storage_key: SecretStr | None = _setting(
        "EVERTURN_STORAGE_KEY",
        None,
        "Key that encrypts short-term memory in the database: 32 bytes in base64."
        " Several by comma: the first encrypts, all decrypt. The same for all processes."
        " Default: the file storage.key in EVERTURN_HOME, made at the first start.",
    )
    stm_janitor_retention_days: int = _setting(
        "STM_JANITOR_RETENTION_DAYS",
        90,
        "Days after which anything left of short-term memory is deleted; 1 to 3650.",
        ge=1,
        le=3650,
    )
    max_personal_memories: int = _setting(
        "MAX_PERSONAL_MEMORIES",
        100,
        "Memories that a persona may keep about one member, over all servers.",
        ge=0,
    )
    max_server_memories: int = _setting(
        "MAX_SERVER_MEMORIES", 100, "Memories that a persona may keep about one server.", ge=0
    )
    max_memory_length: int = _setting(
        "MAX_MEMORY_LENGTH",
        LONGEST_MEMORY,
        f"Longest memory, in characters; 1 to {LONGEST_MEMORY}.",
        ge=1,
        le=LONGEST_MEMORY,
    )
    tool_execution_timeout_ms: int = _setting(
        "TOOL_EXECUTION_TIMEOUT_MS",
        300_000,
        "Longest run of one tool call, in milliseconds; at least 10000.",
        ge=10_000,
    )
    stream_sdk_call_timeout_ms: int = _setting(
        "STREAM_SDK_CALL_TIMEOUT_MS",
        120_000,
        "Longest silence of a model in the middle of its answer, in milliseconds; at least 10000.",
        ge=10_000,
    )
    context_tokens: int = _setting(
        "EVERTURN_CONTEXT_TOKENS",
        24_000,
        "Tokens that a prompt may have, as estimated; raise it for models with a large window, at "
        "a price for each answer. 8000 to 2000000.",
        ge=8_000,
        le=2_000_000,
    )
    max_function_call_iterations: int = _setting(
        "BOT_MAX_FUNCTION_CALL_ITERATIONS", 100, "Model calls in one turn; at least 1.", ge=1
    )
    max_consecutive_tool_errors: int = _setting(
        "BOT_MAX_CONSECUTIVE_TOOL_ERRORS",
        5,
        "Failed tool calls in a row that end a turn; at least 1.",
        ge=1,
    )
    max_flush_count: int = _setting(
        "MAX_FLUSH_COUNT",
        40,
        "Segments of one answer that are sent; a model that goes on is stopped. At least 1.",
        ge=1,
    )
    run_env: str = _setting(
        "RUN_ENV",
        "",
        "With production, the next two limits hold. Default: they do not.",
    )
    max_user_active_messages: int = _setting(
        "MAX_USER_ACTIVE_MESSAGES",
        3,
        "Channels in which one member is answered at the same time; 0: no limit.",
        ge=0,
    )
    max_server_active_messages: int = _setting(
        "MAX_SERVER_ACTIVE_MESSAGES",
        10,
        "Channels of one server that are answered at the same time; 0: no limit.",
        ge=0,
    )
    max_follow_up_interrupts: int = _setting(
        "MAX_FOLLOW_UP_INTERRUPTS",
        3,
        "Answers in a row that give way to what their member writes next.",
        ge=0,
    )
    base_trigger_words: Annotated[tuple[str, ...], NoDecode] = _setting(
        "BASE_TRIGGER_WORDS",
        (),
        "Words that call the main persona, by comma. Default: its name.",
    )
    disable_cooldown_exemptions: bool = _setting(
        "DISABLE_COOLDOWN_EXEMPTIONS",
        False,
        "Cooldowns hold for members with Manage Server too: true or false.",
    )
    command_cooldown_scale: float = _setting(
        "COMMAND_COOLDOWN_SCALE",
        1.0,
        "Stretches the cooldowns of commands; 0: there are none, as in the playground unless set.",
        ge=0,
        le=1_000,
        allow_inf_nan=False,
    )
    reminder_delivery_max_retries: int = _setting(
        "REMINDER_DELIVERY_MAX_RETRIES",
        5,
        "Deliveries of a reminder before it becomes a plain notice; 1 to 20.",
        ge=1,
        le=20,
    )
    reminder_delivery_retry_delay_ms: int = _setting(
        "REMINDER_DELIVERY_RETRY_DELAY_MS",
        60_000,
        "From one delivery to the next, in milliseconds; at least 1000.",
        ge=1_000,
    )
    openrouter_max_output_tokens: int = _setting(
        "OPENROUTER_MAX_OUTPUT_TOKENS", 8192, "Longest answer of openrouter, in tokens.", ge=16
    )
    google_max_output_tokens: int = _setting(
        "GOOGLE_MAX_OUTPUT_TOKENS", 8192, "Longest answer of google, in tokens.", ge=16
    )
    anthropic_max_output_tokens: int = _setting(
        "ANTHROPIC_MAX_OUTPUT_TOKENS", 8192, "Longest answer of anthropic, in tokens.", ge=16
    )
    fetch_allow: Annotated[tuple[str, ...], NoDecode] = _setting(
        "EVERTURN_FETCH_ALLOW",
        (),
        "Private addresses that the fetch_url tool may read all the same: host:port, by comma.",
    )
    brave_api_key: SecretStr | None = _setting(
        "BRAVE_API_KEY",
        None,
        "Key for Brave Search, which web_search asks first. Default: DuckDuckGo answers, no key.",
    )
    searxng_url: str | None = _setting(
        "SEARXNG_URL",
        None,
        "Address of your own SearXNG with the format json allowed, such as http://127.0.0.1:8888.",
        repr=False,
    )
    mcp_choice: Path | None = _setting(
        "EVERTURN_MCP",
        None,
        "JSON file that names MCP servers (mcpServers), whose tools the personas get."
        " Default: mcp.json in EVERTURN_HOME, if there is one.",
    )
    mcp_failure_cooldown_ms: int = _setting(
        "GUILD_MCP_FAILURE_COOLDOWN_MS",
        300_000,
        "How long an MCP server rests after a failure, in milliseconds; at least 1000.",
        ge=1_000,
    )
    demo_words_per_second: float = _setting(
        "EVERTURN_DEMO_WORDS_PER_SECOND",
        35.0,
        "Pace of the demo model; 0: as fast as it goes.",
        ge=0,
    )
    port: int = _setting(
        "EVERTURN_PORT",
        8090,
        "Port of the chat page of `everturn up`; the next free one when it is taken.",
        ge=1,
        le=65_535,
    )
    temporal_port: int = _setting(
        "EVERTURN_TEMPORAL_PORT",
        7233,
        "Port of the Temporal server that `everturn up` starts.",
        ge=1,
        le=65_535,
    )
    temporal_ui_port: int = _setting(
        "EVERTURN_TEMPORAL_UI_PORT", 8233, "Port of its UI.", ge=1, le=65_535
    )
    discord_api: str | None = _setting(
        "EVERTURN_DISCORD_API",
        None,
        "Another Discord API than the real one, such as http://127.0.0.1:8090/api/v10.",
    )
    metrics_port: int | None = _setting(
        "EVERTURN_METRICS_PORT",
        None,
        "Port on 127.0.0.1 for the worker's Prometheus metrics. Default: none.",
        ge=1,
        le=65_535,
    )
    log_level: str = _setting(
        "EVERTURN_LOG_LEVEL", "info", "debug, info, warning or error.", pattern=r"^\w+$"
    )
    log_json: bool | None = _setting(
        "EVERTURN_LOG_JSON",
        None,
        "Log lines as JSON: true or false. Default: when they do not go to a terminal.",
    )
    debug: bool = _setting(
        "EVERTURN_DEBUG", False, "Show the stack trace of an unexpected error: true or false."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load_settings` hands over, which has merged environment and file already."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @field_validator("fetch_allow", "base_trigger_words", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("fetch_allow")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value:
            from activities.tools.http_guard import AddressGuard

            try:
                AddressGuard(value)
            except ValueError:
                raise ValueError(
                    "each address must be host:port, such as 127.0.0.1:8000, with commas between"
                ) from None
        return value

    @field_validator(
        "discord_token",
        "custom_api_key",
        "openai_api_key",
        "anthropic_api_key",
        "google_api_key",
        "openrouter_api_key",
        "brave_api_key",
    )
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        """All of them are sent in an HTTP header. Blanks around one come with copying it."""
        if value is None:
            return None
        key = value.get_secret_value().strip()
        if not (key.isascii() and key.isprintable()):
            raise ValueError("it has letters that no key has: copy it again, and only it")
        return SecretStr(key)

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, value: str) -> str:
        if value.lower() not in {"debug", "info", "warning", "error"}:
            raise ValueError("it must be debug, info, warning or error")
        return value.lower()

    @field_validator("custom_base_url", "discord_api", "searxng_url")
    @classmethod
    def _http_address(cls, value: str | None) -> str | None:
        from activities.generation.settings import address_problem

        if value is not None and (problem := address_problem(value)):
            raise ValueError(f"it {problem}")
        return value.rstrip("/") if value else None

    @property
    def home(self) -> Path:
        """The data folder; it need not exist yet."""
        if self.home_choice is not None:
            return self.home_choice.expanduser().absolute()
        from platformdirs import user_data_path

        return user_data_path("everturn", appauthor=False)

    @property
    def database_url(self) -> str:
        """As `storage.open_storage` takes it."""
        if self.database_choice:
            return self.database_choice
        from urllib.parse import quote

        return f"sqlite:///{quote(str(self.home / 'everturn.db'))}"

    @property
    def persona_folder(self) -> Path:
        """The persona files; a worker makes it when it is not there."""
        return self.home / "personas"

    @property
    def mcp_file(self) -> Path | None:
        """The file that names MCP servers; None where there is none."""
        if self.mcp_choice is not None:
            return self.mcp_choice.expanduser().absolute()
        usual = self.home / "mcp.json"
        return usual if usual.is_file() else None

    @property
    def provider(self) -> Provider:
        if self.provider_choice is not None:
            return self.provider_choice
        return next((p for p in KEY_NAMES if self._key_setting(p) is not None), Provider.DEMO)

    @property
    def api_key(self) -> SecretStr | None:
        """Key of the provider that answers."""
        keys = {
            Provider.CUSTOM: self.custom_api_key,
            Provider.OPENAI: self.openai_api_key,
            Provider.ANTHROPIC: self.anthropic_api_key,
            Provider.GOOGLE: self.google_api_key,
            Provider.OPENROUTER: self.openrouter_api_key,
        }
        return keys.get(self.provider)

    @property
    def max_output_tokens(self) -> int:
        """Longest answer of one model call of the provider that answers (behaviour 18)."""
        return getattr(self, f"{self.provider}_max_output_tokens", OTHER_MAX_OUTPUT_TOKENS)

    def secrets(self) -> list[str]:
        """Every secret value that is set, for the log's redaction."""
        values = [getattr(self, name) for name in type(self).model_fields]
        found = [v.get_secret_value() for v in values if isinstance(v, SecretStr)]
        if self.storage_key is not None:
            keys = self.storage_key.get_secret_value().split(",")
            found += [key.strip() for key in keys if len(keys) > 1]
        for address in (self.database_choice, self.searxng_url):
            if address and (password := _password_of(address)):
                found.append(password)
        return found

    def generation(self) -> GenerationSettings:
        """The model of a worker. Raises SettingsError when the provider lacks what it needs."""
        from activities.generation.settings import (
            GenerationSettings,
            GenerationSettingsError,
            stream_budgets,
        )

        self.check_provider()
        first_token, idle = stream_budgets(timedelta(milliseconds=self.stream_sdk_call_timeout_ms))
        try:
            return GenerationSettings(
                provider=self.provider.value,
                model=self.model_choice or "",
                api_key=self.api_key,
                base_url=self.custom_base_url if self.provider is Provider.CUSTOM else None,
                first_token_budget=first_token,
                idle_budget=idle,
                max_output_tokens=self.max_output_tokens,
                demo_pace=self.demo_words_per_second,
            )
        except GenerationSettingsError as error:
            raise SettingsError(str(error)) from None

    def turn_limits(self) -> TurnLimits:
        """How far a turn may go, as a turn's input carries it."""
        from workflows.contracts.turn import TurnLimits

        return TurnLimits(
            tool_timeout_seconds=self.tool_execution_timeout_ms / 1000,
            max_iterations=self.max_function_call_iterations,
            max_consecutive_errors=self.max_consecutive_tool_errors,
            max_segments=self.max_flush_count,
            warn_at_iteration=WARN_AT_ITERATION,
        )

    def planning(self) -> PlanningSettings:
        """What is decided here for all servers about who is answered."""
        from activities.planning.settings import PlanningSettings

        return PlanningSettings(
            production=self.run_env.strip().lower() == "production",
            max_user_active=self.max_user_active_messages,
            max_server_active=self.max_server_active_messages,
            cooldown_exemptions=not self.disable_cooldown_exemptions,
            command_cooldown_scale=self.command_cooldown_scale,
            max_follow_ups=self.max_follow_up_interrupts,
            base_words=self.base_trigger_words,
        )

    def memory_limits(self) -> MemoryLimits:
        """How much long-term memory a persona may hold."""
        from activities.tools.limits import MemoryLimits

        return MemoryLimits(
            personal=self.max_personal_memories,
            server=self.max_server_memories,
            length=self.max_memory_length,
        )

    def _key_setting(self, provider: Provider) -> object:
        if provider is Provider.CUSTOM:
            return self.custom_base_url
        return getattr(self, f"{provider}_api_key")

    def check_provider(self) -> None:
        """Raise SettingsError when the chosen provider lacks what it needs."""
        provider = self.provider
        if provider in KEY_NAMES and self._key_setting(provider) is None:
            raise SettingsError(
                f"EVERTURN_PROVIDER={provider} needs {KEY_NAMES[provider]}: set it,"
                " or choose another provider"
            )
        if provider is Provider.CUSTOM and not self.model_choice:
            raise SettingsError("CUSTOM_BASE_URL needs EVERTURN_MODEL: name a model of that server")


def _password_of(url: str) -> str | None:
    from urllib.parse import unquote, urlsplit

    try:
        password = urlsplit(url).password
    except ValueError:
        return None
    return unquote(password) if password else None


def setting_names() -> dict[str, str]:
    """Every name that is read, each with its description; an alternative name too."""
    names: dict[str, str] = {}
    for field in Settings.model_fields.values():
        choices = field.validation_alias
        if isinstance(choices, AliasChoices):
            for choice in choices.choices:
                names[str(choice)] = field.description or ""
    return names


def load_settings(
    environ: Mapping[str, str] | None = None, env_file: Path | None = ENV_FILE
) -> Settings:
    """Settings from `environ` (default: this process's) and `env_file` (None: no file).

    Raises SettingsError, one line that names the setting and never its value.
    """
    environ = os.environ if environ is None else environ
    names = setting_names()
    merged = {**_read_env_file(env_file, names), **_not_empty(environ)}
    for name in environ:
        if name.startswith("EVERTURN_") and name not in names:
            raise SettingsError(_unknown(name, names, "the environment"))
        if name.startswith("TEMPORAL_") and (meant := misspelt(name, TEMPORAL_NAMES)):
            raise SettingsError(f"unknown setting {name} in the environment: did you mean {meant}?")
    for name in TEMPORAL_SWITCHES:
        if merged.get(name, "true").lower() not in ("true", "false", "1", "0"):
            raise SettingsError(f"{name} is not valid: it must be true or false")
    try:
        return Settings.model_validate({n: merged[n] for n in names if n in merged})
    except ValidationError as error:
        raise SettingsError(_first_problem(error)) from None


def temporal_environment(
    environ: Mapping[str, str] | None = None, env_file: Path | None = ENV_FILE
) -> dict[str, str]:
    """Temporal's own variables, from the environment and `.env`, for `temporalio.envconfig`.

    The rest of the environment is in it too, since the SDK finds its default configuration file
    by HOME and its like.
    """
    environ = os.environ if environ is None else environ
    from_file = _read_env_file(env_file, setting_names())
    temporal = {name: value for name, value in from_file.items() if _is_temporal(name)}
    return {**temporal, **{n: v for n, v in environ.items() if v or not _is_temporal(n)}}


CHOOSES_TEMPORAL = ("TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE")
"""Any of them set: the operator has a Temporal of their own."""


def own_temporal(variables: Mapping[str, str]) -> str | None:
    """In a word, the operator's own Temporal; None when `everturn up` is to start one.

    `variables` as from `temporal_environment`.
    """
    if address := variables.get("TEMPORAL_ADDRESS"):
        return address
    for name in CHOOSES_TEMPORAL:
        if value := variables.get(name):
            return f"{name}={value}"
    return None


def _is_temporal(name: str) -> bool:
    return name in TEMPORAL_NAMES or name.startswith("TEMPORAL_GRPC_META_")


def _not_empty(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value.strip()}


def _read_env_file(env_file: Path | None, names: Mapping[str, str]) -> dict[str, str]:
    if env_file is None or not env_file.is_file():
        return {}
    try:
        with env_file.open(encoding="utf-8") as lines:
            for binding in parse_stream(lines):
                if binding.error:
                    raise SettingsError(
                        f"line {binding.original.line} of {env_file} is not NAME=value"
                    )
        values = dotenv.dotenv_values(env_file, interpolate=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SettingsError(f"cannot read {env_file}: {reason}") from None
    known = {*names, *TEMPORAL_NAMES, *COMPOSE_NAMES}
    for name in values:
        if name not in known and not _is_temporal(name) and not name.startswith("COMPOSE_"):
            raise SettingsError(_unknown(name, known, str(env_file)))
    return _not_empty({name: value or "" for name, value in values.items()})


def _unknown(name: str, known: Mapping[str, str] | set[str], where: str) -> str:
    meant = nearest(name, known)
    hint = f"did you mean {meant}?" if meant else "see .env.example for every name"
    return f"unknown setting {name} in {where}: {hint}"


def _first_problem(error: ValidationError) -> str:
    """The first of pydantic's complaints, without the value that caused it."""
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    name = str(problem["loc"][0]) if problem["loc"] else "a setting"
    text = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if problem["type"] == "enum":
        text = "it must be one of " + ", ".join(provider.value for provider in Provider)
    elif problem["msg"].startswith("Input should be "):
        text = f"it must be {text}"
    return f"{name} is not valid: {text[0].lower() + text[1:]}"
