"""Opening the database, and what it then offers."""

from __future__ import annotations

from datetime import timedelta

from storage.address import parse_address
from storage.blobs import Blobs
from storage.database import Database
from storage.housekeeping import clean
from storage.personas import Personas
from storage.schema import bring_up_to_date
from storage.transcript import Transcript
from storage.turns import Turns
from storage.usage import UsageBook


class Storage:
    """All that is stored, one attribute for each kind. Use it within one event loop, and close it
    in the end."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.blobs = Blobs(database)
        self.personas = Personas(database)
        self.transcript = Transcript(database)
        self.usage = UsageBook(database)
        self.turns = Turns(database)

    async def housekeeping(self, older_than: timedelta) -> int:
        """Remove old content and transcripts; see `storage.housekeeping`. Returns how many rows
        went. Personas, usage and the record of turns stay."""
        removed = await clean(self.database, older_than)
        self.blobs.forget_recent()
        return removed

    async def close(self) -> None:
        await self.database.close()


async def open_storage(url: str) -> Storage:
    """Connect to `url` (see `storage.address`) and bring its tables up to date.

    Raises StorageError: a malformed address, a database that cannot be opened, reached or written,
    or one that a newer Everturn has changed already.
    """
    database = Database(parse_address(url))
    try:
        await bring_up_to_date(database)
    except BaseException:
        await database.close()
        raise
    return Storage(database)
