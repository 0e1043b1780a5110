"""The playground as a running server."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from aiohttp import web

from playground import pages
from playground.config import PlaygroundConfig
from playground.control import add_control
from playground.errors import PlaygroundError
from playground.gateway.socket import serve_socket
from playground.guard import only_from_here
from playground.rest import add_rest
from playground.services import SERVICES, Services

HOST = "127.0.0.1"
_SHUTDOWN_SECONDS = 0.3
LARGEST_REQUEST = 32 * 1024 * 1024
"""Bytes. A message may carry files."""


@dataclass
class Playground:
    """A playground that listens. `services` is its inside, for tests in the same process."""

    services: Services
    port: int
    _runner: web.AppRunner

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def api_base(self) -> str:
        """What the bot is given as the address of Discord's REST API."""
        return f"{self.url}/api/v10"

    async def close(self) -> None:
        """Ends every connection and closes the data file."""
        for session in self.services.gateway.sessions.values():
            if session.connection is not None:
                session.connection.close(4000)
        await self._runner.cleanup()
        self.services.store.close()


async def serve(config: PlaygroundConfig) -> Playground:
    """Starts on 127.0.0.1. Raises PlaygroundError when the port or the data folder is taken."""
    services = Services.assemble(config)
    app = web.Application(middlewares=[only_from_here], client_max_size=LARGEST_REQUEST)
    app[SERVICES] = services
    app.router.add_routes(pages.routes)
    app.router.add_get("/gateway", serve_socket)
    app.router.add_get("/gateway/", serve_socket)
    add_rest(app, services)
    add_control(app, services)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, config.port)
        await site.start()
    except OSError as error:
        await runner.cleanup()
        services.store.close()
        if error.errno == errno.EADDRINUSE:
            raise PlaygroundError(
                f"port {config.port} on {HOST} is in use: choose another with --port"
            ) from error
        raise PlaygroundError(f"cannot listen on {HOST}:{config.port}: {error}") from error
    port: int = runner.addresses[0][1]
    playground = Playground(services, port, runner)
    services.world.address = playground.url
    return playground
