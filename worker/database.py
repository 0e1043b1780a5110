"""Opens the database that the settings name, with the keys that seal what is private in it."""

from __future__ import annotations

from datetime import timedelta

from storage import Storage, StorageError, open_storage
from storage.address import parse_address
from storage.keys import keys_of_file, parse_keys
from worker.errors import SettingsError
from worker.settings import Settings

KEY_FILE = "storage.key"
"""In EVERTURN_HOME. Whoever has it and the database reads short-term memory."""


async def open_database(settings: Settings) -> Storage:
    """Raises SettingsError for an address or a key that no start can use, StorageError for the
    rest."""
    check_database(settings)
    return await open_storage(
        settings.database_url,
        keys=storage_keys(settings),
        stm_retention=timedelta(days=settings.stm_janitor_retention_days),
    )


def check_database(settings: Settings) -> None:
    """Raises SettingsError for a DATABASE_URL or an EVERTURN_STORAGE_KEY that is not valid."""
    try:
        parse_address(settings.database_url)
    except StorageError as error:
        raise SettingsError(str(error)) from None
    if settings.storage_key is not None:
        storage_keys(settings)


def storage_keys(settings: Settings) -> list[bytes]:
    """Those of EVERTURN_STORAGE_KEY, else those of the key file, which is made at the first
    start. Raises SettingsError for the former, StorageError for the latter."""
    if settings.storage_key is None:
        return keys_of_file(settings.home / KEY_FILE)
    try:
        return parse_keys(settings.storage_key.get_secret_value())
    except StorageError as error:
        raise SettingsError(f"EVERTURN_STORAGE_KEY is not valid: {error}") from None
