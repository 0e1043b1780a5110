"""Where the keys of the vault come from: a setting, or a file of the installation's own.

In: the value of EVERTURN_STORAGE_KEY, or a path. Out: keys of 32 bytes, the one that seals first.
The file is made once, whoever else starts at the same moment, and is for its owner only; one that
others can read is used and warned of.
"""

from __future__ import annotations

import base64
import binascii
import errno
import os
import secrets
import stat
from pathlib import Path

import structlog

from storage.errors import StorageError, is_lasting, reason
from storage.vault import KEY_BYTES

log = structlog.get_logger(__name__)

MAX_KEYS = 16

_HINT = (
    'each key is the base64 of 32 bytes, such as `python3 -c "import base64, os; '
    'print(base64.b64encode(os.urandom(32)).decode())"` prints'
)


def parse_keys(text: str) -> list[bytes]:
    """Keys from base64, separated by commas. Raises StorageError, which repeats nothing of it."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise StorageError(f"it is empty: {_HINT}", lasting=True)
    if len(parts) > MAX_KEYS:
        raise StorageError(f"more than {MAX_KEYS} keys: drop the oldest", lasting=True)
    return [_decode(part) for part in parts]


def _decode(text: str) -> bytes:
    # both alphabets, with or without padding
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise StorageError(_HINT, lasting=True)
    return key


def keys_of_file(path: Path) -> list[bytes]:
    """The keys in the file, which is made with a new one where there is none.

    Raises StorageError when it cannot be made, read or understood: it is never replaced, since what
    it sealed would be lost.
    """
    text, mode = "", 0
    try:
        if not path.exists():
            _create(path)
        with path.open(encoding="ascii") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read()
    except UnicodeDecodeError:
        pass
    except OSError as error:
        raise StorageError(
            f"the storage key {path} cannot be used ({reason(error)}): make it readable for this "
            "user, or set EVERTURN_STORAGE_KEY",
            lasting=is_lasting(error),
        ) from None
    try:
        keys = parse_keys(text.replace("\n", ","))
    except StorageError as error:
        raise StorageError(
            f"{path} holds no storage key ({error}): restore it, or delete it, and short-term "
            "memory begins anew",
            lasting=True,
        ) from None
    _warn_if_shared(path, mode)
    return keys


def _warn_if_shared(path: Path, mode: int) -> None:
    """Not refused: some file systems, such as those of a mounted Windows folder, show every file
    as everybody's. There are no such modes on Windows itself."""
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        log.warning(
            "storage.key_not_private",
            reason=f"{path} has the mode {mode:04o}, so that others can read short-term memory: "
            f"chmod 600 {path}",
        )


def _create(path: Path) -> None:
    """A complete file appears at `path`, or the one that another process has put there stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    key = base64.b64encode(os.urandom(KEY_BYTES))
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key + b"\n")
            file.flush()
            os.fsync(file.fileno())
        _publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)  # unlike a rename, never replaces
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK):
            raise
        # A file system without links. Two first starts within the same millisecond could still
        # differ: what one of them sealed until its next start is then not readable.
        if not path.exists():
            draft.replace(path)
