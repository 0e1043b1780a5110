"""What the rest of the program may meet. Each message is one line for an operator."""

from __future__ import annotations

import errno


class StorageError(Exception):
    """What is wrong with the database, and what to do.

    `lasting`: no attempt mends it, somebody has to change something first.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class BlobMissing(StorageError):
    """No blob with this id: it was never stored here, or housekeeping took it."""

    def __init__(self, blob_id: str) -> None:
        super().__init__(
            f"blob {blob_id[:12]}… is not in the database: it has been cleaned up, or bot and "
            "worker use different databases (compare their DATABASE_URL)"
        )
        self.blob_id = blob_id


class TranscriptMissing(StorageError):
    """A turn has fewer stored transcript entries than it counts."""


class PersonaMissing(StorageError):
    """No persona with this id, or none that is main."""


class PersonaConflict(StorageError):
    """A member asked for a persona that cannot be as asked: its name is taken, there are too many,
    a value does not fit, it is not theirs to change. The message may be shown to them."""


class LimitReached(StorageError):
    """There are as many already as there may be. `limit`: how many."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"there are {limit} {what} already, and no more may be added")
        self.limit = limit


class MemoryLimitReached(LimitReached):
    """The persona holds as many memories of this scope as it may."""

    def __init__(self, limit: int) -> None:
        super().__init__("memories of this persona and scope", limit)


class ReminderLimitReached(LimitReached):
    """The server has as many reminders waiting as it may."""

    def __init__(self, limit: int) -> None:
        super().__init__("reminders of this server", limit)


_LASTING = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)
"""What the place itself is like. A full disk or a lack of file handles, for one, may pass."""


def is_lasting(error: OSError) -> bool:
    """Whether the next attempt at the same file or folder would fail the same way."""
    return error.errno in _LASTING


def reason(error: OSError) -> str:
    """Why a file or folder could not be used, in a few words."""
    if error.errno == errno.EEXIST:  # of mkdir: a file stands where the folder should be
        return "not a directory"
    return (error.strerror or type(error).__name__).lower()
