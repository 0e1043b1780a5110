"""Files that only their owner may read, such as logs: they hold ids and names."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TextIO

OTHERS = 0o077
"""The rights of group and others, as a umask takes them away."""


def private_folder(folder: Path) -> None:
    """Make `folder`, and take the rights of others from it and its files where it is there.

    One that is a link has been put there by somebody who knows who reads it, and stays as it is.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink():
        return
    for path in (folder, *folder.iterdir()):
        with suppress(OSError):  # another user's, whose choice it is
            rights = stat.S_IMODE(path.lstat().st_mode)
            if rights & OTHERS and not path.is_symlink():
                path.chmod(rights & ~OTHERS)


def append_private(path: Path) -> TextIO:
    """Open a text file to append to, and make it for its owner only if it is not there."""
    return open(path, "a", encoding="utf-8", errors="replace", opener=_owner_only)


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
