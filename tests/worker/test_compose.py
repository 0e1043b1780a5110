"""The files of a cluster, held against the code: every command, every variable, every image."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from worker.cli import app
from worker.dev_server import DYNAMIC_CONFIG
from worker.settings import COMPOSE_NAMES, TEMPORAL_NAMES, load_settings, setting_names

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: s for name, s in SERVICES.items() if s.get("build")}
JOBS = {"temporal-schema", "temporal-namespace"}
"""They run to their end, and what needs them waits for that."""

READ_BY_IMAGE = {
    # common/config/config_template_embedded.yaml of temporalio/temporal
    "temporalio/server": {
        "DB",
        "DB_PORT",
        "POSTGRES_SEEDS",
        "POSTGRES_USER",
        "POSTGRES_PWD",
        "BIND_ON_IP",
        "DYNAMIC_CONFIG_FILE_PATH",
    },
    # tools/sql/main.go there, and our own script
    "temporalio/admin-tools": {
        *("SQL_PLUGIN", "SQL_HOST", "SQL_PORT", "SQL_USER", "SQL_PASSWORD"),
        *("TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "RETENTION"),
    },
    # server/docker/config-template.yaml of temporalio/ui
    "temporalio/ui": {"TEMPORAL_ADDRESS", "TEMPORAL_DEFAULT_NAMESPACE"},
    "postgres": {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD"},
}


def parse(command: list[str]) -> None:
    """Parse an `everturn` command as the command line would. Raises on anything unknown."""
    group = typer.main.get_command(app)
    with group.make_context("everturn", list(command), resilient_parsing=False) as context:
        name, subcommand, rest = group.resolve_command(context, list(command))  # type: ignore[attr-defined]
        assert subcommand is not None
        subcommand.make_context(name, rest, parent=context).close()


def test_the_parser_of_these_tests_refuses_what_does_not_exist() -> None:
    import click

    parse(["doctor", "--alive", "bot"])
    for wrong in (["serve"], ["worker", "--threads", "3"], ["doctor", "--alive"]):
        with pytest.raises((click.UsageError, Exception)):
            parse(wrong)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_a_pinned_image_a_restart_policy_and_a_health_check(name: str) -> None:
    service = SERVICES[name]
    image, _, tag = service["image"].rpartition(":")
    assert image
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?(-\w+)?", tag), f"{service['image']} is not pinned"
    assert service["restart"].split(":")[0] in ("unless-stopped", "always", "on-failure")
    check = service["healthcheck"]
    assert check.get("disable") is True if name in JOBS else check["test"][0] == "CMD"


@pytest.mark.parametrize("name", SERVICES)
def test_services_wait_for_what_exists_in_a_way_that_can_come_true(name: str) -> None:
    for needed, how in SERVICES[name].get("depends_on", {}).items():
        assert needed in SERVICES
        wanted = "service_completed_successfully" if needed in JOBS else "service_healthy"
        assert how["condition"] == wanted


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_is_read_by_somebody(name: str) -> None:
    service = SERVICES[name]
    given = set(service.get("environment", {}))
    if name in OURS:
        assert given <= set(setting_names()) | TEMPORAL_NAMES
    else:
        assert given <= READ_BY_IMAGE[service["image"].split(":")[0]]


def test_every_variable_that_the_file_takes_from_outside_may_stand_in_the_env_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    taken = set(re.findall(r"(?<!\$)\$\{([A-Z_]+)", text))
    assert taken == COMPOSE_NAMES
    assert all(f"${{{name}:?" in text for name in taken), "a missing one must be an error"


@pytest.mark.parametrize("name", OURS)
def test_every_command_of_ours_exists(name: str) -> None:
    service = OURS[name]
    parse(service["command"])
    test = service["healthcheck"]["test"]
    assert test[:2] == ["CMD", "everturn"]
    parse(test[2:])
    assert test[-1] == service["command"][0], "it looks at the process that runs there"
    assert service["env_file"] == ".env"


def test_the_environment_of_our_services_is_valid() -> None:
    for service in OURS.values():
        environ = {
            name: re.sub(r"\$\{\w+:\?[^}]*\}", "pw", value)
            for name, value in service["environment"].items()
        }
        settings = load_settings(environ, None)
        assert settings.database_url == "postgresql://everturn:pw@postgres:5432/everturn"


def test_one_bot_and_several_workers() -> None:
    assert SERVICES["bot"]["deploy"]["replicas"] == 1
    assert SERVICES["worker"]["deploy"]["replicas"] > 1
    assert all("container_name" not in service for service in OURS.values()), "it forbids scaling"


def test_a_failing_bot_is_given_up_on() -> None:
    """D38: a crash loop is a loop of IDENTIFYs, and Discord resets the token at 1,000."""
    policy, _, tries = SERVICES["bot"]["restart"].partition(":")
    assert policy == "on-failure"
    assert int(tries) < 100


def test_ports_are_open_to_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(str(port).startswith("127.0.0.1:") for port in ports)


def test_the_grace_period_is_longer_than_a_workers() -> None:
    from worker.process import WORKER_GRACE

    seconds = int(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))
    assert seconds > WORKER_GRACE.total_seconds() + 5


def test_mounted_files_exist_and_what_runs_them_is_where_they_are() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source, target, *_ = volume.split(":")
            if not source.startswith("./"):
                assert source in COMPOSE["volumes"]
                continue
            assert (ROOT / source).is_file()
            used = [*service.get("entrypoint", []), *service["environment"].values()]
            assert target in used
        for word in service.get("entrypoint", [])[1:]:
            assert word in [v.split(":")[1] for v in service["volumes"]]


def test_the_cluster_is_tuned_as_the_dev_server_is() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "temporal-dynamic-config.yaml").read_text())
    assert {k: str(v[0]["value"]).lower() for k, v in config.items()} == DYNAMIC_CONFIG


def dockerfile() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_image_is_pinned_and_not_root_and_runs_a_command_that_exists() -> None:
    steps = dict(dockerfile())
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", steps["FROM"])
    assert steps["USER"] not in ("root", "0")
    assert steps["ENTRYPOINT"] == '["everturn"]'
    parse(yaml.safe_load(steps["CMD"]))
    check = yaml.safe_load(steps["HEALTHCHECK"].partition("CMD ")[2])
    parse(check[1:])
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert "everturn" in scripts


def test_the_image_holds_every_package_and_the_context_lets_them_in() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {p.rstrip("*") for p in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    copied = {w for step, rest in dockerfile() if step == "COPY" for w in rest.split()[:-1]}
    assert packages <= copied
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"}
    assert copied == allowed
    assert all((ROOT / path).exists() for path in copied)


@pytest.mark.parametrize("script", ["temporal-schema.sh", "temporal-namespace.sh"])
def test_the_scripts_are_valid_for_a_plain_shell_and_read_only_what_they_are_given(
    script: str,
) -> None:
    path = ROOT / "deploy" / script
    subprocess.run(["sh", "-n", str(path)], check=True)
    text = path.read_text()
    service = SERVICES[script.removesuffix(".sh")]
    set_inside = set(re.findall(r"(?m)^\s*(\w+)=|for (\w+) in|\b(\w+)=\w+ ;;", text))
    known = {name for names in set_inside for name in names} | set(service["environment"])
    assert set(re.findall(r"\$\{?([A-Za-z_]\w*)", text)) <= known
