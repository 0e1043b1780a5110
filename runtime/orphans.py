"""No child outlives the process of ours that started it, not even when that one is SIGKILLed.

On Linux the kernel does it: PR_SET_PDEATHSIG. Elsewhere each child runs under a guard, a small
process that holds the reading end of a pipe from its parent: when the pipe closes, the parent is
gone, and the guard ends the child (`python -m runtime.orphans FD COMMAND…`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

PR_SET_PDEATHSIG = 1
"""From <sys/prctl.h>."""

HAS_PDEATHSIG = sys.platform.startswith("linux")


def die_with_parent() -> Callable[[], None]:
    """For Linux: what a new child runs before its program, so that it is killed with us.

    SIGKILL, since nobody is left to wait for a slower end, and everything here survives it.
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def in_the_child() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died in the moment before
            os._exit(1)

    return in_the_child


def guarded(command: Sequence[str], watched: int = 0) -> list[str]:
    """For other systems: `command` under the guard, whose descriptor `watched` must be a pipe from
    us. With any but stdin, stdin is the command's own."""
    return [sys.executable, "-P", "-m", "runtime.orphans", str(watched), *command]


def guard(watched: int, command: Sequence[str]) -> int:
    """Run `command`; pass SIGTERM and SIGINT on; kill it when `watched` closes. Its exit code."""
    child = subprocess.Popen(command, stdin=None if watched else subprocess.DEVNULL)
    if watched:
        os.close(0)  # the child alone reads it, and sees its end

    def pass_on(number: int, _frame: object) -> None:
        child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(watched, 1024):
                pass
        child.kill()

    threading.Thread(target=watch, daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(guard(int(sys.argv[1]), sys.argv[2:]))
