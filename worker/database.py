"""Opens the database that the settings name."""

from __future__ import annotations

from storage import Storage, StorageError, open_storage
from storage.address import parse_address
from worker.errors import SettingsError
from worker.settings import Settings


async def open_database(settings: Settings) -> Storage:
    """Raises SettingsError for an address that no start can use, StorageError for the rest."""
    check_address(settings)
    return await open_storage(settings.database_url)


def check_address(settings: Settings) -> None:
    """Raises SettingsError for a DATABASE_URL that is not valid."""
    try:
        parse_address(settings.database_url)
    except StorageError as error:
        raise SettingsError(str(error)) from None
