"""What `everturn up` starts, and where."""

from __future__ import annotations

import itertools
import socket
from pathlib import Path

from worker.dev_server import server_command
from worker.ports import HOST, next_free_port
from worker.settings import Settings, load_settings
from worker.up import STOP_ORDER, Plan, make_plan, playground_part, python_part, temporal_part


def settings(tmp_path: Path, **environ: str) -> Settings:
    ports = {
        "EVERTURN_PORT": str(next_free_port(44_000)),
        "EVERTURN_TEMPORAL_PORT": str(next_free_port(44_200)),
        "EVERTURN_TEMPORAL_UI_PORT": str(next_free_port(44_400)),
    }
    return load_settings({"EVERTURN_HOME": str(tmp_path), **ports, **environ}, None)


def test_all_free_ports_are_taken_without_a_word(tmp_path: Path) -> None:
    lines: list[str] = []
    wanted = settings(tmp_path)
    plan = make_plan(wanted, False, "default", lines.append)
    assert plan.playground_port == wanted.port
    assert plan.temporal_port == wanted.temporal_port
    assert plan.temporal_ui == f"http://127.0.0.1:{wanted.temporal_ui_port}"
    assert lines == []


def test_a_port_in_use_is_replaced_and_said(tmp_path: Path) -> None:
    lines: list[str] = []
    with socket.socket() as other:
        other.bind((HOST, next_free_port(44_600)))
        other.listen()
        port = other.getsockname()[1]
        wanted = settings(tmp_path, EVERTURN_PORT=str(port))
        plan = make_plan(wanted, False, "default", lines.append)
    assert plan.playground_port is not None
    assert plan.playground_port > port
    assert lines == [
        f"Port {port} is in use: the chat page takes {plan.playground_port}"
        " (EVERTURN_PORT sets another one)"
    ]


def test_the_same_wanted_port_twice_gives_two_ports(tmp_path: Path) -> None:
    port = str(next_free_port(44_800))
    wanted = settings(tmp_path, EVERTURN_PORT=port, EVERTURN_TEMPORAL_PORT=port)
    plan = make_plan(wanted, False, "default", lambda _: None)
    assert plan.playground_port != plan.temporal_port


def test_with_a_token_there_is_no_playground_and_with_an_own_temporal_no_server(
    tmp_path: Path,
) -> None:
    plan = make_plan(settings(tmp_path, DISCORD_TOKEN="t0ken-t0ken"), True, "n", lambda _: None)
    assert (plan.playground_port, plan.temporal_port, plan.temporal_ui) == (None, None, None)
    assert plan.discord_api is None


def test_the_bot_gets_the_playground_and_nobody_gets_a_token_on_a_command_line(
    tmp_path: Path,
) -> None:
    plan = Plan(tmp_path, "default", 1, 2, 3)
    bot = python_part(plan, settings(tmp_path), "bot")
    assert bot.environ is not None
    assert bot.environ["EVERTURN_DISCORD_API"] == "http://127.0.0.1:3/api/v10"
    worker = python_part(plan, settings(tmp_path), "worker")
    assert worker.environ is not None
    assert "EVERTURN_DISCORD_API" not in worker.environ

    secret = settings(tmp_path, DISCORD_TOKEN="s3cret-token", OPENAI_API_KEY="s3cret-key")
    parts = [python_part(plan, secret, name) for name in ("worker", "bot")]
    parts += [playground_part(plan), temporal_part(plan)]
    assert sorted(part.name for part in parts) == sorted(STOP_ORDER)
    assert all("s3cret" not in word for part in parts for word in part.command)


def test_the_server_listens_on_this_machine_only_and_keeps_its_data(tmp_path: Path) -> None:
    command = server_command(tmp_path, 7233, 8233, "mine", {"EverturnGuild": "Keyword"})
    options = list(itertools.pairwise(command))
    assert ("--ip", "127.0.0.1") in options
    assert ("--db-filename", str(tmp_path / "temporal.db")) in options
    assert ("--namespace", "mine") in options
    assert ("--search-attribute", "EverturnGuild=Keyword") in options
    assert ("--dynamic-config-value", "frontend.WorkerCommandsEnabled=true") in options
