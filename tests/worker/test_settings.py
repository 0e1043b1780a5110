"""Settings: what is read, what is refused, and that nothing refused is ever shown."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from activities.context.memories import MEMORY_LENGTH
from storage.address import parse_address
from worker.errors import EXIT_CONFIGURATION, SettingsError
from worker.settings import (
    COMPOSE_NAMES,
    TEMPORAL_NAMES,
    Provider,
    Settings,
    load_settings,
    own_temporal,
    setting_names,
    temporal_environment,
)

ROOT = Path(__file__).parents[2]


def load(environ: dict[str, str], env_file: Path | None = None) -> Settings:
    return load_settings(environ, env_file)


def refused(environ: dict[str, str], env_file: Path | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load(environ, env_file)
    assert caught.value.exit_code == EXIT_CONFIGURATION
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_without_anything_the_demo_model_answers_in_the_playground() -> None:
    settings = load({})
    assert settings.provider is Provider.DEMO
    assert settings.discord_token is None
    assert settings.generation().model_name == "demo"
    assert settings.turn_limits().tool_timeout_seconds == 300
    assert parse_address(settings.database_url).path == settings.home / "everturn.db"


def test_the_database_of_a_folder_with_any_name_is_in_it() -> None:
    settings = load({"EVERTURN_HOME": "/srv/me@home 100%"})
    assert parse_address(settings.database_url).path == Path("/srv/me@home 100%/everturn.db")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOOL_EXECUTION_TIMEOUT_MS", "9999"),
        ("STREAM_SDK_CALL_TIMEOUT_MS", "9999"),
        ("MAX_MEMORY_LENGTH", "1001"),
        ("BOT_MAX_FUNCTION_CALL_ITERATIONS", "0"),
        ("BOT_MAX_CONSECUTIVE_TOOL_ERRORS", "0"),
        ("TOOL_EXECUTION_TIMEOUT_MS", "s3cret"),
        ("EVERTURN_PROVIDER", "s3cret"),
        ("EVERTURN_PORT", "65536"),
        ("EVERTURN_LOG_LEVEL", "s3cret"),
        ("EVERTURN_LOG_JSON", "s3cret"),
        ("EVERTURN_DEMO_WORDS_PER_SECOND", "s3cret"),
        ("CUSTOM_BASE_URL", "s3cret"),
        ("EVERTURN_DISCORD_API", "ftp://s3cret"),
    ],
)
def test_a_malformed_value_is_named_and_never_shown(name: str, value: str) -> None:
    message = refused({name: value})
    assert message.startswith(f"{name} is not valid: ")
    assert value not in message


def test_the_lowest_values_are_taken() -> None:
    limits = load(
        {
            "TOOL_EXECUTION_TIMEOUT_MS": "10000",
            "BOT_MAX_FUNCTION_CALL_ITERATIONS": "1",
            "BOT_MAX_CONSECUTIVE_TOOL_ERRORS": "1",
        }
    ).turn_limits()
    assert (limits.tool_timeout_seconds, limits.max_iterations) == (10, 1)
    assert limits.max_consecutive_errors == 1


def test_no_memory_may_be_longer_than_what_a_prompt_shows() -> None:
    assert load({"MAX_MEMORY_LENGTH": str(MEMORY_LENGTH)}).memory_limits().length == MEMORY_LENGTH
    assert "MAX_MEMORY_LENGTH" in refused({"MAX_MEMORY_LENGTH": str(MEMORY_LENGTH + 1)})


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    assert "EVERTURN_HOEM" in (message := refused({"EVERTURN_HOEM": "/x"}))
    assert "did you mean EVERTURN_HOME?" in message


def test_names_of_others_in_the_environment_are_none_of_our_business() -> None:
    assert load({"PATH": "/bin", "DISCORD_TOKENS": "x", "TEMPORAL_FOO": "1"}).provider == "demo"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TEMPORAL_ADRESS", "TEMPORAL_ADDRESS"),
        ("TEMPORAL_NAMESAPCE", "TEMPORAL_NAMESPACE"),
        ("TEMPORAL_APIKEY", "TEMPORAL_API_KEY"),
        ("TEMPORAL_TSL", None),
        ("TEMPORAL_TLS_CLIENT_CERT_PAHT", "TEMPORAL_TLS_CLIENT_CERT_PATH"),
    ],
)
def test_a_slip_in_a_name_of_temporals_is_refused(name: str, meant: str | None) -> None:
    if meant is None:  # of three letters two are wrong: it may be somebody else's
        load({name: "s3cret"})
        return
    message = refused({name: "s3cret"})
    assert message == f"unknown setting {name} in the environment: did you mean {meant}?"


@pytest.mark.parametrize(
    "name",
    [
        *("TEMPORAL_DEBUG", "TEMPORAL_WORKFLOW_ID", "TEMPORAL_CLI_ADDRESS", "TEMPORAL_UI_PORT"),
        *("TEMPORAL_CLI", "TEMPORAL_ENV", "TEMPORAL_HOST", "TEMPORAL_TLS_CERT", "TEMPORAL_TLS_KEY"),
        *("TEMPORAL_TLS_CA", "TEMPORAL_CODEC_ENDPOINT", "TEMPORAL_DEFAULT_NAMESPACE"),
        *("TEMPORAL_VERSION", "TEMPORAL_GRPC_META_X", "TEMPORAL_CORS_ORIGINS", "TEMPORAL_HOME"),
        *("TEMPORAL_CLI_TLS_SERVER_NAME", "TEMPORAL_UI_ADDRESS"),
    ],
)
def test_temporal_names_of_other_programs_are_left_alone(name: str) -> None:
    assert load({name: "x"}).provider == "demo"


@pytest.mark.parametrize("name", ["TEMPORAL_TLS", "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION"])
def test_a_switch_of_temporals_is_true_or_false(name: str, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(f"{name}=maybe\n")
    for message in (refused({name: "maybe"}), refused({}, file)):
        assert message == f"{name} is not valid: it must be true or false"
    for value in ("true", "False", "1", "0", ""):
        load({name: value})


def test_an_unknown_name_in_the_env_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("DISCORD_TOKN=s3cret\n")
    message = refused({}, file)
    assert "DISCORD_TOKN" in message
    assert "did you mean DISCORD_TOKEN?" in message
    assert "s3cret" not in message


def test_a_line_of_the_env_file_that_cannot_be_read_is_named_by_its_number(
    tmp_path: Path,
) -> None:
    file = tmp_path / ".env"
    file.write_text("DISCORD_TOKEN=abc\n=s3cret\n")
    message = refused({}, file)
    assert "line 2" in message
    assert "s3cret" not in message


def test_the_environment_wins_over_the_file_and_an_empty_value_is_none(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("EVERTURN_PORT=9001\nEVERTURN_LOG_LEVEL=debug\nOPENAI_API_KEY=\n")
    settings = load({"EVERTURN_PORT": "9002", "EVERTURN_LOG_LEVEL": ""}, file)
    assert (settings.port, settings.log_level, settings.provider) == (9002, "debug", "demo")


def test_a_dollar_sign_in_a_secret_of_the_file_stays_one(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("DISCORD_TOKEN='abc${HOME}$x'\n")
    token = load({}, file).discord_token
    assert token is not None
    assert token.get_secret_value() == "abc${HOME}$x"


def test_no_secret_is_in_a_repr() -> None:
    settings = load(
        {
            "DISCORD_TOKEN": "s3cret-token",
            "OPENAI_API_KEY": "s3cret-key",
            "DATABASE_URL": "postgresql://me:s3cret-pass@db/everturn",
            "CUSTOM_BASE_URL": "http://me:s3cret-url@host/v1",
            "EVERTURN_PROVIDER": "openai",
        }
    )
    assert "s3cret" not in repr(settings) + str(settings) + repr(settings.generation())
    assert set(settings.secrets()) == {"s3cret-token", "s3cret-key", "s3cret-pass"}


@pytest.mark.parametrize(
    ("environ", "provider"),
    [
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, Provider.OPENAI),
        ({"ANTHROPIC_API_KEY": "k", "OPENROUTER_API_KEY": "k"}, Provider.ANTHROPIC),
        ({"GEMINI_API_KEY": "k"}, Provider.GOOGLE),
        ({"OPENROUTER_API_KEY": "k"}, Provider.OPENROUTER),
        ({"CUSTOM_BASE_URL": "http://x/v1", "OPENAI_API_KEY": "k"}, Provider.CUSTOM),
        ({"OPENAI_API_KEY": "k", "EVERTURN_PROVIDER": "demo"}, Provider.DEMO),
    ],
)
def test_the_first_key_chooses_the_provider(environ: dict[str, str], provider: Provider) -> None:
    settings = load(environ | {"EVERTURN_MODEL": "m"})
    assert settings.provider is provider
    assert settings.generation().provider == provider.value


def test_a_provider_without_its_key_is_refused_by_whoever_needs_it() -> None:
    settings = load({"EVERTURN_PROVIDER": "openai"})  # a bot needs no key
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        settings.generation()
    with pytest.raises(SettingsError, match="EVERTURN_MODEL"):
        load({"CUSTOM_BASE_URL": "http://x/v1"}).generation()


@pytest.mark.parametrize("name", ["CUSTOM_BASE_URL", "EVERTURN_DISCORD_API"])
@pytest.mark.parametrize(
    "address",
    [
        "s3cret.example/v1",
        "ftp://s3cret.example/v1",
        "http://",
        "http:///s3cret",
        "http://:8080/s3cret",
        "http://[s3cret/v1",
        "http://s3cret.example:port/v1",
        "http://s3cret.example:99999/v1",
        "http://s3cret.example:0/v1",
        "http://s3cret example/v1",
        "http://s3cret.example/v1\n",
        "http://s3cret.example/v1\x00",
        "http://%s3cret/v1",
        "http://me:s3cret@/v1",
    ],
)
def test_an_address_that_cannot_work_is_refused_without_being_shown(
    name: str, address: str
) -> None:
    message = refused({name: address})
    assert message.startswith(f"{name} is not valid: it must ")
    assert "s3cret" not in message


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:11434/v1",
        "https://host.example",
        "http://[::1]:8080/v1",
        "http://model_server:8000/v1",
        "http://me:pass@host.example/v1?version=2",
        "http://müller.example/v1",
    ],
)
def test_an_address_that_can_work_is_taken(address: str) -> None:
    assert load({"CUSTOM_BASE_URL": address}).custom_base_url == address


def test_the_idle_setting_becomes_the_budgets_of_the_stream() -> None:
    """C067: the first-token budget is 300 s, and never shorter than the idle budget."""
    generation = load({"STREAM_SDK_CALL_TIMEOUT_MS": "400000"}).generation()
    assert generation.idle_budget == timedelta(seconds=400)
    assert generation.first_token_budget == timedelta(seconds=400)
    assert load({}).generation().first_token_budget == timedelta(seconds=300)


def test_output_tokens_go_to_the_provider_they_are_named_for() -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_MAX_OUTPUT_TOKENS": "100"}
    assert load(environ).generation().max_output_tokens == 100
    assert load({"OPENAI_API_KEY": "k"}).generation().max_output_tokens == 8192


def test_temporals_own_variables_may_stand_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("TEMPORAL_ADDRESS=a:1\nTEMPORAL_GRPC_META_X=1\nTEMPORAL_NAMESPACE=n\n")
    load({}, file)
    variables = temporal_environment({"TEMPORAL_NAMESPACE": "other", "HOME": "/h"}, file)
    assert variables["TEMPORAL_ADDRESS"] == "a:1"
    assert variables["TEMPORAL_NAMESPACE"] == "other"
    assert own_temporal(variables) == "a:1"
    assert own_temporal({"TEMPORAL_NAMESPACE": "n"}) is None


def example_names() -> dict[str, str]:
    """Name to value of every setting in `.env.example`, with the text above it."""
    found: dict[str, str] = {}
    comment: list[str] = []
    for line in (ROOT / ".env.example").read_text().splitlines():
        if match := re.fullmatch(r"#([A-Z][A-Z0-9_]*)=(.*)", line):
            found[match[1]] = " ".join(comment) + "\n" + match[2]
            comment = []
        elif line.startswith("# "):
            comment.append(line.removeprefix("# "))
        else:
            comment = []
    return found


def test_the_example_file_says_what_the_settings_say() -> None:
    example = example_names()
    ours = setting_names()
    read_under_another_name = {"GEMINI_API_KEY"}
    assert set(example) == (set(ours) | TEMPORAL_NAMES | COMPOSE_NAMES) - read_under_another_name
    for field in Settings.model_fields.values():
        name = str(field.validation_alias.choices[0])  # type: ignore[union-attr]
        description, value = example[name].split("\n")
        assert description == field.description, name
        default = field.default
        shown = "" if default in (None, ()) else str(default).lower()
        assert value == shown, name


def test_the_example_file_is_valid_with_every_line_switched_on(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    text = (ROOT / ".env.example").read_text()
    file.write_text(re.sub(r"(?m)^#([A-Z][A-Z0-9_]*=)", r"\1", text))
    assert load({}, file) == load({})


KEYS = (
    "DISCORD_TOKEN",
    "CUSTOM_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "BRAVE_API_KEY",
)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("key", ["s3crét", "s3cret\u200b", "s3\ncret", "s3cret\x7f", "“s3cret”"])
def test_a_key_that_no_header_takes_is_refused_without_being_shown(name: str, key: str) -> None:
    message = refused({name: key})
    assert message.startswith(f"{name} is not valid: it has letters that no key has")
    assert "s3" not in message


@pytest.mark.parametrize("name", KEYS)
def test_a_blank_key_is_none_and_blanks_around_one_are_not_part_of_it(
    name: str, tmp_path: Path
) -> None:
    field = "google_api_key" if name.startswith("GOOGLE") else name.lower()
    file = tmp_path / ".env"
    file.write_text(f'{name}=" \t "\n')
    assert getattr(load({name: "  "}, file), field) is None
    file.write_text(f"{name}=' k '\n")
    assert getattr(load({name: " "}, file), field).get_secret_value() == "k"


@pytest.mark.parametrize("value", ["s3cret", "s3cret:", "s3cret:http", "127.0.0.1:80, s3cret"])
def test_private_addresses_are_checked_at_once(value: str) -> None:
    message = refused({"EVERTURN_FETCH_ALLOW": value})
    assert message.startswith("EVERTURN_FETCH_ALLOW is not valid: each address must be host:port")
    assert "s3cret" not in message
    assert load({"EVERTURN_FETCH_ALLOW": "a.lan:80, [::1]:8000"}).fetch_allow == (
        "a.lan:80",
        "[::1]:8000",
    )
