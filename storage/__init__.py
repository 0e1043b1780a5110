"""What outlives a turn: personas, settings, memory, reminders, large content, transcripts, usage.

SQLite by default, PostgreSQL by `DATABASE_URL`; the same tables, code and tests for both. The
state of a running turn is Temporal's and is never kept here.

    storage = await open_storage("sqlite:///everturn.db", keys=keys)
    blob_id = await storage.blobs.put("history", data)

Every failure is a `StorageError` of one line that an operator can act on.
"""

from storage.answering import Answering, Busy
from storage.blobs import Blobs
from storage.config import ServerConfig, UserConfig
from storage.config.repository import Configs
from storage.counters import Counters
from storage.dispatches import Dispatches
from storage.errors import (
    BlobMissing,
    LimitReached,
    MemoryLimitReached,
    PersonaConflict,
    PersonaMissing,
    ReminderLimitReached,
    StorageError,
    TranscriptMissing,
)
from storage.limits import Charge, Limits, QuotaUsage
from storage.marks import Marks
from storage.memories import Memories, Memory
from storage.personas import Persona, PersonaChanges, PersonaFileError, Personas
from storage.reminders import Reminder, Reminders
from storage.short_term import ShortTermMemories, StmEntry, StmRecord
from storage.store import Storage, open_storage
from storage.transcript import Transcript
from storage.turns import TurnRecord, Turns
from storage.usage import UsageBook

__all__ = [
    "Answering",
    "BlobMissing",
    "Blobs",
    "Busy",
    "Charge",
    "Configs",
    "Counters",
    "Dispatches",
    "LimitReached",
    "Limits",
    "Marks",
    "Memories",
    "Memory",
    "MemoryLimitReached",
    "Persona",
    "PersonaChanges",
    "PersonaConflict",
    "PersonaFileError",
    "PersonaMissing",
    "Personas",
    "QuotaUsage",
    "Reminder",
    "ReminderLimitReached",
    "Reminders",
    "ServerConfig",
    "ShortTermMemories",
    "StmEntry",
    "StmRecord",
    "Storage",
    "StorageError",
    "Transcript",
    "TranscriptMissing",
    "TurnRecord",
    "Turns",
    "UsageBook",
    "UserConfig",
    "open_storage",
]
