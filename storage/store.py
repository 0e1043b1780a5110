"""Opening the database, and what it then offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from storage.address import parse_address
from storage.answering import Answering
from storage.blobs import Blobs
from storage.config.repository import Configs
from storage.counters import Counters
from storage.database import Database
from storage.dispatches import Dispatches
from storage.housekeeping import clean
from storage.limits import Limits
from storage.marks import Marks
from storage.memories import Memories
from storage.personas import Personas
from storage.reminders import Reminders
from storage.schema import bring_up_to_date
from storage.short_term import RETENTION, ShortTermMemories
from storage.short_term.repository import utc_now
from storage.transcript import Transcript
from storage.turns import Turns
from storage.usage import UsageBook
from storage.vault import Vault


class Storage:
    """All that is stored, one attribute for each kind. Use it within one event loop, and close it
    in the end."""

    def __init__(self, database: Database, short_term: ShortTermMemories) -> None:
        self.database = database
        self.short_term = short_term
        self.configs = Configs(database)
        self.memories = Memories(database)
        self.reminders = Reminders(database)
        self.counters = Counters(database)
        self.dispatches = Dispatches(database)
        self.limits = Limits(database)
        self.answering = Answering(database)
        self.marks = Marks(database)
        self.blobs = Blobs(database)
        self.personas = Personas(database)
        self.transcript = Transcript(database)
        self.usage = UsageBook(database)
        self.turns = Turns(database)

    async def housekeeping(self, older_than: timedelta) -> int:
        """Remove old content, transcripts and dispatches; see `storage.housekeeping`. Returns how
        many rows went. Everything else stays; short-term memory has its own `short_term.expire`."""
        removed = await clean(self.database, older_than)
        self.blobs.forget_recent()
        return removed

    async def close(self) -> None:
        await self.database.close()


async def open_storage(
    url: str,
    *,
    keys: Sequence[bytes] = (),
    stm_retention: timedelta = RETENTION,
    clock: Callable[[], datetime] = utc_now,
) -> Storage:
    """Connect to `url` (see `storage.address`) and bring its tables up to date.

    `keys` seal short-term memory (see `storage.keys`): the first one seals, all open. Without any,
    what is sealed is lost when this storage closes. `clock` is what short-term memory expires by.

    Raises StorageError: a malformed address, a database that cannot be opened, reached or written,
    or one that a newer Everturn has changed already.
    """
    database = Database(parse_address(url))
    try:
        await bring_up_to_date(database)
    except BaseException:
        await database.close()
        raise
    return Storage(database, ShortTermMemories(database, Vault(keys), clock, stm_retention))
