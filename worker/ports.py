"""Which ports to listen on: the wanted one, or the next that is free."""

from __future__ import annotations

import socket
from collections.abc import Collection

from worker.errors import OperatorError

HOST = "127.0.0.1"
SEARCHED = 100
"""How many ports above the wanted one are tried."""


def is_free(port: int, host: str = HOST) -> bool:
    """Whether a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port whose old connections still linger counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def next_free_port(wanted: int, taken: Collection[int] = ()) -> int:
    """`wanted`, or the next port above it that is free and not in `taken`.

    Raises OperatorError when none of the next hundred is.
    """
    for port in range(wanted, min(wanted + SEARCHED, 65_536)):
        if port not in taken and is_free(port):
            return port
    raise OperatorError(f"no free port from {wanted} on: set another one in .env")
