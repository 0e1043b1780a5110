"""`python -m playground`: a loopback Discord until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from playground.config import PlaygroundConfig
from playground.errors import PlaygroundError
from playground.server import serve


def main() -> int:
    config = _read_arguments()
    try:
        asyncio.run(_run(config))
    except PlaygroundError as error:
        print(f"playground: {error}", file=sys.stderr)
        return 1
    return 0


def _read_arguments() -> PlaygroundConfig:
    parser = argparse.ArgumentParser(prog="playground", description=__doc__)
    parser.add_argument("--port", type=int, default=8090, help="0 takes any free port")
    parser.add_argument("--data", type=Path, required=True, help="folder that keeps the history")
    parser.add_argument("--temporal-ui", help="address of the Temporal UI that messages link to")
    parser.add_argument("--namespace", default="default", help="Temporal namespace of the turns")
    given = parser.parse_args()
    return PlaygroundConfig(
        data=given.data,
        port=given.port,
        temporal_ui=given.temporal_ui,
        namespace=given.namespace,
    )


async def _run(config: PlaygroundConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    playground = await serve(config)
    print(f"playground ready {playground.url}", flush=True)
    await stop.wait()
    await playground.close()


if __name__ == "__main__":
    sys.exit(main())
