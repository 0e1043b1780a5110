"""The command line, as a process: exit codes, and errors of one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from worker.beacon import STALE_AFTER, beacon_file, is_lit
from worker.cli import report
from worker.crash import keep_trace
from worker.errors import EXIT_CONFIGURATION, SettingsError
from worker.ports import next_free_port
from worker.run_bot import bot_config
from worker.settings import load_settings


def everturn(tmp_path: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an empty folder, with a fresh home and nothing else of ours set."""
    kept = {n: v for n, v in os.environ.items() if n in ("PATH", "HOME", "LANG")}
    return subprocess.run(
        [sys.executable, "-m", "worker.cli", *arguments],
        env={**kept, "EVERTURN_HOME": str(tmp_path / "home"), **environ},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("how", ["version", "--version"])
def test_version(tmp_path: Path, how: str) -> None:
    done = everturn(tmp_path, how)
    assert re.fullmatch(r"everturn \d+\.\d+\.\d+\n", done.stdout)
    assert done.returncode == 0


def test_version_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, worker.cli;"
        "print([m for m in ('temporalio', 'discord', 'sqlalchemy', 'pydantic_ai')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["up", "worker"])
def test_an_unknown_setting_is_one_line_and_code_78(tmp_path: Path, command: str) -> None:
    done = everturn(tmp_path, command, EVERTURN_HOEM="/s3cret")
    assert done.returncode == EXIT_CONFIGURATION
    assert done.stderr.startswith("everturn: unknown setting EVERTURN_HOEM")
    assert done.stderr.count("\n") == 1
    assert "s3cret" not in done.stderr + done.stdout


def test_a_malformed_database_url_is_told_at_once_and_never_shown(tmp_path: Path) -> None:
    """Its password must not be printed, and not become the name of a folder either."""
    for command in ("up", "worker"):
        for url in ("everturn:s3cret@db.example.org:5432/everturn", "postgresql:/u:s3cret@h/x"):
            done = everturn(tmp_path, command, DATABASE_URL=url)
            assert done.returncode == EXIT_CONFIGURATION
            assert done.stderr.startswith("everturn: DATABASE_URL is not valid: it begins with")
            assert done.stderr.count("\n") == 1
            assert "s3cret" not in done.stderr + done.stdout
    assert not [path for path in tmp_path.rglob("*") if "s3cret" in path.name]


def test_a_persona_file_that_cannot_be_read_is_code_78(tmp_path: Path) -> None:
    file = tmp_path / "home" / "personas" / "nova.md"
    file.parent.mkdir(parents=True)
    file.write_text('+++\nname = "Nova"\nmain = yes\n+++\nYou are kind.\n')
    done = everturn(tmp_path, "worker")
    assert done.returncode == EXIT_CONFIGURATION
    assert f"everturn: {file}, line 3: main = yes is not valid TOML" in done.stderr


def test_a_bot_without_token_and_playground_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="DISCORD_TOKEN is not set"):
        bot_config(load_settings({"EVERTURN_HOME": str(tmp_path)}, None))
    elsewhere = {"EVERTURN_HOME": str(tmp_path), "EVERTURN_DISCORD_API": "http://127.0.0.1:1/api"}
    assert bot_config(load_settings(elsewhere, None)).api_base == "http://127.0.0.1:1/api"


@pytest.mark.parametrize(
    ("environ", "scale"),
    [
        ({"DISCORD_TOKEN": "t"}, 1),
        ({"DISCORD_TOKEN": "t", "COMMAND_COOLDOWN_SCALE": "3"}, 3),
        ({"DISCORD_TOKEN": "t", "EVERTURN_DISCORD_API": "http://127.0.0.1:1/api"}, 0),
        ({"EVERTURN_DISCORD_API": "http://127.0.0.1:1/api", "COMMAND_COOLDOWN_SCALE": "1"}, 1),
    ],
)
def test_nobody_waits_between_commands_in_the_playground_unless_told_to(
    tmp_path: Path, environ: dict[str, str], scale: float
) -> None:
    """Behaviour 17."""
    settings = load_settings({"EVERTURN_HOME": str(tmp_path), **environ}, None)
    assert bot_config(settings).command_cooldown_scale == scale


def test_up_with_a_dead_temporal_of_ones_own_ends_with_one_line(tmp_path: Path) -> None:
    address = f"127.0.0.1:{next_free_port(23_000)}"
    done = everturn(tmp_path, "up", TEMPORAL_ADDRESS=address)
    assert done.returncode == 69
    last = done.stderr.splitlines()[-1]
    assert address in last
    assert "TEMPORAL_ADDRESS" in last
    assert "Traceback" not in done.stderr


def test_up_on_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    done = everturn(tmp_path, "up", EVERTURN_HOME="/dev/null/home")
    assert done.returncode == 1
    assert done.stderr.startswith("everturn: EVERTURN_HOME /dev/null/home cannot be used")
    assert done.stderr.count("\n") == 1


def test_the_beacon_of_a_well_process_is_found(tmp_path: Path) -> None:
    assert everturn(tmp_path, "doctor", "--alive", "worker").returncode == 1
    beacon = beacon_file(tmp_path / "home", "worker")
    beacon.parent.mkdir(parents=True)
    beacon.touch()
    assert everturn(tmp_path, "doctor", "--alive", "worker").returncode == 0
    later = beacon.stat().st_mtime + STALE_AFTER.total_seconds()
    assert is_lit(beacon, later - 1)
    assert not is_lit(beacon, later + 1)


def test_errors_that_were_foreseen_keep_their_code(capsys: pytest.CaptureFixture[str]) -> None:
    from bot.errors import BotStartError
    from storage import StorageError

    assert report(SettingsError("a\nb"), "worker", None) == EXIT_CONFIGURATION
    assert report(StorageError("database x is busy"), "worker", None) == 1
    newer = StorageError("database x is newer", lasting=True)
    assert report(newer, "worker", None) == EXIT_CONFIGURATION
    assert report(BotStartError("no intent", 78), "bot", None) == 78
    assert capsys.readouterr().err == (
        "everturn: a b\neverturn: database x is busy\neverturn: database x is newer\n"
        "everturn: no intent\n"
    )


def test_an_error_nobody_foresaw_goes_to_a_file_without_secrets(tmp_path: Path) -> None:
    settings = load_settings({"EVERTURN_HOME": str(tmp_path)}, None)
    try:
        raise KeyError("Bearer abcdef0123456789")
    except KeyError as error:
        line = keep_trace(error, "worker", settings)
    trace = (tmp_path / "logs" / "crash.log").read_text()
    assert line.startswith("unexpected error in worker: KeyError")
    assert str(tmp_path / "logs" / "crash.log") in line
    assert "Traceback" in trace
    assert "abcdef0123456789" not in line + trace
