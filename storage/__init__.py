"""What outlives a turn: personas, large content, transcripts, usage, the record of turns.

SQLite by default, PostgreSQL by `DATABASE_URL`; the same tables, code and tests for both. The
state of a running turn is Temporal's and is never kept here.

    storage = await open_storage("sqlite:///everturn.db")
    blob_id = await storage.blobs.put("history", data)

Every failure is a `StorageError` of one line that an operator can act on.
"""

from storage.blobs import Blobs
from storage.errors import BlobMissing, PersonaMissing, StorageError, TranscriptMissing
from storage.personas import Persona, PersonaFileError, Personas
from storage.store import Storage, open_storage
from storage.transcript import Transcript
from storage.turns import TurnRecord, Turns
from storage.usage import UsageBook

__all__ = [
    "BlobMissing",
    "Blobs",
    "Persona",
    "PersonaFileError",
    "PersonaMissing",
    "Personas",
    "Storage",
    "StorageError",
    "Transcript",
    "TranscriptMissing",
    "TurnRecord",
    "Turns",
    "UsageBook",
    "open_storage",
]
