"""The one place that knows how to connect to Temporal.

Where Temporal is, in this order: the SDK's own variables (`TEMPORAL_ADDRESS`, `TEMPORAL_PROFILE`,
`TEMPORAL_CONFIG_FILE`, TLS, API key; read by `temporalio.envconfig`), the server of an
`everturn up` that runs on the same EVERTURN_HOME, the default profile of the SDK's configuration
file. Where none of these names one nothing is guessed: a server that listens at the usual address
may belong to another data folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import structlog
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode

from worker.errors import EXIT_CONFIGURATION, ConnectionFailed, SettingsError
from worker.running import read_running
from worker.settings import Settings, own_temporal, temporal_environment

log = structlog.get_logger(__name__)

DEFAULT_ADDRESS = "127.0.0.1:7233"
"""The SDK's, for a profile or a configuration file that the operator names and that names none."""
CONNECT_TIMEOUT = timedelta(seconds=5)
"""For one attempt: a live server answers in milliseconds, and a person waits for the error."""
RESTART_PATIENCE = timedelta(minutes=2)
"""How long a bot or a worker waits for a server that restarts, before it gives up."""
LONGEST_PAUSE = timedelta(seconds=5)

REFUSALS = {
    RPCStatusCode.UNAUTHENTICATED: "check TEMPORAL_API_KEY or the TLS certificate",
    RPCStatusCode.PERMISSION_DENIED: "check what the key or certificate may do there",
}
"""Answers that another attempt would not change."""


def connect_config(settings: Settings, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Arguments for `Client.connect`: address, namespace, TLS, key.

    Raises SettingsError when the variables or the configuration file cannot be used, and
    ConnectionFailed when nothing says where Temporal is.
    """
    variables = temporal_environment(environ)
    named = own_temporal(variables) is not None
    running = None if named else read_running(settings.home)
    if running is not None and running.temporal_address is not None:
        return {"target_host": running.temporal_address, "namespace": running.namespace}
    try:
        config: ClientConnectConfig = ClientConfig.load_client_connect_config(
            override_env_vars=variables
        )
    except Exception as error:  # the bridge raises plain RuntimeError for all of them
        raise SettingsError(f"Temporal's configuration cannot be used: {error}") from None
    if not named and "target_host" not in config:
        raise ConnectionFailed(
            f"no Temporal runs on EVERTURN_HOME {settings.home}, and TEMPORAL_ADDRESS is not set:"
            " start `everturn up` there, or set TEMPORAL_ADDRESS to a server of your own"
        )
    return {"target_host": DEFAULT_ADDRESS, "namespace": "default", **config}


async def connect(settings: Settings, runtime: Runtime | None = None) -> Client:
    """A connected client, or ConnectionFailed within a few seconds."""
    return await _connect(connect_config(settings), runtime)


async def connect_patiently(
    settings: Settings,
    stop: asyncio.Event,
    runtime: Runtime | None = None,
    patience: timedelta = RESTART_PATIENCE,
) -> Client | None:
    """Like `connect`, for a process that lives long: tries again while the server restarts.

    Returns None when `stop` is set meanwhile. Raises ConnectionFailed when the server refuses us,
    or does not come back within `patience`.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience.total_seconds()
    pause = 0.25
    while not stop.is_set():
        try:
            return await _connect(connect_config(settings), runtime)
        except ConnectionFailed as error:
            if error.exit_code == EXIT_CONFIGURATION or loop.time() + pause > deadline:
                raise
            # The first tries are the usual wait for a server that starts beside us.
            tell = log.warning if pause >= 1 else log.info
            tell("temporal.waiting", reason=str(error), next_try_seconds=pause)
        try:
            async with asyncio.timeout(pause):
                await stop.wait()
        except TimeoutError:
            pause = min(pause * 2, LONGEST_PAUSE.total_seconds())
    return None


async def _connect(config: dict[str, Any], runtime: Runtime | None) -> Client:
    address = config["target_host"]
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT.total_seconds()):
            return await Client.connect(
                **config, data_converter=pydantic_data_converter, runtime=runtime
            )
    except TimeoutError:
        raise ConnectionFailed(_dead(address, "no answer")) from None
    except RPCError as error:
        if error.status in REFUSALS:
            raise ConnectionFailed(
                f"Temporal at {address} refuses us: {REFUSALS[error.status]}", EXIT_CONFIGURATION
            ) from None
        raise ConnectionFailed(_dead(address, error.status.name.lower())) from None
    except (RuntimeError, OSError, ValueError) as error:
        raise ConnectionFailed(_dead(address, _short(error))) from None


def _dead(address: str, reason: str) -> str:
    return (
        f"Temporal does not answer at {address} ({reason}):"
        " start it with `everturn up`, or set TEMPORAL_ADDRESS to where it runs"
    )


def _short(error: Exception) -> str:
    """The SDK's errors carry a debug print of several layers; the innermost word is enough."""
    text = str(error)
    for known in ("Connection refused", "dns error", "invalid URL", "timed out", "tls"):
        if known.lower() in text.lower():
            return known.lower()
    return type(error).__name__
