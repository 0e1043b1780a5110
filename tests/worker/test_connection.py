"""Connecting to Temporal: where it is looked for, and what an operator reads when it is not."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from pathlib import Path

import pytest

from worker.connection import DEFAULT_ADDRESS, connect, connect_config, connect_patiently
from worker.errors import EXIT_UNAVAILABLE, ConnectionFailed, SettingsError
from worker.ports import next_free_port
from worker.running import Running, prepare_home, read_running, up_lock, write_running
from worker.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A fresh home, and an environment without any Temporal of the developer's own."""
    for name in ("TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "none.toml"))
    monkeypatch.chdir(tmp_path)
    return load_settings({"EVERTURN_HOME": str(tmp_path / "home")}, None)


def plain(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), **more}


def test_address_namespace_and_key_come_from_temporals_own_variables(
    settings: Settings, tmp_path: Path
) -> None:
    config = connect_config(
        settings,
        plain(
            tmp_path,
            TEMPORAL_ADDRESS="cloud.example:7233",
            TEMPORAL_NAMESPACE="team",
            TEMPORAL_API_KEY="s3cret",
        ),
    )
    assert (config["target_host"], config["namespace"]) == ("cloud.example:7233", "team")
    assert config["api_key"] == "s3cret"
    assert config["tls"]


def test_where_nothing_names_one_none_is_guessed(settings: Settings, tmp_path: Path) -> None:
    """What listens at the usual address may serve another data folder."""
    with pytest.raises(ConnectionFailed, match=rf"no Temporal runs on \S+ {settings.home}, and"):
        connect_config(settings, plain(tmp_path))


def test_a_file_that_names_no_address_means_the_usual_one(
    settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text('[profile.default]\nnamespace = "mine"\n')
    config = connect_config(settings, plain(tmp_path, TEMPORAL_CONFIG_FILE=str(file)))
    assert (config["target_host"], config["namespace"]) == (DEFAULT_ADDRESS, "mine")


def test_a_profile_of_the_sdks_file_is_used(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text('[profile.prod]\naddress = "prod.example:7233"\nnamespace = "prod"\n')
    environ = plain(tmp_path, TEMPORAL_CONFIG_FILE=str(file), TEMPORAL_PROFILE="prod")
    config = connect_config(settings, environ)
    assert (config["target_host"], config["namespace"]) == ("prod.example:7233", "prod")


def test_a_profile_that_is_not_there_is_one_line(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Temporal's configuration") as caught:
        connect_config(settings, plain(tmp_path, TEMPORAL_PROFILE="nowhere"))
    assert "\n" not in str(caught.value)


def test_a_running_up_is_found_and_an_own_address_wins(settings: Settings, tmp_path: Path) -> None:
    prepare_home(settings.home)
    running = Running(temporal_address="127.0.0.1:7300", namespace="mine")
    with up_lock(settings.home):
        write_running(settings.home, running)
        assert read_running(settings.home) == running
        assert connect_config(settings, plain(tmp_path)) == {
            "target_host": "127.0.0.1:7300",
            "namespace": "mine",
        }
        own = connect_config(settings, plain(tmp_path, TEMPORAL_ADDRESS="a:1"))
        assert own["target_host"] == "a:1"
    assert read_running(settings.home) is None


def test_a_running_up_with_a_temporal_of_the_operators_own_names_none(
    settings: Settings, tmp_path: Path
) -> None:
    prepare_home(settings.home)
    with up_lock(settings.home):
        write_running(settings.home, Running(temporal_address=None, discord_api="http://x/api"))
        with pytest.raises(ConnectionFailed, match="TEMPORAL_ADDRESS is not set"):
            connect_config(settings, plain(tmp_path))


async def test_a_dead_address_is_one_line_within_seconds(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{next_free_port(20_000)}"
    monkeypatch.setenv("TEMPORAL_ADDRESS", address)
    monkeypatch.delenv("TEMPORAL_CONFIG_FILE")
    started = time.monotonic()
    with pytest.raises(ConnectionFailed) as caught:
        await connect(settings)
    assert time.monotonic() - started < 6
    message = str(caught.value)
    assert address in message
    assert "everturn up" in message
    assert "\n" not in message
    assert caught.value.exit_code == EXIT_UNAVAILABLE


async def test_a_host_that_accepts_and_says_nothing_is_given_up(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.connection.CONNECT_TIMEOUT", timedelta(seconds=0.5))

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    monkeypatch.setenv("TEMPORAL_ADDRESS", address)
    with pytest.raises(ConnectionFailed, match="no answer"):
        await connect(settings)
    server.close()


async def test_patience_ends_with_the_error_and_at_once_with_a_stop(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", f"127.0.0.1:{next_free_port(20_100)}")
    stop = asyncio.Event()
    with pytest.raises(ConnectionFailed):
        await connect_patiently(settings, stop, patience=timedelta(seconds=0))
    waiting = asyncio.create_task(connect_patiently(settings, stop))
    stop.set()
    async with asyncio.timeout(6):
        assert await waiting is None
